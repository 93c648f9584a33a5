package form

import (
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// fence is how a text stands in Markdown: in a fenced block with a word behind
// the marks, or in none.
type fence struct {
	on   bool
	lang string
}

func fenceOf(t *plan.Text) fence { return fence{t.Fenced, t.Lang} }

// fenced is a text that Markdown may have in a fenced block.
type fenced[T any] struct {
	key  string
	text func(T) *plan.Text // nil if there is none
	code bool               // scripts and data: a block unless something else is said
	lang string             // of that block
}

func (f fenced[T]) usual() fence { return fence{f.code, f.lang} }

// shape is how the text is read, once it is known how it stands.
func (f fenced[T]) shape(r *reader) (shape[plan.Text], fence) {
	how, given := r.fences[f.key]
	if !given {
		how = f.usual()
	}
	if f.code || how.on {
		return verbatim(), how
	}
	return running(), how
}

func (f fenced[T]) field(about string) field[T] {
	return field[T]{
		key: f.key, about: about, schema: running().schema,
		read: func(r *reader, n *node, to T) {
			s, how := f.shape(r)
			if t, ok := s.read(r, n); ok {
				t.Fenced, t.Lang = how.on, how.lang
				*f.text(to) = t
			}
		},
		write: func(from T) *node {
			t := f.text(from)
			switch {
			case t == nil || t.IsZero():
				return nil
			case f.code || t.Fenced:
				return verbatim().write(*t)
			}
			return running().write(*t)
		},
	}
}

// data is a field for JSON or YAML text, which may stand as a value too.
func (f fenced[T]) data(about string) field[T] {
	plain := f.field(about)
	out := plain
	out.schema = func() *node { return schemaOf("type", []string{"object", "array", "string"}) }
	out.read = func(r *reader, n *node, to T) {
		if n.kind != object && n.kind != list {
			plain.read(r, n, to)
			return
		}
		t := plan.Text{Value: strings.TrimSuffix(string(writeJSON(n)), "\n"), Fenced: true, Lang: "json", Pos: n.at}
		if lines := strings.Count(t.Value, "\n") + 1; lines > 1 {
			t = plan.Placed(t.Value, append([]plan.Pos{n.at}, make([]plan.Pos, lines-1)...))
			t.Fenced, t.Lang = true, "json"
		}
		if len(t.Value) > plan.MaxContract {
			r.wrong(n, plan.ScriptTooLong, "put it into a file", "the value has %d bytes; at most %d are allowed", len(t.Value), plan.MaxContract)
		}
		*f.text(to) = t
	}
	out.write = func(from T) *node {
		t := f.text(from)
		if n := canonical(t); n != nil {
			return n
		}
		return plain.write(from)
	}
	return out
}

// canonical is the value of a text that is written just as this package would
// write that value, else nil.
func canonical(t *plan.Text) *node {
	if !t.Fenced || t.Lang != "json" {
		return nil
	}
	n := valueOf(t)
	if n == nil || string(writeJSON(n)) != t.Value+"\n" {
		return nil
	}
	return n
}

// valueOf is the object or list that a text of JSON or YAML says, nil if it
// says none.
func valueOf(t *plan.Text) *node {
	r := &reader{}
	var n *node
	switch {
	case t.Lang == "yaml" || t.Lang == "yml":
		n = r.parseYAML(t.Value)
	case t.Value != "" && strings.IndexByte("{[", t.Value[0]) >= 0:
		n = r.parseJSON(t.Value)
	}
	if n == nil || n.kind != object && n.kind != list || len(r.list) > 0 || n.depth() > maxDepth/2 {
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

// fences is the field that says how texts stand where that is not as usual.
func fences[T any](all []fenced[T]) field[T] {
	return field[T]{
		key: "fences", layout: true, first: true,
		about: "Texts that stand otherwise in Markdown than usual: the word behind the opening fence, or false for none.",
		schema: func() *node {
			keys := &node{kind: object}
			for _, f := range all {
				keys.put(f.key, fenceSchema())
			}
			return schemaOf("type", "object", "properties", keys, "additionalProperties", false)
		},
		read: func(r *reader, n *node, _ T) { readFences(r, n, all) },
		write: func(from T) *node {
			n := &node{kind: object}
			for _, f := range all {
				if t := f.text(from); t != nil && !t.IsZero() && fenceOf(t) != f.usual() {
					n.put(f.key, writeFence(fenceOf(t)))
				}
			}
			if len(n.pairs) == 0 {
				return nil
			}
			return n
		},
	}
}

func readFences[T any](r *reader, n *node, all []fenced[T]) {
	if !r.is(n, object) {
		return
	}
	var table []field[map[string]fence]
	for _, f := range all {
		table = append(table, field[map[string]fence]{key: f.key, read: func(r *reader, n *node, to map[string]fence) {
			if how, ok := readFence(r, n); ok {
				to[f.key] = how
			}
		}})
	}
	found := map[string]fence{}
	fieldsOf(r, n, found, table)
	r.fences = found
}

func fenceSchema() *node {
	either := &node{kind: list, items: []*node{schemaOf("type", "string", "pattern", `^[^ \t\r\n]*$`), schemaOf("const", false)}}
	return schemaOf("anyOf", either)
}

func readFence(r *reader, n *node) (fence, bool) {
	switch {
	case n.kind == boolean && n.value == "false":
		return fence{}, true
	case !r.is(n, text):
		return fence{}, false
	case strings.ContainsAny(n.value, blank):
		r.wrong(n, plan.BadLanguage, "write the word behind the opening fence, or false for no fence", "%q is not one word", n.value)
		return fence{}, false
	}
	return fence{true, n.value}, true
}

func writeFence(f fence) *node {
	if !f.on {
		return booleans(false)
	}
	return texts(f.lang)
}
