package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxSchema is the most bytes of a schema of a foreign tool.
const maxSchema = 64 << 10

// schemaTime is how long a check against a schema may take. Schemas of foreign
// servers can be made so that a check takes forever.
const schemaTime = 5 * time.Second

// schema checks JSON values.
type schema struct{ resolved *jsonschema.Resolved }

// compile reads a schema of draft 7 or 2020-12. It is nil if there is none. Foreign servers
// write schemas, so that one that has no end, or that the library cannot take, is an error.
func compile(text json.RawMessage) (_ *schema, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("a schema of %d bytes, and %d are the most", len(text), maxSchema)
	}
	defer panics(&err)
	doc, _, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if err := (&references{root: doc, seen: map[string]bool{}}).follow("", doc); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if !strings.Contains(s.Schema, "draft-07") {
		s.Schema = "" // 2020-12, which other drafts are close to
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %s", bounded(err.Error(), maxMessage))
	}
	return &schema{resolved}, nil
}

// panics makes a panic of the library an error.
func panics(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the schema cannot be used: %v", p)
	}
}

// references follows what a schema refers to. A schema may refer to places in itself by
// #/path, and never so that one value is judged by the same place twice: that has no end.
type references struct {
	root any
	seen map[string]bool // by pointer; false while what it leads to is followed
}

// follow looks at a value of the document and at all in it.
func (r *references) follow(at string, v any) error {
	if err := r.judge(at, v); err != nil {
		return err
	}
	switch v := v.(type) {
	case map[string]any:
		for name, part := range v {
			switch _, word := part.(string); {
			case word && (name == "$dynamicRef" || name == "$recursiveRef"):
				return fmt.Errorf("%s: %s is not supported", at, name)
			case word && name == "$id" && at != "":
				return fmt.Errorf("%s: a part may not have an address of its own ($id)", at)
			}
			if err := r.follow(below(at, name), part); err != nil {
				return err
			}
		}
	case []any:
		for i, part := range v {
			if err := r.follow(below(at, strconv.Itoa(i)), part); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge follows what judges the same value as the schema at a place.
func (r *references) judge(at string, v any) error {
	s, is := v.(map[string]any)
	if !is {
		return nil
	}
	if done, begun := r.seen[at]; done {
		return nil
	} else if begun {
		return fmt.Errorf("%s: it refers to itself without end", at)
	}
	r.seen[at] = false
	if ref, is := s["$ref"].(string); is {
		target, part, err := r.find(ref)
		if err == nil {
			err = r.judge(target, part)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies", "not", "if", "then", "else"} {
		at := below(at, name)
		var err error
		switch part := s[name].(type) {
		case []any:
			for i, one := range part {
				err = errors.Join(err, r.judge(below(at, strconv.Itoa(i)), one))
			}
		case map[string]any:
			if name != "dependentSchemas" && name != "dependencies" {
				err = r.judge(at, part)
				break
			}
			for property, one := range part {
				err = errors.Join(err, r.judge(below(at, property), one))
			}
		}
		if err != nil {
			return err
		}
	}
	r.seen[at] = true
	return nil
}

// find is the place that a reference means.
func (r *references) find(ref string) (at string, v any, err error) {
	path, here := strings.CutPrefix(ref, "#")
	if path, err = url.PathUnescape(path); !here || err != nil || path != "" && path[0] != '/' {
		return "", nil, fmt.Errorf("a schema may not refer to %q, only to places in itself by #/path", ref)
	}
	v = r.root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		name = fromPointer.Replace(name)
		at = below(at, name)
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return "", nil, fmt.Errorf("%q refers to nothing", ref)
			}
			v = in[i]
		default:
			return "", nil, fmt.Errorf("%q refers to nothing", ref)
		}
	}
	return at, v, nil
}

// below is the pointer to a part of what another one points to (RFC 6901).
func below(at, name string) string {
	return at + "/" + toPointer.Replace(name)
}

// How a name stands in a JSON pointer.
var toPointer, fromPointer = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

var errSlowSchema = errors.New("the check against the schema takes too long")

// check reports what of a decoded value does not fit, in one line. The check
// cannot be stopped from outside: one that takes too long is left to itself.
func (s *schema) check(ctx context.Context, value any) error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, schemaTime)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer panics(&err)
		err = s.resolved.Validate(numbers(value))
	}()
	select {
	case err := <-done:
		if err != nil {
			return errors.New(oneLine(err))
		}
		return nil
	case <-ctx.Done():
		return errSlowSchema
	}
}

// numbers is a decoded value with numbers as the library counts them. The largest and the
// most precise ones are rounded: that decides nothing but how they compare to a bound.
func numbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, part := range v {
			all[name] = numbers(part)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, part := range v {
			all[i] = numbers(part)
		}
		return all
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			f = math.Copysign(math.MaxFloat64, f)
		}
		return f
	}
	return value
}

// oneLine is the innermost of what the library says, with the place in the schema.
func oneLine(err error) string {
	said, place := err.Error(), ""
	for {
		rest, more := strings.CutPrefix(said, "validating ")
		at, rest, is := strings.Cut(rest, ": ")
		if !more || !is {
			break
		}
		said, place = rest, at
	}
	if place != "" && place != "root" {
		said = place + ": " + said
	}
	return bounded(said, maxMessage)
}

// decode reads one JSON value and writes it again, so that what is checked and
// what is used are the same: the last of two equal keys, and U+FFFD for bytes
// that are no text.
func decode(text []byte) (value any, canonical json.RawMessage, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, nil, err
	}
	if dec.More() {
		return nil, nil, errors.New("more than one JSON value")
	}
	canonical, err = encode(value)
	return value, canonical, err
}

// encode writes JSON in one line, without escapes made for web pages.
func encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
