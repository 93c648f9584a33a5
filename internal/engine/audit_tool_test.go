package engine_test

import (
	"fmt"
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
	case look.Refused != "" || look.Asks != "":
		return fmt.Errorf("it is called, and may not be: %+v", look)
	case !look.Must && (look.Low || a.run.Policy.Approve != engine.LowRisk) && (f.def.Approval == "" || look.Low && a.run.Policy.Approve == engine.LowRisk):
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
	paths := func(list []engine.Target) map[string]string {
		lost := map[string]string{}
		for _, t := range list {
			if t.Before != "" {
				lost[t.Path] = t.Before
			}
		}
		return lost
	}
	was, is := paths(f.shown.Targets), paths(look.Targets)
	if len(is) > len(was) {
		return fmt.Errorf("%d files are taken away, and %d were shown", len(is), len(was))
	}
	for _, t := range f.shown.Targets {
		if now, lost := is[t.Path]; lost && now != t.Before {
			return fmt.Errorf("%s is taken away, and is not what was shown", t.Path)
		}
	}
	if look.Must && !f.shown.Must {
		return fmt.Errorf("it needs more than what was shown")
	}
	return nil
}
