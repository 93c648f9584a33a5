package api

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/verify"
)

// Restore gives a plan document the text of one of its revisions.
type Restore struct {
	Path string `json:"path"` // as the person named it
	Seen string `json:"seen"` // the hash of its text as they saw it; "" where there was no file
	Plan string `json:"plan"` // the revision
}

// Restored is what came of it.
type Restored struct {
	Path     string            `json:"path"`
	Revision *engine.Revision  `json:"revision"`          // whose text the document has
	Kept     *engine.Revision  `json:"kept,omitempty"`    // the text that it had, recorded only now
	Was      int               `json:"was,omitzero"`      // the version of the text that it had; 0 where there was no file
	Diff     verify.Difference `json:"difference"`        // between the two
	Proposal bool              `json:"proposal,omitzero"` // an unfinished run has another text
}

// Walk is the step from the text that the document at path has to the one before it,
// or with forth to the one after it, for [Uses.Restore]. Only texts that the document
// had count, and of one that was recorded more than once only the newest record, so
// that there is an end in both directions. A text that was never recorded stands after
// all others. Where the document is gone, back is the text that it had last.
func (p *Product) Walk(ctx context.Context, word string, forth bool) (Restore, error) {
	all, err := p.History(ctx, word)
	if err != nil {
		return Restore{}, err
	}
	if newest := all[len(all)-1].Revision; newest.Drafted.Path == "" {
		return Restore{}, fileless(newest)
	}
	q := Restore{Path: word}
	if !p.IsPlan(ctx, word) {
		q.Path = p.near(p.file(all[len(all)-1].Drafted.Path))
	}
	source, err := p.readPlan(ctx, q.Path)
	switch {
	case err == nil:
		doc := Parse(q.Path, source)
		if doc.Plan == nil {
			return q, &Problem{
				Code: Invalid, Message: q.Path + " is no plan now, so its text cannot be kept",
				Hint: "piton verify " + engine.ShellWord(q.Path) + " says why; move the file away, and the newest text takes its place",
			}
		}
		q.Seen = doc.Plan.Hash()
	case Explain(err).Code != NotFound:
		return q, err
	case forth:
		return q, &Problem{
			Code: Conflict, Message: q.Path + " is gone, and nothing is put into the place of a file that somebody removed",
			Hint: "piton plan undo " + engine.ShellWord(q.Path) + " brings back the text that it had last",
		}
	}
	texts := distinct(all, q.Seen)
	at := len(texts)
	if i := slices.IndexFunc(texts, func(r *engine.Revision) bool { return r.Drafted.Hash == q.Seen }); i >= 0 {
		at = i
	}
	if w, other := p.workspace(ctx); other == nil && err != nil {
		if last, ok := w.InFile(all[0].Drafted.Intent); ok {
			at = 1 + slices.IndexFunc(texts, func(r *engine.Revision) bool { return r.Drafted.Hash == last.Drafted.Hash })
		}
	}
	if at--; forth {
		at += 2
	}
	switch {
	case at < 0:
		return q, &Problem{Code: Conflict, Message: q.Path + " has the oldest text that was recorded of it", Hint: "piton history " + engine.ShellWord(q.Path) + " lists all"}
	case at >= len(texts):
		return q, &Problem{Code: Conflict, Message: q.Path + " has its newest text", Hint: "piton history " + engine.ShellWord(q.Path) + " lists all"}
	}
	q.Plan = texts[at].Drafted.Plan
	return q, nil
}

// distinct are the revisions with a text that the file had, and that no later one of
// these has. Now is the hash of the text that it has now.
func distinct(all []Entry, now string) []*engine.Revision {
	var texts []*engine.Revision
	seen := map[string]bool{}
	for _, e := range slices.Backward(all) {
		if !seen[e.Drafted.Hash] && (e.Filed || e.Drafted.Hash == now) {
			seen[e.Drafted.Hash] = true
			texts = append(texts, e.Revision)
		}
	}
	slices.Reverse(texts)
	return texts
}

// Restoring is a restore that was looked at: what the document has, and what it
// is to have.
type Restoring struct {
	File string
	Doc  *Document // nil where there is no file
	To   *engine.Revision
	Text []byte
	Was  *engine.Revision // that the document has the text of; nil where it was never recorded
}

// Restoring looks at a restore. It refuses one of a document that was changed since
// it was seen, unless it has the wanted text already.
func (p *Product) Restoring(ctx context.Context, q Restore) (Restoring, error) {
	r := Restoring{File: p.at(q.Path)}
	if p.Guest {
		_, err := p.readPlan(ctx, q.Path)
		if err != nil && Explain(err).Code == NotFound {
			err = p.admits(ctx, q.Path)
		}
		if err != nil {
			return r, err
		}
	}
	all, err := p.History(ctx, q.Path)
	if err != nil {
		return r, err
	}
	for _, e := range all {
		if e.Drafted.Plan == q.Plan {
			r.To = e.Revision
		}
	}
	if r.To == nil {
		return r, &Problem{Code: NotFound, Message: fmt.Sprintf("%s has no revision %s", q.Path, q.Plan), Hint: "piton history " + engine.ShellWord(q.Path) + " lists them"}
	}
	if r.Text, err = p.Store.Object(ctx, r.To.Drafted.Source); err != nil {
		return r, fmt.Errorf("read the bytes of plan %s: %w", q.Plan, err)
	}
	if _, err := os.Lstat(r.File); err == nil {
		if r.Doc, err = p.Read(ctx, q.Path); err != nil {
			return r, err
		}
	}
	hash := ""
	if r.Doc != nil && r.Doc.Plan != nil {
		hash = r.Doc.Plan.Hash()
	}
	if hash != q.Seen && hash != r.To.Drafted.Hash || r.Doc != nil && r.Doc.Plan == nil {
		return r, &Problem{Code: Conflict, Message: q.Path + " was changed meanwhile" + p.differs(ctx, r.Doc, all), Hint: "look at it again: piton diff shows the changes"}
	}
	for _, e := range all {
		if e.Drafted.Hash == hash {
			r.Was = e.Revision
		}
	}
	if r.Doc != nil && r.Was == nil && !r.Doc.OK() {
		return r, &Problem{
			Code: Invalid, Message: fmt.Sprintf("%s has a text that was never recorded%s, and it does not verify, so it cannot be kept", q.Path, p.differs(ctx, r.Doc, all)),
			Hint: "piton verify " + engine.ShellWord(q.Path) + " says why; or move the file away, and the newest recorded text takes its place",
		}
	}
	return r, nil
}

// differs says what a document differs in from the newest of its revisions.
func (p *Product) differs(ctx context.Context, d *Document, all []Entry) string {
	newest := all[len(all)-1]
	if d == nil || d.Plan == nil {
		return ""
	}
	diff := p.since(ctx, newest.Revision, d)
	if diff == nil {
		return ""
	}
	return fmt.Sprintf(" (%s since revision %d)", diff.Counts(), newest.Drafted.Version)
}

// Between is the difference that a restore makes.
func (r Restoring) Between() verify.Difference {
	to := Parse(r.File, r.Text).Plan
	if r.Doc == nil || r.Doc.Plan == nil || to == nil {
		return verify.Difference{}
	}
	return verify.Diff(r.Doc.Plan, to)
}

// Seen are the bytes that the document has; nil for no file.
func (r Restoring) Seen() []byte {
	if r.Doc == nil {
		return nil
	}
	return r.Doc.Source
}
