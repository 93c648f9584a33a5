package model

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
)

// errNoObject is for the model as well: it may be asked once more.
var errNoObject = errors.New("it is not one JSON object of the wanted form, alone or between fences")

// fenced is an answer that ends in a block between fences, each alone on its line.
var fenced = lazy.Regexp("(?is)^(.*\n)?```[ \\t]*(?:json)?[ \\t]*\n(.*?)\n[ \\t]*```$")

// Object reads an answer that is one JSON object into v: the object is the whole answer,
// or a block between fences at its end, after words that hold neither a fence nor a brace.
// Any other object may be a quotation, which anybody may have written. A key that v does
// not have, or that stands twice, is refused.
func Object(answer string, v any) error {
	text := strings.TrimSpace(strings.ReplaceAll(strings.TrimPrefix(answer, "\ufeff"), "\r\n", "\n"))
	if m := fenced().FindStringSubmatch(text); m != nil && !strings.ContainsAny(m[1], "{}~`") {
		text = strings.TrimSpace(m[2])
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if !strings.HasPrefix(text, "{") || d.Decode(v) != nil || d.InputOffset() < int64(len(text)) {
		return errNoObject
	}
	if doubled(json.NewDecoder(strings.NewReader(text))) {
		return errNoObject
	}
	return nil
}

// doubled reports whether a key stands twice in an object of the next value. Keys that
// differ in case are the same key to the reader.
func doubled(d *json.Decoder) bool {
	t, err := d.Token()
	if err != nil {
		return false
	}
	seen := map[string]bool{}
	switch t {
	case json.Delim('{'):
		for d.More() {
			key, _ := d.Token()
			name, _ := key.(string)
			if name = strings.ToLower(name); seen[name] || doubled(d) {
				return true
			}
			seen[name] = true
		}
	case json.Delim('['):
		for d.More() {
			if doubled(d) {
				return true
			}
		}
	default:
		return false
	}
	_, err = d.Token()
	return err != nil
}
