package form

import "fmt"

// objectSchema is the JSON Schema of an object with the keys of a table.
func objectSchema[T any](table []field[T]) *node {
	keys, must := &node{kind: object}, &node{kind: list}
	for _, f := range table {
		s := f.schema()
		if f.about != "" {
			s = &node{kind: object, pairs: append([]pair{{key: "description", value: texts(f.about)}}, s.pairs...)}
		}
		keys.put(f.key, s)
		if f.must {
			must.items = append(must.items, texts(f.key))
		}
	}
	n := schemaOf("type", "object", "properties", keys, "additionalProperties", false)
	if len(must.items) > 0 {
		n.put("required", must)
	}
	return n
}

// Schema returns the JSON Schema (2020-12) of a form: YAML and JSON have the
// same. It accepts every document that [Read] reads without an error. Markdown
// has none.
func Schema(f Form) ([]byte, error) {
	var s *node
	title := ""
	switch f {
	case YAML, JSON:
		s, title = objectSchema(sheetFields()), "Piton plan"
	case DAG:
		s, title = objectSchema(dagFields()), "Piton plan of tool calls"
	case TaskPlan:
		s, title = objectSchema(taskFields()), "Piton task plan"
	default:
		return nil, fmt.Errorf("there is no JSON Schema for the form %q", f)
	}
	root := schemaOf("$schema", "https://json-schema.org/draft/2020-12/schema", "title", title)
	root.pairs = append(root.pairs, s.pairs...)
	return writeJSON(root), nil
}
