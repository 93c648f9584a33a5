package form

import "strconv"

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
	return said([]pair{
		{key: "id", value: texts(r.ID)},
		{key: "status", value: texts(r.Status)},
		{key: "version", value: numbers(strconv.Itoa(r.Version))},
		{key: "previousPlanId", value: texts(r.Previous)},
		{key: "currentStepIndex", value: numbers(strconv.Itoa(r.Current))},
		{key: "createdAt", value: texts(r.CreatedAt)},
		{key: "updatedAt", value: texts(r.UpdatedAt)},
		{key: "createdBy", value: texts(r.CreatedBy)},
	})
}

func (s StepRecord) pairs() []pair {
	return said([]pair{
		{key: "status", value: texts(s.Status)},
		{key: "executedBy", value: texts(s.ExecutedBy)},
		{key: "attempts", value: numbers(strconv.Itoa(s.Attempts))},
		{key: "startedAt", value: texts(s.StartedAt)},
		{key: "completedAt", value: texts(s.CompletedAt)},
		{key: "output", value: texts(s.Output)},
		{key: "error", value: texts(s.Error)},
	})
}

// said are the pairs that say something.
func said(all []pair) []pair {
	var list []pair
	for _, p := range all {
		if p.value.value != "" {
			list = append(list, p)
		}
	}
	return list
}
