package tree

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
)

// A member is one key of a JSON object with its value as it was written.
type member struct {
	key   string
	value json.RawMessage
}

// members reads the top level of a JSON object, double keys included.
func members(text []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errMalformed
	}
	var ms []member
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return nil, errMalformed
		}
		m := member{key: name}
		if err := dec.Decode(&m.value); err != nil {
			return nil, errMalformed
		}
		ms = append(ms, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errMalformed
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errMalformed
	}
	return ms, nil
}

// extractJSON returns the members named part, as an object without layout. The
// order of keys is kept: to some programs it says something.
func extractJSON(text []byte, part string) ([]byte, error) {
	ms, err := members(text)
	if err != nil {
		return nil, err
	}
	ms = slices.DeleteFunc(ms, func(m member) bool { return m.key != part })
	if len(ms) == 0 {
		return nil, nil
	}
	return objectOf(ms, false)
}

func spliceJSON(text, part []byte, name string) ([]byte, error) {
	ms, err := members(text)
	if err != nil {
		return nil, err
	}
	var want []member
	if len(part) > 0 {
		if want, err = members(part); err != nil {
			return nil, err
		}
	}
	var out []member
	for _, m := range ms {
		if m.key != name {
			out = append(out, m)
			continue
		}
		out, want = append(out, want...), nil
	}
	return objectOf(append(out, want...), true)
}

// objectOf writes an object, indented as npm does or with no layout at all. Values
// stay as they are written.
func objectOf(ms []member, indented bool) ([]byte, error) {
	var b, laidOut bytes.Buffer
	keys := json.NewEncoder(&b)
	keys.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range ms {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := keys.Encode(m.key); err != nil {
			return nil, errMalformed
		}
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	err := json.Compact(&laidOut, b.Bytes())
	if indented {
		laidOut.Reset()
		err = json.Indent(&laidOut, b.Bytes(), "", "  ")
		laidOut.WriteByte('\n')
	}
	if err != nil {
		return nil, errMalformed
	}
	return laidOut.Bytes(), nil
}
