package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// tells reports whether a verdict says something of the tree.
func (v Verdict) tells() bool { return v == Pass || v == Fail }

// answers reports a verdict that a check may give.
func (v Verdict) answers() bool {
	return slices.Contains([]Verdict{Pass, Fail, Timeout, Infra, Tampered, Inconclusive}, v)
}

// verdict is the judgement of the attempt, or of the proof, under way, once
// there is one.
func (s *State) verdict(i int) Verdict {
	st := &s.steps[i]
	if !st.Active || st.Live || s.waits(i) {
		return NoVerdict
	}
	switch st.Phase {
	case Baseline:
		if st.Ended != nil {
			return Inconclusive
		}
		if st.refused() != "" {
			return Fail
		}
		return st.Barred
	case Verifying:
		if v := endVerdict(st.Ended); v != NoVerdict {
			return v
		}
	case Merging:
		return mergeVerdict(st.Merge)
	case Ratchet:
	default:
		return NoVerdict
	}
	if !s.complete(i) {
		return NoVerdict
	}
	v, _ := verdictOf(st.Checks)
	if st.Phase == Verifying {
		if v == Fail && st.Ended != nil && st.Ended.Cause.Outside() {
			return Infra
		}
		return s.seen(i)
	}
	return v
}

// hindered reports an attempt whose checks failed, and whose agent was kept from its work by
// what it tells of: that is no answer to the work.
func (s *State) hindered(i int) bool {
	st := &s.steps[i]
	if st.Phase != Verifying || st.Ended == nil || !st.Ended.Cause.Outside() || len(st.Checks) == 0 || !s.complete(i) {
		return false
	}
	v, _ := verdictOf(st.Checks)
	return v == Fail
}

// lasts reports that trying the attempt again does not help.
func (st *step) lasts() bool {
	return st.Ended.lasts() || st.Merge.lasts() || slices.ContainsFunc(st.Checks, func(c CheckEnded) bool { return c.Absent })
}

// lasts reports that trying again does not help.
func (e *WorkEnded) lasts() bool {
	return e != nil && (e.Absent || e.Cause.Outside() && e.Cause.Lasts)
}

// What the policy may say of checks that pass and rest on what the step itself changed.
const (
	UnprovenAsk    = "ask"    // a person says whether the step is done
	UnprovenRefuse = "refuse" // the attempt failed
)

// accepted is what the answers after the work count for under the run's policy.
func (s *State) accepted(i int, v Verdict) Verdict {
	if v != Pass || !s.steps[i].leans() {
		return v
	}
	switch s.run.Opened.Policy.Unproven {
	case UnprovenAsk:
		return Inconclusive
	case UnprovenRefuse:
		return Fail
	}
	return v
}

// leans reports whether the complete answers rest on what the step itself changed, or may
// do so unseen.
func (st *step) leans() bool { return len(st.Rests)+len(st.Gone) > 0 || st.Unseen != "" }

// proves reports whether the step, if it is done now, is proven: its checks
// failed before, on other files, are not flaky and rest on nothing that it changed, or,
// where it has none, the run that did it proved all it did.
func (s *State) proves(i int) bool {
	st := &s.steps[i]
	if s.lands(i) {
		return true // nothing but what was proved is merged
	}
	if !s.prog.Step(i).Checkable() && st.Ended != nil && st.Ended.Ending != nil {
		return st.Ended.Ending.proves()
	}
	return st.Baseline == Fail && !st.leans() && !st.Same && !st.Flaky
}

// remark is what people should know of a step whose checks pass; "" is nothing.
func (s *State) remark(i int) string {
	st := &s.steps[i]
	return both(st.Vouched.String(), cmp.Or(both(s.resting(i), missed(st.Checks)), st.doubt(), both(missed(st.Checks), st.unseen()), s.vacant(i)))
}

// vacant says why checks that pass prove nothing, if that is because of what they said before the
// work, and what a person can do.
func (s *State) vacant(i int) string {
	st, p := &s.steps[i], s.prog.Step(i)
	switch {
	case !p.Checkable() || s.proves(i):
		return ""
	case st.Baseline == Timeout:
		return "nobody saw the checks fail before the work: they took too long then"
	case st.Baseline == Infra || st.Baseline == Inconclusive:
		return "nobody saw the checks fail before the work: they could not be judged then"
	case st.Baseline != Pass:
		return ""
	case p.Expect == ExpectGreen:
		return "the checks passed before the work too, as the plan expects"
	}
	return "the checks passed before the work too; let the contract fail until the work is done, or write `expect: green` if it shall pass before and after"
}

// reason says for people why the verdict is what it is.
func (s *State) reason(i int, v Verdict) string {
	st, p := &s.steps[i], s.prog.Step(i)
	passed, checks := verdictOf(st.Checks)
	switch {
	case st.Phase == Merging && st.Merge != nil:
		return mergeReason(st)
	case st.Ended != nil && endVerdict(st.Ended) == v:
		return endReason(st, p)
	case st.Phase == Verifying && passed != Pass && v != Pass && st.Ended != nil && st.Ended.Cause != nil:
		return both(st.Ended.Cause.String(), cmp.Or(checks, "the checks did not pass"))
	case st.Phase == Baseline && st.refused() != "":
		return st.refused()
	case st.Phase == Baseline && v == Inconclusive:
		return fmt.Sprintf("the plan expects the checks to be %s before the work, and they were not: %s", p.Expect, cmp.Or(checks, "they passed"))
	case st.Phase == Baseline:
		return "before the work " + checks
	case st.Phase == Verifying && st.Reverted != nil && v != Pass:
		return st.Reverted.Reason
	case st.Phase == Verifying && passed == Pass && v != Pass:
		return "the checks pass, which proves nothing: " + s.resting(i)
	case st.Phase == Ratchet && v != Infra && v != Flaky:
		return "does not hold on the final tree: " + checks
	}
	return checks
}

// endVerdict judges the end of the work itself; none means the checks decide.
func endVerdict(e *WorkEnded) Verdict {
	switch {
	case e.Kind == ContractWork || e.How == Lost:
		return Inconclusive
	case len(e.Tampered) > 0:
		return Tampered
	case len(e.OutOfScope) > 0:
		return OutOfScope
	case e.How == NoStart, e.How == TimedOut && e.Cause.Outside():
		return Infra
	case e.How == TimedOut:
		return Timeout
	case e.Failed, (e.Kind == ToolWork || e.Kind == ChildWork) && e.Exit != 0, e.Unfit != "", e.Idle:
		return Fail
	}
	return NoVerdict
}

func endReason(st *step, p *Step) string {
	e := st.Ended
	switch endVerdict(e) {
	case Tampered:
		return "changed protected files: " + paths(e.Tampered)
	case OutOfScope:
		return "changed files outside its writes: " + paths(e.OutOfScope)
	case Timeout:
		if e.Reason != "" {
			return e.Reason
		}
		return fmt.Sprintf("took longer than %s", p.Timeout)
	case Infra:
		if e.Cause.Outside() && e.Cause.Kind != NotStarted {
			return e.Cause.String()
		}
		return "could not be run: " + e.Reason
	case Fail:
		if e.Idle {
			return idleReason
		}
		return cmp.Or(e.Reason, e.Unfit)
	}
	if e.Kind == ContractWork {
		return "the checks may run only once and were cut off: their result is not known"
	}
	return fmt.Sprintf("the work was cut off %d times by the end of its owner", st.Lost)
}

// paths names the first few of the changes.
func paths(cs []Change) string {
	var names []string
	for n, c := range cs {
		if n == 5 {
			names = append(names, fmt.Sprintf("and %d more", len(cs)-n))
			break
		}
		names = append(names, c.Path+" ("+c.What+")"+c.because())
	}
	return strings.Join(names, ", ")
}

// because says why the path counts, where a rule says so.
func (c Change) because() string {
	if c.Rule == "" {
		return ""
	}
	return ", which judges (" + c.Rule + ")"
}

// verdictOf judges all checks of one phase: a change of protected files first,
// then this machine's faults, then the first that is flaky, then the first required
// check that did not pass.
func verdictOf(checks []CheckEnded) (Verdict, string) {
	for _, c := range checks {
		if len(c.Tampered) > 0 {
			return Tampered, c.Check + " changed protected files: " + paths(c.Tampered)
		}
	}
	for _, c := range checks {
		if c.Required && c.Verdict == Infra {
			return Infra, c.Check + " could not be judged: " + c.Reason
		}
	}
	for _, c := range checks {
		if c.flaky() {
			return Flaky, c.differs()
		}
	}
	for _, c := range checks {
		if c.Required && c.Verdict != Pass {
			return c.Verdict, checkReason(c)
		}
	}
	return Pass, ""
}

// missed says which checks did not pass that need not; "" is none.
func missed(checks []CheckEnded) string {
	const most = 5
	var all []string
	for _, c := range checks {
		if !c.Required && c.Verdict != Pass && c.Verdict != NoVerdict {
			all = append(all, checkReason(c))
		}
	}
	if n := len(all); n > most {
		all = append(all[:most], fmt.Sprintf("and %d more", n-most))
	}
	if len(all) == 0 {
		return ""
	}
	return "optional: " + strings.Join(all, "; ")
}

func checkReason(c CheckEnded) string {
	switch {
	case c.Check == Judge && c.Verdict == Fail:
		return "the judge says no: " + c.Reason
	case c.Verdict == Timeout:
		return c.Check + " " + cmp.Or(c.Reason, "did not end in time")
	case c.Verdict == Tampered:
		return c.Check + " ran on changed protected files"
	case c.Signal != "":
		return c.Check + " died of signal " + c.Signal
	case c.Verdict == Inconclusive && c.Reason != "":
		return c.Check + " says nothing: " + c.Reason
	}
	said := fmt.Sprintf("%s exited %d, wanted %d", c.Check, c.Exit, c.Want)
	if c.Verdict == Fail && c.Reason != "" {
		said += ": " + c.Reason
	}
	return said
}

// baselineOf judges the checks before the work. Red is only what exited by
// itself: a signal, or a shell that found no command, says nothing.
func baselineOf(checks []CheckEnded) Verdict {
	v, _ := verdictOf(checks)
	if v != Fail {
		return v
	}
	for _, c := range checks {
		if c.Required && c.Verdict == Fail && c.Signal == "" && c.Exit != 126 && c.Exit != 127 {
			return Fail
		}
	}
	return Inconclusive
}

// bars reports why work must not start after a baseline that said v.
func bars(x Expect, v Verdict) Verdict {
	switch {
	case v == Tampered:
		return Tampered
	case x == ExpectRed && v == Fail, x == ExpectGreen && v == Pass, x == ExpectAny:
		return NoVerdict
	case v == Infra || v == Flaky:
		return v
	}
	return Inconclusive
}

// feedback is what the next attempt is told of this one.
func feedback(st *step) []Feedback {
	var fs []Feedback
	if e := st.Ended; e != nil && endVerdict(e) != NoVerdict {
		fs = append(fs, Feedback{Check: workItself, Verdict: endVerdict(e), Exit: e.Exit, Reason: st.Reason, Stdout: e.Stdout, Stderr: e.Stderr})
	}
	for _, c := range st.Checks {
		if c.unasked() {
			continue
		}
		if c.Verdict != Pass || len(c.Tampered) > 0 {
			fs = append(fs, Feedback{Check: c.Check, Verdict: c.Verdict, Exit: c.Exit, Want: c.Want, Reason: c.Reason, Stdout: c.Stdout, Stderr: c.Stderr})
		}
	}
	if r := st.Reverted; r != nil && r.Verdict != Pass {
		fs = append(fs, Feedback{Check: workItself, Verdict: r.Verdict, Reason: r.Reason})
	}
	if e := st.Ended; e != nil && endVerdict(e) == NoVerdict && len(fs) > 0 && e.Speaks(st.Checks) {
		fs = append(fs, Feedback{Check: workItself, Exit: e.Exit, Stdout: e.Stdout, Stderr: e.Stderr})
	}
	return fs
}

// Speaks reports whether what the work printed says why an attempt did not pass, where
// its checks may not: the work did not exit with 0, or the checks printed nothing.
func (e *WorkEnded) Speaks(checks []CheckEnded) bool {
	printed := func(c CheckEnded) bool { return strings.TrimSpace(c.Stdout+c.Stderr) != "" }
	return strings.TrimSpace(e.Stdout+e.Stderr) != "" && (e.How != Exited || e.Exit != 0 || !slices.ContainsFunc(checks, printed))
}

// restore lists what has to be put back before the next attempt.
func restore(st *step) []Change {
	var cs []Change
	if st.Ended != nil {
		cs = slices.Concat(st.Ended.Tampered, st.Ended.OutOfScope)
	}
	for _, c := range st.Checks {
		cs = append(cs, c.Tampered...)
	}
	if st.Reverted != nil {
		cs = append(cs, st.Reverted.Tampered...)
	}
	return cs
}
