package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Setting is one effective value, for people: text, path and origin.
type Setting struct {
	Path   string // dotted: "agents.coder.limits.time"
	Value  string // as a file would have it; lists and words as in Go's %q
	Origin Origin
}

// Settings lists every effective value, sorted by path. Values that are empty
// and were set by no source are left out.
func (c Config) Settings() []Setting {
	var list []Setting
	walk(reflect.ValueOf(c), "", func(path string, v reflect.Value) {
		o, set := c.origins[path]
		if !set && empty(v) {
			return
		}
		if !set {
			o = Origin{Source: "default"}
		}
		list = append(list, Setting{path, show(v), o})
	})
	slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Origin says where the value at a path came from.
func (c Config) Origin(path string) Origin {
	if o, ok := c.origins[path]; ok {
		return o
	}
	return Origin{Source: "default"}
}

// Hash identifies the effective configuration, whatever its values came from:
// what an approval covers.
func Hash(c Config) string {
	return hash(reflect.ValueOf(c))
}

// AgentHash identifies the effective configuration of one agent; false where
// there is none of that name.
func AgentHash(c Config, name string) (string, bool) {
	a, ok := c.Agents[name]
	if !ok {
		return "", false
	}
	return hash(reflect.ValueOf(a)), true
}

// hash covers every value that is not empty, each with its path, in an order
// that does not depend on the declaration of the types.
func hash(v reflect.Value) string {
	var lines []string
	walk(v, "", func(path string, v reflect.Value) {
		if !empty(v) {
			lines = append(lines, fmt.Sprintf("%q=%q\n", path, show(v)))
		}
	})
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// walk calls visit for every scalar and list of a value, in no fixed order.
func walk(v reflect.Value, path string, visit func(string, reflect.Value)) {
	switch {
	case isScalar(v.Type()) || v.Kind() == reflect.Slice:
		visit(path, v)
	case v.Kind() == reflect.Map:
		for name, entry := range v.Seq2() {
			walk(entry, join(path, name.String()), visit)
		}
	default:
		for _, s := range settings(v.Type()) {
			walk(v.Field(s.index), join(path, s.key), visit)
		}
	}
}

// empty reports a value that says nothing, so that [] and an absent list are one.
func empty(v reflect.Value) bool {
	return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

func show(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		return formatDuration(value)
	case []string:
		return fmt.Sprintf("%q", value)
	default:
		return fmt.Sprint(value)
	}
}
