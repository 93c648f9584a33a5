package engine_test

import (
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// doubted is what the auditor knows of a strong step's change: what the checks said with
// parts of it taken back, since the newest work of the step.
type doubted struct {
	change string
	parts  []engine.PartTried
	passed bool
}

// tries holds that the parts of a change are tried in their order, while the step's checks
// have all passed, and no part is without the whole of it having been seen to be red.
func (a *auditor) tries(e engine.PartTried) error {
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	if e.Part == engine.AllParts {
		f.doubted = doubted{change: e.Change}
	}
	d := &f.doubted
	if f.def.Strong == 0 || f.merged || !f.passed() || f.live != nil || e.Attempt != f.attempt || d.passed || e.Change != d.change || e.Change == "" {
		return fmt.Errorf("part %d of what %q changed is tried, after %+v", e.Part, e.Step, *d)
	}
	if want := []int{engine.AllParts, engine.NoPart, len(d.parts) - 1}[min(len(d.parts), 2)]; e.Part != want || e.Part != engine.AllParts && !d.red() || e.Part > 0 && d.parts[1].Verdict != engine.Pass {
		return fmt.Errorf("part %d of what %q changed is tried, after %+v", e.Part, e.Step, *d)
	}
	d.parts = append(d.parts, e)
	return nil
}

// red reports whether the checks were seen to fail, as often as they were asked, with all
// of the change taken back.
func (d *doubted) red() bool {
	return len(d.parts) > 0 && d.parts[0].Verdict == engine.Fail && !slices.ContainsFunc(d.parts[0].Reruns, func(v engine.Verdict) bool { return v != engine.Fail })
}

// reverted holds what all tries are said to come to against them.
func (a *auditor) reverted(e engine.ChangeReverted) error {
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	d := &f.doubted
	seen := d.red() && len(d.parts) > 1 && d.parts[1].Verdict == engine.Pass && e.Parts > 0
	var unseen []string
	for _, p := range d.parts {
		if p.Part > 0 && p.Verdict == engine.Pass {
			unseen = append(unseen, p.Place)
		}
	}
	switch {
	case f.def.Strong == 0 || !f.passed() || f.live != nil || d.passed:
		return fmt.Errorf("what %q changed is taken back, after %+v", e.Step, *d)
	case e.Verdict == engine.Pass && (!seen || len(e.Tampered) > 0 || !slices.Equal(e.Unseen, unseen)):
		return fmt.Errorf("the checks of %q are said to see what it changed, all but %q, after %+v", e.Step, e.Unseen, *d)
	case e.Verdict == engine.NoVerdict || e.Verdict != engine.Pass && e.Reason == "":
		return fmt.Errorf("it says nothing: %+v", e)
	}
	d.passed = e.Verdict == engine.Pass
	f.flaky = f.flaky || e.Verdict == engine.Flaky
	return nil
}
