// Package form reads and writes the forms of a plan other than Markdown: YAML and JSON
// with the same keys, a graph of tool calls, and the task plan of one loop step.
//
// A form is a table. Each key is one [field] with the type of its value, its place in
// the tree of package plan, and how it is read and written. Reading, writing, the JSON
// Schema and the list of what a form cannot hold all come from it. Losses are found by
// reading what was written and comparing, so that nothing is lost silently. What
// reads these forms reads the arguments of a tool too ([ReadArguments]).
//
// It must never touch a file, a clock, the network or a process; expand an alias; guess
// a value that it could not read; or change what a plan means without a [Loss].
package form

import (
	"fmt"

	"github.com/piton-dev/piton/internal/plan"
)

// Form is one way to write a plan down.
type Form string

const (
	Markdown Form = "md"
	YAML     Form = "yaml"
	JSON     Form = "json"
	DAG      Form = "dag"      // steps that are tool calls, in JSON
	TaskPlan Form = "taskplan" // one loop step with its checklist, in JSON
)

// Forms lists every form.
func Forms() []Form { return []Form{Markdown, YAML, JSON, DAG, TaskPlan} }

// holdsSame reports whether two forms have the same keys.
func (f Form) holdsSame(g Form) bool {
	return f == g || f == YAML && g == JSON || f == JSON && g == YAML
}

// Document is a plan together with what its form holds beside it. It is safe
// for concurrent reading.
type Document struct {
	Form Form
	Plan *plan.Plan // nil if the bytes are refused altogether

	kept     kept  // data that means nothing to a run: history
	marked   []int // where a status stands that is not taken over
	comments bool  // YAML comments, which are not read
	recorded bool  // statuses are those of a run, in the place of the plan's

	items []checkItem       // of a task plan: its checklist as it was written
	made  map[string][]pair // of the record of a task plan: what became of each item, by id
}

// kept is data of the form by where it stands: -1 for the document itself, else
// the index of a step.
type kept map[int][]pair

// Loss is something that a form cannot hold.
type Loss struct {
	Step  string `json:"step"` // id; "" for the plan itself
	Label string `json:"label"`
	Why   string `json:"why"`
}

func (l Loss) String() string {
	if l.Step == "" {
		return fmt.Sprintf("%s: %s", l.Label, l.Why)
	}
	return fmt.Sprintf("step %q, %s: %s", l.Step, l.Label, l.Why)
}

// Read reads a plan in any form, which it knows by the bytes and not by the
// name; the name is for messages only. A broken plan still gives as much tree
// as can be read. Problems come in the order of their places. The cost is
// linear. The hash of a plan that is not Markdown is that of all its bytes.
func Read(name string, src []byte) (Document, []plan.Problem) {
	return readAs("", name, src)
}

// readAs reads a plan in a form, or in the one that its bytes show.
func readAs(f Form, name string, src []byte) (Document, []plan.Problem) {
	if f == Markdown || f == "" && Of(src) == Markdown {
		p, problems := plan.Parse(name, src)
		return Document{Form: Markdown, Plan: p}, problems
	}
	r := &reader{}
	if !plan.Screen(src, &r.Problems) {
		return Document{Form: Of(src)}, r.Sorted()
	}
	root := r.parse(string(src))
	if f == "" && root != nil {
		f = formOf(root)
		if f == YAML && Of(src) == JSON {
			f = JSON
		}
	}
	d := r.document(f, root)
	if d.Plan != nil {
		d.Plan.Name, d.Plan.Source = name, append([]byte{}, src...)
	}
	return d, r.Sorted()
}

// Write writes the plan in a form, and lists what the form cannot hold. It
// fails if the form cannot hold the plan at all. The cost is linear.
func (d Document) Write(to Form) ([]byte, []Loss, error) {
	text, dropped, err := d.write(to)
	if err != nil {
		return nil, nil, err
	}
	again, problems := readAs(to, "", text)
	if again.Plan == nil {
		return nil, nil, fmt.Errorf("write the plan as %s: %s", to, problems[0].Message)
	}
	return text, d.losses(to, again, dropped), nil
}

func (d Document) write(to Form) ([]byte, map[int]string, error) {
	switch to {
	case Markdown:
		return plan.Format(d.Plan), nil, nil
	case YAML:
		return writeYAML(d.sheet(to)), nil, nil
	case JSON:
		return writeJSON(d.sheet(to)), nil, nil
	case DAG:
		return d.writeDAG()
	case TaskPlan:
		text, err := d.writeTaskPlan()
		return text, nil, err
	}
	return nil, nil, fmt.Errorf("there is no form %q", to)
}
