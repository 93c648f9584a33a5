package engine

import (
	"strconv"
	"testing"
	"time"
)

func TestSchema(t *testing.T) {
	const order = `{"type":"object","required":["n"],"additionalProperties":false,"properties":{
		"n":{"type":"integer","minimum":1,"maximum":9},"to":{"enum":["a",1]},"one":{"const":null},
		"names":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","minLength":2,"maxLength":3,"pattern":"^[a-zé]+$"}}}}`
	s, err := ParseSchema(order)
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"n":3,"to":1.0,"one":null,"names":["été"]}`: "",
		`[]`:                         "it is a list, and an object is wanted",
		`{}`:                         `it has no "n"`,
		`{"n":1.5}`:                  "n is a number, and an integer is wanted",
		`{"n":0}`:                    "n has 0, at least 1 are wanted",
		`{"n":10}`:                   "n has 10, at most 9 are allowed",
		`{"n":1,"m":1}`:              `it has "m", which the schema does not; it has n, names, one, to`,
		`{"n":1,"to":"b"}`:           `to is none of ["a",1]`,
		`{"n":1,"one":0}`:            "one is not null",
		`{"n":1,"names":[]}`:         "names has 0 elements, at least 1 are wanted",
		`{"n":1,"names":["a"]}`:      "names[0] has 1 characters, at least 2 are wanted",
		`{"n":1,"names":["ab","C"]}`: "names[1] does not match ^[a-zé]+$",
		`{"n":1,"names":[true]}`:     "names[0] is true or false, and a string is wanted",
	} {
		v, err := DecodeValue([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := s.Fits(v); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{"type":"text"}`, `{"type":["string"]}`, `{"enum":[]}`, `{"properties":{"a":1}}`, `{"properties":{"a":{"format":"date"}}}`,
		`{"items":{"pattern":"("}}`, `{"minLength":-1}`, `{"required":[1]}`, `{"additionalProperties":{"$ref":"#"}}`, `{"minimum":"1"}`,
	} {
		if s, err := ParseSchema(text); err == nil {
			t.Errorf("%s is taken as %v", text, s)
		}
	}
}

// FuzzSchema holds: no schema that is taken, and no value, makes the check panic.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","required":["a"],"properties":{"a":{"enum":[1,"x"]}}}`, `{"a":1.0}`)
	f.Add(`{"items":{"minItems":1},"maxItems":3}`, `[[1],[]]`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := ParseSchema(schema)
		if err != nil {
			return
		}
		if v, err := DecodeValue([]byte(value)); err == nil {
			_ = s.Fits(v)
		}
	})
}

// BenchmarkWaiting lists 10,000 questions that wait, as rows of a state; their
// wait costs no place, no effect and no timer.
func BenchmarkWaiting(b *testing.B) {
	def := Definition{Parallel: 1}
	for n := range 10_000 {
		def.Steps = append(def.Steps, Step{ID: "s" + strconv.Itoa(n), Kind: Ask, Task: "?", Expect: ExpectAny, OnFail: OnFail{Then: Escalate}, Timeout: 1, CheckTimeout: 1})
	}
	p, err := NewProgram(def)
	if err != nil {
		b.Fatal(err)
	}
	s := &State{task: "t"}
	apply := func(e Event) {
		if err := s.Apply(Record{Stream: "t", Seq: s.seq + 1, Event: e}); err != nil {
			b.Fatal(err)
		}
	}
	apply(RunOpened{Run: "r", Program: p.Hash(), Compiled: p, Policy: Policy{MaxParallel: 1}, Frames: Window{1, 1}})
	for es := s.Decide(time.Time{}); len(es) > 0; es = s.Decide(time.Time{}) {
		apply(es[0])
	}
	rows := s.Rows()
	if len(rows.Items) != 10_000 || len(s.Effects()) != 0 || len(s.due) != 0 || !s.Idle() {
		b.Fatalf("%d items, %d effects", len(rows.Items), len(s.Effects()))
	}
	for b.Loop() {
		if es := s.Decide(time.Time{}); len(es) > 0 || !s.Idle() {
			b.Fatal("it moves")
		}
	}
}
