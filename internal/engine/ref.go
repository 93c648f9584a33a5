package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MaxOutput is how large the output of a step may be, in bytes.
const MaxOutput = 1 << 20

// maxHops is how deep a reference may reach.
const maxHops = 32

// Ref is a reference to the output of a step, or to a part of it: a whole
// string of the form $id, $id.key or $id[0].name. A dollar that begins anything
// else is a dollar.
type Ref struct {
	Step string // the id
	Path []Hop
}

// Hop is one part of the way into a value: into an object by key, or, where Key
// is "", into a list by index, from 0.
type Hop struct {
	Key   string
	Index int
}

// ParseRef reads a reference. It reports whether the string is one; use
// [Literal] for any other.
func ParseRef(s string) (Ref, bool) {
	rest, ok := strings.CutPrefix(s, "$")
	if !ok {
		return Ref{}, false
	}
	end := span(rest, isID)
	r := Ref{Step: rest[:end]}
	if strings.Trim(r.Step, "0123456789_-") == "" || strings.Trim(r.Step[:1], "_-") == "" {
		return Ref{}, false // a number is an amount of dollars
	}
	for rest = rest[end:]; rest != ""; {
		var h Hop
		if h, rest, ok = hop(rest); !ok || len(r.Path) == maxHops {
			return Ref{}, false
		}
		r.Path = append(r.Path, h)
	}
	return r, true
}

// hop reads .key or [n] and returns what is left.
func hop(s string) (Hop, string, bool) {
	if key, ok := strings.CutPrefix(s, "."); ok {
		end := span(key, isKey)
		return Hop{Key: key[:end]}, key[end:], end > 0
	}
	number, rest, closed := strings.Cut(strings.TrimPrefix(s, "["), "]")
	n, err := strconv.ParseUint(number, 10, 31)
	plain := number == strconv.FormatUint(n, 10) // one spelling of each
	return Hop{Index: int(n)}, rest, s[0] == '[' && closed && err == nil && plain
}

func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func isID(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func isKey(c byte) bool { return isID(c) || c >= 'A' && c <= 'Z' || c >= 0x80 }

// String is the reference as a plan's author writes it.
func (r Ref) String() string { return r.upTo(len(r.Path)) }

func (r Ref) upTo(n int) string {
	var b strings.Builder
	b.WriteString("$" + r.Step)
	for _, h := range r.Path[:n] {
		if h.Key != "" {
			b.WriteString("." + h.Key)
		} else {
			fmt.Fprintf(&b, "[%d]", h.Index)
		}
	}
	return b.String()
}

// Literal is what a string that is no reference means: $$ at its beginning is
// one dollar.
func Literal(s string) string {
	if strings.HasPrefix(s, "$$") {
		return s[1:]
	}
	return s
}

// DecodeValue reads one JSON value of at most [MaxOutput] bytes. Numbers keep
// their spelling, as json.Number.
func DecodeValue(body []byte) (any, error) {
	if len(body) > MaxOutput {
		return nil, fmt.Errorf("a value of %d bytes; at most %d are allowed", len(body), MaxOutput)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("read value: %w", err)
	}
	if len(bytes.TrimLeft(body[d.InputOffset():], " \t\r\n")) > 0 {
		return nil, errors.New("read value: more than one")
	}
	return v, nil
}

// EncodeValue writes a value that [DecodeValue] gave, always alike: the keys of
// objects sorted, no blanks.
func EncodeValue(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write value: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Canonical returns JSON as [EncodeValue] writes it.
func Canonical(body []byte) (json.RawMessage, error) {
	v, err := DecodeValue(body)
	if err != nil {
		return nil, err
	}
	return EncodeValue(v)
}

// In finds what the reference means in its step's decoded output. The error
// names the first part that is not there.
func (r Ref) In(v any) (any, error) {
	for n, h := range r.Path {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[h.Key]
			if h.Key == "" {
				return nil, fmt.Errorf("%s: %s is an object, not a list", r, r.upTo(n))
			}
			if !ok {
				return nil, fmt.Errorf("%s: %s has no key %q; %s", r, r.upTo(n), h.Key, known(at))
			}
			v = next
		case []any:
			switch {
			case h.Key != "":
				return nil, fmt.Errorf("%s: %s is a list, so %q is no part of it; [0] is its first element", r, r.upTo(n), h.Key)
			case h.Index >= len(at):
				return nil, fmt.Errorf("%s: %s is a list of %d, counted from 0", r, r.upTo(n), len(at))
			}
			v = at[h.Index]
		default:
			return nil, fmt.Errorf("%s: %s is %s and has no parts", r, r.upTo(n), sortOf(v))
		}
	}
	return v, nil
}

// known lists the first few keys of an object.
func known(m map[string]any) string {
	keys := slices.Sorted(maps.Keys(m))
	switch {
	case len(keys) == 0:
		return "it has none"
	case len(keys) > 8:
		keys = append(keys[:8], "…")
	}
	return "it has " + strings.Join(keys, ", ")
}

// sortOf says for people what kind of value v is.
func sortOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// Refs yields the references in a decoded value, each with its place as a JSON
// pointer, in the order of keys and elements.
func Refs(v any) iter.Seq2[string, Ref] {
	return func(yield func(string, Ref) bool) {
		for at, text := range Texts(v) {
			if r, ok := ParseRef(text); ok && !yield(at, r) {
				return
			}
		}
	}
}

// Texts yields the strings in a decoded value, keys aside, as [Refs] does the
// references.
func Texts(v any) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { eachText("", v, yield) }
}

func eachText(at string, v any, yield func(string, string) bool) bool {
	switch v := v.(type) {
	case string:
		return yield(at, v)
	case []any:
		for n, e := range v {
			if !eachText(at+"/"+strconv.Itoa(n), e, yield) {
				return false
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if !eachText(at+"/"+pointerEscapes.Replace(k), v[k], yield) {
				return false
			}
		}
	}
	return true
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Resolve returns a copy of a decoded value with what its references mean in
// place of them, and one dollar for two. The values that output returns are not
// looked into for references again, and the caller must not change them after.
// The first error of output, or reference that leads nowhere, ends it.
func Resolve(v any, output func(step string) (any, error)) (any, error) {
	return replaced(v, func(leaf any) (any, error) {
		text, ok := leaf.(string)
		if !ok {
			return leaf, nil
		}
		r, ok := ParseRef(text)
		if !ok {
			return Literal(text), nil
		}
		whole, err := output(r.Step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r, err)
		}
		return r.In(whole)
	})
}

// replaced returns a copy of a decoded value with what leaf makes of everything in
// it that is no list and no object. The first error ends it.
func replaced(v any, leaf func(any) (any, error)) (_ any, err error) {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for n, e := range v {
			if list[n], err = replaced(e, leaf); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if m[k], err = replaced(v[k], leaf); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return leaf(v)
}

// Fits reports why no output of a decoded JSON Schema can have what the
// reference names: a key that an object with properties does not list, or a
// part of what has none. Where the schema says nothing, anything may be.
func (r Ref) Fits(schema any) error { return r.fits(0, schema) }

// FitsEach is [Ref.Fits] for the output of a step that is done for each of its
// items: a list of what the schema describes, which may be nil.
func (r Ref) FitsEach(schema any) error {
	if len(r.Path) == 0 {
		return nil
	}
	if r.Path[0].Key != "" {
		first := Ref{r.Step, slices.Insert(slices.Clone(r.Path), 0, Hop{})}
		return fmt.Errorf("%s: %s is a list, with one output for each item of the step; %s is of the first", r, r.upTo(0), first)
	}
	return r.fits(1, schema)
}

// fits is [Ref.Fits] for the parts of the way from the given one on.
func (r Ref) fits(from int, schema any) error {
	root := schema
	for n := from; n < len(r.Path); n++ {
		h := r.Path[n]
		s, ok := follow(root, schema)
		if !ok {
			return nil
		}
		if kind, set := s["type"].(string); set && kind != h.wants() {
			return fmt.Errorf("%s: %s is %s by its schema, not %s", r, r.upTo(n), article(kind), article(h.wants()))
		}
		if h.Key == "" {
			schema = s["items"]
			continue
		}
		props, listed := s["properties"].(map[string]any)
		next, has := props[h.Key]
		if listed && !has && !open(s) {
			return fmt.Errorf("%s: %s has no key %q by its schema; %s", r, r.upTo(n), h.Key, known(props))
		}
		schema = next
	}
	return nil
}

func (h Hop) wants() string {
	if h.Key == "" {
		return "array"
	}
	return "object"
}

func article(kind string) string {
	if strings.ContainsAny(kind[:min(1, len(kind))], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}

// open reports whether an object may have keys beside its properties.
func open(s map[string]any) bool {
	more, set := s["additionalProperties"]
	return set && more != false || s["patternProperties"] != nil || combined(s)
}

// combined reports whether other schemas have a say in this one.
func combined(s map[string]any) bool {
	return slices.ContainsFunc([]string{"allOf", "anyOf", "oneOf", "if", "dependentSchemas", "unevaluatedProperties"}, func(k string) bool { return s[k] != nil })
}

// follow finds what a schema with a local $ref stands for. It reports false
// where it cannot be told what the schema allows.
func follow(root, schema any) (map[string]any, bool) {
	for range maxHops {
		s, ok := schema.(map[string]any)
		if !ok {
			return nil, false
		}
		ref, refers := s["$ref"].(string)
		if !refers {
			return s, true
		}
		path, local := strings.CutPrefix(ref, "#/")
		if !local {
			return nil, false
		}
		schema = root
		for part := range strings.SplitSeq(path, "/") {
			m, _ := schema.(map[string]any)
			schema = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
	}
	return nil, false
}
