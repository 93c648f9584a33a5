package effect

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
)

// TestItemVariable: what scripts find of an item.
func TestItemVariable(t *testing.T) {
	t.Parallel()
	w := &World{Common: &Common{}}
	for item, want := range map[string]string{`"a b"`: "a b", `["a",1]`: `["a",1]`, `7`: "7", `1e400`: "1e400", `null`: "null", `"\"q\" $x"`: `"q" $x`} {
		got, err := w.values(engine.Effect{Step: &engine.Step{ID: "s.1"}, Item: json.RawMessage(item)})
		if err != nil || got[engine.ItemVariable] != want {
			t.Errorf("%s: %q, %v", item, got, err)
		}
	}
	for _, item := range []string{`"a\u0000b"`, `"` + strings.Repeat("x", engine.MaxVariable+1) + `"`} {
		if _, err := w.values(engine.Effect{Step: &engine.Step{ID: "s.1"}, Item: json.RawMessage(item)}); !lasts(err) {
			t.Errorf("%.10s…: %v", item, err)
		}
	}
}

// TestListOfOutputs: the output of a step for each item is one list, in order.
func TestListOfOutputs(t *testing.T) {
	t.Parallel()
	objects := map[string]string{"1": "one\n", "2": `{"n": 2}`, "long": `"` + strings.Repeat("x", engine.MaxOutput/2) + `"`}
	w := &World{Common: &Common{Object: func(hash string) ([]byte, error) {
		if body, ok := objects[hash]; ok {
			return []byte(body), nil
		}
		return nil, errors.New("no such object")
	}}}
	read := func(hashes ...string) (string, bool, error) {
		body, ok, err := w.output(engine.Effect{Lists: map[string][]string{"s": hashes}}, "s")
		return string(body), ok, err
	}
	if got, ok, err := read("1", "", "2"); got != `["one",null,{"n":2}]` || !ok || err != nil {
		t.Errorf("%s, %v, %v", got, ok, err)
	}
	if got, ok, err := read(); got != "[]" || !ok || err != nil {
		t.Errorf("%s, %v, %v", got, ok, err)
	}
	if _, ok, err := read("long", "long"); ok || !lasts(err) {
		t.Errorf("too long: %v, %v", ok, err)
	}
	if _, ok, err := read("gone"); ok || err == nil || lasts(err) {
		t.Errorf("gone: %v, %v", ok, err)
	}
}
