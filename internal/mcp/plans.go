package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/view"
)

type listIn struct {
	Title string `json:"title,omitempty" jsonschema:"only runs and plans with this text in the title"`
}

// listed is a run in a list.
type listed struct {
	Run       string `json:"run"`
	Plan      string `json:"plan"`
	Title     string `json:"title"`
	Status    string `json:"status"`
	Satisfied int    `json:"satisfied"`
	Total     int    `json:"total"`
	Waiting   int    `json:"waiting,omitzero"`
}

// recent is how many runs are listed.
const recent = 20

func list(ctx context.Context, w *Workspace, _ *mcp.CallToolRequest, in listIn) (any, error) {
	if in.Title != "" {
		if err := word("the title", in.Title); err != nil {
			return nil, err
		}
	}
	found, err := w.List(ctx, view.Listing{Title: in.Title, Recent: recent})
	if err != nil {
		return nil, err
	}
	runs := []listed{}
	for _, h := range found.Heads {
		runs = append(runs, listed{h.Run, h.Plan, cut(h.Title, maxLine), string(found.By.Of(h)), h.Settled, h.Total, found.By.Open(h)})
	}
	waiting := []map[string]any{}
	for _, r := range found.Plans {
		waiting = append(waiting, map[string]any{
			"file": r.Drafted.Path, "title": cut(r.Drafted.Title, maxLine), "status": view.PlanStatus(r), "for_person": view.ToRun(r),
		})
	}
	files, more := few(w.PlanFiles(), maxRows)
	return map[string]any{"runs": runs, "more_runs": found.More, "plans": waiting, "files": files, "more_files": more}, nil
}

type planIn struct {
	Plan string `json:"plan" jsonschema:"path of the plan in the workspace, such as plans/fix.md"`
}

type showIn struct {
	Plan string `json:"plan" jsonschema:"path of a plan in the workspace, or the id of a run or revision"`
}

// document is the plan that a word names: a file of the workspace, or what the journal has.
func document(ctx context.Context, w *Workspace, name string) (*api.Document, string, error) {
	rel, err := within(w, name)
	if err == nil {
		doc, err := w.Read(ctx, rel)
		return doc, "draft", err
	}
	if p := api.Explain(err); p.Code != api.NotFound || id("the id", name) != nil || strings.Contains(name, "/") {
		return nil, "", err
	}
	_, r, doc, err := w.OfWord(ctx, name)
	if err != nil {
		return nil, "", err
	}
	return doc, string(view.PlanStatus(r)), nil
}

func show(ctx context.Context, w *Workspace, _ *mcp.CallToolRequest, in showIn) (any, error) {
	doc, status, err := document(ctx, w, in.Plan)
	if err != nil {
		return nil, err
	}
	d := map[string]any{"file": doc.Path, "status": status, "ok": doc.OK(), "text": cut(string(doc.Source), maxText)}
	if doc.Plan != nil {
		d["title"], d["hash"] = cut(doc.Plan.Title.Value, maxLine), doc.Covers()
	}
	return d, nil
}

type verifyIn struct {
	Plan string `json:"plan,omitempty" jsonschema:"path of a plan in the workspace"`
	Text string `json:"text,omitempty" jsonschema:"or the Markdown of a draft"`
}

func verify(ctx context.Context, w *Workspace, _ *mcp.CallToolRequest, in verifyIn) (any, error) {
	switch {
	case (in.Plan == "") == (in.Text == ""):
		return nil, refused("a path, or the text of a draft", "give plan or text, and not both")
	case in.Text != "":
		doc, err := draft(ctx, w, "draft.md", in.Text)
		if err != nil {
			return nil, err
		}
		return findings(doc), nil
	}
	rel, err := within(w, in.Plan)
	if err != nil {
		return nil, err
	}
	doc, err := w.Read(ctx, rel)
	if err != nil {
		return nil, err
	}
	return findings(doc), nil
}

func draft(ctx context.Context, w *Workspace, name, text string) (*api.Document, error) {
	if len(text) > maxPlan {
		return nil, refused("make it smaller, or delegate to other plans", "the plan has %d bytes, more than %d", len(text), maxPlan)
	}
	return w.Verify(ctx, name, []byte(text)), nil
}

// found is what is wrong with a plan.
type found struct {
	File     string   `json:"file"`
	OK       bool     `json:"ok"`
	Runnable bool     `json:"runnable"`
	Risk     string   `json:"risk"`
	Findings []string `json:"findings"`
	More     int      `json:"more,omitzero"`
}

// maxFindings is how many are said: who mends these sees the next ones.
const maxFindings = 30

func findings(doc *api.Document) found {
	d := view.FindingsOf(doc)
	f := found{File: doc.Path, OK: d.OK, Runnable: d.Runnable, Risk: d.Files[0].Risk.Risk, Findings: []string{}}
	for _, stops := range []bool{true, false} { // what is to be mended comes first
		for _, one := range api.Serious(d.Findings) {
			if one.Stops() != stops {
				continue
			}
			text := one.String()
			if one.Hint != "" {
				text += "; hint: " + one.Hint
			}
			f.Findings = append(f.Findings, cut(text, maxLine))
		}
	}
	f.Findings, f.More = few(f.Findings, maxFindings)
	return f
}

type proposeIn struct {
	Text string `json:"text" jsonschema:"the whole plan, in Markdown"`
	Name string `json:"name,omitempty" jsonschema:"name of the new file in plans/, without .md; made of the title if left out"`
}

// propose writes a new plan that verifies. It is a draft like any other: a person reads
// and approves it.
func propose(ctx context.Context, w *Workspace, _ *mcp.CallToolRequest, in proposeIn) (any, error) {
	parsed := api.Parse("draft.md", []byte(cut(in.Text, maxPlan)))
	if in.Name == "" && parsed.Plan != nil {
		in.Name = plan.Slug(parsed.Plan.Title.Value)
	}
	name := strings.TrimSuffix(in.Name, ".md")
	if name == "" || name != plan.Slug(name) {
		return nil, refused("such as fix-login-timeout", "%q is no name of a plan: lower-case letters, digits and hyphens", cut(name, maxLine))
	}
	file := path.Join(api.PlansDir, name+".md")
	doc, err := draft(ctx, w, file, in.Text)
	if err != nil {
		return nil, err
	}
	f := findings(doc)
	if !doc.OK() {
		return nil, refused("correct the text, and propose it again", "nothing was written: the plan has errors:\n%s", strings.Join(f.Findings, "\n"))
	}
	if err := writeNew(w.Product.Place.Dir, file, in.Text); err != nil {
		return nil, err
	}
	return map[string]any{"written": file, "findings": f.Findings, "next": "plan_run " + file, "for_person": view.Approving(file)}, nil
}

// writeNew makes a file of the workspace, and never writes over one.
func writeNew(dir, file, text string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	err = root.MkdirAll(filepath.Dir(file), 0o755)
	var f *os.File
	if err == nil {
		f, err = root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err == nil {
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			err = errors.Join(err, root.Remove(file))
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return &api.Problem{Code: api.Conflict, Message: file + " exists already and is not overwritten", Hint: "give another name"}
	case err != nil:
		return api.CannotWrite(file, err)
	}
	return nil
}
