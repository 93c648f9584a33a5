package tool

import (
	"strings"
	"testing"
)

// A schema of a foreign server judges what fits and what does not, and one that has no end,
// or looks elsewhere, is refused before it judges anything.
func TestSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, value, want string }{
		{`{"type": "object", "properties": {"n": {"type": "integer"}}}`, `{"n": 12345678901234567890}`, ""},
		{`{"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}}`, `{"n": 4}`, "/properties/n: maximum"},
		{`{"type": "object", "properties": {"n": {"type": "string"}}}`, `{"n": 4}`, `want "string"`},
		{`{"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}}}`, `{"kids": [{"kids": []}]}`, ""},
		{`{"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}}}`, `{"kids": [1]}`, `want "object"`},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a~/b": {"type": "string"}}, "properties": {"x": {"$ref": "#/definitions/a~0~1b"}}}`, `{"x": 1}`, `want "string"`},
		{`{"$schema": "https://json-schema.org/draft/2019-09/schema", "properties": {"x": {"type": "string"}}}`, `{"x": 1}`, `want "string"`},
		{`{"properties": {"$ref": {"type": "string"}}}`, `{"$ref": 1}`, `want "string"`},
		{`{"enum": [{"a": [1, 2.0]}]}`, `{"a": [1.0, 2]}`, ""},
		{`{"type": "nonsense"}`, `{}`, `want "nonsense"`},
		{`true`, `{}`, ""},
		{`false`, `{}`, "not"},

		{`{"$ref": "#"}`, "", "refers to itself without end"},
		{`{"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}]}}}`, "", "refers to itself without end"},
		{`{"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"if": {"$ref": "#/$defs/a"}}}}`, "", "refers to itself without end"},
		{`{"dependentSchemas": {"x": {"$ref": "#"}}}`, "", "refers to itself without end"},
		{`{"$ref": "https://example.org/x.json"}`, "", "may not refer to"},
		{`{"$ref": "#anchor"}`, "", "may not refer to"},
		{`{"properties": {"a": {"$dynamicRef": "#x"}}}`, "", "is not supported"},
		{`{"properties": {"a": {"$id": "https://example.org/", "$ref": "#/b"}}}`, "", "address of its own"},
		{`{"$ref": "#/$defs/none"}`, "", "none"},
		{`{"type": 3}`, "", "read the schema"},
		{`{"pattern": "("}`, "", "read the schema"},
		{`{"properties": {"a": null}}`, "", "read the schema"},
	} {
		s, err := compile([]byte(c.schema))
		if err == nil && c.value != "" {
			value, _, wrong := decode([]byte(c.value))
			if wrong != nil {
				t.Fatal(wrong)
			}
			err = s.check(t.Context(), value)
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s of %s: %v", c.schema, c.value, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s of %s: %v, want %q", c.schema, c.value, err, c.want)
		}
	}
}

// Whatever a foreign server sends as its schema, reading and using it ends without a panic.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"type": "object"}, {"not": {"const": 1}}]}}}`), []byte(`{"a": [1, "b", null]}`))
	f.Add([]byte(`{"patternProperties": {"^a": {"items": {"uniqueItems": true}}}, "unevaluatedProperties": false}`), []byte(`{"ab": [[1, 1.0]]}`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := compile(schema)
		if err != nil {
			return
		}
		v, _, err := decode(value)
		if err != nil {
			return
		}
		if err := s.check(t.Context(), v); err == errSlowSchema {
			t.Error(err)
		}
	})
}
