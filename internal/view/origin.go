package view

import (
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// Origin is what led to how a step stands: the revision that it is of, what people
// allowed, and what its newest work was given and left.
type Origin struct {
	Revision engine.RunOpened       // in force when its newest work was dispatched, else now
	Yes      []engine.ItemAnswered  // what people said of the step
	Dispatch *engine.WorkDispatched // its newest work; nil before there was any
	Consumed []engine.FramePushed   // that the prompt held
	Produced []engine.FramePushed
	Unknown  []int // frames that the prompt held, and that are of earlier runs
}

// origin takes a record of the run in.
func (o *Origin) take(step string, r engine.Record, asked map[string]string, known map[int]engine.FramePushed) {
	switch e := r.Event.(type) {
	case engine.RunOpened:
		o.Revision = e
	case engine.ItemAnswered:
		if asked[e.Item] == step {
			o.Yes = append(o.Yes, e)
		}
	case engine.WorkDispatched:
		if e.Step == step && e.Kind.Effect() == engine.Work {
			o.Dispatch = &e
		}
	case engine.FramePushed:
		if known[e.ID] = e; e.Step == step {
			o.Produced = append(o.Produced, e)
		}
	}
}

func (x *Account) origin(step string, r engine.Record, known map[int]engine.FramePushed) {
	x.Origin.take(step, r, x.Fold.asked, known)
}

// consumed looks up what the newest work was given.
func (o *Origin) consumed(known map[int]engine.FramePushed) {
	if o.Dispatch == nil {
		return
	}
	for _, id := range o.Dispatch.Frames {
		if f, ok := known[id]; ok {
			o.Consumed = append(o.Consumed, f)
		} else {
			o.Unknown = append(o.Unknown, id)
		}
	}
}

// Earlier takes frames of earlier runs that the newest work was given.
func (o *Origin) Earlier(frames []engine.FramePushed) {
	o.Unknown = nil
	o.Consumed = append(o.Consumed, frames...)
	slices.SortFunc(o.Consumed, func(a, b engine.FramePushed) int { return a.ID - b.ID })
}

// OriginDoc is an origin for programs.
type OriginDoc struct {
	Plan     string            `json:"plan"` // id of the revision
	Version  int               `json:"version"`
	Hash     string            `json:"hash"`
	By       string            `json:"approved_by"`
	Answers  []AnswerDoc       `json:"answers"`
	Prompt   string            `json:"prompt"` // hash of what the newest work was given
	Given    []engine.Injected `json:"given"`  // files, outputs, topics and memories in it
	Consumed []FrameDoc        `json:"frames_consumed"`
	Produced []FrameDoc        `json:"frames_produced"`
}

// AnswerDoc is what a person said of a step.
type AnswerDoc struct {
	Item   string `json:"item"`
	Choice string `json:"choice"`
	By     string `json:"by"`
	Text   string `json:"text"`
}

// FrameDoc is a frame for programs.
type FrameDoc struct {
	ID      int              `json:"id"`
	Kind    engine.FrameKind `json:"kind"`
	Step    string           `json:"step"`
	Attempt int              `json:"attempt"`
	Summary string           `json:"summary"`
	Tokens  int              `json:"tokens"`
}

func framesOf(frames []engine.FramePushed) []FrameDoc {
	docs := make([]FrameDoc, len(frames))
	for n, f := range frames {
		docs[n] = FrameDoc{f.ID, f.Kind, f.Step, f.Attempt, f.Summary, f.Tokens}
	}
	return docs
}

func (o *Origin) document() *OriginDoc {
	d := &OriginDoc{
		Plan: o.Revision.Plan, Version: o.Revision.Version, Hash: o.Revision.PlanHash, By: o.Revision.ApprovedBy,
		Answers: []AnswerDoc{}, Given: []engine.Injected{}, Consumed: framesOf(o.Consumed), Produced: framesOf(o.Produced),
	}
	for _, a := range o.Yes {
		d.Answers = append(d.Answers, AnswerDoc{a.Item, a.Choice, a.By, a.Text})
	}
	if o.Dispatch != nil {
		d.Prompt, d.Given = o.Dispatch.Prompt, append(d.Given, o.Dispatch.Injected...)
	}
	return d
}
