package engine_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// What the auditor holds against calls of tools.

func (a *auditor) looked(e engine.PreviewMade) error {
	f, err := a.step(e.Step)
	switch {
	case err != nil:
		return err
	case f.def.Kind != engine.Tool && f.def.Kind != engine.Delegate || f.live != nil || f.satisfied():
		return fmt.Errorf("a call is looked at of a step that is %s", f.status)
	}
	f.look = &e
	return nil
}

// mayCall holds a call against what was looked at and what people said.
func (a *auditor) mayCall(f *file, e engine.WorkDispatched, r engine.Record) error {
	look, granted := f.look, f.granted
	if f.look = nil; e.Kind == engine.ToolWork {
		f.granted = time.Time{} // a yes to a plan is for all its runs
	}
	switch {
	case look == nil || look.Attempt != e.Attempt || look.Args != e.Prompt:
		return fmt.Errorf("it is called with %s, and what was looked at is %+v", e.Prompt, look)
	case look.Refused != "" || look.Tier == engine.BlockTier || look.Asks != "":
		return fmt.Errorf("it is called, and may not be: %+v", look)
	case look.Tier != engine.ApproveTier && (f.def.Approval == "" || look.Low && a.run.Policy.Approve == engine.LowRisk):
		return nil
	case granted.IsZero() || r.At.Sub(granted) >= 24*time.Hour:
		return fmt.Errorf("it is called, and the newest yes is of %s", granted)
	case f.shown == nil:
		return fmt.Errorf("it is called, and nobody was shown anything")
	case f.shown.Hash == look.Hash:
		return nil
	case f.edited != look.Args:
		return fmt.Errorf("%s was shown, and %s is called", f.shown.Hash, look.Hash)
	}
	for _, t := range look.Targets {
		if t.Before != "" && !slices.Contains(f.shown.Targets, t) {
			return fmt.Errorf("%s is taken away, which was not shown", t.Path)
		}
	}
	if look.Tier == engine.ApproveTier && f.shown.Tier != engine.ApproveTier {
		return fmt.Errorf("it needs more than what was shown")
	}
	return nil
}
