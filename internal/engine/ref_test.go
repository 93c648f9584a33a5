package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRef(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Ref
		is   bool
	}{
		{"$step_1", Ref{Step: "step_1"}, true},
		{"$inv.files[3].name", Ref{"inv", []Hop{{Key: "files"}, {Index: 3}, {Key: "name"}}}, true},
		{"$a[0][1]", Ref{"a", []Hop{{Index: 0}, {Index: 1}}}, true},
		{"$a.Größe", Ref{"a", []Hop{{Key: "Größe"}}}, true},
		{"$2nd", Ref{Step: "2nd"}, true},
		{"", Ref{}, false},
		{"$", Ref{}, false},
		{"$$step", Ref{}, false},
		{"$5", Ref{}, false},
		{"$5.00", Ref{}, false},
		{"$HOME", Ref{}, false},
		{"$-a", Ref{}, false},
		{"$a and more", Ref{}, false},
		{"costs $a", Ref{}, false},
		{"$a.", Ref{}, false},
		{"$a..b", Ref{}, false},
		{"$a[", Ref{}, false},
		{"$a[]", Ref{}, false},
		{"$a[-1]", Ref{}, false},
		{"$a[01]", Ref{}, false},
		{"$a[9999999999]", Ref{}, false},
		{"$a]0]", Ref{}, false},
		{"$a" + strings.Repeat(".b", maxHops+1), Ref{}, false},
	} {
		got, is := ParseRef(tc.text)
		if is != tc.is || !is && got.Step != "" || is && !cmp.Equal(got, tc.want) {
			t.Errorf("ParseRef(%q) = %v, %v; want %v, %v", tc.text, got, is, tc.want, tc.is)
		}
	}
}

func TestResolve(t *testing.T) {
	outputs := map[string]string{
		"inv":  `{"files":[{"name":"a.go","size":1.50},{"name":"$inv"}],"none":null,"big":12345678901234567890}`,
		"text": `"plain"`,
	}
	output := func(id string) (any, error) {
		body, ok := outputs[id]
		if !ok {
			return nil, errors.New("no output")
		}
		return DecodeValue([]byte(body))
	}
	for _, tc := range []struct{ in, want, err string }{
		{`"$text"`, `"plain"`, ""},
		{`{"p":"$inv.files[0].name","n":"$inv.files[0].size","b":"$inv.big","<":["$inv.none",7]}`, `{"<":[null,7],"b":12345678901234567890,"n":1.50,"p":"a.go"}`, ""},
		{`"$inv.files[1].name"`, `"$inv"`, ""}, // what comes out is not looked into again
		{`["$$text","$$","$5","cost $text","$HOME"]`, `["$text","$","$5","cost $text","$HOME"]`, ""},
		{`"$nobody"`, "", "$nobody: no output"},
		{`{"a":["$inv.fils"]}`, "", `$inv.fils: $inv has no key "fils"; it has big, files, none`},
		{`"$inv.files[2]"`, "", "$inv.files[2]: $inv.files is a list of 2, counted from 0"},
		{`"$inv.files.name"`, "", `$inv.files.name: $inv.files is a list, so "name" is no part of it; [0] is its first element`},
		{`"$inv[0]"`, "", "$inv[0]: $inv is an object, not a list"},
		{`"$text.a"`, "", "$text.a: $text is a text and has no parts"},
		{`"$inv.none[0]"`, "", "$inv.none[0]: $inv.none is null and has no parts"},
	} {
		v, err := DecodeValue([]byte(tc.in))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Resolve(v, output)
		if text(fmt.Sprint(err)) != tc.err && (err != nil || tc.err != "") {
			t.Errorf("%s: error %q, want %q", tc.in, err, tc.err)
		}
		if body, _ := EncodeValue(got); err == nil && string(body) != tc.want {
			t.Errorf("%s: got %s, want %s", tc.in, body, tc.want)
		}
	}
}

func TestRefs(t *testing.T) {
	v, err := DecodeValue([]byte(`{"b":"$two[0]","a/~":["x","$one"],"c":{"$three":"$$four"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for at, r := range Refs(v) {
		got = append(got, at+" "+r.String())
	}
	if want := []string{"/a~1~0/1 $one", "/b $two[0]"}; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	for range Refs(v) {
		break // must end there
	}
}

func TestRefFits(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"files":{"type":"array","items":{"$ref":"#/$defs/file"}},
		"free":{"type":"object","properties":{"a":{}},"additionalProperties":true},
		"loop":{"$ref":"#/properties/loop"}},
		"$defs":{"file":{"type":"object","properties":{"name":{"type":"string"}}}}}`
	s, err := DecodeValue([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"$i":                  "",
		"$i.files[7].name":    "",
		"$i.free.b":           "",
		"$i.loop.x.y":         "",
		"$i.fils":             `$i.fils: $i has no key "fils" by its schema; it has files, free, loop`,
		"$i[0]":               "$i[0]: $i is an object by its schema, not an array",
		"$i.files.name":       "$i.files.name: $i.files is an array by its schema, not an object",
		"$i.files[0].size":    `$i.files[0].size: $i.files[0] has no key "size" by its schema; it has name`,
		"$i.files[0].name[0]": "$i.files[0].name[0]: $i.files[0].name is a string by its schema, not an array",
	} {
		r, ok := ParseRef(ref)
		if !ok {
			t.Fatal(ref)
		}
		got := ""
		if err := r.Fits(s); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
}

func TestRefFitsEach(t *testing.T) {
	s, err := DecodeValue([]byte(`{"type": "object", "properties": {"path": {"$ref": "#/$defs/name"}}, "$defs": {"name": {"type": "string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ref    string
		schema any
		want   string
	}{
		{"$w", s, ""},
		{"$w[3].path", s, ""},
		{"$w[3].path.x", s, "$w[3].path.x: $w[3].path is a string by its schema, not an object"},
		{"$w[0].pat", s, `$w[0].pat: $w[0] has no key "pat" by its schema; it has path`},
		{"$w.path", s, "$w.path: $w is a list, with one output for each item of the step; $w[0].path is of the first"},
		{"$w.path", nil, "$w.path: $w is a list, with one output for each item of the step; $w[0].path is of the first"},
		{"$w[0].anything", nil, ""},
	} {
		r, ok := ParseRef(c.ref)
		if !ok {
			t.Fatal(c.ref)
		}
		got := ""
		if err := r.FitsEach(c.schema); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.ref, got, c.want)
		}
	}
}

func TestDecodeValueRefuses(t *testing.T) {
	for _, body := range []string{"", "{", "1 2", `{"a":1}x`, `"` + strings.Repeat("a", MaxOutput) + `"`} {
		if v, err := DecodeValue([]byte(body)); err == nil {
			t.Errorf("DecodeValue(%.20q) = %v", body, v)
		}
	}
}

// FuzzRef holds: a reference is its own spelling, a string is a reference or a
// literal and never both, and resolving neither panics nor gives what is no JSON.
func FuzzRef(f *testing.F) {
	for _, s := range []string{"$a", "$a.b[0]", "$$a", "$", "$a[1][2].c", "x", "$5", "$a.é"} {
		f.Add(s, `{"b":[{"c":1}],"é":"$a"}`, `{"properties":{"b":{"items":{"$ref":"#"}}},"type":"object"}`)
	}
	f.Fuzz(func(t *testing.T, s, body, schema string) {
		r, is := ParseRef(s)
		if is && r.String() != s {
			t.Fatalf("%q reads as %q", s, r)
		}
		if is && Literal(s) != s {
			t.Fatalf("%q is a reference and an escape", s)
		}
		if sv, err := DecodeValue([]byte(schema)); err == nil && is {
			_ = r.Fits(sv)
		}
		v, err := DecodeValue([]byte(body))
		if err != nil {
			return
		}
		got, err := Resolve(v, func(string) (any, error) { return v, nil })
		if err != nil {
			return
		}
		out, err := EncodeValue(got)
		if err != nil || !json.Valid(out) {
			t.Fatalf("%q gives %q, %v", body, out, err)
		}
		if is {
			if part, err := r.In(v); err == nil {
				if _, err := EncodeValue(part); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
