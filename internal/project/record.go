package project

import (
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// Record is a run as a plan in YAML or JSON holds one: the pinned document with
// what became of it and of each step, whose files are those that it changed. It is
// made of what the journal says and of nothing else.
func Record(d form.Document, head engine.HeadRow, r *engine.Revision, rows []engine.StepRow, done Deeds) form.Document {
	p := r.Drafted
	rec := form.Record{
		ID: p.Plan, Previous: p.Previous, Version: p.Version, Status: runWord(head.Status), Current: len(d.Plan.Steps),
		CreatedAt: moment(r.At), UpdatedAt: moment(head.Finished), CreatedBy: p.By,
	}
	byID := make(map[string]engine.StepRow, len(rows))
	for _, row := range rows {
		byID[row.ID] = row
	}
	for i, s := range d.Plan.Steps {
		row := byID[s.ID.Value]
		step := form.StepRecord{
			Status: stepWord(row.Status), ExecutedBy: row.Agent, Attempts: row.Attempts,
			StartedAt: moment(row.Started), CompletedAt: moment(row.Finished), Output: done.Outputs[row.ID],
		}
		if files, known := done.Changed[row.ID]; known {
			s.Writes = written(files)
		}
		if step.Status == "failed" {
			step.Error = row.Reason
		}
		if (step.Status == "pending" || step.Status == "in_progress") && rec.Current > i {
			rec.Current = i
		}
		rec.Steps = append(rec.Steps, step)
	}
	return d.Recorded(rec)
}

// Deeds are what steps put out and changed, by id. Of a step whose changes nobody
// looked at there are none.
type Deeds struct {
	Outputs map[string]string
	Changed map[string][]string
}

func written(files []string) plan.Field[[]plan.Text] {
	list := make([]plan.Text, len(files))
	for n, file := range files {
		list[n] = plan.Text{Value: file}
	}
	return plan.Is(list)
}

// moment is a time as all documents write it, "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// runWord is the status of a run in the words of the form.
func runWord(s engine.Status) string {
	switch s {
	case engine.Done:
		return "complete"
	case engine.Failed, engine.Cancelled:
		return "failed"
	case engine.Superseded:
		return "replanning"
	}
	return "in_progress"
}

// stepWord is the status of a step in the words of the form, which knows no
// waiver and no proof that was lost.
func stepWord(s engine.Status) string {
	switch s {
	case engine.Running, engine.Waiting:
		return "in_progress"
	case engine.Done:
		return "complete"
	case engine.Failed, engine.Regressed:
		return "failed"
	case engine.Skipped, engine.Waived:
		return "skipped"
	}
	return "pending"
}
