package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
)

// Entry is one field of a form for a value: a key of an object, or a value that is none.
type Entry struct {
	Name, Label, Doc string
	Kind             string // line, text, number, yes, one, json
	Value            string
	Choices          []string // of one
	Wanted           bool     // it may not be left empty
	Wrong            string

	key string // of the object; "" for the value itself
	was bool   // the value that is shown has it
}

// schemaDoc is what a form takes from a JSON Schema.
type schemaDoc struct {
	Type        any                        `json:"type"`
	Description string                     `json:"description"`
	Enum        []any                      `json:"enum"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
}

func schemaOf(text []byte) (s schemaDoc) {
	_ = json.Unmarshal(text, &s) // what cannot be read says nothing of the form
	return s
}

// entries are the fields for a value that is shown, or that a schema describes. There are none
// where only JSON can hold it.
func entries(shown json.RawMessage, schema string) []Entry {
	s := schemaOf([]byte(schema))
	var object map[string]json.RawMessage
	isObject := json.Unmarshal(shown, &object) == nil && object != nil
	switch {
	case !isObject && s.Properties == nil && s.Type == "object", shown == nil && schema == "":
		return nil
	case !isObject && s.Properties == nil:
		e := entry("", "Value", shown, []byte(schema))
		e.Name, e.Wanted = "args", true
		if e.Kind == "json" {
			return nil
		}
		return []Entry{e}
	}
	properties, err := json.Marshal(s.Properties)
	if err != nil {
		return nil
	}
	keys := slices.Concat(keysOf(shown), keysOf(properties))
	if at := strings.Index(schema, `"properties"`); at >= 0 { // in the order in which they are written
		slices.SortStableFunc(keys, func(a, b string) int {
			return strings.Index(schema[at:], `"`+a+`"`) - strings.Index(schema[at:], `"`+b+`"`)
		})
	}
	var all []Entry
	for _, key := range keys {
		if slices.ContainsFunc(all, func(e Entry) bool { return e.key == key }) {
			continue
		}
		e := entry(key, key, object[key], s.Properties[key])
		_, e.was = object[key]
		e.Name, e.Wanted = "args."+key, slices.Contains(s.Required, key)
		all = append(all, e)
	}
	return all
}

// entry is the field of a value of a kind.
func entry(key, label string, shown, schema json.RawMessage) Entry {
	e := Entry{key: key, Label: label}
	s := schemaOf(schema)
	e.Doc = s.Description
	var v any
	if shown != nil {
		_ = json.Unmarshal(shown, &v) // what is shown is JSON
	}
	for _, c := range s.Enum {
		text, is := c.(string)
		if !is {
			e.Choices = nil
			break
		}
		e.Choices = append(e.Choices, text)
	}
	switch text, isText := v.(string); {
	case len(e.Choices) > 0:
		e.Kind, e.Value = "one", text
	case isText || v == nil && s.Type == "string":
		e.Kind, e.Value = "line", text
		if strings.Contains(text, "\n") || len(text) > 80 {
			e.Kind = "text"
		}
	case isNumber(v) || v == nil && (s.Type == "number" || s.Type == "integer"):
		e.Kind, e.Value = "number", strings.TrimSpace(string(shown))
	case v == true || v == false || v == nil && s.Type == "boolean":
		e.Kind = "yes"
		if v == true {
			e.Value = "true"
		}
	default:
		e.Kind, e.Value = "json", indented(string(shown))
	}
	return e
}

func isNumber(v any) bool { _, is := v.(float64); return is }

// keysOf are the keys of an object, in its order.
func keysOf(object json.RawMessage) (keys []string) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		t, err := d.Token()
		var value json.RawMessage
		key, is := t.(string)
		if err != nil || !is || d.Decode(&value) != nil {
			return keys
		}
		keys = append(keys, key)
	}
	return keys
}

// sameKinds gives fields the kinds that they had before somebody gave another value as JSON.
func sameKinds(all, before []Entry) []Entry {
	for i := range all {
		e := &all[i]
		if at := slices.IndexFunc(before, func(b Entry) bool { return b.key == e.key }); at >= 0 && e.Kind != "json" {
			e.Kind, e.Choices = before[at].Kind, before[at].Choices
		}
	}
	return all
}

// errFields says that a field of a form is wrong; the fields say why.
var errFields = errors.New("a field is not right")

// filledIn is the value that the fields of a form make, and the fields as they were sent. What
// was not sent has the value that was shown.
func filledIn(all []Entry, form func(string) (string, bool)) (json.RawMessage, []Entry, error) {
	var object bytes.Buffer
	var failed error
	for i := range all {
		e := &all[i]
		if text, sent := form(e.Name); sent || e.Kind == "yes" {
			e.Value = typed(text)
		}
		value, err := e.json()
		if err != nil {
			e.Wrong, failed = capital(err.Error())+".", errFields
		}
		if e.key == "" {
			return value, all, failed
		}
		if value == nil {
			continue
		}
		key, err := json.Marshal(e.key)
		if err != nil {
			return nil, all, err
		}
		fmt.Fprintf(&object, "%s%s:%s", map[bool]string{true: "", false: ","}[object.Len() == 0], key, value)
	}
	return json.RawMessage("{" + object.String() + "}"), all, failed
}

// json is the value of a field; nil where it is left out.
func (e *Entry) json() (json.RawMessage, error) {
	empty := strings.TrimSpace(e.Value) == ""
	switch {
	case e.Kind == "yes" && (e.was || e.Wanted || e.Value != ""):
		return json.RawMessage(map[bool]string{true: "true", false: "false"}[e.Value != ""]), nil
	case empty && (e.Kind == "line" || e.Kind == "text") && (e.was || e.Wanted):
		return json.Marshal(e.Value)
	case empty && e.Wanted, empty && e.was && e.Kind != "yes":
		return nil, errors.New("this is wanted")
	case empty:
		return nil, nil
	case e.Kind == "number" && !numeral().MatchString(strings.TrimSpace(e.Value)):
		return nil, errors.New("this is no number")
	case e.Kind == "number", e.Kind == "json":
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(e.Value)); err != nil {
			return nil, fmt.Errorf("this is no JSON: %w", err)
		}
		return b.Bytes(), nil
	}
	return json.Marshal(e.Value)
}

// numeral is a number as JSON writes it.
var numeral = lazy.Regexp(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// blamed puts what a check says of a value at the field that it names; it reports whether it
// names one.
func blamed(all []Entry, message string) bool {
	for i := range all {
		e := &all[i]
		if e.key == "" || regexp.MustCompile(`(/|')`+regexp.QuoteMeta(e.key)+`\b`).MatchString(message) {
			e.Wrong = capital(message) + "."
			return true
		}
	}
	return false
}
