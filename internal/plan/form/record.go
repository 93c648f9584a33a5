package form

import (
	"maps"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/plan"
)

// Record is what a run made of a plan, in the words of the form that it is written in.
// What is empty is left out.
type Record struct {
	ID, Previous string // of the revision, and of the one before it
	Version      int
	Status       string // draft, in_progress, complete, failed, replanning
	Current      int    // the step that is next, counted from 0
	CreatedAt    string
	UpdatedAt    string
	CreatedBy    string
	Steps        []StepRecord // by index
}

// StepRecord is what became of one step.
type StepRecord struct {
	Status      string // pending, in_progress, complete, failed, skipped
	ExecutedBy  string
	Attempts    int
	StartedAt   string
	CompletedAt string
	Output      string
	Error       string
	Took        time.Duration // of the call; only a graph holds it
}

// Recorded is the plan of the document as the record of a run, to be written as
// YAML or JSON: no other form holds what happened.
func (d Document) Recorded(r Record) Document {
	d.Form, d.recorded, d.kept = YAML, true, kept{-1: r.pairs()}
	for i, s := range r.Steps {
		d.kept[i] = s.pairs()
	}
	return d
}

// Text is the record of a run as YAML. Unlike [Document.Write] it does not look for what
// the form cannot hold: the cost is that of writing.
func (d Document) Text() []byte { return writeYAML(d.sheet(YAML)) }

// Pointer is the document, in YAML, that says which plan a task is carried out by.
func Pointer(task, plan, status string) []byte {
	return writeYAML(schemaOf("task", task, "planId", plan, "status", status))
}

// TaskRecord is what a run made of a task plan, in the words of that form.
type TaskRecord struct {
	Iteration   int
	Status      string // pending, running, paused, completed, failed, aborted
	ExitReason  string
	Items       []ItemRecord
	Activity    []ActivityRecord
	CreatedAt   string
	UpdatedAt   string
	CompletedAt string
}

// ItemRecord is how a line of the checklist stands.
type ItemRecord struct {
	ID, Status, Error, Output, VerifiedAt string
}

// ActivityRecord is an iteration that is over.
type ActivityRecord struct {
	Iteration int
	Summary   string
	Timestamp string
	Duration  int64             // milliseconds
	Snapshot  map[string]string // status of each item after it
}

// Items are the ids of the checklist that the document has, or would have, as a task
// plan.
func (d Document) Items() []string {
	var ids []string
	for _, it := range d.items {
		ids = append(ids, it.id)
	}
	if len(ids) == 0 && len(d.Plan.Steps) == 1 {
		for _, it := range (&task{Plan: d.Plan}).checklist(itemFields()).items {
			ids = append(ids, it.get("id").value)
		}
	}
	return ids
}

// RecordedTask is the task plan of the document as the record of a run, to be written
// as a task plan.
func (d Document) RecordedTask(r TaskRecord) Document {
	feature := slices.DeleteFunc(slices.Clone(d.kept[-1]), func(p pair) bool { return p.key != "featureId" })
	activity := &node{kind: list}
	for _, a := range r.Activity {
		snapshot := &node{kind: object}
		for _, id := range slices.Sorted(maps.Keys(a.Snapshot)) {
			snapshot.put(id, texts(a.Snapshot[id]))
		}
		activity.items = append(activity.items, schemaOf("iteration", a.Iteration, "summary", a.Summary, "timestamp", a.Timestamp,
			"duration", int(a.Duration), "checklistSnapshot", snapshot))
	}
	past := said("iteration", r.Iteration, "status", r.Status, "exitReason", r.ExitReason, "createdAt", r.CreatedAt, "updatedAt", r.UpdatedAt, "completedAt", r.CompletedAt)
	past = append(past, pair{key: "activity", value: activity})
	d.made = map[string][]pair{}
	for _, it := range r.Items {
		d.made[it.ID] = said("status", it.Status, "error", it.Error, "output", it.Output, "verifiedAt", it.VerifiedAt)
	}
	d.Form, d.recorded, d.kept = TaskPlan, true, kept{-1: append(feature, past...)}
	return d
}

// RecordedGraph is the plan of the document as the record of a run, to be written as a
// graph of tool calls: each step has its status and its result.
func (d Document) RecordedGraph(r Record) Document {
	d.Form, d.recorded = DAG, true
	orders := d.kept
	d.kept = kept{-1: said("id", r.ID, "version", r.Version, "createdAt", r.CreatedAt)}
	for i, s := range r.Steps {
		d.kept[i] = s.result()
		for _, p := range orders[i] {
			if p.key == orderKey {
				d.kept[i] = append(d.kept[i], p)
			}
		}
	}
	return d
}

// result is what became of a call: once it has ended, whether it succeeded and with which value.
func (s StepRecord) result() []pair {
	pairs := said("status", s.Status)
	if s.CompletedAt == "" || s.Status != "completed" && s.Status != "failed" && s.Error == "" {
		return pairs
	}
	n := schemaOf("ok", s.Status == "completed")
	if s.Output != "" {
		value, err := readValue(plan.Text{Value: s.Output})
		if err != nil {
			value = texts(s.Output)
		}
		n.put("value", value)
	}
	n.pairs = append(n.pairs, said("error", s.Error, "duration", int(s.Took.Milliseconds()), "timestamp", s.CompletedAt)...)
	return append(pairs, pair{key: "result", value: n})
}

func (r Record) pairs() []pair {
	return said("id", r.ID, "status", r.Status, "version", r.Version, "previousPlanId", r.Previous, "currentStepIndex", r.Current,
		"createdAt", r.CreatedAt, "updatedAt", r.UpdatedAt, "createdBy", r.CreatedBy)
}

func (s StepRecord) pairs() []pair {
	return said("status", s.Status, "executedBy", s.ExecutedBy, "attempts", s.Attempts, "startedAt", s.StartedAt, "completedAt", s.CompletedAt,
		"output", s.Output, "error", s.Error)
}

// said are the pairs of keys and values that say something.
func said(words ...any) []pair {
	return slices.DeleteFunc(schemaOf(words...).pairs, func(p pair) bool { return p.value.value == "" })
}
