package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSchema is the most bytes of a schema of a foreign tool.
const maxSchema = 64 << 10

// schemaTime is how long a check against a schema may take. Schemas of foreign
// servers can be made so that a check takes forever.
const schemaTime = 5 * time.Second

// schema checks JSON values.
type schema struct{ compiled *jsonschema.Schema }

// sealed is the loader of schemas: a schema may refer to itself and to nothing else.
type sealed struct{}

func (sealed) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}

func compile(text json.RawMessage) (*schema, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("a schema of %d bytes, and %d are the most", len(text), maxSchema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	const here = "tool:///schema.json"
	c := jsonschema.NewCompiler()
	c.UseLoader(sealed{})
	if err := c.AddResource(here, doc); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	compiled, err := c.Compile(here)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %s", oneLine(err))
	}
	return &schema{compiled}, nil
}

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
	go func() { done <- s.compiled.Validate(value) }()
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

// oneLine shortens the validator's list of what is wrong to its points.
func oneLine(err error) string {
	var points []string
	for line := range strings.Lines(err.Error()) {
		point, ok := strings.CutPrefix(strings.TrimSpace(line), "- at ")
		if ok {
			points = append(points, strings.TrimPrefix(point, "'': "))
		}
	}
	if len(points) == 0 {
		return bounded(err.Error(), maxMessage)
	}
	return bounded(strings.Join(points, "; "), maxMessage)
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
