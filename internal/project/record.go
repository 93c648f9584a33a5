package project

import (
	"encoding/json"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// Record is a run as a plan in YAML or JSON holds one, or as a graph of tool calls does:
// the pinned document with what became of it and of each step. In YAML and JSON the files
// of a step are those that it changed. It is made of what the journal says and of nothing else.
func Record(d form.Document, to form.Form, head engine.HeadRow, r *engine.Revision, rows []engine.StepRow, done Deeds) form.Document {
	p := r.Drafted
	rec := form.Record{
		ID: p.Plan, Previous: p.Previous, Version: p.Version, Status: runWord(head.Status),
		CreatedAt: moment(r.At), UpdatedAt: moment(done.Updated), CreatedBy: p.By,
	}
	if len(p.Memories) > 0 {
		d.Plan.Memories = written(p.Memories)
	}
	byID := make(map[string]engine.StepRow, len(rows))
	for _, row := range rows {
		byID[row.ID] = row
	}
	rec.Current = current(d.Plan.Steps, byID)
	for _, s := range d.Plan.Steps {
		row := byID[s.ID.Value]
		if args, edited := done.Args[row.ID]; edited {
			s.Args = plan.Text{Value: string(args), Lang: "json"}
		}
		if to == form.DAG {
			rec.Steps = append(rec.Steps, callRecord(row, done.Outputs[row.ID]))
			continue
		}
		step := form.StepRecord{
			Status: stepWord(row.Status), ExecutedBy: row.Agent, Attempts: row.Attempts,
			StartedAt: moment(row.Started), CompletedAt: moment(row.Finished), Output: done.Outputs[row.ID],
		}
		if step.Status == "skipped" {
			step.Attempts = row.Effort.Attempts // one that a person refused was no attempt
		}
		if step.Attempts == 0 {
			step.ExecutedBy = ""
		}
		if files, known := done.Changed[row.ID]; known {
			s.Writes = written(files)
		}
		if step.Status == "failed" || step.Status == "skipped" {
			step.Error = row.Reason
		}
		rec.Steps = append(rec.Steps, step)
	}
	if to == form.DAG {
		return d.RecordedGraph(rec)
	}
	return d.Recorded(rec)
}

// callRecord is what became of a step in the words of a graph.
func callRecord(row engine.StepRow, output string) form.StepRecord {
	s := form.StepRecord{Status: callWord(row.Status), CompletedAt: moment(row.Finished), Output: output}
	if s.Status == "failed" || s.Status == "skipped" {
		s.Error = row.Reason
	}
	if !row.Started.IsZero() && !row.Finished.IsZero() {
		s.Took = row.Finished.Sub(row.Started)
	}
	return s
}

// current is the index of the step that a run is at: the first that is under way, or else
// the first that is not over and can go on, or that has failed. If there is none, it is
// behind the last one. A step that waits behind a failed one is not it.
func current(steps []*plan.Step, rows map[string]engine.StepRow) int {
	for i, s := range steps {
		if stepWord(rows[s.ID.Value].Status) == "in_progress" {
			return i
		}
	}
	for i, s := range steps {
		switch rows[s.ID.Value].Status {
		case engine.Done, engine.Skipped, engine.Waived, engine.Blocked:
		default:
			return i
		}
	}
	return len(steps)
}

// Deeds are what steps put out and changed, by id. Of a step whose changes nobody
// looked at there are none.
type Deeds struct {
	Updated time.Time // of the run's last record
	Outputs map[string]string
	Changed map[string][]string
	Args    map[string]json.RawMessage // of the newest call, where a person gave them in the place of the plan's
}

func written(names []string) plan.Field[[]plan.Text] {
	list := make([]plan.Text, len(names))
	for n, name := range names {
		list[n] = plan.Text{Value: name}
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
	case engine.Superseded, engine.Replanning:
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

// callWord is the status of a step in the words of a graph.
func callWord(s engine.Status) string {
	switch s {
	case engine.Running, engine.Waiting:
		return "running"
	case engine.Done:
		return "completed"
	case engine.Failed, engine.Regressed:
		return "failed"
	case engine.Skipped, engine.Waived:
		return "skipped"
	case engine.Blocked:
		return "blocked"
	case engine.Ready:
		return "ready"
	}
	return "pending"
}
