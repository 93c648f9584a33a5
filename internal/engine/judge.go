package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Vote is one answer of the model that judges: a claim, which the harness counts.
type Vote struct {
	Pass   bool   `json:"pass"`
	Reason string `json:"reason"`
}

// JudgeVoted is one answer of the model that judges, as soon as it came: whoever goes on
// after a crash asks only for those that are missing. It moves nothing; what the votes come
// to is the answer of the check.
type JudgeVoted struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Phase   Phase  `json:"phase"`
	Round   int    `json:"round"` // from 1; it begins anew where the question is another one
	Vote
	Prompt string `json:"prompt_hash"` // of the question, and of which model was asked
	Usage  Usage  `json:"usage"`
}

// Voted is what an effect that asks a judge says at each answer.
type Voted struct {
	Key Key
	JudgeVoted
}

func (Voted) Actor() string     { return Harness }
func (JudgeVoted) Type() string { return "judge.voted" }

// Poll is what a judge has answered so far to one question.
type Poll struct {
	Prompt string `json:",omitzero"` // its hash
	Votes  []Vote `json:",omitempty"`
}

// round is the number of the next answer to a question with this hash.
func (p Poll) round(prompt string) int {
	if p.Prompt != prompt {
		return 1
	}
	return len(p.Votes) + 1
}

// next reports whether e is an answer that is still wanted.
func (p Poll) next(e JudgeVoted) bool {
	if e.Round != p.round(e.Prompt) || e.Prompt == "" || strings.TrimSpace(e.Reason) == "" {
		return false
	}
	if e.Round == 1 {
		return true
	}
	_, over := Majority(p.Votes)
	return !over
}

// with is the poll after e.
func (p Poll) with(e JudgeVoted) Poll {
	if e.Round == 1 {
		return Poll{e.Prompt, []Vote{e.Vote}}
	}
	return Poll{e.Prompt, append(slices.Clip(p.Votes), e.Vote)}
}

func (s *State) admitVoted(in Voted) ([]Event, error) {
	i, err := s.wanted(in.Key)
	if err != nil {
		return nil, err
	}
	phase := in.Key.Kind.Phase()
	if _, judged := s.prog.Step(i).Judge(); !judged || phase != Verifying {
		return nil, refuse(Conflict, in.Key.String()+" asks no judge")
	}
	e := in.JudgeVoted
	e.Step, e.Attempt, e.Phase, e.Reason, e.Prompt = in.Key.Step, in.Key.Attempt, phase, text(e.Reason), text(e.Prompt)
	if !s.steps[i].Poll.next(e) {
		return nil, refuse(Invalid, fmt.Sprintf("%s has heard %d votes, and this is number %d", in.Key, len(s.steps[i].Poll.Votes), e.Round))
	}
	return []Event{e}, nil
}

func (s *State) applyVoted(e JudgeVoted) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	_, judged := s.prog.Step(i).Judge()
	phase, asked := s.inquiry(i)
	if !asked || !judged || e.Phase != phase || phase != Verifying || e.Attempt != st.Attempt || !st.Poll.next(e) {
		return fmt.Errorf("a judge says %v of step %q, attempt %d, as answer %d, which was not asked", e.Pass, e.Step, e.Attempt, e.Round)
	}
	s.charge(i, e.Usage, true)
	st.Poll = st.Poll.with(e)
	return nil
}

// polled reports whether the answer of a judge has the votes that were heard, or none.
func (st *step) polled(e CheckEnded) bool {
	return len(e.Votes) == 0 || slices.Equal(e.Votes, st.Poll.Votes)
}

// asked are the checks that a phase asks. The judge reads the evidence of work, so it
// is asked after the work alone: not before it, and not again at the end.
func (s *Step) asked(phase Phase) []Check {
	if _, judged := s.Judge(); judged && phase != Verifying {
		return s.Checks[:len(s.Checks)-1]
	}
	return s.Checks
}

// Judge is the question to the model that judges, and whether there is one.
func (s *Step) Judge() (string, bool) {
	if len(s.Checks) == 0 {
		return "", false
	}
	last := s.Checks[len(s.Checks)-1]
	return last.Question, last.Question != ""
}

// unjudged are the answers of commands. A model may say something else of the same
// tree: only commands tell that a check may be flaky.
func unjudged(checks []CheckEnded) []CheckEnded {
	return slices.DeleteFunc(slices.Clone(checks), func(c CheckEnded) bool { return c.Check == Judge })
}

// unasked reports the answer of a judge that was not asked, because something else did
// not pass.
func (e *CheckEnded) unasked() bool {
	return e.Check == Judge && e.Verdict == Inconclusive && len(e.Votes) == 0
}

// Majority is what the votes come to: a first yes stands, and a first no is asked
// twice more. False where more votes are wanted.
func Majority(votes []Vote) (pass, over bool) {
	if len(votes) == 0 {
		return false, false
	}
	if votes[0].Pass && len(votes) == 1 {
		return true, true
	}
	yes := 0
	for _, v := range votes {
		if v.Pass {
			yes++
		}
	}
	no := len(votes) - yes
	return yes >= 2, yes >= 2 || no >= 2
}

// votedRightly reports whether an answer of the judge is what its votes come to.
func (e *CheckEnded) votedRightly() bool {
	pass, over := Majority(e.Votes)
	switch e.Verdict {
	case Pass:
		return over && pass
	case Fail:
		return over && !pass
	}
	return true
}
