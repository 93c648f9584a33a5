package engine_test

import (
	"encoding/json"
	"fmt"

	"github.com/piton-dev/piton/internal/engine"
)

// What the auditor holds against runs that get nowhere.

// exceeded names the bound that is met, found by looking at all steps.
func (a *auditor) exceeded() string {
	left := false
	for _, f := range a.steps {
		left = left || !f.satisfied() && f.def.Kind != engine.Landing
	}
	b := a.run.Policy.Bounds
	if a.bounds.Attempts > 0 {
		b.Attempts = a.bounds.Attempts
	}
	if a.bounds.Failures > 0 {
		b.Failures = a.bounds.Failures
	}
	switch {
	case !left:
		return ""
	case a.complete:
		return engine.OfComplete
	case b.Failures > 0 && a.vain.Failures >= b.Failures:
		return engine.OfFailures
	case b.Attempts > 0 && a.vain.Attempts >= b.Attempts:
		return engine.OfAttempts
	}
	return ""
}

// tried notes how an attempt ended; in a round of proofs there is none.
func (a *auditor) tried(f *file, e engine.StepSettled) {
	again := e.RetryAt != nil
	switch {
	case e.Status == engine.Done:
		a.vain.Failures = 0
	case f.status == engine.Done, e.Verdict == engine.Clash, again && e.Verdict == engine.Infra, again && f.def.Iterations > 0 && e.Exit == "":
	default:
		a.vain.Attempts++
		if !again {
			a.vain.Failures++
		}
	}
}

// spoke notes a person's word, whatever it is about.
func (a *auditor) spoke() {
	a.vain, a.complete = engine.Bounds{}, false
	for name, it := range a.items {
		if it.Kind == engine.Limit {
			delete(a.items, name)
		}
	}
}

func (a *auditor) limited(e engine.ItemOpened) error {
	switch of := a.exceeded(); {
	case of == "" || of != e.Limit || e.Step != "":
		return fmt.Errorf("it says that the limit of %q is met, and that of %q is", e.Limit, of)
	case a.paused || a.stopping || !a.open || a.working():
		return fmt.Errorf("nothing would begin: paused %v, being stopped %v, at work %v", a.paused, a.stopping, a.working())
	}
	for name, it := range a.items {
		if it.Kind == engine.Limit {
			return fmt.Errorf("%s asks for it already", name)
		}
	}
	a.items[e.Item] = e
	return nil
}

func (a *auditor) bounded(e engine.ItemAnswered) error {
	if e.By == "" || e.By == engine.Harness {
		return fmt.Errorf("%q answers", e.By)
	}
	skips := a.complete && e.Choice == engine.ChooseSkip
	if a.spoke(); skips {
		a.orderAll(engine.Command{Verb: engine.DoSkip, Why: e.Text, By: e.By}, func(f *file) bool { return !f.satisfied() && f.def.Kind != engine.Landing })
	}
	if len(e.Args) > 0 {
		var b engine.Bounds
		if err := json.Unmarshal(e.Args, &b); err != nil {
			return err
		}
		a.bounds.Attempts = max(a.bounds.Attempts*one(b.Attempts == 0), b.Attempts)
		a.bounds.Failures = max(a.bounds.Failures*one(b.Failures == 0), b.Failures)
	}
	return nil
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// turned notes a revision of the plan: it answers the failures, and a person's all.
func (a *auditor) turned() {
	tried := a.vain.Attempts
	a.spoke()
	if a.actor == engine.Harness || a.actor == engine.ByPolicy {
		a.vain.Attempts = tried
	}
}
