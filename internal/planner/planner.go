// Package planner has a model draft a plan, and sends the draft back with what is
// wrong with it until nothing is, or the model was asked often enough.
//
// What a model answers is a claim about what a plan could be. It is read, bounded and
// judged like any text from outside, by whoever [Job.Judges] names. The best draft of
// all is what comes out, with what is still wrong with it.
//
// It must never write a file of the workspace, never approve or weaken a plan, never
// run anything, and never ask more often than [Rounds] says.
package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/verify"
)

// Rounds is how often a model is asked for one plan.
const Rounds = 3

// Schema is that of a structured answer.
var Schema = json.RawMessage(`{"type":"object","properties":{"plan":{"type":"string","description":"the whole plan document, in Markdown"},` +
	`"reasoning":{"type":"string","description":"why the plan is as it is"},"changes":{"type":"string","description":"what is different from the plan before, if there is one"}},` +
	`"required":["plan","reasoning"],"additionalProperties":false}`)

// RevisionSchema is that of a structured answer of a planner that may give up.
var RevisionSchema = json.RawMessage(`{"type":"object","properties":{"plan":{"type":"string","description":"the whole plan document, in Markdown; empty to give up"},` +
	`"reasoning":{"type":"string","description":"why the plan is as it is"},"changes":{"type":"string","description":"what is different from the plan before"},` +
	`"abort":{"type":"string","description":"only to give up: why it cannot be done"}},"required":["plan","reasoning"],"additionalProperties":false}`)

// Job is one plan to be drafted.
type Job struct {
	Ask    model.Asker
	Prompt string          // the whole of the first question
	Log    string          // of all questions and answers
	Schema json.RawMessage // [Schema] or [RevisionSchema], where the model can be held to it
	Abort  bool            // the model may give up
	Judges []Judge         // asked in their order, each only about what those before it let pass
}

// A Judge looks at the Markdown of a draft and says what it finds. A draft goes back
// where it says so, or where one of the findings is an error. The error says that it
// could not look at all.
type Judge func(ctx context.Context, source []byte) (findings []verify.Finding, back bool, err error)

// Draft is a plan that a model made.
type Draft struct {
	Source    []byte           `json:"source,omitempty"` // Markdown; nil where there is none
	Reasoning string           `json:"reasoning,omitempty"`
	Changes   string           `json:"changes,omitempty"`
	Abort     string           `json:"abort,omitempty"` // why the model gave up; there is no plan then
	Findings  []verify.Finding `json:"findings,omitempty"`
}

// OK reports whether there is a draft that verifies.
func (d Draft) OK() bool { return d.Source != nil && !verify.HasErrors(d.Findings) }

// Outcome is what came of a job.
type Outcome struct {
	Draft
	Rounds int          `json:"rounds"`          // that the model was asked
	Ended  string       `json:"ended,omitempty"` // why it was not asked until nothing was wrong, for people
	Said   string       `json:"said,omitempty"`  // the last words of a model that made no plan, their beginning
	How    engine.How   `json:"how"`             // Exited; or, where no answer was ever taken, what kept it away
	Usage  engine.Usage `json:"usage"`
}

// Run asks until a draft comes that nothing is wrong with. It stops early where the
// model repeats itself: it has nothing else to say. The error is one of a judge.
func Run(ctx context.Context, j Job) (Outcome, error) {
	r := rounds{Job: j, out: Outcome{How: engine.Exited}}
	question := j.Prompt
	for r.out.Rounds < Rounds {
		again, err := r.round(ctx, question)
		if err != nil || again == "" {
			return r.out, err
		}
		question = again
	}
	r.out.Ended = fmt.Sprintf("after %d answers something is still wrong with the plan", Rounds)
	if r.out.Source == nil {
		r.out.Ended = fmt.Sprintf("none of %d answers is a plan: %s", Rounds, r.problem)
	}
	return r.out, nil
}

// rounds is a job under way.
type rounds struct {
	Job
	out     Outcome
	last    string // the answer before, or why there was none
	problem string // what keeps the newest answer from being a plan
	backs   int    // findings for which the best draft goes back
}

// round asks once and returns the next question; "" where none is left to ask.
func (r *rounds) round(ctx context.Context, question string) (again string, err error) {
	r.out.Rounds++
	a, err := r.Ask.Ask(ctx, model.Question{Prompt: question, Log: r.Log, Schema: r.Schema})
	r.out.Usage = r.out.Usage.Plus(a.Usage)
	said, problem := a.Text, ""
	if err != nil {
		f, failed := errors.AsType[*model.Failure](err)
		if !failed || f.How != engine.Exited {
			return "", r.away(f, err)
		}
		said, problem = f.Reason, f.Reason
	}
	repeats := strings.TrimSpace(said) == r.last
	r.last = strings.TrimSpace(said)
	var d Draft
	if problem == "" {
		d, problem = read(said)
	}
	switch {
	case d.Abort != "" && r.Abort:
		r.out.Draft, r.out.Said, r.out.How = d, "", engine.Exited
		return "", nil
	case d.Abort != "":
		problem = "the answer gives up, and a plan is wanted"
	}
	r.problem = problem
	if problem != "" && r.out.Source == nil && a.Text != "" {
		r.out.Said = cut(a.Text)
	}
	again, err = r.judge(ctx, d, problem, a.Text)
	if again != "" && repeats {
		r.out.Ended = "the same answer came twice"
		if r.out.Source == nil {
			r.out.Ended = "the same answer came twice, and it is no plan: " + problem
		}
		return "", err
	}
	return again, err
}

// away ends the job because the model cannot be heard.
func (r *rounds) away(f *model.Failure, err error) error {
	if f == nil {
		return err
	}
	if r.out.Ended = f.Reason; r.out.Source == nil {
		r.out.How = f.How
	}
	return nil
}

// judge looks at an answer and keeps it if it is the best so far.
func (r *rounds) judge(ctx context.Context, d Draft, problem, answer string) (again string, err error) {
	if problem != "" {
		return prompt.Again(r.Prompt, prompt.Back{Problem: problem, Answer: answer}), nil
	}
	for _, judge := range r.Judges {
		found, back, err := judge(ctx, d.Source)
		if err != nil {
			return "", err
		}
		d.Findings = append(d.Findings, found...)
		if back || verify.HasErrors(found) {
			r.keep(d)
			return prompt.Again(r.Prompt, prompt.Back{Draft: string(d.Source), Findings: lines(d.Findings)}), nil
		}
	}
	r.out.Draft, r.out.Said = d, ""
	return "", nil
}

// keep takes a draft that goes back, if it is no worse than the best so far.
func (r *rounds) keep(d Draft) {
	n := worth(d)
	if r.out.Source != nil && n > r.backs {
		return
	}
	r.out.Draft, r.out.Said, r.backs = d, "", n
}

// worth counts what is wrong with a draft: an error more than anything else.
func worth(d Draft) (n int) {
	for _, f := range d.Findings {
		if n++; f.Severity == verify.Error {
			n += 1 << 20
		}
	}
	return n
}

// lines are findings for a model: with their places, and what helps.
func lines(findings []verify.Finding) []string {
	var all []string
	for _, f := range findings {
		if f.Severity == verify.Note {
			continue
		}
		line := f.String()
		if f.Hint != "" {
			line += " (" + f.Hint + ")"
		}
		all = append(all, line)
	}
	return all
}
