package project

import (
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// inWords is what a task plan says of an item that nobody can check.
const inWords = "a criterion in words, which no command checks"

// RecordTask is a run of one loop as a task plan holds one. It is made of what the
// journal says, and of nothing that such a document says of the past.
func RecordTask(d form.Document, head engine.HeadRow, r *engine.Revision, l *Loop) form.Document {
	rec := form.TaskRecord{
		Iteration: l.Row.Loop.Iteration, Status: taskWord(head, l.Row), ExitReason: string(l.Row.Loop.Exit),
		CreatedAt: moment(r.At), UpdatedAt: moment(l.Updated),
	}
	if rec.UpdatedAt == "" {
		rec.UpdatedAt = moment(head.Started)
	}
	if rec.Status == "completed" {
		rec.CompletedAt = moment(l.Row.Finished)
	}
	known := map[string]bool{}
	for _, it := range l.Checklist {
		known[it.ID] = true
		rec.Items = append(rec.Items, form.ItemRecord{ID: it.ID, Status: it.Status, Error: it.Error, Output: it.Output, VerifiedAt: it.Verified})
	}
	for _, id := range d.Items() {
		switch {
		case known[id]:
		case plan.Found(id):
			rec.Items = append(rec.Items, form.ItemRecord{ID: id, Status: "skipped", Error: "config does not ask for it"})
		default:
			rec.Items = append(rec.Items, form.ItemRecord{ID: id, Status: "skipped", Error: inWords})
		}
	}
	for _, a := range l.Activity {
		summary := a.Summary
		if summary == "" {
			summary = a.Reason
		}
		rec.Activity = append(rec.Activity, form.ActivityRecord{
			Iteration: a.Iteration, Summary: strings.ToValidUTF8(summary, "\ufffd"), Timestamp: a.At, Duration: a.Ms, Snapshot: a.Snapshot,
		})
	}
	return d.RecordedTask(rec)
}

// taskWord is how the task stands, in the words of the form. A loop that ended
// without its checks is over, though a person may have it begun anew.
func taskWord(h engine.HeadRow, row engine.StepRow) string {
	switch exit := row.Loop.Exit; {
	case row.Status == engine.Done && h.Ended && h.Status == engine.Done:
		return "completed"
	case exit == engine.LoopAborted || h.Status == engine.Cancelled:
		return "aborted"
	case exit != "" && exit != engine.AllChecksPassed || h.Ended:
		return "failed"
	case h.Status == engine.Paused:
		return "paused"
	case row.Loop.Iteration == 0:
		return "pending"
	}
	return "running"
}
