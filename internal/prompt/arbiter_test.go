package prompt_test

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/prompt"
)

func arbitration() prompt.Arbitration {
	f := revision().Failures[0]
	f.Role = "coder"
	return prompt.Arbitration{
		Title: "Fix it", Steps: 5, Met: 1, Ahead: []string{"Test", hostile}, Left: 2, Attempt: f,
		History: []string{"Look: done, proven", "Fix: attempt 1 did not pass: contract exited 1, wanted 0.\n" + hostile},
		Choices: []engine.Say{engine.SayRetry, engine.SayReplan, engine.SayEscalate},
		Agents:  []engine.Candidate{{Role: "coder", When: "write code"}, {Role: "tester", When: "write tests"}},
	}
}

func TestArbiter(t *testing.T) {
	last := arbitration()
	last.Choices, last.Agents, last.Left, last.History, last.Ahead = []engine.Say{engine.SayReplan, engine.SayEscalate}, nil, 0, nil, nil
	passed := arbitration()
	passed.Choices, passed.Agents, passed.Left = []engine.Say{engine.SayContinue, engine.SayReplan, engine.SayComplete}, nil, 0
	passed.Attempt.Feedback, passed.Attempt.Verdict, passed.Attempt.Reason = nil, engine.Pass, ""
	golden(t, "arbiter", prompt.Arbiter(arbitration()))
	golden(t, "arbiter_last", prompt.Arbiter(last))
	golden(t, "arbiter_done", prompt.Arbiter(passed))
}

func TestArbiterIsBounded(t *testing.T) {
	t.Parallel()
	in := arbitration()
	in.Title, in.Attempt.Reason = strings.Repeat("t", 1<<20), strings.Repeat("r", 1<<20)
	s := *in.Attempt.Step
	s.Title, s.Task, s.Acceptance = strings.Repeat("t", 1<<20), strings.Repeat("ä", 1<<20), nil
	in.Attempt.Step = &s
	in.Attempt.Claims, in.Attempt.Feedback = engine.Claims{}, []engine.Feedback{{Check: "contract", Verdict: engine.Fail, Exit: 1, Stdout: numbered(50000)}}
	in.History = nil
	for n := range 20 {
		in.History = append(in.History, strings.Repeat(string(rune('A'+n)), 5000))
	}
	got := prompt.Arbiter(in)
	if len(got) > prompt.MaxFeedback+64<<10 {
		t.Errorf("%d bytes", len(got))
	}
	for letter, most := range map[string]int{"J": 1, "K": prompt.MaxEntry, "O": prompt.MaxEntry, "P": prompt.MaxRecent, "t": prompt.MaxRecent} {
		longest := 0
		for _, run := range strings.FieldsFunc(got, func(r rune) bool { return string(r) != letter }) {
			longest = max(longest, len(run))
		}
		if longest > most || most > 1 && letter != "t" && longest < most-1 {
			t.Errorf("%d characters of %q are shown, and %d may be", longest, letter, most)
		}
	}
}
