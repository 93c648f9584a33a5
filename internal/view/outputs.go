package view

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// withArgs puts the whole arguments in the place of their beginning, behind which
// an empty line stands.
func withArgs(about string, args []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		return about
	}
	if _, rest, more := strings.Cut(about, "\n\n"); more {
		b.WriteString("\n\n" + rest)
	}
	return b.String()
}

// Outputs are what steps put out, by the hash of the object that holds it.
type Outputs map[string][]byte

// Of is the value that an event tells of, for programs: JSON as it is, all else
// as a text; nil where it tells of none.
func (o Outputs) Of(e engine.Event) json.RawMessage {
	var body []byte
	switch e := e.(type) {
	case engine.WorkEnded:
		body = o[e.Output]
	case engine.ItemAnswered:
		body = e.Output()
	}
	if len(body) == 0 {
		return nil
	}
	v, err := engine.ValueOf(body)
	if err != nil {
		return nil
	}
	value, err := engine.EncodeValue(v)
	if err != nil {
		return nil
	}
	return value
}
