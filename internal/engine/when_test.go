package engine

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

func TestCondition(t *testing.T) {
	outputs := map[string]any{}
	for id, body := range map[string]string{"inv": `{"files":["a","b"],"n":2,"half":0.5}`, "check-docs": `"yes"`, "gone": `null`, "env": `"ok"`, "len": `3`, "in": `4`} {
		v, err := DecodeValue([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		outputs[id] = v
	}
	known := func(id string) bool { _, ok := outputs[id]; return ok }
	for text, want := range map[string]string{
		`$inv.n == 2 and inv.half < 1`:          "true",
		`len($inv.files) - 1 == 1`:              "true",
		`$check-docs == "yes"`:                  "true",
		`$inv.n-1 == 1`:                         "true",
		`"$check-docs" == 'a\'$later' || false`: "false",
		`"c" in $inv.files`:                     "false",
		`gone == nil`:                           "true",
		`$env == "ok" and env == "ok"`:          "true",
		`$env.x == 1`:                           "invalid operation: int(string)",
		`$len + len("ab") == 5 and $in == 4`:    "true",
		`$ENV == "ok"`:                          "0: unknown name $ENV",
		`$gone.x`:                               "cannot fetch x from <nil>",
		`$inv.n`:                                "invalid operation: bool(int)",
		`$later == 1`:                           "0: unknown name $later",
		`true && later`:                         "8: unknown name later",
		`"é" == $later`:                         "8: unknown name $later",
		`1 + 1`:                                 "0: expected bool, but got int",
		`"a" < 1`:                               "4: invalid operation: < (mismatched types string and int)",
		`any($inv.files, # == "a")`:             "16: loops over elements are not for conditions",
		`2 in 1..3`:                             "6: ranges are not for conditions",
		`now() == now()`:                        "0: unknown name now",
		strings.Repeat("1+", 9) + "1 == 10":     "17: more than 8 additions",
		strings.Repeat(" ", maxCondition) + "true": "0: it has 2052 bytes; at most 2048 are allowed",
	} {
		got := ""
		c, err := ParseCondition(text, known)
		if wrong, ok := errors.AsType[*ConditionError](err); ok {
			got = strings.TrimSpace(strings.Join([]string{strconv.Itoa(wrong.Offset), wrong.Message}, ": "))
		} else if err != nil {
			t.Fatal(err)
		} else if holds, err := c.Holds(outputs); err != nil {
			got = err.Error()
		} else {
			got = map[bool]string{true: "true", false: "false"}[holds]
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// FuzzCondition holds: no text makes compiling or evaluating panic, and what is
// wrong is within the text.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{`$a-b == "x"`, `a in [1, 2]`, `$a.b[0]?.c ?? false`, `"é`, `$a-b-c`, `len(a) > 1 ? true : a == nil`} {
		f.Add(s, `{"b":[1,"x",null]}`)
	}
	f.Fuzz(func(t *testing.T, s, value string) {
		c, err := ParseCondition(s, func(id string) bool { return id == "a" || id == "a-b" })
		if wrong, ok := errors.AsType[*ConditionError](err); ok && (wrong.Offset < 0 || wrong.Offset > len(s)) {
			t.Fatalf("%d is not in %q", wrong.Offset, s)
		}
		if v, bad := DecodeValue([]byte(value)); err == nil && bad == nil {
			_, _ = c.Holds(map[string]any{"a": v, "a-b": v})
		}
	})
}

// TestConditionOfNoStep: the expression language's own names are no way in.
func TestConditionOfNoStep(t *testing.T) {
	for _, text := range []string{`$env == nil`, `$env["a"] == 1`, `len($env) > 0`} {
		if _, err := ParseCondition(text, func(id string) bool { return id == "a" }); err == nil {
			t.Errorf("%s compiles", text)
		}
	}
}
