package page

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// onStep begins what a person says of a step, in all that they say of a plan.
const onStep = "On step "

// oneParagraph is what parts paragraphs: what is said of a step is one.
var oneParagraph = lazy.Regexp(`\n\s*\n`)

// why is what a planner is told: the comments on steps, and what is said of the plan.
func why(comments []Comment, whole string, p *plan.Plan) string {
	var b strings.Builder
	for _, c := range comments {
		number := ""
		if i := stepOf(p, c.Step); i >= 0 {
			number = p.Steps[i].Number
		}
		fmt.Fprintf(&b, "%s%s (%s): %s\n\n", onStep, number, c.Step, oneParagraph().ReplaceAllString(c.Text, "\n"))
	}
	return strings.TrimSpace(b.String() + strings.TrimSpace(whole))
}

// comments takes the comments on steps out of what a planner was told. What was said of the
// plan as a whole is that of no step.
func comments(told string) (all []Comment) {
	for part := range strings.SplitSeq("\n\n"+told, "\n\n"+onStep) {
		head, text, is := strings.Cut(part, "): ")
		number, id, in := strings.Cut(head, " (")
		switch {
		case strings.TrimSpace(part) == "":
		case is && in && !strings.ContainsAny(number+id, " \n"):
			text, whole, _ := strings.Cut(text, "\n\n")
			all = append(all, Comment{id, strings.TrimSpace(text)})
			if strings.TrimSpace(whole) != "" {
				all = append(all, Comment{Text: strings.TrimSpace(whole)})
			}
		default:
			all = append(all, Comment{Text: strings.TrimSpace(part)})
		}
	}
	return all
}

// comment keeps what the person says of a step until they send it.
func (w *Workspace) comment(ctx context.Context, rel, id string, r *http.Request) (string, error) {
	doc, err := w.read(ctx, rel)
	if err != nil {
		return "", err
	}
	if doc.Plan == nil || stepOf(doc.Plan, id) < 0 {
		return "", errStep(id)
	}
	w.hand.comment(rel, Comment{id, strings.TrimSpace(typed(r.PostFormValue("text")))})
	return planPath(rel) + "#s-" + id, nil
}

// Answered is a part of a planner's text that differs, beside the comment that asked for it.
type Answered struct {
	How, Number, ID, Title string // of the step; without an id: what is of no step
	Comments               []string
	Lines                  []view.DiffLine
}

// beside puts what is different step by step beside what was asked for. A comment on a step
// that did not change stands alone.
func beside(told []Comment, was, is *plan.Plan) (all []Answered) {
	d := verify.Diff(was, is)
	says := func(id string) (texts []string) {
		for i := range told {
			if c := &told[i]; c.Step == id && c.Text != "" {
				texts = append(texts, c.Text)
				c.Text = ""
			}
		}
		return texts
	}
	if whole := says(""); len(whole) > 0 || len(d.Header) > 0 {
		all = append(all, Answered{How: strings.Join(d.Header, ", "), Comments: whole})
	}
	for _, c := range d.Steps {
		a, b := stepBytes(was, c.ID), stepBytes(is, c.ID)
		all = append(all, Answered{
			How: string(c.How), Number: c.Number, ID: c.ID, Title: c.Title, Comments: says(c.ID),
			Lines: hunks(view.DiffLines(string(diff.Diff("before", a, "after", b)), maxDiff)),
		})
	}
	for _, c := range told {
		if c.Text != "" {
			x := Answered{How: "not changed", ID: c.Step, Comments: []string{c.Text}}
			if i := stepOf(is, c.Step); i >= 0 {
				x.Number, x.Title = is.Steps[i].Number, is.Steps[i].Title.Value
			}
			all = append(all, x)
		}
	}
	return all
}

// hunks are the lines of a difference without those that name the files.
func hunks(lines []view.DiffLine) []view.DiffLine {
	at := slices.IndexFunc(lines, func(l view.DiffLine) bool { return strings.HasPrefix(l.Text, "@@") })
	return lines[max(at, 0):]
}

// stepBytes is the text of a step; nothing where the plan has none with the id.
func stepBytes(p *plan.Plan, id string) []byte {
	i := stepOf(p, id)
	if i < 0 {
		return nil
	}
	s := p.Steps[i]
	return append([]byte(strings.TrimRight(string(p.Source[s.Start:s.End]), "\r\n")), '\n')
}

// redraftStep asks the planner for another text of one step alone.
func (w *Workspace) redraftStep(ctx context.Context, rel, id string, r *http.Request) (string, *Confirm, error) {
	var said []string
	for _, c := range w.hand.said(rel) {
		if c.Step == id {
			said = append(said, c.Text)
		}
	}
	if len(said) == 0 {
		return "", nil, &api.Problem{Code: api.Invalid, Message: "there is no comment on the step", Hint: "say first what is to be otherwise"}
	}
	to, ask, err := w.redraft(ctx, rel, api.Redrafting{Step: id, Why: strings.Join(said, "\n\n")}, r)
	if err == nil && ask == nil {
		w.hand.comment(rel, Comment{Step: id})
	}
	return to, ask, err
}

// redraftAll sends all comments to the planner, and what is said of the plan.
func (w *Workspace) redraftAll(ctx context.Context, rel string, r *http.Request) (string, *Confirm, error) {
	doc, err := w.read(ctx, rel)
	if err != nil {
		return "", nil, err
	}
	if doc.Plan == nil {
		return "", nil, &api.Problem{Code: api.Invalid, Message: rel + " is no plan", Hint: "piton verify says why"}
	}
	said := w.hand.said(rel)
	to, ask, err := w.redraft(ctx, rel, api.Redrafting{Why: why(said, typed(r.PostFormValue("why")), doc.Plan)}, r)
	if err == nil && ask == nil {
		for _, c := range said {
			w.hand.comment(rel, Comment{Step: c.Step})
		}
	}
	return to, ask, err
}
