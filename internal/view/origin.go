package view

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Origin is what led to how a step stands: the revision that it is of, what people
// allowed, and what its newest work was given and left.
type Origin struct {
	Revision engine.RunOpened      // in force now: its plan, version, hash, and who approved it
	Yes      []engine.ItemAnswered // what people said of the step
	opened   map[string]engine.ItemOpened
	Before   map[string]json.RawMessage // by item: the arguments in whose place a person gave others
	Dispatch *engine.WorkDispatched     // its newest work; nil before there was any
	Consumed []engine.FramePushed       // that the prompt held
	Produced []engine.FramePushed
}

// take takes a record of the step in.
func (o *Origin) take(r engine.Record) {
	switch e := r.Event.(type) {
	case engine.ItemOpened:
		if o.opened == nil {
			o.opened = map[string]engine.ItemOpened{}
		}
		o.opened[e.Item] = e
	case engine.ItemAnswered:
		o.Yes = append(o.Yes, e)
	case engine.WorkDispatched:
		if e.Kind.Effect() == engine.Work {
			o.Dispatch = &e
		}
	case engine.FramePushed:
		o.Produced = append(o.Produced, e)
	}
}

// edited reads what calls would have been made with, had no person given other arguments.
func (o *Origin) edited(ctx context.Context, r Reader) error {
	o.Before = map[string]json.RawMessage{}
	for _, a := range o.Yes {
		hash := o.opened[a.Item].Args
		if len(a.Args) == 0 || hash == "" {
			continue
		}
		body, err := r.Body(ctx, hash)
		if err != nil {
			return err
		}
		o.Before[a.Item] = body
	}
	return nil
}

// consumed reads the frames that the newest work was given, which may be of earlier runs.
func (x *Account) consumed(ctx context.Context, r Reader) error {
	if x.Dispatch == nil {
		return nil
	}
	ids := slices.Sorted(slices.Values(x.Dispatch.Frames))
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n] == ids[0]+n {
			n++
		}
		frames, err := r.frames(ctx, store.MarkFilter{Stream: x.Head.Stream, Frames: engine.Window{Start: ids[0], End: ids[0] + n}})
		if err != nil {
			return err
		}
		x.Consumed, ids = append(x.Consumed, frames...), ids[n:]
	}
	return nil
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
	// Before and Args are arguments of a call, where the person gave others.
	Before json.RawMessage `json:"args_before,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
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

// FramesOf are frames for programs.
func FramesOf(frames []engine.FramePushed) []FrameDoc {
	docs := make([]FrameDoc, len(frames))
	for n, f := range frames {
		docs[n] = FrameDoc{f.ID, f.Kind, f.Step, f.Attempt, f.Summary, f.Tokens}
	}
	return docs
}

func (o *Origin) document() *OriginDoc {
	d := &OriginDoc{
		Plan: o.Revision.Plan, Version: o.Revision.Version, Hash: o.Revision.PlanHash, By: o.Revision.ApprovedBy,
		Answers: []AnswerDoc{}, Given: []engine.Injected{}, Consumed: FramesOf(o.Consumed), Produced: FramesOf(o.Produced),
	}
	for _, a := range o.Yes {
		d.Answers = append(d.Answers, AnswerDoc{a.Item, a.Choice, a.By, a.Text, o.Before[a.Item], a.Args})
	}
	if o.Dispatch != nil {
		d.Prompt, d.Given = o.Dispatch.Prompt, append(d.Given, o.Dispatch.Injected...)
	}
	return d
}
