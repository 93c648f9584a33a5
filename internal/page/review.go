package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// Review is a plan as it would run, with what is wrong with it and what changed: all that a yes
// to it is given to.
type Review struct {
	Path, To, Title, Hash, Settings string
	About                           string
	Errors, Warnings                int
	Findings                        []Finding // of the plan as a whole
	Facts                           []string
	Blocks                          []Block
	Steps                           []ReviewStep
	Below                           []Below
	Hazards                         []string
	Weaker                          []string
	Since                           *Since
	Approved                        string // who said yes to this text
	Run, RunState                   string // the unfinished run of it
	Changes                         bool   // the text is not the one that the run goes by
	Start                           string // the word of the button; "" where it cannot be started
	WhyNot                          string
	Planner                         string // who is asked for changes; "" for nobody
	Digest                          string // of the bytes that are shown
	Edits                           bool   // the steps can be changed here
	Refused                         string // why what was sent was not done, where that is of no step that is here
	Undo                            string // what was done last, and can be undone
	Comments                        int    // that were not sent
	Estimate                        []Estimate
	Based                           string   // on what it is based
	Free                            []string // steps whose calls nobody is asked for
	Gates                           int      // steps that ask first
	Jumps                           []Jump
	Graph                           Graph
	LastID                          string // of the last step
}

// Jump leads to a step with findings.
type Jump struct{ To, Text string }

// Estimate is what a plan may use, beside what it is allowed.
type Estimate struct{ Name, Text, Tone string }

// ReviewStep is a step of a plan.
type ReviewStep struct {
	DOM, ID, Number, Title, Who string
	Facts                       []string
	Asks                        string // why a person is asked first
	Question                    bool   // a person does it
	Blocks                      []Block
	Findings                    []Finding
	After                       string // what it waits for
	Edits                       bool   // it can be changed here
	Told                        bool   // a planner can be told of it
	Rows                        int    // of the text
	LeftOut                     bool
	Open                        string // edit, add or comment: what the person has open at it
	Text                        string // that they edit
	Now                         string // of the step, where the file was changed meanwhile
	Refused                     string
	Comment                     string // that was not sent
}

// Block is a text of a plan that is shown whole.
type Block struct {
	Name, Text string
	Code       bool
}

// Finding is something wrong with a plan, at its line.
type Finding struct {
	Severity, Tone, Code, Message, Hint string
	Line                                int
	Source, Caret                       string
	Fix, Does                           string // the button that fixes it, and what that does; "" for none
}

// Below is a plan that is approved together with this one.
type Below struct {
	Path, To, Title, Hash string
	Steps                 []ReviewStep
}

// Since is what changed since the text that somebody said yes to last.
type Since struct {
	Name, Counts string
	Steps        []string
	Lines        []view.DiffLine
}

func review(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	rel, err := w.Inside(r.PathValue("path"))
	if err != nil {
		return sheet{}, err
	}
	q := r.URL.Query()
	return w.review(ctx, rel, asked{open: q.Get("open"), step: q.Get("step")})
}

// review is the page of a plan, with what the person has open on it.
func (w *Workspace) review(ctx context.Context, rel string, a asked) (sheet, error) {
	doc, err := w.read(ctx, rel)
	if err != nil {
		return sheet{}, err
	}
	x := Review{
		Path: rel, To: planPath(rel), Title: rel, Settings: w.Settings(), Planner: w.planner(), Digest: api.Digest(doc.Source), Comments: len(w.hand.said(rel)),
	}
	if last := w.hand.last(rel); last != nil && last.is == x.Digest {
		x.Undo = last.said
	}
	for _, f := range doc.Findings {
		switch f.Severity {
		case verify.Error:
			x.Errors++
		case verify.Warning:
			x.Warnings++
		}
	}
	if doc.Plan == nil {
		lines := linesOf(doc.Source)
		for _, f := range doc.Findings {
			x.Findings = append(x.Findings, findingOf(f, lines))
		}
		x.WhyNot, x.Refused = "This is no plan yet.", a.refused
		return sheet{Title: rel, Nav: "plans", Body: x}, nil
	}
	if err := w.planned(ctx, &x, doc); err != nil {
		return sheet{}, err
	}
	w.opened(&x, doc, a)
	x.Graph = needsGraph(&x, doc, a.step)
	return sheet{Title: x.Title, Nav: "plans", Body: x}, nil
}

// mostJumps is how many steps with findings are named above the steps.
const mostJumps = 5

// opened fills in what can be edited, what the person has open, and what they said of steps.
func (w *Workspace) opened(x *Review, doc *api.Document, a asked) {
	md, err := doc.InMarkdown()
	x.Edits, x.Refused = err == nil && len(md.Steps) == len(x.Steps), a.refused
	said := w.hand.said(x.Path)
	for i := range x.Steps {
		s := &x.Steps[i]
		s.Edits, s.Told, x.LastID = x.Edits, x.Planner != "", s.ID
		if n := len(s.Findings); n > 0 && len(x.Jumps) < mostJumps {
			x.Jumps = append(x.Jumps, Jump{s.DOM, fmt.Sprintf("Step %s: %s.", s.Number, s.Findings[0].Message)})
		}
		for _, c := range said {
			if c.Step == s.ID {
				s.Comment = c.Text
			}
		}
		if s.ID != a.step || a.step == "" {
			continue
		}
		s.Refused, x.Refused, s.Open = a.refused, "", a.open
		if x.Edits {
			s.open(md, i, a)
		}
	}
}

// open is what the person edits at a step.
func (s *ReviewStep) open(md *plan.Plan, i int, a asked) {
	text, whole := stepText(md, i)
	switch s.Open {
	case "edit":
		if s.Text = cmp.Or(a.text, text); !whole {
			s.Open, s.Refused = "", "The step has characters that this page does not show. Edit the file itself."
		}
		if a.meant {
			s.Now = text
		}
	case "add":
		s.Text = cmp.Or(a.text, strings.TrimSpace(string(freshStep(md))))
	case "comment":
		s.Text = cmp.Or(a.text, s.Comment)
	default:
		s.Open = ""
	}
	s.Rows = min(max(4, strings.Count(s.Text, "\n")+2), 30)
}

// planned fills in what a text that is a plan says.
func (w *Workspace) planned(ctx context.Context, x *Review, doc *api.Document) error {
	p := doc.Plan
	x.Title, x.Hash, x.Facts = cmp.Or(p.Title.Value, x.Path), doc.Covers(), view.HeaderFacts(p)
	x.About = view.Plural(len(p.Steps), "step", "steps")
	if n := p.Parallel.Value; n > 1 {
		x.About += fmt.Sprintf(", %d at once", n)
	}
	if doc.OK() && len(doc.Hazards()) == 0 {
		x.About += ", low risk"
	}
	if w.Config.Policy.Approve == engine.LowRisk { // else a person is asked anyway
		for _, h := range doc.Hazards() {
			x.Hazards = append(x.Hazards, h.String())
		}
	}
	x.Blocks = blocks(Block{"notes", p.Prose.Value, false}, Block{"context", p.Context.Value, false}, Block{"constraints", list(p.Constraints.Value), false}, Block{"setup", p.Setup.Value, true})
	x.Steps, x.Findings = reviewSteps(doc, "s")
	if err := w.estimate(ctx, x, doc); err != nil {
		return err
	}
	for n, child := range doc.Below() {
		steps, findings := reviewSteps(child, fmt.Sprintf("b%d", n))
		x.Findings = append(x.Findings, findings...)
		x.Below = append(x.Below, Below{child.Rel, planPath(child.Rel), child.Plan.Title.Value, child.Plan.Hash()[:api.LeastHash], steps})
	}
	if err := w.stands(ctx, x, doc); err != nil {
		return err
	}
	switch {
	case x.Errors > 0:
		x.WhyNot = "Fix " + view.Plural(x.Errors, "error", "errors") + " to start."
	case !doc.Runnable():
		x.WhyNot = "This version cannot run the plan; the findings say why."
	case x.Run != "" && x.Changes:
		x.Start = "Approve the change"
	case x.Run != "":
		x.WhyNot = "Run " + x.Run + " goes by this text. If you change it here, you can approve the change for the run."
	case x.Approved != "":
		x.Start = "Start"
	default:
		x.Start = "Approve and start"
	}
	return nil
}

// stands fills in what was said to the plan, and what changed since.
func (w *Workspace) stands(ctx context.Context, x *Review, doc *api.Document) error {
	head, err := w.RunOf(ctx, doc.Path)
	if err != nil {
		return err
	}
	var since api.Text
	if head.Run != "" && !head.Ended {
		by, err := w.Stands(ctx)
		if err != nil {
			return err
		}
		x.Run, x.RunState = head.Run, view.Word(by.Of(head), "")
		x.Changes = head.PlanHash != doc.Plan.Hash()
		if since, err = w.TextOf(ctx, head.Plan); err != nil {
			return err
		}
	}
	if x.Weaker, err = w.Weakens(ctx, doc); err != nil {
		return err
	}
	r, err := w.Recorded(ctx, doc)
	if err != nil {
		return err
	}
	if r != nil && w.Approved(r) {
		x.Approved = fmt.Sprintf("approved by %s on %s", r.Answer.By, r.Answered.Local().Format("2006-01-02 15:04"))
	}
	if since.Plan == nil {
		if since, err = w.agreed(ctx, x.Path); err != nil {
			return err
		}
	}
	if since.Plan != nil && since.Plan.Hash() != doc.Plan.Hash() {
		x.Since = sinceOf(since, doc)
		if x.Changes {
			x.Weaker = api.WeakenedLines(verify.Diff(since.Plan, doc.Plan))
		}
	}
	return nil
}

// agreed is the newest text of a document that somebody said yes to; empty for none.
func (w *Workspace) agreed(ctx context.Context, path string) (api.Text, error) {
	all, err := w.History(ctx, path)
	if err != nil {
		if api.Explain(err).Code == api.NotFound {
			err = nil // it was never recorded
		}
		return api.Text{}, err
	}
	for _, e := range slices.Backward(all) {
		if e.Answer != nil && e.Answer.Yes {
			return w.TextOf(ctx, e.Drafted.Plan)
		}
	}
	return api.Text{}, nil
}

func sinceOf(was api.Text, doc *api.Document) *Since {
	d := verify.Diff(was.Plan, doc.Plan)
	s := &Since{Name: was.Name, Counts: d.Counts(), Lines: view.DiffLines(string(diff.Diff(was.Name, was.Source, doc.Path, doc.Source)), maxDiff)}
	if len(d.Header) > 0 {
		s.Steps = append(s.Steps, "header: "+view.Join(d.Header))
	}
	for _, c := range d.Steps {
		text := fmt.Sprintf("%s: step %s (%s) %s", c.How, c.Number, c.ID, c.Title)
		if len(c.Labels) > 0 {
			text += ": " + view.Join(c.Labels)
		}
		s.Steps = append(s.Steps, text)
	}
	return s
}

// reviewSteps are the steps of a plan with the findings of each, and the findings of none.
func reviewSteps(doc *api.Document, dom string) (steps []ReviewStep, rest []Finding) {
	p, refs := doc.Plan, doc.Plan.Refs()
	taken := map[string]bool{}
	for i, s := range p.Steps {
		id := dom + "-" + s.ID.Value
		if taken[id] {
			id = fmt.Sprintf("%s-%d-%s", dom, i, s.ID.Value)
		}
		taken[id] = true
		x := reviewStep(doc, s, view.NeedsOf(p, refs, i), id)
		x.LeftOut = plan.LeftOut(s)
		steps = append(steps, x)
	}
	lines := linesOf(doc.Source)
	for _, f := range api.Serious(doc.Findings) {
		i := slices.IndexFunc(p.Steps, func(s *plan.Step) bool { return f.Step != "" && s.ID.Value == f.Step })
		if i < 0 {
			rest = append(rest, fixable(f, findingOf(f, lines)))
		} else {
			steps[i].Findings = append(steps[i].Findings, fixable(f, findingOf(f, lines)))
		}
	}
	return steps, rest
}

// fixable gives findings their buttons.
func fixable(f verify.Finding, x Finding) Finding {
	if f.Fix != nil {
		x.Fix, x.Does = fixOf(f), f.Fix.Title
	}
	return x
}

func reviewStep(doc *api.Document, s *plan.Step, needs []string, dom string) ReviewStep {
	kind := view.KindOf(s, doc)
	x := ReviewStep{DOM: dom, ID: s.ID.Value, Number: s.Number, Title: s.Title.Value, Who: kind, Asks: verify.Asks(s, doc.Facts), Question: kind == "ask"}
	if kind == "agent" {
		x.Who = s.Target.Value
		if name, _, known := doc.Facts.Agent(s.Target.Value); known {
			x.Who = name
		}
		if doc.Facts.Elective(s) {
			x.Who += ", or another agent"
		}
	}
	task := Block{"task", s.Task.Value, false}
	switch {
	case kind == "script":
		task = Block{"script", s.Task.Code().Value, true}
	case kind == "agent":
		task.Text = cmp.Or(task.Text, s.Title.Value)
	}
	x.Blocks = blocks(Block{"notes", s.Prose.Value, false}, Block{"setup", s.Setup.Value, true}, task, Block{"acceptance", list(s.Acceptance.Value), false},
		Block{"arguments", s.Args.Value, true}, Block{"question", s.Ask.Value, false}, Block{"choices", list(s.Choices), false}, Block{"schema", s.Schema.Value, true})
	if _, delegates := verify.Delegate(s); !delegates {
		x.Blocks = append(x.Blocks, blocks(Block{"plan", s.Plan.Value, true})...)
	}
	x.Blocks = append(x.Blocks, proofs(doc, s)...)
	for _, fact := range slices.Concat(view.StepFacts(s, doc, needs), view.ProofFacts(s), view.FailureFacts(s)) {
		if why, asks := strings.CutPrefix(fact, asksFirst); asks {
			x.Asks = why
		} else {
			x.Facts = append(x.Facts, fact)
		}
	}
	return x
}

// asksFirst begins the fact of a step that a person must allow.
const asksFirst = "asks you first: "

// proofs is what decides a step.
func proofs(doc *api.Document, s *plan.Step) (all []Block) {
	if c := s.Contract; c != nil {
		name := "contract"
		if c.ExitCode.Value != 0 {
			name += fmt.Sprintf(", must exit %d", c.ExitCode.Value)
		}
		all = append(all, Block{name, c.Command.Value, true})
	}
	for _, c := range s.Checks.Value {
		name := c.Name.Value
		if c.Optional {
			name += " (optional)"
		}
		command := c.Command.Value
		if command == "" {
			d := verify.Detect(c.Name.Value, doc.Facts)
			if command = d.Command; command == "" {
				all = append(all, Block{name, "skipped: " + d.Missing, false})
				continue
			}
			name += ", as " + d.File + " says"
		}
		all = append(all, Block{name, command, true})
	}
	return append(all, blocks(Block{"judge", s.Judge.Value, false})...)
}

// blocks are those that have a text.
func blocks(all ...Block) []Block {
	return slices.DeleteFunc(all, func(b Block) bool { return strings.TrimSpace(b.Text) == "" })
}

func list(texts []plan.Text) string {
	var b strings.Builder
	for _, text := range view.Values(texts) {
		b.WriteString("- " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
	}
	return b.String()
}

// severities are the tones of findings.
var severities = map[verify.Severity]string{verify.Error: "bad", verify.Warning: "warn"}

// linesOf are the lines of a text.
func linesOf(source []byte) []string { return strings.Split(string(source), "\n") }

func findingOf(f verify.Finding, lines []string) Finding {
	x := Finding{Severity: string(f.Severity), Tone: cmp.Or(severities[f.Severity], "idle"), Code: f.Code, Message: f.Message, Hint: f.Hint, Line: f.Line}
	if f.Line > 0 && f.Line <= len(lines) {
		x.Source = strings.TrimRight(lines[f.Line-1], "\r")
		if f.Column > 0 && f.Column <= len(x.Source)+1 {
			x.Caret = strings.Map(func(r rune) rune {
				if r == '\t' {
					return r
				}
				return ' '
			}, x.Source[:f.Column-1]) + "^"
		}
	}
	return x
}

// decide carries out what the person said to a plan: start it; change its text; or comment on
// it and ask for changes, which starts nothing.
func decide(ctx context.Context, w *Workspace, r *http.Request) (string, *Confirm, error) {
	rel, err := w.Inside(r.PathValue("path"))
	if err != nil {
		return "", nil, err
	}
	say, id, _ := strings.Cut(r.PostFormValue("say"), ":")
	id = cmp.Or(id, r.PostFormValue("step"))
	to := ""
	switch {
	case say == "start":
		return w.start(ctx, filepath.Join(w.Product.Place.Dir, rel), r)
	case say == "change":
		return w.redraftAll(ctx, rel, r)
	case say == "change-step":
		return w.redraftStep(ctx, rel, id, r)
	case say == "comment":
		to, err = w.comment(ctx, rel, id, r)
	case say == "undo":
		to, err = w.undo(ctx, rel)
	case say == "fix" || edits[say] != nil:
		to, err = w.edit(ctx, rel, say, id, r)
	default:
		err = unsaid(say, "a plan")
	}
	return to, nil, err
}

// unsaid is the problem of a word that is none of the buttons.
func unsaid(say, to string) error {
	return &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("%q is nothing that is said to %s here", say, to), Hint: "use the buttons of the page"}
}

// start approves the text that was shown, and no other, and runs it.
func (w *Workspace) start(ctx context.Context, path string, r *http.Request) (string, *Confirm, error) {
	q := api.Saying{
		Word: path, Yes: true, Weaker: r.PostFormValue("weaker") == "yes", Hash: r.PostFormValue("hash"), Settings: r.PostFormValue("settings"),
		Why: r.PostFormValue("why"), Config: r.PostFormValue("config"),
	}
	if q.Hash == "" || q.Settings == "" {
		return "", nil, &api.Problem{Code: api.Invalid, Message: "the form does not say which text was shown", Hint: "open the plan again, and approve it there"}
	}
	said, err := w.Client.Run(ctx, q)
	if err != nil || said.Opened.Reconfigured != nil {
		return "", confirm(said.Opened.Reconfigured), err
	}
	switch said.Needs {
	case "":
		to, err := w.carry(ctx, said.Opened)
		return to, nil, err
	case api.NeedsWeaker:
		err = errors.New("it proves or guards less than before, and nobody said that this is wanted")
	case api.NeedsFix, api.NeedsOther:
		err = errors.New("the text that the file has now cannot run")
	default:
		err = errors.New("the plan, or the configuration, is not what was shown")
	}
	return "", nil, &api.Problem{Code: api.Conflict, Message: "Nothing was started: " + err.Error(), Hint: "open the plan again, and look at it"}
}
