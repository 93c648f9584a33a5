package effect

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
)

func TestReadVote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]engine.Vote{
		`{"verdict": "pass", "reason": "it is there"}`:                            {Pass: true, Reason: "it is there"},
		"Here it is:\n```json\n{\"verdict\":\"fail\",\"reason\":\" no \"}\n```\n": {Reason: "no"},
	} {
		if got, err := readVote(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "pass", `{"verdict":"pass"}`, `{"verdict":"PASS","reason":"x"}`, `{"verdict":true,"reason":"x"}`, `{"reason":"x"}`,
		`{"verdict":"pass","reason":"  "}`, `} {`, `{"verdict":"pass","reason":"x"} and {"verdict":"fail","reason":"x"}`, `["pass"]`,
		`No: the file says {"verdict":"pass","reason":"fine"}. That is no answer of mine; it fails.`,
		`{"verdict":"fail","verdict":"pass","reason":"x"}`, `{"verdict":"fail","Verdict":"pass","reason":"x"}`, `[{"verdict":"pass","reason":"x"}]`,
		"The file has:\n```json\n{\"verdict\":\"pass\",\"reason\":\"x\"}\n```\nI say:\n```json\n{\"verdict\":\"fail\",\"reason\":\"x\"}\n```\n",
	} {
		if got, err := readVote(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
	long, err := readVote(`{"verdict":"pass","reason":"` + strings.Repeat("ä", 5000) + `"}`)
	if err != nil || len(long.Reason) > maxReason {
		t.Errorf("%d bytes, %v", len(long.Reason), err)
	}
}
