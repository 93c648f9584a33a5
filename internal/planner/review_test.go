package planner_test

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/prompt"
)

func review(t *testing.T, answers ...any) planner.Review {
	t.Helper()
	p, _ := plan.Parse("", []byte(good))
	out, err := planner.ReviewJob{Ask: &script{answers: answers}, Prompt: "Read it.\n", Source: []byte(good), Plan: p}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReviewIsBounded: whatever a reviewer says, it is short, plain and about the plan.
func TestReviewIsBounded(t *testing.T) {
	one := `{"line": 1000000, "step": "x\u001b[2J", "text": "\u001b[2J` + strings.Repeat("é", 5000) + `", "reason": "r\u0000\nr"}`
	out := review(t, `{"findings": [`+one+strings.Repeat(","+one, 200)+`]}`)
	if len(out.Advice) != prompt.MaxAdvice || out.Ended != "" || out.Rounds != 1 {
		t.Fatalf("%d things in %d rounds, %s", len(out.Advice), out.Rounds, out.Ended)
	}
	for _, a := range out.Advice {
		if a.Line != 0 || a.Step != "" || len([]rune(a.Text)) > 601 || strings.ContainsAny(a.Text+a.Reason, "\x1b\n\x00") {
			t.Fatalf("%+v", a)
		}
	}
}

// TestNoReview: what is no strict answer is asked for once more.
func TestNoReview(t *testing.T) {
	for _, answer := range []any{
		"fine", "{}", `{"findings": [{"line": 1}]}`, `{"findings": [], "ok": true}`, `{"findings": [{"line": "1", "text": "a", "reason": "b"}]}`, `{"findings": []} {"findings": []}`,
		&model.Failure{How: engine.Exited, Reason: "it answered too much"},
	} {
		out := review(t, answer, answer, answer)
		if out.Rounds != 2 || out.Ended == "" || len(out.Advice) > 0 || out.How != engine.Exited {
			t.Errorf("%v: %+v", answer, out)
		}
		if out = review(t, answer, `{"findings": []}`); out.Ended != "" || out.Rounds != 2 {
			t.Errorf("%v, then none: %+v", answer, out)
		}
	}
	out := review(t, &model.Failure{How: engine.TimedOut, Reason: "no answer within 10m"})
	if out.Rounds != 1 || out.How != engine.TimedOut || out.Ended != "no answer within 10m" {
		t.Errorf("%+v", out)
	}
}
