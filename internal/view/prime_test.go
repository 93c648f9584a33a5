package view_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

// crowded is a journal with much more than a primer can hold.
type crowded struct{ store.Store }

func (crowded) Heads(context.Context, store.HeadFilter) ([]engine.HeadRow, error) {
	heads := make([]engine.HeadRow, 5)
	for n := range heads {
		heads[n] = engine.HeadRow{Run: fmt.Sprint("run", n), Title: strings.Repeat("Title ", 500), Reason: strings.Repeat("é", 3000), Status: engine.Failed, Ended: true}
	}
	return heads, nil
}

func (crowded) Items(_ context.Context, f store.ItemFilter) ([]engine.ItemRow, error) {
	items := make([]engine.ItemRow, f.Limit) // a primer never reads all
	for n := range items {
		items[n].Item, items[n].Question = fmt.Sprint("item", n), strings.Repeat("question\n", 1000)
	}
	return items, nil
}

func (crowded) CountItems(context.Context, store.ItemFilter) (int, error) { return 30, nil }

func (crowded) Steps(_ context.Context, f store.StepFilter) ([]engine.StepRow, error) {
	steps := make([]engine.StepRow, f.Limit)
	for n := range steps {
		steps[n] = engine.StepRow{ID: fmt.Sprint("step", n), Title: strings.Repeat("title ", 100), Status: engine.Pending}
	}
	return steps, nil
}

func (crowded) CountSteps(context.Context, store.StepFilter) (int, error) { return 10_000, nil }

func (crowded) Marked(_ context.Context, f store.MarkFilter) ([]store.Marked, error) {
	all := make([]store.Marked, f.Newest)
	for n := range all {
		all[n].Event = engine.FramePushed{ID: 500 + n, Summary: strings.Repeat("known ", 200)}
	}
	return all, nil
}

// TestPrimeIsShort: whatever there is, a primer has at most 1,500 tokens, by an
// estimate that counts three bytes for one, and says what it leaves out.
func TestPrimeIsShort(t *testing.T) {
	r := view.Reader{
		Product: &api.Product{Store: crowded{}, Now: noon},
		Stands:  func(context.Context) (view.Stands, error) { return view.Stands{}, nil },
	}
	var memories []view.Note
	for n := range 100 {
		memories = append(memories, view.Note{Name: fmt.Sprint("memory", n), Text: strings.Repeat("remember ", 100)})
	}
	p, err := view.Prime(t.Context(), r, memories)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Text) > 3*view.MaxPrime || p.Tokens > view.MaxPrime || len(p.Text) < 2*view.MaxPrime {
		t.Errorf("%d bytes, %d tokens", len(p.Text), p.Tokens)
	}
	for _, want := range []string{"## Runs", "run4", "## People are asked", "- … and 22 more\n", "## Left to do", "more\n", "## What to do"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%q is missing in:\n%s", want, p.Text)
		}
	}
}
