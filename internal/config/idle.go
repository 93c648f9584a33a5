package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Idle names what a source has set though nothing in this version heeds it: the
// key is kept, so that a configuration outlives the version, and must not be
// taken for a rule in force. The list is sorted by position.
func (c Config) Idle() []Problem {
	var list []Problem
	idle(reflect.ValueOf(c), "", func(path string) {
		if o, ok := c.firstBelow(path); ok {
			list = append(list, Problem{Origin: o, Message: fmt.Sprintf("`%s` is kept but does nothing in this version", path)})
		}
	})
	byPosition(list)
	return list
}

// idle calls visit for every path that is marked.
func idle(v reflect.Value, path string, visit func(path string)) {
	switch {
	case isScalar(v.Type()):
	case v.Kind() == reflect.Map:
		for name, entry := range v.Seq2() {
			idle(entry, join(path, name.String()), visit)
		}
	case v.Kind() == reflect.Struct:
		for _, s := range settings(v.Type()) {
			p := join(path, s.key)
			if s.tag.Get("idle") != "" {
				visit(p)
			} else {
				idle(v.Field(s.index), p, visit)
			}
		}
	}
}

// firstBelow is the first place that sets a path or anything below it.
func (c Config) firstBelow(path string) (first Origin, ok bool) {
	for p, o := range c.origins {
		if (p == path || strings.HasPrefix(p, path+".")) && (!ok || compare(o, first) < 0) {
			first, ok = o, true
		}
	}
	return first, ok
}

// byPosition sorts problems as a reader meets them: the sources weakest first,
// files from top to bottom.
func byPosition(list []Problem) {
	slices.SortStableFunc(list, func(a, b Problem) int { return compare(a.Origin, b.Origin) })
}

func compare(a, b Origin) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Source, b.Source))
}

func (o Origin) rank() int {
	switch {
	case o.File == File:
		return 1
	case o.File != "":
		return 0
	case strings.HasPrefix(o.Source, "env "):
		return 2
	}
	return 3
}
