package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Schema is the part of JSON Schema that answers and outputs are checked by:
// type, properties, required, additionalProperties, items, enum, const,
// minimum, maximum, minLength, maxLength, minItems, maxItems and pattern.
// Words that only describe are left out of account.
type Schema struct{ root map[string]any }

var schemaWords = []string{
	"additionalProperties", "const", "default", "description", "enum", "examples", "items", "maxItems", "maxLength",
	"maximum", "minItems", "minLength", "minimum", "pattern", "properties", "required", "title", "type", "$schema",
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// ParseSchema reads a schema. Words that it does not know, and values that a
// word cannot have, are errors: what is not checked must not look as if it were.
func ParseSchema(text string) (Schema, error) {
	v, err := DecodeValue([]byte(text))
	if err != nil {
		return Schema{}, err
	}
	root, ok := v.(map[string]any)
	if !ok {
		return Schema{}, errors.New("a schema is an object, such as {\"type\": \"string\"}")
	}
	return Schema{root}, soundSchema("the schema", root)
}

func soundSchema(at string, s map[string]any) error {
	for _, word := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(schemaWords, word) {
			return fmt.Errorf("%s has %q, by which nothing is checked here; there are %s", at, word, strings.Join(schemaWords, ", "))
		}
		if err := soundWord(s[word], word); err != nil {
			return fmt.Errorf("%s: %q %w", at, word, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(parts(s, "properties"))) {
		if err := soundPart(at+"."+key, parts(s, "properties")[key]); err != nil {
			return err
		}
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if part, ok := s[word].(map[string]any); ok {
			if err := soundSchema(at+" of "+word, part); err != nil {
				return err
			}
		}
	}
	return nil
}

func soundPart(at string, v any) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is no schema", at)
	}
	return soundSchema(at, s)
}

func parts(s map[string]any, word string) map[string]any {
	m, _ := s[word].(map[string]any)
	return m
}

func soundWord(v any, word string) error {
	var ok bool
	switch word {
	case "type":
		kind, text := v.(string)
		if ok = text && slices.Contains(schemaTypes, kind); !ok {
			return fmt.Errorf("is none of %s", strings.Join(schemaTypes, ", "))
		}
	case "properties", "items":
		_, ok = v.(map[string]any)
	case "additionalProperties":
		_, object := v.(map[string]any)
		_, is := v.(bool)
		ok = object || is
	case "required":
		list, is := v.([]any)
		ok = is && !slices.ContainsFunc(list, func(e any) bool { _, text := e.(string); return !text })
	case "enum":
		list, is := v.([]any)
		ok = is && len(list) > 0
	case "minimum", "maximum":
		_, ok = number(v)
	case "minLength", "maxLength", "minItems", "maxItems":
		n, is := number(v)
		ok = is && n >= 0 && n == math.Trunc(n)
	case "pattern":
		text, is := v.(string)
		_, err := regexp.Compile(text)
		ok = is && err == nil
	default:
		ok = true
	}
	if !ok {
		return errors.New("cannot be that")
	}
	return nil
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// Fits reports what of a decoded value does not fit the schema, nil if all does.
func (s Schema) Fits(v any) error { return fits("", s.root, v) }

// fits checks one value; at is its place, "" for the whole.
func fits(at string, s map[string]any, v any) error {
	if kind, ok := s["type"].(string); ok && !isType(kind, v) {
		return fmt.Errorf("%s is %s, and %s is wanted", place(at), sortOf(v), article(kind))
	}
	if want, ok := s["const"]; ok && !equal(v, want) {
		return fmt.Errorf("%s is not %s", place(at), shownValue(want))
	}
	if list, ok := s["enum"].([]any); ok && !slices.ContainsFunc(list, func(e any) bool { return equal(v, e) }) {
		return fmt.Errorf("%s is none of %s", place(at), shownValue(list))
	}
	switch v := v.(type) {
	case map[string]any:
		return fitsObject(at, s, v)
	case []any:
		return fitsList(at, s, v)
	case string:
		return fitsText(at, s, v)
	case json.Number:
		n, _ := number(v)
		return within(at, s, n, "minimum", "maximum", "")
	}
	return nil
}

func place(at string) string {
	if at == "" {
		return "it"
	}
	return strings.TrimPrefix(at, ".")
}

func shownValue(v any) string {
	body, err := EncodeValue(v)
	if err != nil || len(body) > 200 {
		return "what the schema lists"
	}
	return string(body)
}

func isType(kind string, v any) bool {
	switch v := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	case json.Number:
		n, ok := number(v)
		return kind == "number" || kind == "integer" && ok && n == math.Trunc(n)
	}
	return false
}

func equal(a, b any) bool {
	x, isX := number(a)
	y, isY := number(b)
	if isX && isY {
		return x == y
	}
	p, errP := EncodeValue(a)
	q, errQ := EncodeValue(b)
	return errP == nil && errQ == nil && string(p) == string(q)
}

func fitsObject(at string, s, v map[string]any) error {
	required, _ := s["required"].([]any)
	for _, key := range required {
		if _, ok := v[key.(string)]; !ok {
			return fmt.Errorf("%s has no %q", place(at), key)
		}
	}
	props := parts(s, "properties")
	for _, key := range slices.Sorted(maps.Keys(v)) {
		part, listed := props[key].(map[string]any)
		if !listed {
			if s["additionalProperties"] == false {
				return fmt.Errorf("%s has %q, which the schema does not; %s", place(at), key, known(props))
			}
			part = parts(s, "additionalProperties")
		}
		if err := fits(at+"."+key, part, v[key]); err != nil {
			return err
		}
	}
	return nil
}

func fitsList(at string, s map[string]any, v []any) error {
	if err := within(at, s, float64(len(v)), "minItems", "maxItems", " elements"); err != nil {
		return err
	}
	items := parts(s, "items")
	for n, e := range v {
		if err := fits(fmt.Sprintf("%s[%d]", at, n), items, e); err != nil {
			return err
		}
	}
	return nil
}

func fitsText(at string, s map[string]any, v string) error {
	if pattern, ok := s["pattern"].(string); ok {
		if re, err := regexp.Compile(pattern); err != nil || !re.MatchString(v) {
			return fmt.Errorf("%s does not match %s", place(at), pattern)
		}
	}
	return within(at, s, float64(utf8.RuneCountInString(v)), "minLength", "maxLength", " characters")
}

func within(at string, s map[string]any, n float64, least, most, unit string) error {
	if low, ok := number(s[least]); ok && n < low {
		return fmt.Errorf("%s has %g%s, at least %g are wanted", place(at), n, unit, low)
	}
	if high, ok := number(s[most]); ok && n > high {
		return fmt.Errorf("%s has %g%s, at most %g are allowed", place(at), n, unit, high)
	}
	return nil
}
