package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadsOfAProgram(t *testing.T) {
	step := func(id string, reads ...string) Step {
		return Step{ID: id, Kind: Script, Task: "true", Checks: []Check{{Name: Contract, Command: "true", Required: true}}, Expect: ExpectAny, OnFail: OnFail{Then: Escalate}, Timeout: 1, CheckTimeout: 1, Reads: reads}
	}
	for want, steps := range map[string][]Step{
		"":                 {step("a-b"), step("c", "a-b")},
		"not another step": {step("a"), step("b", "c")},
		"reads the output": {step("a", "a")},
		"one name":         {step("a-b"), step("a_b"), step("c", "a-b", "a_b")},
	} {
		_, err := NewProgram(Definition{Parallel: 1, Steps: steps})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestValueOf(t *testing.T) {
	for in, want := range map[string]any{
		"":                 "",
		"two\nlines\n\r\n": "two\nlines",
		" [1]\n":           []any{json.Number("1")},
		"\"a\"":            "a",
		"{broken":          "{broken",
		"\xff\n":           "\ufffd",
	} {
		got, err := ValueOf([]byte(in))
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	if _, err := ValueOf(make([]byte, MaxOutput)); err == nil {
		t.Error("an output that was cut is taken as a value")
	}
}
