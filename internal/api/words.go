package api

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

// RunAndStep understands RUN, STEP, and RUN STEP; without a run, the newest is meant.
func (p *Product) RunAndStep(ctx context.Context, words []string) (engine.HeadRow, string, error) {
	words = append(slices.Clone(words), "", "")
	word, step := words[0], words[1]
	head, err := p.Find(ctx, word)
	if word != "" && step == "" {
		// A step's whole id or number goes before the beginning of a run's id.
		of, found, ok := p.newestStep(ctx, word)
		if ok && (err != nil || found == word || isNumber(word)) {
			return of, found, nil
		}
	}
	if err != nil || step == "" {
		return head, "", err
	}
	return p.Step(ctx, head, step)
}

// newestStep finds a step of the newest run.
func (p *Product) newestStep(ctx context.Context, word string) (head engine.HeadRow, step string, ok bool) {
	head, err := p.Find(ctx, "")
	if err == nil {
		head, step, err = p.Step(ctx, head, word)
	}
	return head, step, err == nil
}

func isNumber(word string) bool {
	_, err := strconv.Atoi(word)
	return err == nil
}

// OfWord is the plan that a word names: that of a run, with its row, or the revision
// of this id. Without a word, that of the newest run.
func (p *Product) OfWord(ctx context.Context, word string) (engine.HeadRow, *engine.Revision, *Document, error) {
	if IsRevision(word) {
		r, doc, err := p.Kept(ctx, word)
		return engine.HeadRow{}, r, doc, err
	}
	head, err := p.Find(ctx, word)
	id := head.Plan
	if err != nil {
		if word == "" || Explain(err).Code != NotFound {
			return head, nil, nil, err
		}
		id = word
	}
	r, doc, other := p.Kept(ctx, id)
	if err != nil && other != nil && Explain(other).Code == NotFound {
		other = &Problem{
			Code: NotFound, Message: word + ": there is no such file, and no run or plan of this id",
			Hint: "give the path of a plan document, or an id that piton list shows",
		}
	}
	return head, r, doc, other
}

// Compared finds the two texts that are meant: two that are named; that of a run, or
// of a revision, and its file now; without a word, those of the newest run.
func (p *Product) Compared(ctx context.Context, words []string) (one, two Text, err error) {
	if len(words) == 2 {
		return p.texts(ctx, words[0], words[1])
	}
	word := append(words, "")[0]
	if r, other := p.Revision(ctx, word); other == nil {
		return p.texts(ctx, r.Drafted.Plan, p.file(r.Drafted.Path))
	}
	head, err := p.RunOf(ctx, word)
	if err == nil && head.Run == "" {
		err = &Problem{Code: NotFound, Message: word + " was never run", Hint: "give two texts to compare"}
	}
	if err != nil {
		return one, two, err
	}
	file, err := p.File(ctx, head)
	if err != nil {
		return one, two, err
	}
	return p.texts(ctx, fmt.Sprintf("%s@%d", head.Run, head.Version), file)
}

func (p *Product) texts(ctx context.Context, first, second string) (one, two Text, err error) {
	if one, err = p.TextOf(ctx, first); err == nil {
		two, err = p.TextOf(ctx, second)
	}
	return one, two, err
}

// Planned finds a step in the newest plan that has it and of which nothing was run
// yet; nil for none.
func (p *Product) Planned(ctx context.Context, word string) (*engine.Revision, *plan.Step, error) {
	plans, err := p.Unrun(ctx)
	for _, r := range slices.Backward(plans) {
		_, doc, err := p.Kept(ctx, r.Drafted.Plan)
		if err != nil {
			return nil, nil, err
		}
		if doc.Plan == nil {
			continue // this version reads other plans than the one that recorded it
		}
		for _, st := range doc.Plan.Steps {
			if st.ID.Value == word || st.Number == word {
				return r, st, nil
			}
		}
	}
	return nil, nil, err
}

// Proposed is the plan of this id that waits for approval; nil for none.
func (p *Product) Proposed(ctx context.Context, id string) (*engine.Revision, error) {
	plans, err := p.Proposals(ctx)
	if i := slices.IndexFunc(plans, func(r *engine.Revision) bool { return r.Drafted.Plan == id }); i >= 0 {
		return plans[i], err
	}
	return nil, err
}
