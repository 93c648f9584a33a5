package run_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// tally counts what many worlds went through. A simulation in which something
// never happens proves nothing about it.
type tally struct {
	mu    sync.Mutex
	times map[string]int
}

func (c *tally) count(w *world) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.times == nil {
		c.times = map[string]int{}
	}
	c.times["world"]++
	for _, l := range w.lives {
		c.times["life "+string(l.how)]++
		if l.isGone() && l.how == left {
			c.times["life struck dead"]++
		}
		if isErr(l.err, errDisk) {
			c.times["life with a broken disk"]++
		}
		if isErr(l.err, store.ErrFenced) {
			c.times["life fenced"]++
		}
	}
	for _, m := range w.log {
		if m.begins {
			c.times["effort "+string(m.effect.Key.Kind)]++
		}
	}
	for _, s := range w.said {
		c.times[fmt.Sprintf("said, refused %v, lost %v", s.refused(), s.err != nil && !s.refused())]++
	}
	for what, n := range w.counts {
		c.times[what] += n
	}
	for _, j := range w.jobs {
		for _, r := range w.records(j.stream) {
			c.times["record"]++
			c.times[kindOf(r.Event)]++
		}
	}
}

// kindOf names an event by what is most telling about it.
func kindOf(e engine.Event) string {
	switch e := e.(type) {
	case engine.RunOpened:
		if e.Revises != "" {
			return "run.opened again"
		}
	case engine.PlanAnswered:
		return fmt.Sprintf("%s %v", e.Type(), e.Yes)
	case engine.CheckEnded:
		switch {
		case e.Same:
			return e.Type() + " same"
		case len(e.Reruns) > 0:
			return e.Type() + " rerun"
		}
		return e.Type() + " " + string(e.Phase)
	case engine.RunEnded:
		return fmt.Sprintf("%s %s %d", e.Type(), e.Status, e.Exit)
	case engine.Command:
		return fmt.Sprintf("%s %s %v", e.Type(), e.Verb, e.From)
	case engine.WorkDispatched:
		return e.Type() + " " + string(e.Kind)
	case engine.WorkEnded:
		if e.How == engine.Stopped && e.Log == "" {
			return e.Type() + " " + e.Reason
		}
		return fmt.Sprintf("%s %s %s", e.Type(), e.Kind, e.How)
	case engine.StepSettled:
		who := "a person"
		switch e.By {
		case "":
			who = "proof"
		case engine.Harness:
			who = "time"
		}
		return fmt.Sprintf("%s %s by %s", e.Type(), e.Status, who)
	case engine.ItemOpened:
		return e.Type() + " " + string(e.Kind)
	case engine.ItemAnswered:
		return e.Type() + " " + e.Choice
	}
	return e.Type()
}

func (c *tally) String() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(c.times)) {
		fmt.Fprintf(&b, "\n%8d %s", c.times[what], what)
	}
	return b.String()
}

// complete fails if something that the simulation is for never happened.
func (c *tally) complete(t *testing.T) {
	t.Helper()
	for _, what := range []string{
		"life left", "life interrupted", "life killed", "life suspended", "life struck dead", "life with a broken disk", "life fenced",
		"effort prepare", "effort work", "effort verify", "effort prove",
		"said, refused true, lost false", "said, refused false, lost true",
		"run.ended done 0", "run.ended failed 1", "run.ended cancelled 130",
		"command pause false", "command resume false", "command cancel false", "command skip false", "command waive false", "command retry true",
		"work.dispatched contract", "work.ended agent lost", "work.ended script lost", "work.ended contract lost",
		"work.ended agent cancelled", "work.ended script timeout", "work.ended agent infra", "work.ended contract cancelled",
		"work.ended was not started",
		"check.ended baseline", "check.ended same", "check.ended rerun", "check.ended ratchet",
		"run.opened again", "revision of a failed run", "revision of a paused run", "plan.answered true", "plan.answered false",
		"steps carried", "steps begun anew", "left work ended by exit", "left work ended by cancelled", "left work ended by lost",
		"step.settled done by proof", "step.settled regressed by proof", "step.settled skipped by proof", "step.settled running by proof",
		"step.settled failed by proof", "step.settled waiting by proof", "step.settled pending by a person", "step.settled pending by time",
		"item.opened approval", "item.opened escalation", "item.answered approve", "item.answered deny", "item.answered abort",
	} {
		if c.times[what] == 0 {
			t.Errorf("in all worlds together there was no %q", what)
		}
	}
}
