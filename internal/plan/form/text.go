package form

import (
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// Whether Markdown has a text in a fenced block is layout, which no other form
// keeps: scripts and data come back in one, and all else without.

// prose binds a key to running text.
func prose[T any](key, about string, get func(T) *plan.Text) field[T] {
	return at(key, about, running(), get)
}

// script binds a key to a text that Markdown has in a block of shell.
func script[T any](key, about string, get func(T) *plan.Text) field[T] {
	f := at(key, about, verbatim(), get)
	read := f.read
	f.read = func(r *reader, n *node, to T) {
		if read(r, n, to); !get(to).IsZero() {
			get(to).Fenced, get(to).Lang = true, "shell"
		}
	}
	return f
}

// data binds a key to a text of JSON, which is a value here.
func data[T any](key, about string, get func(T) *plan.Text) field[T] {
	f := at(key, about, verbatim(), get)
	f.schema = func() *node { return schemaOf("type", []string{"object", "array", "string"}) }
	plain, written := f.read, f.write
	f.read = func(r *reader, n *node, to T) {
		if n.kind == object || n.kind == list {
			*get(to) = r.json(n)
		} else {
			plain(r, n, to)
		}
		get(to).Fenced, get(to).Lang = true, "json"
	}
	f.write = func(from T) *node {
		n := valueOf(get(from))
		if n == nil && !inYAML(get(from)) {
			return written(from)
		}
		return n
	}
	return f
}

// json is a value as a text of JSON.
func (r *reader) json(n *node) plan.Text {
	value := strings.TrimSuffix(string(writeJSON(n)), "\n")
	if len(value) > plan.MaxContract {
		r.wrong(n, plan.ScriptTooLong, "put it into a file", "the value has %d bytes; at most %d are allowed", len(value), plan.MaxContract)
	}
	return plan.Placed(value, append([]plan.Pos{n.at}, make([]plan.Pos, strings.Count(value, "\n"))...))
}

// valueOf is the object or list that a text of JSON or YAML says, nil if it
// says none.
func valueOf(t *plan.Text) *node {
	if !inYAML(t) && (t.Value == "" || strings.IndexByte("{[", t.Value[0]) < 0) {
		return nil
	}
	n, err := readValue(*t)
	if err != nil || n.kind != object && n.kind != list || n.depth() > maxDepth/2 {
		return nil
	}
	return n
}

func (n *node) depth() int {
	deepest := 0
	for _, v := range n.items {
		deepest = max(deepest, v.depth())
	}
	for _, p := range n.pairs {
		deepest = max(deepest, p.value.depth())
	}
	return deepest + 1
}
