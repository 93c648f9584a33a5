package api

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/store"
)

// Deeds are what a run's steps did: the newest output of each, as text, the files that it
// changed, those of a worktree when it is merged, and the arguments that people gave a call.
func (p *Product) Deeds(ctx context.Context, head engine.HeadRow) (project.Deeds, error) {
	t := Tale{Run: head.Run}
	err := p.Tell(ctx, head, &t)
	return t.Deeds, err
}

// Tale is what the records of a run have told so far. The zero value with a run knows
// nothing.
type Tale struct {
	Run string
	project.Deeds
	Most  int // bytes of an output that are kept; 0 for all
	seq   uint64
	asked map[string]string          // by item: the step whose question it is
	calls map[string]string          // by item: the step whose call it is
	edits map[string]json.RawMessage // by step: arguments that a person gave
}

// Tell reads what a run's records tell since the tale was told last. The cost is
// that of the new records.
func (p *Product) Tell(ctx context.Context, head engine.HeadRow, t *Tale) error {
	if t.asked == nil {
		t.asked, t.Outputs, t.Changed = map[string]string{}, map[string]string{}, map[string][]string{}
		t.calls, t.edits, t.Args = map[string]string{}, map[string]json.RawMessage{}, map[string]json.RawMessage{}
		t.seq = max(head.First, 1) - 1
	}
	for r, err := range p.Store.Read(ctx, head.Stream, t.seq) {
		if err != nil {
			return err
		}
		if e, ok := r.Event.(engine.RunOpened); ok && e.Run != t.Run {
			return nil
		}
		t.seq, t.Updated = r.Seq, r.At
		if err := p.tell(ctx, r.Event, t); err != nil {
			return err
		}
	}
	return nil
}

func (p *Product) tell(ctx context.Context, e engine.Event, t *Tale) error {
	switch e := e.(type) {
	case engine.ItemOpened:
		if e.Kind == engine.Question {
			t.asked[e.Item] = e.Step
		}
		if e.Tool != "" {
			t.calls[e.Item] = e.Step
		}
	case engine.ItemAnswered:
		if step, ok := t.asked[e.Item]; ok {
			t.put(step, e.Output())
		}
		if step, ok := t.calls[e.Item]; ok && len(e.Args) > 0 {
			t.edits[step] = e.Args
		}
	case engine.WorkDispatched:
		delete(t.Args, e.Step)
		if args := t.edits[e.Step]; e.Kind == engine.ToolWork && len(args) > 0 && store.NewObject(args).Hash == e.Prompt {
			t.Args[e.Step] = args
		}
	case engine.WorkEnded:
		if e.Kind == engine.MergeWork { // it knows all, and puts out nothing
			t.Changed[e.Step] = e.Changed
			return nil
		}
		if len(e.Changed) > 0 { // each attempt goes on from the files of the one before
			all := slices.Sorted(slices.Values(slices.Concat(t.Changed[e.Step], e.Changed)))
			t.Changed[e.Step] = slices.Compact(all)
		}
		body, err := p.Body(ctx, e.Output)
		if err != nil {
			return err
		}
		t.put(e.Step, body)
	}
	return nil
}

// put keeps what a step put out, or the beginning of it.
func (t *Tale) put(step string, body []byte) {
	text := string(body)
	if t.Most > 0 && len(text) > t.Most {
		text = strings.ToValidUTF8(text[:t.Most], "") + "…"
	}
	t.Outputs[step] = text
}

// Body is the body of an object; nil where gc has removed it.
func (p *Product) Body(ctx context.Context, hash string) ([]byte, error) {
	if hash == "" {
		return nil, nil
	}
	body, err := p.Store.Object(ctx, hash)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return body, err
}
