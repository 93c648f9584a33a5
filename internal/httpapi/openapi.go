package httpapi

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/view"
)

// object is a JSON object.
type object = map[string]any

// Description is the OpenAPI document of the routes, for a version of the program.
func Description(version string) (any, error) {
	s := schemas{named: map[reflect.Type]string{}, all: object{}}
	paths := object{}
	for _, r := range table() {
		path := wildcard.ReplaceAllString(r.Path, "{$1}")
		on, _ := paths[path].(object)
		if on == nil {
			on = object{}
			paths[path] = on
		}
		operation, err := s.operation(r)
		if err != nil {
			return nil, err
		}
		on[strings.ToLower(r.Method)] = operation
	}
	problem, err := s.of(reflect.TypeFor[Problem]())
	if err != nil {
		return nil, err
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Piton", "version": version,
			"description": "Every use case of a workspace, for programs elsewhere. Times are RFC 3339, in UTC. New keys may be added at any time.",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":  []any{object{"url": Base}},
		"security": []any{object{"token": []any{}}},
		"paths":    paths,
		"components": object{
			"schemas":         s.all,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "piton serve token NAME makes one."}},
			"responses": object{"problem": object{
				"description": "What is wrong, and what to do (RFC 9457). 401: no such token; 403: the user lacks a right; 404: no such thing; 409: it is not as was said; 422: the request is not understood; 503: the owner of the workspace does not answer.",
				"content":     object{"application/problem+json": object{"schema": problem}},
			}},
		},
	}, nil
}

// wildcard is a part of a path that has a value.
var wildcard = regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`)

func (s *schemas) operation(r Route) (object, error) {
	name := strings.ToLower(r.Method) + wildcard.ReplaceAllString(r.Path, "$1")
	op := object{"summary": r.about, "operationId": strings.NewReplacer("/", "_", ".", "_").Replace(name)}
	var parameters []any
	for _, m := range wildcard.FindAllStringSubmatch(r.Path, -1) {
		parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, q := range r.query {
		parameters = append(parameters, object{"name": q.name, "in": "query", "description": q.about, "schema": object{"type": "string"}})
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if r.request != nil {
		schema, err := s.of(r.request)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": schema}}}
	}
	kind, schema := r.kind, object{"type": "string"}
	if r.answer != nil {
		var err error
		if schema, err = s.of(r.answer); err != nil {
			return nil, err
		}
		kind = "application/json"
	}
	answers := object{
		"200":     object{"description": http.StatusText(http.StatusOK), "content": object{kind: object{"schema": schema}}},
		"default": object{"$ref": "#/components/responses/problem"},
	}
	if kind == "text/event-stream" {
		answers["204"] = object{"description": "There is nothing more."}
	}
	op["responses"] = answers
	return op, nil
}

// schemas are the JSON schemas of Go types, as encoding/json writes them. A struct with a name
// has its own, to which others refer.
type schemas struct {
	named map[reflect.Type]string
	all   object
}

// known are the schemas of types that write themselves.
var known = map[reflect.Type]object{
	reflect.TypeFor[time.Time]():       {"type": "string", "format": "date-time"},
	reflect.TypeFor[view.Stamp]():      {"type": []any{"string", "null"}, "format": "date-time"},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[[]byte]():          {"type": []any{"string", "null"}, "contentEncoding": "base64"},
}

var (
	marshals = reflect.TypeFor[json.Marshaler]()
	texts    = reflect.TypeFor[encoding.TextMarshaler]()
)

// of is the schema of a type.
func (s *schemas) of(t reflect.Type) (object, error) {
	if is, ok := known[t]; ok {
		return is, nil
	}
	if t.Kind() == reflect.Pointer {
		to, err := s.of(t.Elem())
		return object{"anyOf": []any{to, object{"type": "null"}}}, err
	}
	if t.Implements(marshals) || reflect.PointerTo(t).Implements(marshals) {
		return nil, fmt.Errorf("no schema of %s: it writes itself, and the table of those has it not", t)
	}
	if t.Implements(texts) {
		return object{"type": "string"}, nil
	}
	switch t.Kind() {
	case reflect.Interface:
		return object{}, nil
	case reflect.String:
		return object{"type": "string"}, nil
	case reflect.Bool:
		return object{"type": "boolean"}, nil
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}, nil
	case reflect.Slice:
		items, err := s.of(t.Elem())
		return object{"type": []any{"array", "null"}, "items": items}, err
	case reflect.Map:
		values, err := s.of(t.Elem())
		return object{"type": []any{"object", "null"}, "additionalProperties": values}, err
	case reflect.Struct:
		if t.Name() == "" {
			return s.fields(t)
		}
		return s.reference(t)
	}
	if t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 {
		return object{"type": "integer"}, nil
	}
	return nil, fmt.Errorf("no schema of %s", t)
}

// reference refers to the schema of a struct, which is made at first.
func (s *schemas) reference(t reflect.Type) (object, error) {
	name, made := s.named[t]
	if !made {
		name = strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		if _, taken := s.all[name]; taken {
			at := strings.Split(t.PkgPath(), "/")
			name = at[len(at)-1] + "." + name
		}
		s.named[t], s.all[name] = name, nil
		fields, err := s.fields(t)
		if err != nil {
			return nil, err
		}
		s.all[name] = fields
	}
	return object{"$ref": "#/components/schemas/" + name}, nil
}

// fields is the schema of a struct's fields.
func (s *schemas) fields(t reflect.Type) (object, error) {
	properties, required, err := s.properties(t)
	is := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		is["required"] = required
	}
	return is, err
}

func (s *schemas) properties(t reflect.Type) (properties object, required []any, err error) {
	properties = object{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			more, must, err := s.properties(inner)
			if err != nil {
				return nil, nil, err
			}
			maps.Copy(properties, more)
			if f.Type.Kind() != reflect.Pointer {
				required = append(required, must...)
			}
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if properties[name], err = s.of(f.Type); err != nil {
			return nil, nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	return properties, required, nil
}
