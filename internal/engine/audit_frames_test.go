package engine_test

import (
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// frames is what the auditor writes down of the task's pipeline. It holds a journal
// to this:
//
//   - Ids go on by one for ever, over all runs of the task.
//   - A settling names the ids that it produces, and they are pushed before the run
//     ends: of its step and its attempt.
//   - A run that opens, or is revised, names what is visible: everything from the
//     oldest frame that the policy leaves room for.
//   - Only what opens a run pushes frames that are never evicted.
//   - An agent gets frames that were pushed before, of the steps that its step needs,
//     and what was found by its own; nobody else gets any.
type frames struct {
	all    []engine.FramePushed
	owed   []engine.StepSettled // whose frames are not all there yet
	opens  int                  // openings whose frame is not there yet
	before int                  // the frames of those that are owed begin behind this one
}

func (a *auditor) pushed(e engine.FramePushed) error {
	f := &a.frames
	if e.ID != len(f.all)+1 {
		return fmt.Errorf("it is frame %d after %d", e.ID, len(f.all))
	}
	f.all = append(f.all, e)
	switch lasts := e.Kind == engine.IntentAnalysis || e.Kind == engine.Checkpoint; {
	case lasts && f.opens == 0:
		return fmt.Errorf("no run was opened")
	case lasts:
		f.opens--
		if first := e.ID == 1; first != (e.Kind == engine.IntentAnalysis) {
			return fmt.Errorf("frame %d is a %s", e.ID, e.Kind)
		}
		return nil
	}
	n := slices.IndexFunc(f.owed, func(s engine.StepSettled) bool {
		return s.Produced.Start <= e.ID && e.ID < s.Produced.End
	})
	if n < 0 {
		if e.Kind != engine.SystemState && !e.Kind.CanReport() { // work that was cut off leaves what it found
			return fmt.Errorf("nothing settled that produces frame %d", e.ID)
		}
		return nil
	}
	if s := f.owed[n]; s.Step != e.Step || s.Attempt != e.Attempt {
		return fmt.Errorf("frame %d is of %s.%d, and %s.%d produces it", e.ID, e.Step, e.Attempt, s.Step, s.Attempt)
	}
	if e.ID == f.owed[n].Produced.End-1 {
		f.owed = slices.Delete(f.owed, n, n+1)
	}
	return nil
}

func (f *frames) settled(e engine.StepSettled) error {
	if e.Produced.Start <= len(f.all) || e.Produced.End < e.Produced.Start {
		return fmt.Errorf("it produces %v after frame %d", e.Produced, len(f.all))
	}
	if e.Produced.Len() > 0 {
		f.owed = append(f.owed, e)
	}
	if done := e.Status == engine.Done || e.Status == engine.Failed || e.Status == engine.Waived; done && e.Produced.Len() == 0 && e.Verdict != engine.Infra {
		return fmt.Errorf("it is %s and leaves no frame", e.Status)
	}
	return nil
}

func (f *frames) opened(e engine.RunOpened) error {
	limit := e.Policy.Frames
	if limit == 0 {
		limit = engine.DefaultFrames
	}
	start, room := len(f.all)+1, f.before
	for n := len(f.all) - 1; n >= 0 && room > 0; n-- {
		if k := f.all[n].Kind; k != engine.IntentAnalysis && k != engine.Checkpoint {
			start, room = n+1, room-1
		}
	}
	f.opens++
	f.before = limit
	if want := (engine.Window{Start: start, End: len(f.all) + 1}); e.Frames != want {
		return fmt.Errorf("the frames %v are visible, and it says %v", want, e.Frames)
	}
	return nil
}

// gets holds what a dispatch was told.
func (a *auditor) gets(p *engine.Step, needs []string, ids []int) error {
	if len(ids) > 0 && p.Kind != engine.Agent {
		return fmt.Errorf("a step for %s gets frames", p.Kind)
	}
	for n, id := range ids {
		if id < 1 || id > len(a.frames.all) || n > 0 && id <= ids[n-1] {
			return fmt.Errorf("it gets the frames %v, of %d", ids, len(a.frames.all))
		}
		e := a.frames.all[id-1]
		if own := e.Step == p.ID && e.Kind != engine.StepSummary; !own && !slices.Contains(needs, e.Step) {
			return fmt.Errorf("it gets frame %d, a %s of %q", id, e.Kind, e.Step)
		}
	}
	return nil
}
