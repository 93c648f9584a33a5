package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/plan"

	"go.yaml.in/yaml/v4"
)

// decoder lays sources over a configuration, one after the other, and keeps
// the origin of every value it sets.
type decoder struct {
	file     string
	origins  map[string]Origin
	refused  map[string]bool // paths whose value had a problem
	problems []Problem
}

// maxEntries is how many entries one map of names, or one list, may have.
const maxEntries = 1000

// problem records what is wrong with the value of a path; the message begins
// with the path's name.
func (d *decoder) problem(path string, n *yaml.Node, hint, format string, args ...any) {
	name := path
	if path == "" {
		name = "the configuration"
	}
	p := at(d.file, n, "%s %s", name, fmt.Sprintf(format, args...))
	p.Hint = hint
	d.problems = append(d.problems, p)
	d.refused[path] = true
}

// value sets v from the node, or records why it cannot.
func (d *decoder) value(path string, n *yaml.Node, v reflect.Value, tag reflect.StructTag) {
	switch {
	case isScalar(v.Type()):
		d.scalar(path, n, v, tag)
	case v.Kind() == reflect.Slice:
		d.list(path, n, v, tag)
	case v.Kind() == reflect.Map:
		d.named(path, n, v, tag)
	default:
		if tag.Get("whole") != "" { // like an entry of a map
			d.forget(path)
			v.SetZero()
			setDefaults(v)
		}
		d.group(path, n, v)
	}
}

func (d *decoder) scalar(path string, n *yaml.Node, v reflect.Value, tag reflect.StructTag) {
	switch {
	case n.Kind != yaml.ScalarNode:
		d.problem(path, n, "", "is one value, not a %s", shape(n))
	case null(n):
		d.problem(path, n, "write one or remove the key", "has no value")
	default:
		if err := setScalar(v, n.Value, tag); err != nil {
			d.problem(path, n, plan.Nearest(n.Value, words(tag)), "%s", err)
			return
		}
		d.origins[path] = origin(d.file, n)
	}
}

func (d *decoder) list(path string, n *yaml.Node, v reflect.Value, tag reflect.StructTag) {
	if n.Kind != yaml.SequenceNode {
		d.problem(path, n, "write it as [a, b]", "is a list, not a %s", shape(n))
		return
	}
	if len(n.Content) > maxEntries {
		d.problem(path, n, "", "has more than %d entries", maxEntries)
		return
	}
	words := make([]string, 0, len(n.Content))
	for _, item := range n.Content {
		switch {
		case item.Kind != yaml.ScalarNode || null(item):
			d.problem(path, item, "", "is a list of words, and this is a %s", shape(item))
		case tag.Get("items") == "env" && !isEnvName(item.Value):
			d.problem(path, item, "", "must hold names of variables, and %q is not one", item.Value)
		default:
			words = append(words, item.Value)
		}
	}
	v.Set(reflect.ValueOf(words))
	d.origins[path] = origin(d.file, n)
}

// named sets the entries of a map. An entry replaces the whole entry of that
// name from an earlier source, so that no agent is made of two halves.
func (d *decoder) named(path string, n *yaml.Node, v reflect.Value, tag reflect.StructTag) {
	if len(n.Content) > 2*maxEntries {
		d.problem(path, n, "", "has more than %d entries", maxEntries)
		return
	}
	d.each(path, n, func(key, value *yaml.Node) {
		if !goodName(tag.Get("names"), key.Value) {
			d.problem(path, key, "", "cannot have an entry named %q", key.Value)
			return
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		d.entry(join(path, key.Value), reflect.ValueOf(key.Value), value, origin(d.file, key), v)
	})
}

// entry sets one entry of a map.
func (d *decoder) entry(path string, name reflect.Value, n *yaml.Node, from Origin, into reflect.Value) {
	if _, earlier := d.origins[path]; earlier {
		d.forget(path)
	}
	entry := reflect.New(into.Type().Elem()).Elem()
	if entry.Kind() == reflect.Struct {
		setDefaults(entry)
	}
	d.origins[path] = from
	d.value(path, n, entry, "")
	into.SetMapIndex(name, entry)
}

func (d *decoder) forget(path string) {
	for p := range d.origins {
		if p == path || strings.HasPrefix(p, path+".") {
			delete(d.origins, p)
		}
	}
}

// group sets the fields of a struct.
func (d *decoder) group(path string, n *yaml.Node, v reflect.Value) {
	list := settings(v.Type())
	d.each(path, n, func(key, value *yaml.Node) {
		for _, s := range list {
			if s.key == key.Value {
				d.value(join(path, s.key), value, v.Field(s.index), s.tag)
				return
			}
		}
		hint := plan.Nearest(key.Value, keys(list))
		if hint == "" {
			hint = "known: " + strings.Join(keys(list), ", ")
		}
		d.problem(path, key, hint, "has no key %q", key.Value)
	})
}

// each visits the pairs of a mapping; nothing where the mapping is empty.
func (d *decoder) each(path string, n *yaml.Node, visit func(key, value *yaml.Node)) {
	if null(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.problem(path, n, "", "holds keys with values, and this is a %s", shape(n))
		return
	}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			d.problem(path, key, "", "has a %s as a key; a key is one word", shape(key))
			continue
		}
		if line, twice := seen[key.Value]; twice {
			d.problem(path, key, "", "has key %q twice, first on line %d", key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		visit(key, value)
	}
}

// setScalar sets v from text; the error continues a sentence that begins with
// the setting's name.
func setScalar(v reflect.Value, text string, tag reflect.StructTag) error {
	switch p := v.Addr().Interface().(type) {
	case *time.Duration:
		return set(p, text, parseDuration)
	case *USD:
		return set(p, text, parseUSD)
	}
	if v.Kind() == reflect.Int {
		return setInt(v, text, tag)
	}
	if all := words(tag); all != nil {
		if err := oneOf(text, all); err != nil {
			return err
		}
	}
	v.SetString(text)
	return nil
}

// words are those that a value may be, nil where it may be any.
func words(tag reflect.StructTag) []string {
	if all := tag.Get("words"); all != "" {
		return strings.Split(all, "|")
	}
	return nil
}

func set[T any](to *T, text string, parse func(string) (T, error)) error {
	value, err := parse(text)
	if err == nil {
		*to = value
	}
	return err
}

func setInt(v reflect.Value, text string, tag reflect.StructTag) error {
	low, _ := strconv.Atoi(tag.Get("min"))
	high, _ := strconv.Atoi(tag.Get("max"))
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return fmt.Errorf("is a number from %d to %d, not %q", low, high, text)
	}
	v.SetInt(int64(n))
	return nil
}

func oneOf(text string, words []string) error {
	if slices.Contains(words, text) {
		return nil
	}
	last := len(words) - 1
	return fmt.Errorf("is %s or %s, not %q", strings.Join(words[:last], ", "), words[last], text)
}

func shape(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "mapping"
	case n.Kind == yaml.SequenceNode:
		return "list"
	case null(n):
		return "key without a value"
	}
	return "single value"
}
