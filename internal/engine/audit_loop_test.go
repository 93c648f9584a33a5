package engine_test

import (
	"fmt"

	"github.com/piton-dev/piton/internal/engine"
)

// iterated counts what an attempt of a loop used. One that did not say it used what
// was set aside for it, and one that could not start nothing.
func (f *file) iterated(e engine.WorkEnded) {
	used := tokens(e.Usage)
	if e.How != engine.NoStart && (e.Usage.In == nil || e.Usage.Out == nil) {
		used = max(used, f.live.Reserve.Tokens)
	}
	f.tokens += used
	if e.How != engine.Lost && e.How != engine.Stopped {
		f.moved = f.moved || len(e.Changed) > 0
	}
}

// cut reports whether the newest work came to no end of its own, so that nothing is
// judged but what it left behind.
func (f *file) cut() bool {
	return f.end == nil || f.end.How == engine.Lost || f.end.How == engine.Stopped
}

// lap holds what the harness made of an iteration, and reports whether the next one
// follows.
func (f *file) lap(e engine.StepSettled) (again bool, err error) {
	judges := e.Status == engine.Done || e.Verdict != "" && e.By == ""
	switch {
	case f.def.Iterations == 0 || f.status == engine.Done || !judges:
		if e.Exit != "" {
			return false, fmt.Errorf("no loop ended, and its reason is %s", e.Exit)
		}
		return false, nil
	case e.Status == engine.Waiting && f.cut() && (e.Exit == "" || e.Exit == engine.LoopError):
		return false, nil
	case (e.Status == engine.Done) != (e.Exit == engine.AllChecksPassed):
		return false, fmt.Errorf("it is %s, and its loop ended by %q", e.Status, e.Exit)
	case e.Status == engine.Done && f.before == engine.Pass && !f.moved:
		return false, fmt.Errorf("it is done, its checks passed before, and nothing was changed")
	case e.Exit == "" && (e.Status != engine.Running || e.RetryAt == nil):
		return false, fmt.Errorf("its loop ends as %s for no reason", e.Status)
	case e.Exit == engine.MaxIterations && f.laps+1 != f.def.Iterations:
		return false, fmt.Errorf("the last of %d iterations is the %dth", f.def.Iterations, f.laps+1)
	case e.Exit == engine.ContextLimit && (f.def.Context == 0 || f.tokens < f.def.Context):
		return false, fmt.Errorf("it used %d of %d tokens", f.tokens, f.def.Context)
	case e.Exit != "":
		if e.RetryAt != nil {
			f.laps, f.tokens = 0, 0
		}
		return false, nil
	}
	f.laps++
	if f.laps >= f.def.Iterations || f.def.Context > 0 && f.tokens >= f.def.Context {
		return false, fmt.Errorf("iteration %d of %d follows, after %d of %d tokens", f.laps+1, f.def.Iterations, f.tokens, f.def.Context)
	}
	return true, nil
}
