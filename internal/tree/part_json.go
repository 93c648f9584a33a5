package tree

import (
	"bytes"
	"encoding/json"
	"io"
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
	var mine []member
	for _, m := range ms {
		if m.key == part {
			mine = append(mine, m)
		}
	}
	if len(mine) == 0 {
		return nil, nil
	}
	return objectOf(mine, false)
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

// objectOf writes an object, indented as npm does or with no layout at all.
// What is not indented is canonical: the same values give the same bytes,
// however they were spelled.
func objectOf(ms []member, indented bool) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range ms {
		if i > 0 {
			b.WriteByte(',')
		}
		writeString(&b, m.key)
		b.WriteByte(':')
		if indented {
			b.Write(m.value)
		} else if err := writeValue(&b, m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	if !indented {
		return b.Bytes(), nil
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, b.Bytes(), "", "  "); err != nil {
		return nil, errMalformed
	}
	pretty.WriteByte('\n')
	return pretty.Bytes(), nil
}

// writeValue spells a value's strings in one way and drops its layout; numbers
// stay as written.
func writeValue(b *bytes.Buffer, value []byte) error {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	return writeNext(b, dec)
}

func writeNext(b *bytes.Buffer, dec *json.Decoder) error {
	t, err := dec.Token()
	if err != nil {
		return errMalformed
	}
	open, nested := t.(json.Delim)
	if !nested {
		writeScalar(b, t)
		return nil
	}
	b.WriteByte(byte(open))
	for n := 0; dec.More(); n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		if open == '{' {
			if err := writeNext(b, dec); err != nil { // the key
				return err
			}
			b.WriteByte(':')
		}
		if err := writeNext(b, dec); err != nil {
			return err
		}
	}
	b.WriteByte(byte(open) + 2) // as ] follows [ and } follows {
	_, err = dec.Token()
	return err
}

func writeScalar(b *bytes.Buffer, t json.Token) {
	if s, ok := t.(string); ok {
		writeString(b, s)
		return
	}
	body, _ := json.Marshal(t) // a number, bool or null that was just read
	b.Write(body)
}

func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // no string and no buffer fails
	b.Truncate(b.Len() - 1)
}
