package form

import "slices"

// Record is what a run made of a plan, in the words of the YAML and JSON form.
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
