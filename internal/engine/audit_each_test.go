package engine_test

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// What the auditor holds against steps for each item. The items of the tests
// have one meaning in every place: their text.

func (a *auditor) expanded(e engine.StepExpanded) error {
	f, err := a.step(e.Step)
	switch {
	case err != nil:
		return err
	case f.def.Each == nil || f.each != nil || f.order != nil || f.reply != nil || f.status != engine.Pending:
		return fmt.Errorf("it is %s, and was expanded before: %v", f.status, f.each != nil)
	}
	for _, n := range f.def.Needs {
		if need := a.steps[a.run.Compiled.Step(n).ID]; !need.satisfied() {
			return fmt.Errorf("it needs %q, which is %s", need.def.ID, need.status)
		}
	}
	a.divide(f, e.Items)
	return nil
}

// divide gives a step its instances.
func (a *auditor) divide(f *file, items []json.RawMessage) {
	f.each, f.status = append([]json.RawMessage{}, items...), engine.Running
	for _, p := range partsOf(f.def, f.each) {
		a.steps[p.ID] = &file{def: p, status: engine.Pending, attempt: a.past[p.ID], n: -1, proved: -1, purse: purse{limits: p.Budget}, of: f}
	}
}

// proof is the promise for a step, and for one that its instances do.
func (a *auditor) proof(f *file, e engine.StepSettled) error {
	if f.each == nil {
		return f.proof(e)
	}
	for id, x := range a.steps {
		if end := x.status == engine.Done || x.status == engine.Waived || x.status == engine.Skipped; x.of == f && !end {
			return fmt.Errorf("it is done, and %q is %s", id, x.status)
		}
	}
	return nil
}

// partsOf are the instances of a step.
func partsOf(p *engine.Step, items []json.RawMessage) []*engine.Step {
	var parts []*engine.Step
	for from := 0; from < len(items); from += max(1, p.Each.Batch) {
		x := *p
		x.ID, x.Number = fmt.Sprintf("%s.%d", p.ID, len(parts)+1), ""
		x.Each, x.When, x.Item = nil, "", items[from]
		if p.Each.Batch > 0 {
			batch, _ := json.Marshal(items[from:min(len(items), from+p.Each.Batch)])
			x.Item = batch
		}
		said := strings.Trim(string(x.Item), `"`)
		x.Writes = scopesOf(p, items[from:min(len(items), from+max(1, p.Each.Batch))])
		if p.Kind != engine.Script {
			x.Task = strings.ReplaceAll(p.Task, "{item}", said)
		}
		parts = append(parts, &x)
	}
	return parts
}

// scopesOf are the scopes of an instance: one for each of its items.
func scopesOf(p *engine.Step, items []json.RawMessage) []string {
	scopes := p.Writes[:0:0]
	for _, w := range p.Writes {
		for _, item := range items {
			scope := w
			if strings.Contains(w, "{item}") {
				scope = path.Clean(strings.ReplaceAll(w, "{item}", strings.Trim(string(item), `"`)))
			}
			if !slices.Contains(scopes, scope) || scope == w {
				scopes = append(scopes, scope)
			}
			if scope == w {
				break
			}
		}
	}
	return scopes
}

// joined holds what the harness makes of a step by its instances.
func (a *auditor) joined(f *file, e engine.StepSettled) error {
	left, failed, lapsed, proven, parts := 0, 0, 0, true, 0
	for _, x := range a.steps {
		if x.of == f {
			parts++
			proven = proven && x.status == engine.Done && (x.red || x.byChild())
		}
		if x.of != f || x.satisfied() && x.order == nil {
			continue
		}
		left++
		switch {
		case x.order != nil:
		case x.status == engine.Failed:
			failed++
		case x.status == engine.Skipped:
			lapsed++
		}
	}
	switch {
	case e.By != engine.Harness || e.RetryAt != nil || e.Proven && (e.Status != engine.Done || !proven || parts == 0) || e.Satisfies:
		return fmt.Errorf("it is %s by %q, and follows its instances", e.Status, e.By)
	case e.Status == engine.Done && left > 0, e.Status == engine.Running && left == 0:
		return fmt.Errorf("it is %s, and %d of its instances are left", e.Status, left)
	case e.Status == engine.Failed && (failed == 0 || failed+lapsed < left && !a.stopping && !a.blocked(f)):
		return fmt.Errorf("it failed, and of %d that are left %d did, and %d were left out", left, failed, lapsed)
	case e.Status == engine.Skipped && (lapsed == 0 || failed > 0):
		return fmt.Errorf("it is skipped, and %d were left out, %d failed", lapsed, failed)
	case e.Status == engine.Waiting || e.Status == engine.Waived:
		return fmt.Errorf("it is %s", e.Status)
	}
	f.status, f.counts = e.Status, false
	a.stopping = a.stopping || e.Status == engine.Failed && f.def.Critical
	return nil
}

// blocked reports whether something that the step needs came to a bad end, so
// that what is left of its instances may never run.
func (a *auditor) blocked(f *file) bool {
	return slices.ContainsFunc(f.def.Needs, func(n int) bool { return !a.steps[a.run.Compiled.Step(n).ID].satisfied() })
}

// orderParts gives a command on a step to those of its instances that it means.
func (a *auditor) orderParts(f *file, e engine.Command) {
	if f.each == nil || e.Verb != engine.DoRetry {
		f.order = &e
		a.decided(f)
	}
	for _, x := range a.steps {
		lapsed := x.status == engine.Failed || x.status == engine.Skipped && !x.counts
		if x.of == f && f.each != nil && x.order == nil && x.reply == nil && (lapsed || e.Verb != engine.DoRetry && !x.satisfied()) {
			x.order = &e
			a.decided(x)
		}
	}
}

// collapsed forgets the instances of a step that begins anew.
func (a *auditor) collapsed(f *file) {
	f.each = nil
	for id, x := range a.steps {
		if x.of != f {
			continue
		}
		if x.live != nil {
			a.leaving = append(a.leaving, left{x.def, *x.live, x.liveEpoch})
		}
		if a.past == nil {
			a.past = map[string]int{}
		}
		a.past[id] = max(a.past[id], x.attempt)
		for item, it := range a.items {
			if it.Step == id {
				delete(a.items, item)
				if item == a.asking {
					a.asking = ""
				}
			}
		}
		delete(a.steps, id)
	}
}

// stepsOf are the steps of a revision, with the instances of those that are
// carried over.
func stepsOf(old map[string]*file, e engine.RunOpened) []*engine.Step {
	var all []*engine.Step
	for i := range e.Compiled.Len() {
		p := e.Compiled.Step(i)
		all = append(all, p)
		if f := old[p.ID]; f != nil && f.each != nil && p.Each != nil && slices.Contains(e.Carried, p.ID) {
			all = append(all, partsOf(p, f.each)...)
		}
	}
	return all
}

// adopt finds the patterns of the instances.
func (a *auditor) adopt() {
	for id, f := range a.steps {
		if pattern, _, part := strings.Cut(id, "."); part {
			f.of = a.steps[pattern]
		}
	}
}
