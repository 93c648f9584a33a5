package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// MaxRequest is how long a request for a plan may be, in bytes.
const MaxRequest = 64 << 10

// Planning asks for a plan to be made of a request.
type Planning struct {
	Request     string   `json:"request"`
	Comments    string   `json:"comments,omitempty"` // what others said about it: data
	Link        string   `json:"link,omitempty"`     // address of what asks for it, such as an issue
	Constraints []string `json:"constraints,omitempty"`
	// Path is that of the document which is to have the plan, as the person names it;
	// with a slash at its end a directory, where the title names the document; "" is
	// none. Nobody but the person's face writes it.
	Path  string `json:"path,omitzero"`
	Again bool   `json:"again,omitzero"` // even where the journal has the answer to this very question
	Consent
}

// maxLink is how long an address may be, in bytes.
const maxLink = 2 << 10

// IsLink reports whether a word is the address of a page.
func IsLink(word string) bool {
	u, err := url.Parse(word)
	return err == nil && len(word) <= maxLink && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
}

// Consent is a yes to the configuration, which says who is asked. Settings is the hash
// of what was shown, "" for any.
type Consent struct {
	Yes      bool   `json:"yes,omitzero"`
	Settings string `json:"settings,omitzero"`
}

// Reviewing asks for a plan to be read by the reviewer.
type Reviewing struct {
	Name   string `json:"name"` // of the document, as the person names it
	Source []byte `json:"source"`
	Again  bool   `json:"again,omitzero"` // even where the journal has what was said of this text
	Consent
}

// Redrafting asks for a plan that has not run to be changed by the planner.
type Redrafting struct {
	Path  string `json:"path"`           // of the document
	Step  string `json:"step,omitempty"` // id or number of the only step that may change; "": all of it
	Why   string `json:"why"`            // the person's comment
	Again bool   `json:"again,omitzero"` // even where the journal has the answer to this very question
	Consent
}

// Contracting asks for a contract of each step of a plan that nothing can prove.
type Contracting struct {
	Name   string `json:"name"` // of the document, as the person names it
	Source []byte `json:"source"`
	Again  bool   `json:"again,omitzero"` // even where the journal has the answer to this very question
	Consent
}

// Unproven are the ids of the steps that nothing can prove, and what else is wrong with
// the plan.
func Unproven(found []verify.Finding) (steps []string, wrong []verify.Finding) {
	for _, f := range found {
		switch {
		case f.Severity != verify.Error:
		case f.Code == verify.NoProof:
			steps = append(steps, f.Step)
		default:
			wrong = append(wrong, f)
		}
	}
	return steps, wrong
}

// MaxReviewed is how long a plan may be that a reviewer reads, in bytes.
const MaxReviewed = 64 << 10

// Planned names the errand that makes the plan.
type Planned struct {
	Errand string `json:"errand"`
	Who    string `json:"who"`            // makes it, for people
	Known  bool   `json:"known,omitzero"` // it was asked for before
	Needs  Need   `json:"needs,omitzero"` // a yes to the configuration: nothing was asked for
}

// Withdrawal takes an errand back.
type Withdrawal struct {
	Errand string `json:"errand"` // its id, or a unique beginning of it; of what was withdrawn its id
}

// Errand is what is known of an errand.
func (p *Product) Errand(ctx context.Context, id string) (engine.ErrandRow, error) {
	row, err := thing[engine.ErrandRow](ctx, p, engine.ErrandKept, id)
	switch {
	case err != nil:
		return engine.ErrandRow{}, err
	case row == nil:
		return engine.ErrandRow{}, &Problem{Code: NotFound, Message: "no errand " + id}
	}
	return *row, nil
}

// IsErrand reports whether a word looks like the id of an errand that a person asked for.
func IsErrand(word string) bool { return strings.HasPrefix(word, "e-") }

// ErrandOf finds the errand that a word names: by its id, or a unique beginning of it.
func (p *Product) ErrandOf(ctx context.Context, word string) (engine.ErrandRow, error) {
	found, err := things[engine.ErrandRow](ctx, p, store.ThingFilter{Kind: engine.ErrandKept, Prefix: word})
	if err != nil {
		return engine.ErrandRow{}, err
	}
	for _, row := range found {
		if row.Asked.Errand == word {
			return *row, nil
		}
	}
	switch len(found) {
	case 1:
		return *found[0], nil
	case 0:
		return engine.ErrandRow{}, &Problem{Code: NotFound, Message: fmt.Sprintf("no errand %q", word), Hint: "piton status shows those under way; piton show INTENT shows those of a task"}
	}
	return engine.ErrandRow{}, &Problem{Code: Invalid, Message: fmt.Sprintf("%d errands begin with %q", len(found), word), Hint: "give more of the id"}
}

// Underway lists the errands that are not over, the oldest first.
func (p *Product) Underway(ctx context.Context) ([]engine.ErrandRow, error) {
	rows, err := things[engine.ErrandRow](ctx, p, store.ThingFilter{Kind: engine.ErrandKept, Open: true})
	var open []engine.ErrandRow
	for _, row := range rows {
		open = append(open, *row)
	}
	return open, err
}

// Question is what an errand asks.
type Question struct {
	engine.ErrandAsked
	Text   string               // the whole question
	Source []byte               // the plan that it is about; nil where there is none
	Intent *engine.IntentOpened // a new one that it is for, without an id; nil for none
	Again  bool                 // even where the journal has the answer
}

// Ask finds the errand that puts a question, by the object of the question: one that is
// under way, or that brought an answer. Without one it asks for it.
func (p *Product) Ask(ctx context.Context, desk Desk, q Question) (id string, known bool, err error) {
	objects := []store.Object{store.NewObject([]byte(q.Text))}
	asked := q.ErrandAsked
	asked.Request, asked.By = objects[0].Hash, p.By
	if q.Source != nil {
		objects = append(objects, store.NewObject(q.Source))
		asked.Source = objects[1].Hash
	}
	if id, err := p.same(ctx, asked, q.Again); err != nil || id != "" {
		return id, id != "", err
	}
	w, err := p.workspace(ctx)
	if err != nil {
		return "", false, err
	}
	name := ""
	for taken := true; taken; _, taken = w.Errand("e-" + name) {
		if name, err = p.NewRun(ctx); err != nil {
			return "", false, err
		}
	}
	asked.Errand = "e-" + name
	in := engine.Errand{ErrandAsked: asked, Intent: q.Intent}
	if q.Intent != nil {
		in.ErrandAsked.Intent, in.Intent.ID = "i-"+name, "i-"+name
	}
	err = desk.Submit(ctx, engine.WorkspaceStream, in, objects...)
	if err != nil {
		if id, other := p.same(ctx, asked, true); other == nil && id != "" {
			return id, true, nil // it was asked at the same moment
		}
	}
	return asked.Errand, false, err
}

// same finds the errand that puts a question already; where it is to be put again, only
// one that is under way.
func (p *Product) same(ctx context.Context, asked engine.ErrandAsked, again bool) (string, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return "", err
	}
	for row := range w.Errands {
		same := row.Asked.Kind == asked.Kind && row.Asked.Request == asked.Request && row.Asked.Source == asked.Source &&
			row.Asked.Path == asked.Path && row.Asked.By == asked.By && row.Withdrawn == ""
		if same && (row.Ended == nil || !again && row.Ended.How == engine.Exited && row.Ended.Reason == "") {
			return row.Asked.Errand, nil
		}
	}
	return "", nil
}

// Asking is a request for a plan as an errand. A guest has plans made below [PlansDir] only.
func (p *Product) Asking(q Planning, question string) (Question, error) {
	to := p.destination(q.Path)
	if p.Guest && to != "" && !strings.HasPrefix(to, PlansDir+"/") {
		return Question{}, &Problem{Code: Denied, Message: q.Path + " is not in " + PlansDir, Hint: "have the plan made there"}
	}
	return Question{
		ErrandAsked: engine.ErrandAsked{Kind: engine.PlanWork, Path: to}, Text: question, Again: q.Again,
		Intent: &engine.IntentOpened{Prompt: q.Request, Link: q.Link},
	}, nil
}

// destination names a document that is not there yet as [Product.relative] does one that
// is: by where the directories above it really are.
func (p *Product) destination(path string) string {
	if path == "" {
		return ""
	}
	above, rest := filepath.Clean(p.at(path)), ""
	for real, err := filepath.EvalSymlinks(above); ; real, err = filepath.EvalSymlinks(above) {
		if err == nil {
			above = real
			break
		}
		if filepath.Dir(above) == above {
			break
		}
		above, rest = filepath.Dir(above), filepath.Join(filepath.Base(above), rest)
	}
	rel := p.relative(filepath.Join(above, rest))
	if strings.HasSuffix(path, "/") {
		rel += "/"
	}
	return rel
}

// Trusted reports whether a person has approved the configuration in force: on its own,
// or with a plan. One to which the workspace adds nothing is the person's own.
func (p *Product) Trusted(ctx context.Context) (bool, error) {
	if _, err := os.Lstat(filepath.Join(p.Place.Dir, filepath.FromSlash(config.File))); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	w, err := p.workspace(ctx)
	return err == nil && w.Trusts(p.Settings()), err
}

// maxRefused is how many refused texts a planner is told of: the newest.
const maxRefused = 5

// Refused lists the newest texts to which somebody said no, of the intents for which of is
// true, in their order.
func (p *Product) Refused(ctx context.Context, of func(engine.IntentOpened) bool) (all []*engine.Revision, err error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for in := range w.Intents {
		named[in.ID] = of(in)
	}
	for r := range w.Revisions {
		if r.Rejected() && named[r.Drafted.Intent] {
			all = append(all, r)
		}
	}
	return all[max(0, len(all)-maxRefused):], nil
}

// Drawn is a plan that came of an errand, as a revision to be recorded: nil where its
// text is refused altogether.
func (p *Product) Drawn(ctx context.Context, asked engine.ErrandAsked, source []byte, reason, changes string) (*engine.Draft, []store.Object, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return nil, nil, err
	}
	parsed, _ := plan.Parse("", source)
	if parsed == nil {
		return nil, nil, nil
	}
	rel := asked.Path
	if strings.HasSuffix(rel, "/") {
		rel = p.free(w, rel+plan.Slug(parsed.Title.Value))
	}
	d := p.Verify(ctx, p.file(rel), source)
	d.Rel = rel
	newest, _ := w.Newest(rel)
	in, objects, err := p.draft(ctx, w, newest, d)
	if err != nil {
		return nil, nil, err
	}
	in.Intent, in.PlanDrafted.Intent = nil, asked.Intent
	in.Reason, in.Changes, in.By = reason, changes, asked.By
	in.Informed(asked.Memories)
	if asked.Source != "" {
		in.Reason = strings.TrimSpace(asked.Why + "\n\n" + reason)
		if diff := p.since(ctx, newest, d); newest != nil && diff != nil {
			in.Changes = strings.TrimSuffix(diff.Counts()+": "+changes, ": ")
		}
		in.Weakened = p.weakened(ctx, newest, d)
	}
	return &in, objects, nil
}

// free is a document's path that no file and no revision has.
func (p *Product) free(w *engine.Workspace, base string) string {
	for n, rel := 2, base+".md"; ; n++ {
		_, missing := os.Lstat(p.file(rel))
		if _, known := w.Newest(rel); !known && missing != nil {
			return filepath.ToSlash(rel)
		}
		rel = fmt.Sprintf("%s-%d.md", base, n)
	}
}

// Looks reports whether somebody is to be asked what is worth keeping of a run.
func (p *Product) Looks(ctx context.Context) (bool, error) {
	open, err := p.Underway(ctx)
	return slices.ContainsFunc(open, func(r engine.ErrandRow) bool { return r.Asked.Kind == engine.ExtractWork }), err
}

// Adoptions are the memories that people adopted.
func (p *Product) Adoptions(ctx context.Context) ([]engine.Adoption, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return nil, err
	}
	return w.Adoptions(), nil
}
