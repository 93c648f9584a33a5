package view

import (
	"context"
	"encoding/json"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Reader reads what a face shows, from the rows that the journal keeps. What is not
// in the journal it asks of others: who carries runs on, where the worktree of a run
// is, and what the attempts under way say.
type Reader struct {
	*api.Product
	Stands func(context.Context) (Stands, error)
	Place  func(engine.HeadRow) *Worktree
	Said   func(engine.HeadRow, []engine.StepRow) map[string]Said
}

// Standing reads how a run stands.
func (r Reader) Standing(ctx context.Context, head engine.HeadRow) (Standing, error) {
	st, err := r.standing(ctx, head)
	if err != nil {
		return st, err
	}
	err = r.steps(ctx, &st)
	return st, err
}

// standing is Standing without the steps.
func (r Reader) standing(ctx context.Context, head engine.HeadRow) (st Standing, err error) {
	st = Standing{Head: head, Now: r.Now(), Place: r.Place(head)}
	if st.By, err = r.stands(ctx, &st.Head); err != nil {
		return st, err
	}
	head = st.Head
	st.Carried = st.By.On(head)
	if st.Newest, err = r.Newest(ctx, head); err != nil {
		return st, err
	}
	if st.Newest {
		if st.Other, err = r.Proposal(ctx, head); err != nil {
			return st, err
		}
	}
	if st.Items, err = r.Waiting(ctx, head); err != nil {
		return st, err
	}
	if _, err = r.Args(ctx, st.Items); err != nil {
		return st, err
	}
	st.Under, err = r.Under(ctx, head)
	return st, err
}

// stands reads who carries runs on. A run that nobody carries is read again: it may have ended
// between the two.
func (r Reader) stands(ctx context.Context, head *engine.HeadRow) (by Stands, err error) {
	if head.Ended {
		return by, nil
	}
	if by, err = r.Stands(ctx); err != nil || by.On(*head) {
		return by, err
	}
	now, err := r.Store.Heads(ctx, store.HeadFilter{Stream: head.Stream, Run: head.Run, Limit: 1})
	if len(now) == 1 {
		*head = now[0]
	}
	return by, err
}

// steps reads the steps of a run, and those of the runs that carry them out.
func (r Reader) steps(ctx context.Context, st *Standing) error {
	steps, err := r.Store.Steps(ctx, store.StepFilter{Stream: st.Head.Stream, Run: st.Head.Run})
	if err != nil {
		return err
	}
	st.Steps, st.Below = inPlace(steps), map[string]Standing{}
	if st.Loops, err = r.Loops(ctx, st.Head, steps); err != nil {
		return err
	}
	return r.below(ctx, st, st.Steps)
}

// below reads what the attempts under way of some steps say, and the runs that carry the steps out.
func (r Reader) below(ctx context.Context, st *Standing, rows []engine.StepRow) error {
	if st.Below == nil {
		st.Below = map[string]Standing{}
	}
	if st.Carried {
		st.Said = r.Said(st.Head, rows)
	}
	for _, row := range rows {
		if h, ok := st.Child(row.ID); ok {
			child := Standing{Head: h, Under: st.Under, By: st.By, Carried: st.By.On(h), Now: st.Now}
			if err := r.steps(ctx, &child); err != nil {
				return err
			}
			st.Below[row.ID] = child
		}
	}
	return nil
}

// frames reads the frames that a filter selects.
func (r Reader) frames(ctx context.Context, f store.MarkFilter) (frames []engine.FramePushed, err error) {
	marked, err := r.Store.Marked(ctx, f)
	for _, m := range marked {
		if f, ok := m.Event.(engine.FramePushed); ok {
			frames = append(frames, f)
		}
	}
	return frames, err
}

// Newest reports whether no later run of the plan took this one's place.
func (r Reader) Newest(ctx context.Context, head engine.HeadRow) (bool, error) {
	heads, err := r.Store.Heads(ctx, store.HeadFilter{Stream: head.Stream, Limit: 1})
	return len(heads) == 0 || heads[0].Run == head.Run, err
}

// Args reads what the calls among the items are called with, by its hash, and puts
// all of it into what they are about.
func (r Reader) Args(ctx context.Context, items []engine.ItemRow) (map[string]json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	for i := range items {
		it := &items[i]
		body, err := r.Body(ctx, it.Args)
		if err != nil {
			return nil, err
		}
		if body == nil {
			continue // what is kept in the journal says that it is cut
		}
		if args[it.Args] = body; it.Kind == engine.Approval {
			it.Context = withArgs(it.Context, body)
		}
	}
	return args, nil
}

// Outputs reads what a step put out. What gc has removed is left out.
func (r Reader) Outputs(ctx context.Context, step string, records []engine.Record) (Outputs, error) {
	all := Outputs{}
	for _, rec := range records {
		e, ok := rec.Event.(engine.WorkEnded)
		if !ok || step == "" || e.Step != step {
			continue
		}
		body, err := r.Body(ctx, e.Output)
		if err != nil {
			return nil, err
		}
		all[e.Output] = body
	}
	return all, nil
}
