package engine

import "slices"

// Vote is one answer of the model that judges: a claim, which the harness counts.
type Vote struct {
	Pass   bool   `json:"pass"`
	Reason string `json:"reason"`
}

// asked are the checks that a phase asks. The judge reads the evidence of work, so it
// is asked after the work alone: not before it, and not again at the end.
func (s *Step) asked(phase Phase) []Check {
	if _, judged := s.Judge(); judged && phase != Verifying && phase != Flaky {
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
