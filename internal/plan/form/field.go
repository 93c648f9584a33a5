package form

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// field is one key of an object whose values go into a T.
type field[T any] struct {
	key   string
	label string // of Markdown, where it has another name; for losses
	about string
	must  bool // the form requires it
	past  bool // history: data that means nothing to a run

	schema func() *node
	read   func(r *reader, n *node, to T)
	write  func(from T) *node // nil if there is nothing to write
	text   func(T) *plan.Text // the text that the key is bound to, if it is one
}

func (f field[T]) name() string {
	if f.label != "" {
		return f.label
	}
	return f.key
}

// required is the field as one that an object must have.
func (f field[T]) required() field[T] { f.must = true; return f }

// as is the field under the name of its label.
func (f field[T]) as(label string) field[T] { f.label = label; return f }

// bound binds a key to a value: get says what it is and whether there is one to
// write, and set takes the one that was read.
func bound[T, V any](key, about string, s shape[V], get func(T) (V, bool), set func(r *reader, n *node, to T, v V)) field[T] {
	return field[T]{
		key: key, about: about, schema: s.schema,
		read: func(r *reader, n *node, to T) {
			if v, ok := s.read(r, n); ok {
				set(r, n, to, v)
			}
		},
		write: func(from T) *node {
			if v, ok := get(from); ok {
				return s.write(v)
			}
			return nil
		},
	}
}

// on binds a key to a field of the tree.
func on[T, V any](key, about string, s shape[V], get func(T) *plan.Field[V]) field[T] {
	return bound(key, about, s, func(from T) (V, bool) { return get(from).Value, get(from).Set },
		func(_ *reader, n *node, to T, v V) { *get(to) = plan.Field[V]{Value: v, Set: true, Pos: n.at} })
}

// at binds a key to a text of the tree.
func at[T any](key, about string, s shape[plan.Text], get func(T) *plan.Text) field[T] {
	f := bound(key, about, s, func(from T) (plan.Text, bool) { return *get(from), !get(from).IsZero() },
		func(_ *reader, _ *node, to T, t plan.Text) { *get(to) = t })
	f.text = get
	return f
}

// past is a key of history: its type is checked, and its value kept as data.
func past[T, V any](key, about string, s shape[V]) field[T] {
	return field[T]{
		key: key, about: about, past: true, schema: s.schema,
		read: func(r *reader, n *node, _ T) {
			if _, ok := s.read(r, n); ok {
				r.keep(key, n)
			}
		},
		write: func(T) *node { return nil },
	}
}

// anything is a value of any type.
func anything() shape[*node] {
	return shape[*node]{
		schema: func() *node { return schemaOf() },
		read:   func(_ *reader, n *node) (*node, bool) { return n, true },
		write:  func(n *node) *node { return n },
	}
}

// fieldsOf reads an object: what its table has, and a problem for all else.
func fieldsOf[T any](r *reader, n *node, to T, table []field[T]) bool {
	if !r.is(n, object) {
		return false
	}
	values := make(map[string]*node, len(n.pairs))
	for _, p := range n.pairs {
		switch {
		case !slices.ContainsFunc(table, func(f field[T]) bool { return f.key == p.key }):
			hint := ""
			if !r.Full() {
				keys := keysOf(table)
				hint = cmp.Or(plan.Nearest(p.key, keys), "take it out; the keys here are "+strings.Join(keys, ", "))
			}
			r.Add(p.at, plan.Error, plan.UnknownField, fmt.Sprintf("there is no key %q here", p.key), hint)
		default:
			values[p.key] = p.value
		}
	}
	for _, f := range table {
		switch v := values[f.key]; {
		case v != nil:
			f.read(r, v, to)
		case f.must:
			r.wrong(n, plan.MissingField, "", "the key %q is missing", f.key)
		}
	}
	return true
}

func keysOf[T any](table []field[T]) []string {
	var keys []string
	for _, f := range table {
		keys = append(keys, f.key)
	}
	return keys
}

// objectOf writes an object: the fields of its table, and what was kept.
func objectOf[T any](from T, table []field[T], kept []pair) *node {
	n := &node{kind: object}
	for _, f := range table {
		old := slices.IndexFunc(kept, func(p pair) bool { return p.key == f.key })
		if old >= 0 {
			n.put(f.key, kept[old].value)
			continue
		}
		n.put(f.key, f.write(from))
	}
	return n
}
