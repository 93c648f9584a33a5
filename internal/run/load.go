package run

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Load replays a task's stream: from its newest snapshot where that can be
// used, else from the beginning. An unknown stream gives an empty state.
func Load(ctx context.Context, st store.Store, stream string) (*engine.State, error) {
	state := fromSnapshot(ctx, st, stream)
	for r, err := range Read(ctx, st, stream, state.Seq()) {
		if err == nil {
			state.Forget() // the rows are in the store already
			err = state.Apply(r)
		}
		if err != nil {
			return nil, fmt.Errorf("replay task %s: %w", stream, err)
		}
	}
	state.Forget()
	return state, nil
}

// Rows replays a stream from the beginning and returns all its rows, as
// [store.Rows] reads them: what a store should list of it.
func Rows(ctx context.Context, st store.Store, stream string) (engine.Rows, error) {
	if stream == engine.WorkspaceStream {
		return workspace(ctx, st)
	}
	var state engine.State
	for r, err := range Read(ctx, st, stream, 0) {
		if err == nil {
			err = state.Apply(r)
		}
		if err != nil {
			return engine.Rows{}, fmt.Errorf("replay task %s: %w", stream, err)
		}
	}
	rows := state.Rows()
	rows.All = false
	for i := range rows.Earlier {
		rows.Earlier[i].All = false
	}
	for _, one := range store.ByRun(rows) {
		slices.SortFunc(one.Items, store.CompareItems)
	}
	return rows, nil
}

func workspace(ctx context.Context, st store.Store) (engine.Rows, error) {
	var w engine.Workspace
	for r, err := range st.Read(ctx, engine.WorkspaceStream, 0) {
		if err == nil {
			err = w.Apply(r)
		}
		if err != nil {
			return engine.Rows{}, fmt.Errorf("replay the workspace: %w", err)
		}
	}
	rows := w.Rows()
	slices.SortFunc(rows.Items, store.CompareItems)
	return rows, nil
}

// ReadRun yields the records of one run: from the one that opened it to the
// last before the next run of its task. It reads no other run. An error comes
// as the last pair.
func ReadRun(ctx context.Context, st store.Store, head engine.HeadRow) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		inside := false
		for r, err := range Read(ctx, st, head.Stream, max(head.First, 1)-1) {
			if e, ok := r.Event.(engine.RunOpened); ok {
				if inside && e.Run != head.Run {
					return
				}
				inside = e.Run == head.Run
			}
			if (inside || err != nil) && !yield(r, err) {
				return
			}
		}
	}
}

// Read yields a task's records after a sequence as the core applies them: with
// the programs that opened runs name. An error comes as the last pair.
func Read(ctx context.Context, st store.Store, stream string, after uint64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for r, err := range st.Read(ctx, stream, after) {
			if err == nil {
				r, err = compiled(ctx, st, r)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// fromSnapshot never fails: without a usable snapshot the journal is replayed.
func fromSnapshot(ctx context.Context, st store.Store, stream string) *engine.State {
	_, body, err := st.Snapshot(ctx, stream)
	if err != nil || body == nil {
		return &engine.State{}
	}
	hash, err := engine.SnapshotProgram(body)
	if err != nil {
		return &engine.State{}
	}
	p, err := program(ctx, st, hash)
	if err != nil {
		return &engine.State{}
	}
	state, err := engine.Restore(body, p)
	if err != nil {
		return &engine.State{}
	}
	return state
}

// compiled gives an opened run the program that its record names.
func compiled(ctx context.Context, st store.Store, r engine.Record) (engine.Record, error) {
	e, ok := r.Event.(engine.RunOpened)
	if !ok {
		return r, nil
	}
	p, err := program(ctx, st, e.Program)
	e.Compiled = p
	r.Event = e
	return r, err
}

func program(ctx context.Context, st store.Store, hash string) (*engine.Program, error) {
	body, err := st.Object(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", hash, err)
	}
	return engine.DecodeProgram(body)
}
