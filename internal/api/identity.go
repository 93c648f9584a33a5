package api

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// A plan is the same one as long as its intent is: wherever its document lies, its
// versions count on, and its runs follow each other in one task. A document is of the
// plan that has its place. At a place that no plan has, it is of the plan of this text
// whose own document is gone. So of two files with one text the plan keeps the one that
// it has, and the other is a new plan.

// before is the revision that a document follows, the newest of its plan; nil of a new plan.
func (p *Product) before(w *engine.Workspace, d *Document) *engine.Revision {
	if r, ok := w.Newest(d.Rel); ok {
		return r
	}
	hash := ""
	if d.Plan != nil {
		hash = d.Plan.Hash()
	}
	gone := map[string]bool{}
	for _, r := range slices.Backward(slices.Collect(w.Revisions)) {
		head, ok := w.Head(r.Drafted.Intent)
		if r.Drafted.Hash != hash || r.Drafted.Parent != "" || !ok {
			continue
		}
		path := head.Drafted.Path
		if _, looked := gone[path]; !looked {
			gone[path] = path == "" || p.missing(path) // a plan may have none yet
		}
		if gone[path] {
			return head
		}
	}
	return nil
}

// missing reports whether no file is at the path of a document.
func (p *Product) missing(path string) bool {
	if p.Files != nil {
		return p.Files.Gone(path)
	}
	_, err := os.Lstat(p.file(path))
	return errors.Is(err, fs.ErrNotExist)
}

// named finds the newest revision of the plan that word names: by the path of its
// document, which may be gone, by a run, which is returned too, or by the id of a
// revision. It is nil of a document that was never recorded.
func (p *Product) named(ctx context.Context, word string) (*engine.Revision, engine.HeadRow, error) {
	rel := p.relative(word)
	r, err := p.newestAt(ctx, rel)
	if err != nil {
		return nil, engine.HeadRow{}, err
	}
	source, err := p.readPlan(ctx, word)
	if r != nil && (err == nil || Explain(err).Code == NotFound) {
		return r, engine.HeadRow{}, nil
	}
	if err == nil {
		w, err := p.workspace(ctx)
		if err != nil {
			return nil, engine.HeadRow{}, err
		}
		d := Parse(word, source)
		d.Rel = rel
		return p.before(w, d), engine.HeadRow{}, nil
	}
	if head, other := p.Find(ctx, word); other == nil {
		r, err := p.headOf(ctx, intentOf(head.Stream))
		return r, head, err
	}
	r, other := p.Revision(ctx, word)
	if other == nil {
		r, err := p.headOf(ctx, r.Drafted.Intent)
		return r, engine.HeadRow{}, err
	}
	if Explain(other).Code != NotFound {
		err = other
	}
	return nil, engine.HeadRow{}, err
}

// intentOf is the intent of a task that is carried out for no other.
func intentOf(task string) string { return "i-" + strings.TrimPrefix(task, "t-") }

// documentOf is the path of the document of a run's plan, as it was last recorded.
func (p *Product) documentOf(ctx context.Context, head engine.HeadRow) (string, error) {
	if head.Stream == "" || head.Parent.Task != "" {
		return head.Path, nil
	}
	r, err := p.headOf(ctx, intentOf(head.Stream))
	if err != nil {
		return "", err
	}
	if r != nil {
		return r.Drafted.Path, nil
	}
	return head.Path, nil
}
