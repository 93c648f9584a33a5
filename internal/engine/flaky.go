package engine

import (
	"fmt"
	"slices"
	"strings"
)

// MaxReruns is how often checks are asked again at once: after they contradicted, on the
// same tree, what they said before, and after they failed in the proof at the end.
const MaxReruns = 2

// Said is what the commands of a step say together. A model may say something else of
// the same tree: only commands tell that a check is flaky.
func Said(checks []CheckEnded) Verdict {
	v, _ := verdictOf(unjudged(checks))
	return v
}

// Judged is what the commands of a step say together where only what exits by itself is
// red, and why.
func Judged(checks []CheckEnded) (Verdict, string) {
	checks = unjudged(checks)
	_, why := verdictOf(checks)
	return baselineOf(checks), why
}

// Differs reports whether checks said otherwise before of a tree: its hash, or "" for
// the tree before the work.
func Differs(seen []Seen, tree string, said Verdict) bool {
	return said.tells() && slices.ContainsFunc(seen, func(a Seen) bool { return a.Tree == tree && a.Pass != (said == Pass) })
}

// flaky reports whether a check that counts gave another answer when it was asked again
// at once.
func (e CheckEnded) flaky() bool {
	return e.Required && slices.ContainsFunc(e.Reruns, func(v Verdict) bool { return v != e.Verdict })
}

// differs says what the check answered of the same files.
func (e CheckEnded) differs() string {
	var said strings.Builder
	said.WriteString(string(e.Verdict))
	for _, v := range e.Reruns {
		said.WriteString(", " + string(v))
	}
	return fmt.Sprintf("%s says %s of the same files, one after the other", e.Check, said.String())
}

// contrary reports whether checks said otherwise before of the same files.
func contrary(checks []CheckEnded) bool {
	return slices.ContainsFunc(checks, func(c CheckEnded) bool { return c.Same })
}

// reran reports why e cannot be what the step's checks said when they were asked again.
func (st *step) reran(p *Step, e CheckEnded) error {
	switch {
	case len(e.Reruns) == 0 && !e.Same:
		return nil
	case e.Check == Judge || !p.Rerunnable || len(e.Reruns) > MaxReruns:
		return fmt.Errorf("check %q of step %q was asked again %d times", e.Check, p.ID, len(e.Reruns))
	case e.Same && len(st.Seen) == 0:
		return fmt.Errorf("check %q of step %q contradicts an answer that it never gave", e.Check, p.ID)
	}
	for _, v := range e.Reruns {
		if v == Infra || !v.answers() {
			return fmt.Errorf("check %q of step %q has the unknown verdict %q", e.Check, p.ID, v)
		}
	}
	return nil
}

// doubt says why the proof of a step that is done is none; "" is nothing.
func (st *step) doubt() string {
	switch {
	case st.Flaky:
		return "flaky: its checks gave different answers for the same files"
	case st.Same:
		return "the checks said otherwise before, of the same files: they are flaky, or look at something outside of the workspace"
	}
	return ""
}
