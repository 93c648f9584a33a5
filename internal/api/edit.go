package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/store"
)

// Edit gives a plan document another text.
type Edit struct {
	Path string `json:"path"` // as the person named it
	Seen string `json:"seen"` // the [Digest] of the text that the person saw
	Text []byte `json:"text"` // all that the document is to have
}

// Edited is what came of it.
type Edited struct {
	Seen string `json:"seen"` // the [Digest] of the text that the document has now
}

// Digest names the bytes of a text, each of them: what a plan's hash leaves out counts too.
func Digest(text []byte) string { return store.NewObject(text).Hash }

// Editing looks at an edit. It finds the file with its bytes, and refuses a text that is no
// plan, and one for a document that has other bytes than the person saw.
func (p *Product) Editing(ctx context.Context, q Edit) (file string, seen []byte, err error) {
	if seen, err = p.readPlan(ctx, q.Path); err != nil {
		return "", nil, err
	}
	if d := Digest(seen); d != q.Seen && d != Digest(q.Text) { // else it was written before, and the answer lost
		return "", nil, Meanwhile(q.Path)
	}
	if doc := Parse(q.Path, q.Text); doc.Plan == nil {
		return "", nil, &Problem{Code: Invalid, Message: "the text is no plan: " + doc.Problems[0].Message, Hint: "the file is as it was"}
	} else if p.Guest && !doc.isPlan() {
		return "", nil, &Problem{Code: Denied, Message: "the text is no plan: it has no steps, or as Markdown no type: plan", Hint: "the file is as it was"}
	}
	return p.at(q.Path), seen, nil
}

// Meanwhile is the problem of a document that somebody else changed since it was seen.
func Meanwhile(path string) *Problem {
	return &Problem{Code: Conflict, Message: path + " was changed meanwhile, so nothing was written", Hint: "look at its text now, and change that"}
}

// InMarkdown is the plan as Markdown, in which its steps are edited.
func (d *Document) InMarkdown() (*plan.Plan, error) {
	md, _, err := d.Form.Markdown()
	return md, err
}

// Rewritten is the document in its own form after its Markdown was edited. It fails where the
// form cannot hold all of it.
func (d *Document) Rewritten(text []byte) ([]byte, error) {
	_, lost, err := d.Form.Markdown()
	if err == nil {
		more := lost
		text, more, err = d.Form.Rewritten(text)
		lost = slices.Concat(lost, more)
	}
	if err == nil && len(lost) > 0 {
		err = errors.New(lost[0].String())
	}
	if err != nil {
		err = fmt.Errorf("as %s, the file would not keep all: %w", d.Form.Form, err)
	}
	return text, err
}
