package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxArgsDepth is how deep the arguments of a tool may be nested.
const maxArgsDepth = 64

// Arguments is what a text of JSON or YAML says.
type Arguments struct {
	Value  any            // map[string]any, []any, string, json.Number, bool or nil
	Places map[string]Pos // where each part stands, by its JSON pointer; "" is the whole
}

// ReadArguments reads the arguments of a tool. No text is an empty object. The
// error says where it is wrong.
func ReadArguments(t Text) (Arguments, error) {
	a := Arguments{Value: map[string]any{}, Places: map[string]Pos{"": t.Pos}}
	if strings.TrimSpace(t.Value) == "" {
		return a, nil
	}
	var err error
	if t.Lang == "yaml" || t.Lang == "yml" {
		a.Value, err = readYAML(t, a.Places)
	} else {
		a.Value, err = readJSON(t, a.Places)
	}
	return a, err
}

// jsonArgs reads JSON and notes where the parts begin.
type jsonArgs struct {
	text   Text
	dec    *json.Decoder
	places map[string]Pos
}

func readJSON(t Text, places map[string]Pos) (any, error) {
	j := jsonArgs{t, json.NewDecoder(strings.NewReader(t.Value)), places}
	j.dec.UseNumber()
	v, err := j.value("", 1)
	if err == nil && strings.TrimSpace(t.Value[j.dec.InputOffset():]) != "" {
		err = errors.New("there is more than one value")
	}
	return v, err
}

// begins is the offset of the next value or key.
func (j jsonArgs) begins() int {
	at := int(j.dec.InputOffset())
	return at + len(j.text.Value[at:]) - len(strings.TrimLeft(j.text.Value[at:], " \t\r\n,:"))
}

func (j jsonArgs) value(at string, depth int) (any, error) {
	if _, known := j.places[at]; !known {
		j.places[at] = j.text.At(j.begins())
	}
	if depth > maxArgsDepth {
		return nil, fmt.Errorf("values are nested more than %d deep", maxArgsDepth)
	}
	token, err := j.dec.Token()
	if err != nil {
		return nil, fmt.Errorf("this is not JSON: %w", err)
	}
	switch token {
	case json.Delim('{'):
		return j.object(at, depth)
	case json.Delim('['):
		return j.list(at, depth)
	}
	return token, nil
}

func (j jsonArgs) object(at string, depth int) (any, error) {
	m := map[string]any{}
	for j.dec.More() {
		key := j.begins()
		token, err := j.dec.Token()
		if err != nil {
			return nil, fmt.Errorf("this is not JSON: %w", err)
		}
		name, _ := token.(string)
		inner := at + "/" + escapePointer(name)
		j.places[inner] = j.text.At(key)
		if m[name], err = j.value(inner, depth+1); err != nil {
			return nil, err
		}
	}
	return m, j.end()
}

func (j jsonArgs) list(at string, depth int) (any, error) {
	list := []any{}
	for j.dec.More() {
		v, err := j.value(at+"/"+strconv.Itoa(len(list)), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, j.end()
}

func (j jsonArgs) end() error {
	if _, err := j.dec.Token(); err != nil {
		return fmt.Errorf("this is not JSON: %w", err)
	}
	return nil
}

func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func readYAML(t Text, places map[string]Pos) (any, error) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(t.Value), &root); err != nil {
		return nil, fmt.Errorf("this is not YAML: %w", err)
	}
	if len(root.Content) != 1 {
		return nil, errors.New("there is no value")
	}
	lines := append([]int{0}, lineStarts(t.Value)...)
	y := yamlArgs{t, lines, places}
	return y.value(root.Content[0], "", 1)
}

func lineStarts(s string) (starts []int) {
	for i := range len(s) {
		if s[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// yamlArgs turns YAML into what JSON can say.
type yamlArgs struct {
	text   Text
	lines  []int // offsets
	places map[string]Pos
}

func (y yamlArgs) note(n *yaml.Node, at string) {
	if _, known := y.places[at]; !known && n.Line >= 1 && n.Line <= len(y.lines) {
		y.places[at] = y.text.At(y.lines[n.Line-1] + max(n.Column-1, 0))
	}
}

func (y yamlArgs) value(n *yaml.Node, at string, depth int) (any, error) {
	y.note(n, at)
	if depth > maxArgsDepth {
		return nil, fmt.Errorf("values are nested more than %d deep", maxArgsDepth)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return y.object(n, at, depth)
	case yaml.SequenceNode:
		list := []any{}
		for i, c := range n.Content {
			v, err := y.value(c, at+"/"+strconv.Itoa(i), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.ScalarNode:
		return scalar(n)
	}
	return nil, errors.New("arguments cannot have anchors or aliases")
}

func (y yamlArgs) object(n *yaml.Node, at string, depth int) (any, error) {
	m := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return nil, errors.New("the keys of arguments are plain words")
		}
		inner := at + "/" + escapePointer(key.Value)
		y.note(key, inner)
		v, err := y.value(n.Content[i+1], inner, depth+1)
		if err != nil {
			return nil, err
		}
		m[key.Value] = v
	}
	return m, nil
}

// scalar is a value that JSON has too: a date is its text.
func scalar(n *yaml.Node) (any, error) {
	var v any
	switch n.Tag {
	case "!!null", "!!bool", "!!int", "!!float":
		if err := n.Decode(&v); err != nil {
			return nil, fmt.Errorf("read %q: %w", n.Value, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", n.Value, err)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err = d.Decode(&v)
		return v, err
	}
	return n.Value, nil
}
