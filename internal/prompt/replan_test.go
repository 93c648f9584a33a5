package prompt_test

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/prompt"
)

func revision() prompt.Revision {
	s := step()
	return prompt.Revision{
		Plan: "---\ntype: plan\n---\n\n# Fix it\n\n### 1. Look\n```\nls\n```\n",
		Why:  "contract exited 1, wanted 0",
		Failures: []engine.Failure{{
			Step: s, Attempt: 3, Verdict: engine.Fail, Reason: "contract exited 1, wanted 0",
			Feedback: []engine.Feedback{{Check: "contract", Verdict: engine.Fail, Exit: 1, Stderr: hostile}},
			Claims:   engine.Claims{Blocked: "there is no tests/auth"},
		}},
		Done: []string{"look"}, Discoveries: []string{"the tests moved to test/auth", hostile},
		Agents: []prompt.Role{{Name: "coder", When: "write and fix code"}, {Name: "script", Shell: true}}, Tools: planning().Tools,
	}
}

func TestReplan(t *testing.T) {
	asked := revision()
	asked.Asked, asked.Why, asked.Failures, asked.Done, asked.Discoveries = true, "It takes too long.", nil, nil, nil
	advised := asked
	advised.Asked, advised.Advised, advised.Why, advised.Done = false, true, "The tests have moved.", []string{"look"}
	golden(t, "replan", prompt.Replan(revision()))
	golden(t, "replan_asked", prompt.Replan(asked))
	golden(t, "replan_advised", prompt.Replan(advised))
}

func TestReplanIsBounded(t *testing.T) {
	in := revision()
	one := in.Failures[0]
	one.Feedback = []engine.Feedback{{Check: "contract", Verdict: engine.Fail, Exit: 1, Stdout: numbered(5000)}}
	for range 500 {
		in.Failures = append(in.Failures, one)
		in.Discoveries = append(in.Discoveries, strings.Repeat("x", 5000))
	}
	if got := len(prompt.Replan(in)); got > 300<<10 {
		t.Errorf("%d bytes", got)
	}
}
