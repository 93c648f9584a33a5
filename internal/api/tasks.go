package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// Task is an intent with what became of it: its plan, revision by revision, and the runs
// of the plan, one after the other.
type Task struct {
	engine.IntentOpened
	Task      string             // the stream of the runs, also where there is none yet
	Revisions []*engine.Revision // the oldest first; the last is the head
	Runs      []engine.HeadRow   // in the order in which they began
	Refined   []string           // intents that refine this one
	Changes   []Change           // how it came to stand as it does
	Errands   []engine.ErrandRow // what models were asked for it beside its runs, the oldest first
}

// Head is the newest revision; nil where no plan was made yet.
func (t Task) Head() *engine.Revision {
	if len(t.Revisions) == 0 {
		return nil
	}
	return t.Revisions[len(t.Revisions)-1]
}

// Change is one status of a task, of a run or of a step, with when and why it got that.
type Change struct {
	Status   engine.Status
	At       time.Time
	By       string
	Reason   string
	Run      string // "" of a plan
	Revision int    // 0 of a run
}

// Statuses of a plan before anything of it is run.
const (
	PlanDraft    engine.Status = "draft" // it does not verify
	PlanVerified engine.Status = "verified"
	PlanApproved engine.Status = "approved"
	PlanRejected engine.Status = "rejected"
)

// Tasks lists all tasks that carry out no step of another one, the newest first. The
// history of each is that of its rows: what was said to its plan, and when runs began and
// ended.
func (p *Product) Tasks(ctx context.Context) ([]Task, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return nil, err
	}
	heads, err := p.Store.Heads(ctx, store.HeadFilter{})
	if err != nil {
		return nil, err
	}
	runs := map[string][]engine.HeadRow{}
	for _, h := range slices.Backward(heads) {
		runs[h.Stream] = append(runs[h.Stream], h)
	}
	revisions, refined := map[string][]*engine.Revision{}, map[string][]string{}
	for r := range w.Revisions {
		revisions[r.Drafted.Intent] = append(revisions[r.Drafted.Intent], r)
	}
	errands := map[string][]engine.ErrandRow{} // by intent, or by the run that it looks back at
	for row := range w.Errands {
		of := cmp.Or(row.Asked.Intent, row.Asked.Run)
		errands[of] = append(errands[of], row)
	}
	for _, rows := range errands {
		slices.Reverse(rows) // the newest came first
	}
	var all []Task
	for i := range w.Intents {
		task := taskOf(i.ID)
		refined[i.Parent] = append(refined[i.Parent], i.ID)
		if rs := revisions[i.ID]; len(rs) > 0 && rs[0].Drafted.Parent != "" {
			continue // it is a step's
		}
		all = append(all, Task{IntentOpened: i, Task: task, Revisions: revisions[i.ID], Runs: runs[task], Errands: errands[i.ID]})
		for _, h := range runs[task] {
			all[len(all)-1].Errands = append(all[len(all)-1].Errands, errands[h.Run]...)
		}
	}
	for n := range all {
		all[n].Refined, all[n].Changes = refined[all[n].ID], changesOf(all[n])
	}
	slices.SortStableFunc(all, func(a, b Task) int { return b.since().Compare(a.since()) })
	return all, nil
}

// since is when the newest thing of a task happened.
func (t Task) since() time.Time {
	if n := len(t.Changes); n > 0 {
		return t.Changes[n-1].At
	}
	return time.Time{}
}

// changesOf is the history of a task as its rows tell it.
func changesOf(t Task) []Change {
	all := planChanges(t.Revisions)
	for _, h := range t.Runs {
		all = append(all, Change{Status: engine.Running, At: h.Started, By: h.ApprovedBy, Reason: fmt.Sprintf("on revision %d", h.Version), Run: h.Run})
		if h.Ended {
			all = append(all, Change{Status: h.Status, At: h.Finished, By: engine.Harness, Reason: h.Reason, Run: h.Run})
		}
	}
	slices.SortStableFunc(all, func(a, b Change) int { return a.At.Compare(b.At) })
	return all
}

// planChanges is what was said to each revision.
func planChanges(revisions []*engine.Revision) (all []Change) {
	for _, r := range revisions {
		d := r.Drafted
		drafted := PlanVerified
		if !r.Verified.OK {
			drafted = PlanDraft
		}
		all = append(all, Change{Status: drafted, At: r.At, By: d.By, Reason: d.Changes, Revision: d.Version})
		for _, a := range r.Answers {
			status := PlanApproved
			if !a.Yes {
				status = PlanRejected
			}
			all = append(all, Change{Status: status, At: a.At, By: a.By, Reason: a.Why, Revision: d.Version})
		}
	}
	return all
}

// IsTask reports whether a word is the beginning of the id of an intent or of a task.
func IsTask(word string) bool { return strings.HasPrefix(word, "i-") || strings.HasPrefix(word, "t-") }

// TaskOf finds the task that word names: by the id of its intent or its own, or by a
// unique beginning of either.
func (p *Product) TaskOf(ctx context.Context, word string) (Task, error) {
	all, err := p.Tasks(ctx)
	if err != nil {
		return Task{}, err
	}
	var found []Task
	for _, t := range all {
		if t.ID == word || t.Task == word {
			return t, nil
		}
		if strings.HasPrefix(t.ID, word) || strings.HasPrefix(t.Task, word) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Task{}, &Problem{Code: NotFound, Message: fmt.Sprintf("no intent and no task %q", word), Hint: "piton list --tasks shows them"}
	}
	return Task{}, &Problem{Code: Invalid, Message: fmt.Sprintf("%d tasks begin with %q", len(found), word), Hint: "give more of the id; piton list --tasks shows them"}
}

// Histories are the statuses of a task's runs, and of the steps of each, as the records
// tell them: none is left out, and none is ever changed.
type Histories struct {
	Runs  []Change
	Steps map[string]map[string][]Change // by run and step
}

// HistoriesOf reads the records of a task. The cost is that of a replay.
func (p *Product) HistoriesOf(ctx context.Context, t Task) (Histories, error) {
	h := Histories{Steps: map[string]map[string][]Change{}}
	var s engine.State
	last := Change{}
	for r, err := range run.Read(ctx, p.Store, t.Task, 0) {
		if err == nil {
			err = s.Apply(r)
		}
		if err != nil {
			return h, fmt.Errorf("read task %s: %w", t.Task, err)
		}
		if s.Run().Run == "" {
			continue
		}
		head := s.Head()
		c := Change{Status: head.Shown(), At: r.At, By: r.Actor, Reason: whyOf(r.Event), Run: head.Run}
		if c.Status != last.Status || c.Run != last.Run {
			h.Runs, last = append(h.Runs, c), c
		}
		h.steps(s.Rows(), c)
	}
	return h, nil
}

// steps takes what changed in the steps of the run.
func (h *Histories) steps(rows engine.Rows, c Change) {
	of := h.Steps[c.Run]
	if of == nil {
		of = map[string][]Change{}
		h.Steps[c.Run] = of
	}
	for _, row := range rows.Steps {
		was := of[row.ID]
		if len(was) == 0 || was[len(was)-1].Status != row.Status {
			of[row.ID] = append(was, Change{Status: row.Status, At: c.At, By: c.By, Reason: row.Reason, Run: c.Run})
		}
	}
}

// whyOf is the reason that an event has in its own words.
func whyOf(e engine.Event) string {
	switch e := e.(type) {
	case engine.RunOpened:
		return fmt.Sprintf("on revision %d", e.Version)
	case engine.RunEnded:
		return e.Reason
	case engine.Command:
		if e.Why == "" {
			return string(e.Verb)
		}
		return string(e.Verb) + ": " + e.Why
	case engine.ItemOpened:
		return e.Question
	case engine.ItemAnswered:
		return "item " + e.Item + ": " + e.Choice
	}
	return ""
}
