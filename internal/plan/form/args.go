package form

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// Arguments is what a text of JSON or YAML says.
type Arguments struct {
	Value  any                 // map[string]any, []any, string, json.Number, bool or nil
	Places map[string]plan.Pos // where each part stands, by its JSON pointer; "" is the whole
}

// ReadArguments reads the arguments of a tool. No text is an empty object. The
// error says what is wrong with them.
func ReadArguments(t plan.Text) (Arguments, error) {
	a := Arguments{Value: map[string]any{}, Places: map[string]plan.Pos{"": t.Pos}}
	if strings.TrimSpace(t.Value) == "" {
		return a, nil
	}
	n, err := readValue(t)
	if err == nil {
		a.Value = a.value(t, n, "")
	}
	return a, err
}

func inYAML(t *plan.Text) bool { return t.Lang == "yaml" || t.Lang == "yml" }

// readValue is what a text of JSON or YAML says, or the first thing that is wrong
// with it.
func readValue(t plan.Text) (*node, error) {
	var n *node
	r := &reader{}
	if inYAML(&t) {
		n = r.parseYAML(t.Value)
	} else {
		n = r.parseJSON(t.Value)
	}
	if problems := r.Sorted(); len(problems) > 0 {
		return nil, errors.New(problems[0].Message)
	}
	if n == nil {
		return nil, errors.New("there is no value")
	}
	return n, nil
}

// note keeps the place of a part, the first that is known of it. What begins with
// a quote in JSON begins there.
func (a Arguments) note(t plan.Text, at string, inner plan.Pos, quoted bool) {
	if _, known := a.Places[at]; !known {
		if quoted && !inYAML(&t) {
			inner.Column--
		}
		a.Places[at] = t.Place(inner)
	}
}

func (a Arguments) value(t plan.Text, n *node, at string) any {
	a.note(t, at, n.at, n.kind == text)
	switch n.kind {
	case object:
		m := map[string]any{}
		for _, p := range n.pairs {
			inner := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p.key)
			a.note(t, inner, p.at, true)
			m[p.key] = a.value(t, p.value, inner)
		}
		return m
	case list:
		items := []any{}
		for i, item := range n.items {
			items = append(items, a.value(t, item, at+"/"+strconv.Itoa(i)))
		}
		return items
	case number:
		return json.Number(n.value)
	case boolean:
		return n.value == "true"
	case null:
		return nil
	}
	return n.value
}
