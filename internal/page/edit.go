package page

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/template"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// again shows a page once more, with what was wrong in what the person sent.
type again struct {
	status int
	sheet  sheet
}

func (a *again) Error() string { return "the form was not right" }

// asked is what the person has open on the page of a plan, or sent and was refused.
type asked struct {
	open    string // edit, add, comment; "" for nothing
	step    string // id
	text    string // that they typed; "" before they did
	refused string // why it was not done
	meant   bool   // the file has another text than the one that they saw
}

// editing is an edit of a plan: the text as Markdown, and the step that it is about.
type editing struct {
	doc  *api.Document
	md   *plan.Plan
	at   int
	form func(name string) string
	said string // what was done
}

// edits are the changes of a plan's text, by the words of their buttons. Each returns all of
// the new text, or why there is none.
var edits = map[string]func(*editing) ([]byte, error){
	"save": (*editing).save, "insert": (*editing).insert, "skip": (*editing).skip, "remove": (*editing).remove,
	"up":   func(e *editing) ([]byte, error) { return e.move(e.at - 1) },
	"down": func(e *editing) ([]byte, error) { return e.move(e.at + 1) },
	"move": func(e *editing) ([]byte, error) {
		place, err := strconv.Atoi(e.form("place"))
		if err != nil {
			return nil, fmt.Errorf("%q is no place of a step", e.form("place"))
		}
		return e.move(place)
	},
}

// errStep is a step that the plan does not have.
func errStep(id string) error {
	return &api.Problem{Code: api.NotFound, Message: fmt.Sprintf("the plan has no step %q", id), Hint: "open the plan again"}
}

// stepOf is the place of a step, from 0; -1 for none.
func stepOf(p *plan.Plan, id string) int {
	return slices.IndexFunc(p.Steps, func(s *plan.Step) bool { return s.ID.Value == id })
}

// typed is a text as a form sends it.
func typed(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func (e *editing) step() *plan.Step { return e.md.Steps[e.at] }

func (e *editing) save() ([]byte, error) {
	e.said = "Step " + e.step().Number + " is changed."
	return plan.RewrittenStep(e.md, e.at, []byte(typed(e.form("text"))))
}

func (e *editing) insert() ([]byte, error) {
	e.said = "A step is added after step " + e.step().Number + "."
	with, _ := plan.Parse(e.md.Name, plan.WithStep(e.md, e.at+1, freshStep(e.md)))
	if with == nil || len(with.Steps) != len(e.md.Steps)+1 {
		return nil, fmt.Errorf("a step cannot be added here; edit the file itself")
	}
	return plan.RewrittenStep(with, e.at+1, []byte(typed(e.form("text"))))
}

// freshStep is the text of a step that is to be filled in.
func freshStep(p *plan.Plan) []byte {
	return plan.FreshStep(p, template.Empty("").Steps[0], "What to do")
}

func (e *editing) skip() ([]byte, error) {
	e.said = "Step " + e.step().Number + " is left out of runs."
	if plan.LeftOut(e.step()) {
		e.said = "Step " + e.step().Number + " is taken in again."
	}
	return plan.ToggledStep(e.md, e.at)
}

func (e *editing) remove() ([]byte, error) {
	if len(e.md.Steps) == 1 {
		return nil, fmt.Errorf("it is the only step; a plan needs one")
	}
	var named []string
	refs := e.md.Refs()
	for j, s := range e.md.Steps { // a step that says nothing waits for the one before it, whichever that is
		if j != e.at && (s.Needs.Set || len(verify.Reads(s)) > 0) && slices.Contains(view.NeedsOf(e.md, refs, j), e.step().ID.Value) {
			named = append(named, s.ID.Value)
		}
	}
	if len(named) > 0 {
		return nil, fmt.Errorf("it stays, for these steps need it: %s; change what they need first, or skip this one", view.Join(named))
	}
	e.said = "Step " + e.step().Number + " is removed."
	return plan.WithoutStep(e.md, e.at), nil
}

func (e *editing) move(place int) ([]byte, error) {
	switch {
	case place == e.at:
		return e.md.Source, nil
	case place < 0:
		return nil, errors.New("it is the first step already")
	case place >= len(e.md.Steps):
		return nil, errors.New("it is the last step already")
	}
	if names := view.Misplaced(e.md, e.at, place); len(names) > 0 {
		verb := "is needed by"
		if place < e.at {
			verb = "needs"
		}
		return nil, fmt.Errorf("it stays where it is: it %s %s", verb, view.Join(names))
	}
	e.said = "Step " + e.step().Number + " is moved. Numbers do not change; a step that does not say what it needs waits for the step before it."
	return plan.MovedStep(e.md, e.at, place), nil
}

// edit changes the text of a plan, if its file still has the bytes that were shown.
func (w *Workspace) edit(ctx context.Context, rel, verb, id string, r *http.Request) (string, error) {
	a := asked{step: id, text: typed(r.PostFormValue("text"))}
	a.open = map[string]string{"save": "edit", "insert": "add"}[verb]
	doc, err := w.read(ctx, rel)
	if err != nil {
		return "", err
	}
	if doc.Plan == nil || api.Digest(doc.Source) != r.PostFormValue("seen") {
		return "", w.meanwhile(ctx, rel, a)
	}
	e := &editing{doc: doc, form: r.PostFormValue}
	text, err := w.rewritten(e, verb, id)
	if err != nil {
		return "", w.refuse(ctx, rel, a, err)
	}
	return w.write(ctx, doc, a, text, e.said)
}

// read reads a document of the workspace.
func (w *Workspace) read(ctx context.Context, rel string) (*api.Document, error) {
	return w.Read(ctx, filepath.Join(w.Product.Place.Dir, rel))
}

// rewritten is the new text of a document, in the form that it has.
func (w *Workspace) rewritten(e *editing, verb, id string) (text []byte, err error) {
	if verb == "fix" {
		return e.fix(id)
	}
	if e.md, err = e.doc.InMarkdown(); err != nil {
		return nil, err
	}
	if e.at = stepOf(e.md, id); e.at < 0 {
		return nil, errStep(id)
	}
	if text, err = edits[verb](e); err != nil {
		return nil, err
	}
	return e.doc.Rewritten(text)
}

// fixOf names the finding that a button fixes, among those of one text.
func fixOf(f verify.Finding) string { return fmt.Sprintf("%s-%d-%d", f.Code, f.Line, f.Column) }

// fix carries out what a finding says.
func (e *editing) fix(name string) ([]byte, error) {
	for _, f := range e.doc.Findings {
		if f.Fix != nil && fixOf(f) == name {
			e.said = "Done: " + f.Fix.Title + "."
			return plan.Changed(e.doc.Source, f.Fix.Changes...), nil
		}
	}
	return nil, &api.Problem{Code: api.Conflict, Message: "this is not found any more", Hint: "open the plan again"}
}

// write sends a text to the owner, who writes it, and keeps what it replaces, to be undone.
func (w *Workspace) write(ctx context.Context, doc *api.Document, a asked, text []byte, said string) (string, error) {
	back := planPath(doc.Rel)
	if a.step != "" {
		back += "#s-" + a.step
	}
	if bytes.Equal(text, doc.Source) {
		return back, nil
	}
	done, err := w.Client.Edit(ctx, api.Edit{Path: doc.Path, Seen: api.Digest(doc.Source), Text: text})
	switch {
	case err == nil:
		w.hand.did(doc.Rel, undo{was: doc.Source, is: done.Seen, said: said})
		return back, nil
	case api.Explain(err).Code == api.Conflict:
		return "", w.meanwhile(ctx, doc.Rel, a)
	}
	return "", err
}

// undo gives a document the text that it had before the newest edit on the page.
func (w *Workspace) undo(ctx context.Context, rel string) (string, error) {
	last := w.hand.last(rel)
	if last == nil {
		return "", &api.Problem{Code: api.Conflict, Message: "there is nothing to undo", Hint: "piton plan undo " + rel + " goes back to a text that was recorded"}
	}
	path := filepath.Join(w.Product.Place.Dir, rel)
	_, err := w.Client.Edit(ctx, api.Edit{Path: path, Seen: last.is, Text: last.was})
	switch {
	case err == nil:
		w.hand.undone(rel)
		return planPath(rel), nil
	case api.Explain(err).Code == api.Conflict:
		return "", w.meanwhile(ctx, rel, asked{})
	}
	return "", err
}

// refuse shows the plan again with what is wrong at the step. What is no fault of the form
// stays what it is.
func (w *Workspace) refuse(ctx context.Context, rel string, a asked, err error) error {
	if p := api.Explain(err); p.Code != api.Internal {
		return err
	}
	a.refused = capital(err.Error()) + "."
	return w.reviewAgain(ctx, rel, http.StatusUnprocessableEntity, a)
}

// meanwhile shows the plan as it is now to somebody who saw another text.
func (w *Workspace) meanwhile(ctx context.Context, rel string, a asked) error {
	a.meant, a.refused = true, "The file was changed meanwhile, so nothing was written. This is its text now."
	return w.reviewAgain(ctx, rel, http.StatusConflict, a)
}

func (w *Workspace) reviewAgain(ctx context.Context, rel string, status int, a asked) error {
	p, err := w.review(ctx, rel, a)
	return cmp.Or(err, error(&again{status, p}))
}

// capital begins a sentence.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// stepText is a step as it is edited, and whether all of it is shown.
func stepText(md *plan.Plan, i int) (text string, whole bool) {
	s := md.Steps[i]
	text = typed(strings.TrimRight(string(md.Source[s.Start:s.End]), "\r\n"))
	return text, proc.Plain([]byte(text)) == text
}
