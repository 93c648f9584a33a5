package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/prompt"
)

// Bounds of what a reviewer says.
const (
	reviewRounds = 2
	maxAdvice    = 600 // characters of a text or a reason
)

// ReviewSchema is that of a structured review.
var ReviewSchema = json.RawMessage(`{"type":"object","properties":{"findings":{"type":"array","items":{"type":"object","properties":{"line":{"type":"integer"},` +
	`"step":{"type":"string"},"text":{"type":"string"},"reason":{"type":"string"}},"required":["line","step","text","reason"],"additionalProperties":false}}},"required":["findings"],"additionalProperties":false}`)

// Advice is one thing that a reviewer says of a plan. It decides nothing.
type Advice struct {
	Line   int    `json:"line"` // of the document; 0: of the plan as a whole
	Step   string `json:"step"` // id; "": of no step
	Text   string `json:"text"`
	Reason string `json:"reason"`
}

// Review is what a reviewer said.
type Review struct {
	Advice []Advice     `json:"advice"`
	Rounds int          `json:"rounds"`          // that it was asked
	Ended  string       `json:"ended,omitempty"` // why there is no review, for people
	How    engine.How   `json:"how"`             // Exited; or what kept it away
	Usage  engine.Usage `json:"usage"`
}

// ReviewJob is one document to be read.
type ReviewJob struct {
	Ask    model.Asker
	Prompt string
	Log    string
	Schema json.RawMessage
	Source []byte     // the document
	Plan   *plan.Plan // as it was read; nil where it cannot be
}

// Read asks for a review, and once more where the answer is none.
func (j ReviewJob) Read(ctx context.Context) (Review, error) {
	out, question := Review{How: engine.Exited, Advice: []Advice{}}, j.Prompt
	for out.Rounds < reviewRounds {
		out.Rounds++
		a, err := j.Ask.Ask(ctx, model.Question{Prompt: question, Log: j.Log, Schema: j.Schema})
		out.Usage = out.Usage.Plus(a.Usage)
		problem := ""
		if err != nil {
			f, failed := errors.AsType[*model.Failure](err)
			switch {
			case !failed:
				return out, err
			case f.How != engine.Exited:
				out.How, out.Ended = f.How, f.Reason
				return out, nil
			}
			problem = f.Reason
		} else if out.Advice, problem = j.read(a.Text); problem == "" {
			out.Ended = ""
			return out, nil
		}
		out.Ended = fmt.Sprintf("none of %d answers is a review: %s", out.Rounds, problem)
		question = prompt.Again(j.Prompt, prompt.Back{Problem: problem, Answer: a.Text})
	}
	return out, nil
}

// read takes the findings out of an answer. The problem says, to the model, why there
// are none.
func (j ReviewJob) read(answer string) (advice []Advice, problem string) {
	advice = []Advice{}
	var said struct {
		Findings *[]Advice `json:"findings"`
	}
	if err := model.Object(answer, &said); err != nil || said.Findings == nil {
		return advice, "the answer is not one JSON object, alone or between fences, with nothing but findings, each with line, step, text and reason"
	}
	lines := strings.Count(strings.TrimSuffix(string(j.Source), "\n"), "\n") + 1
	for n, a := range *said.Findings {
		if n == prompt.MaxAdvice {
			break
		}
		a.Text, a.Reason = shortened(a.Text), shortened(a.Reason)
		if a.Text == "" || a.Reason == "" {
			return []Advice{}, fmt.Sprintf("finding %d of the answer has no text or no reason", n+1)
		}
		if a.Line < 1 || a.Line > lines {
			a.Line = 0
		}
		j.place(&a)
		advice = append(advice, a)
	}
	return advice, ""
}

// place checks the step that advice is about against the document, and gives it the
// step's line where it has none.
func (j ReviewJob) place(a *Advice) {
	if j.Plan != nil {
		for _, s := range j.Plan.Steps {
			if s.ID.Value != a.Step && s.Number != a.Step {
				continue
			}
			if a.Step = s.ID.Value; a.Line == 0 {
				a.Line = s.Pos.Line
			}
			return
		}
	}
	a.Step = ""
}

// shortened is a text of a model on one line, without what steers a terminal.
func shortened(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxAdvice {
		return string(r[:maxAdvice]) + "…"
	}
	return s
}
