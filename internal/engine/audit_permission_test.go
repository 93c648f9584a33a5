package engine_test

import (
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// wanted holds what an agent asks for in the middle of its work.
func (a *auditor) wanted(e engine.ItemOpened) error {
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	_, twice := a.items[e.Item]
	switch {
	case twice || f.begs != "":
		return fmt.Errorf("%s is open already", f.begs)
	case f.live == nil || f.live.Kind != engine.AgentWork || e.Wanted == nil || f.live.N != e.Wanted.N || f.live.Attempt != e.Attempt || f.live.Role != e.Wanted.Role:
		return fmt.Errorf("%+v is asked for by work that is not under way", e.Wanted)
	case !slices.Contains(e.Choices, engine.ChooseDeny) || slices.Contains(e.Choices, engine.ChooseAllowRun) != (e.Wanted.Pattern != ""):
		return fmt.Errorf("it can be answered with %v", e.Choices)
	}
	a.items[e.Item], f.begs = e, e.Item
	return nil
}

// permitted holds the answer to it.
func (a *auditor) permitted(e engine.ItemAnswered, r engine.Record) error {
	it := a.items[e.Item]
	f, err := a.step(it.Step)
	if err != nil {
		return err
	}
	if e.By == "" || r.Actor != e.By || e.By == engine.Harness && e.Choice != engine.ChooseDeny || !slices.Contains(it.Choices, e.Choice) || len(e.Args) > 0 {
		return fmt.Errorf("%q answers %q with %q", e.By, e.Item, e.Choice)
	}
	if e.By != engine.Harness {
		a.spoke()
	}
	delete(a.items, e.Item)
	f.begs = ""
	return nil
}
