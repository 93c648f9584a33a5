package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"sort"
	"strconv"
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
	walk(reflect.ValueOf(c), "", "", func(path string, v reflect.Value, _ reflect.StructTag) {
		o, set := c.origins[path]
		if !set && empty(v) {
			return
		}
		if !set {
			o = Origin{Source: "default"}
		}
		list = append(list, Setting{path, show(v), o})
	})
	sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
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
func Hash(c Config) string { return hash(Text(c)) }

// Text is what [Hash] is the hash of: a line for each value that is not empty. A value
// that may hold a secret has only its digest there: what it was is not to be had from it.
func Text(c Config) []byte { return text(reflect.ValueOf(c)) }

// Difference is a value that two configurations do not share.
type Difference struct {
	Recorded string // a line that may be kept: nothing secret is in it
	Shown    string // the line for a person who has to say yes: with the program or place that is named now
}

// Differences says in which values a configuration differs from the one that [Text] wrote.
func Differences(was []byte, c Config) []Difference {
	old, now := values(was), values(Text(c))
	shown := named(c)
	var all []Difference
	for _, path := range slices.Sorted(maps.Keys(merged(old, now))) {
		before, had := old[path]
		is, has := now[path]
		if had && has && before == is {
			continue
		}
		d := Difference{Recorded: path + ": " + change(before, had, is, has)}
		if Secret(path) {
			d.Recorded = path + ": " + secretChange(had, has)
		}
		d.Shown = d.Recorded
		switch name, ok := shown[path]; {
		case ok && had:
			d.Shown = fmt.Sprintf("%s: was another one, is %s", path, name)
		case ok:
			d.Shown = fmt.Sprintf("%s: added, is %s", path, name)
		}
		all = append(all, d)
	}
	return all
}

func change(before string, had bool, is string, has bool) string {
	switch {
	case !has:
		return "taken away, was " + before
	case !had:
		return "added, is " + is
	}
	return fmt.Sprintf("was %s, is %s", before, is)
}

func secretChange(had, has bool) string {
	switch {
	case !has:
		return "taken away"
	case !had:
		return "added"
	}
	return "has another value"
}

// named has the programs and the places that the configuration names, by path, for a
// person to see. The password of an address is left out.
func named(c Config) map[string]string {
	all := map[string]string{}
	walk(reflect.ValueOf(c), "", "", func(path string, v reflect.Value, _ reflect.StructTag) {
		switch {
		case empty(v) || isEnv(path) || !Secret(path):
		case v.Kind() == reflect.String:
			all[path] = redacted(v.String())
		default:
			all[path] = show(v)
		}
	})
	return all
}

func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	return u.Redacted()
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// values reads what text wrote; of a line that it cannot read there is nothing.
func values(text []byte) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			continue
		}
		path, _ := strconv.Unquote(quoted)
		value, err := strconv.Unquote(strings.TrimSuffix(strings.TrimPrefix(line[len(quoted):], "="), "\n"))
		if err == nil {
			all[path] = value
		}
	}
	return all
}

// isEnv reports whether a path is that of a variable of an environment.
func isEnv(path string) bool {
	parts := strings.Split(path, ".")
	return len(parts) == 4 && parts[2] == "env" && (parts[0] == "agents" || parts[0] == "mcp_servers")
}

// Secret reports whether the value at a path may hold a secret: a variable of an
// environment, a command line or an address.
func Secret(path string) bool {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "command", "url", "base_url":
		return true
	}
	return isEnv(path)
}

// AgentHash identifies the effective configuration of one agent; false where
// there is none of that name.
func AgentHash(c Config, name string) (string, bool) {
	a, ok := c.Agents[name]
	if !ok {
		return "", false
	}
	return hash(text(reflect.ValueOf(a))), true
}

// text has every value that is not empty, each with its path, in an order that does
// not depend on the declaration of the types. A number is not empty where it would be
// another one by default: 0 is what somebody wants then.
func text(v reflect.Value) []byte {
	var lines []string
	walk(v, "", "", func(path string, v reflect.Value, tag reflect.StructTag) {
		is := show(v)
		switch number := v.Kind() != reflect.String && isScalar(v.Type()) && tag.Get("default") != ""; {
		case empty(v) && !number:
			return
		case empty(v) && tag.Get("zero") != "":
			is += " (" + tag.Get("zero") + ")"
		}
		if Secret(path) {
			is = hash([]byte(is))
		}
		lines = append(lines, fmt.Sprintf("%q=%q\n", path, is))
	})
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// walk calls visit for every scalar and list of a value, in no fixed order, with the tag
// of its field.
func walk(v reflect.Value, path string, tag reflect.StructTag, visit func(string, reflect.Value, reflect.StructTag)) {
	switch {
	case isScalar(v.Type()) || v.Kind() == reflect.Slice:
		visit(path, v, tag)
	case v.Kind() == reflect.Map:
		for name, entry := range v.Seq2() {
			walk(entry, join(path, name.String()), "", visit)
		}
	default:
		for _, s := range settings(v.Type()) {
			walk(v.Field(s.index), join(path, s.key), s.tag, visit)
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
	case string:
		if strings.Contains(value, "\n") {
			return strconv.Quote(value)
		}
		return value
	default:
		return fmt.Sprint(value)
	}
}
