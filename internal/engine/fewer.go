package engine

import (
	"fmt"
	"slices"
)

// countsFirst keeps how many tests the checks ran before any work.
func (st *step) countsFirst() {
	st.Tests = nil
	for _, c := range st.Checks {
		st.Tests = append(st.Tests, c.Tests)
	}
	if !slices.ContainsFunc(st.Tests, func(n int) bool { return n > 0 }) {
		st.Tests = nil
	}
}

// lacksTests reports whether the step's n-th check passed, and ran fewer tests than
// before the work: whoever takes out the test that fails has proved nothing.
func (st *step) lacksTests(n int, c CheckEnded) bool {
	return n < len(st.Tests) && c.Verdict == Pass && c.Tests > 0 && c.Tests < st.Tests[n]
}

// unsure makes a pass of fewer tests than before say nothing.
func (e *CheckEnded) unsure(before int) {
	e.Verdict, e.Reason = Inconclusive, fmt.Sprintf("it ran %d tests, and %d before the work", e.Tests, before)
	e.Reruns = slices.Clone(e.Reruns)
	for i, v := range e.Reruns {
		if v == Pass {
			e.Reruns[i] = Inconclusive
		}
	}
}
