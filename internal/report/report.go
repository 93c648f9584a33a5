// Package report writes a run down for people and programs that do not have its journal: as a
// page in one file, as the results of a test, as text for a pull request, and as a badge.
//
// [Collect] reads a run as it stands, through package view; [Report.Write] renders it. What
// agents, plans and checks said is text in every form, never markup.
//
// It must never change anything, make a reader load something from elsewhere, or know
// something of a run that view does not say.
package report

import (
	"context"
	"fmt"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/view"
)

// Form is how a run is written down.
type Form string

// The forms.
const (
	HTML     Form = "html"     // a page in one file, which needs no network and no script
	JUnit    Form = "junit"    // XML for programs that show the results of tests
	Markdown Form = "markdown" // text for a pull request
	Badge    Form = "badge"    // SVG that says how the run stands
)

// Forms lists all forms.
func Forms() []Form { return []Form{HTML, JUnit, Markdown, Badge} }

// Report is a run as it stood at a moment. Its texts are plain: they hold no escape sequence
// and no control but a newline and a tab.
type Report struct {
	ID, Title, Path, By string
	Version             int
	Status              engine.Status
	State               State
	Reason              string
	Begun, Ended        string // moments; "" for none
	Exact               string // when it began, in UTC
	Made                string // when the report was
	Took                int64  // milliseconds in which something was at work
	Sums, Spent         []string
	Proven, Total       int
	Cost                string
	Isolation, Branch   string
	Steps               []Step
	Log                 []Line
	Revisions           []Revision
	Retro               []string
	Plan                string // the text that the run has pinned
	Context             string // what the plan says of itself
}

// State is a status with its tone: never a colour alone.
type State struct{ Word, Tone string }

// Step is a step with all that is known of it.
type Step struct {
	Number, ID, Title, Task, Agent, Reason string
	Status                                 engine.Status
	Verdict                                engine.Verdict
	State                                  State
	Unproven, Counts                       bool
	Needs                                  []string
	Took                                   int64 // milliseconds of work and checks
	Used                                   string
	Checks                                 []Check
	Before                                 []Answer // of its checks, before the work
	Attempts                               []Attempt
	Files                                  []File
	Diff                                   string
	Run                                    string // that carries it out
	Under                                  []Step // of that
}

// Check is what proves a step.
type Check struct {
	Name, Command, Question string
	Exit                    int
	Required                bool
}

// Attempt is one try of a step.
type Attempt struct {
	N                   int
	Agent, At, Used     string
	Took                int64 // milliseconds of the work
	How                 string
	Words               string // the beginning of what its agent said last
	Stdout, Stderr      string
	Answers             []Answer
	Became              string // how it was settled: a status, and a verdict that is no pass
	Passed, Over        bool
	Reason              string
	Questions, Findings []string
}

// Answer is what a check said.
type Answer struct {
	Check, Phase, Text string
	Passed             bool
	Verdict            engine.Verdict
	Stdout, Stderr     string
}

// File counts the lines of a file that changed; -1 where it is no text.
type File struct {
	Path           string
	Added, Removed int
}

// Line tells of something that happened.
type Line struct {
	At, Tone, Text string
	More           []string
}

// Revision is a text of the plan.
type Revision struct {
	Version                   int
	At, By, Answer, Why, What string
	Weakened                  []string
}

// Words are the sentences of the terminal, which a report shows as they are.
type Words struct {
	Happening func(view.Happening) []string
	Retro     func(view.Retro) []string
}

// tones of statuses; any other is "idle".
var tones = map[engine.Status]string{
	engine.Running: "run", engine.Replanning: "run", engine.Waiting: "you", engine.Done: "ok", view.DoneUnproven: "warn", engine.Failed: "bad",
	engine.Waived: "warn", engine.Regressed: "warn", engine.Paused: "warn", view.Interrupted: "warn",
}

func stateOf(s engine.Status, p engine.Phase) State {
	x := State{Word: view.Word(s, p), Tone: tones[s]}
	if x.Tone == "" {
		x.Tone = "idle"
	}
	return x
}

// tonesOf are the tones of happenings that have one.
var tonesOf = map[view.Deed]string{
	view.Passed: "ok", view.Over: "ok", view.Failed: "bad", view.Regressed: "bad", view.Asked: "you", view.Retried: "warn", view.Waived: "warn", view.CutOff: "warn", view.Undone: "warn",
}

// moment is a time for people, with its zone.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04:05 -0700")
}

// Source is what a report is made of beside the journal's rows.
type Source struct {
	Reader view.Reader
	Words  Words
	Retro  view.Retro
	Plan   string // the text that the run has pinned
	About  string // the context that it begins with
}

// Collect reads a run, with the runs that carry out its steps.
func Collect(ctx context.Context, s Source, head engine.HeadRow) (*Report, error) {
	st, err := s.Reader.Standing(ctx, head)
	if err != nil {
		return nil, err
	}
	head = st.Head
	r := &Report{
		ID: head.Run, Title: head.Title, Path: head.Path, By: head.ApprovedBy, Version: head.Version, Reason: head.Reason, Status: st.By.Of(head), State: stateOf(st.By.Shown(head), ""),
		Begun: moment(head.Started), Ended: moment(head.Finished), Exact: head.Started.UTC().Format("2006-01-02T15:04:05"), Made: moment(st.Now),
		Sums: view.Sums(head), Spent: view.Spending(head, st.Now), Proven: head.Proven, Total: head.Total,
		Cost:      view.Used(head.Effort.Tokens.Amount(), head.Effort.Cost.Amount()),
		Isolation: head.Isolation, Branch: head.Branch.Name, Plan: s.Plan, Context: s.About, Retro: s.Words.Retro(s.Retro),
	}
	r.Took = head.Work.At(view.CmpTime(head.Finished, st.Now)).Milliseconds()
	c := &chronicle{run: head.Run, tries: map[[2]string]*tries{}, words: s.Words.Happening}
	fresh, err := s.Reader.Feed(head.Stream).Fresh(ctx)
	if err != nil {
		return nil, err
	}
	for _, rec := range fresh {
		if err := c.take(rec); err != nil {
			return nil, err
		}
	}
	r.Log = c.lines
	if r.Steps, err = steps(ctx, s.Reader, st, c); err != nil {
		return nil, err
	}
	entries, err := s.Reader.History(ctx, head.Run)
	if err != nil {
		return nil, err
	}
	for _, e := range view.RevisionsOf(entries) {
		x := Revision{Version: e.Version, At: moment(time.Time(e.At)), By: e.By, Why: e.Why, What: e.Changes, Weakened: e.Weakened, Answer: "not answered"}
		if e.Answer != nil {
			x.Answer = *e.Answer + " by " + e.AnsweredBy
		}
		r.Revisions = append(r.Revisions, x)
	}
	proc.PlainIn(r)
	return r, nil
}

// steps are those of a run, with what each has become.
func steps(ctx context.Context, r view.Reader, st view.Standing, c *chronicle) ([]Step, error) {
	program, err := r.ProgramSteps(ctx, st.Head, st.Steps...)
	if err != nil {
		return nil, err
	}
	var all []Step
	for _, row := range st.Steps {
		seen, unproven := row.Status, row.Status == engine.Done && !row.Proven
		if unproven {
			seen = view.DoneUnproven
		}
		x := Step{
			Number: row.Number, ID: row.ID, Title: row.Title, Agent: row.Agent, Reason: row.Reason, Status: row.Status, Verdict: row.Verdict, State: stateOf(seen, row.Phase),
			Needs: row.Needs, Took: row.Effort.WorkMs + row.Effort.CheckMs, Unproven: unproven,
			Counts: row.Status == engine.Done || row.Status == engine.Waived || row.Status == engine.Skipped,
		}
		if row.Effort.Tokens != (engine.Told{}) || row.Effort.Cost != (engine.Told{}) {
			x.Used = view.Used(row.Effort.Tokens.Amount(), row.Effort.Cost.Amount())
		}
		if p := program[row.Index]; p != nil {
			x.Task = p.Task
			for _, check := range p.Checks {
				x.Checks = append(x.Checks, Check{check.Name, check.Command, check.Question, check.Exit, check.Required})
			}
		}
		if t := c.tries[[2]string{st.Head.Run, row.ID}]; t != nil {
			x.Before, x.Attempts = t.before, t.list
		}
		changes, _, err := r.Changes(ctx, st.Head, row.ID, 0)
		if err != nil {
			return nil, err
		}
		x.Diff = changes.Text
		for _, f := range changes.Files {
			x.Files = append(x.Files, File(f))
		}
		if below, ok := st.Below[row.ID]; ok {
			x.Run = below.Head.Run
			if x.Under, err = steps(ctx, r, below, c); err != nil {
				return nil, err
			}
		}
		all = append(all, x)
	}
	return all, nil
}

// chronicle gathers what the records of a run, and of those under it, tell of attempts.
type chronicle struct {
	run   string
	fold  view.Fold
	words func(view.Happening) []string
	tries map[[2]string]*tries // by run and step
	lines []Line
}

// tries are those of a step.
type tries struct {
	before []Answer
	list   []Attempt
}

// of is the attempt that a record is of. One of a number that was settled already begins anew:
// a person sent the step back.
func (t *tries) of(n int, begins bool) *Attempt {
	if last := len(t.list) - 1; last >= 0 && t.list[last].N == n && (!begins || !t.list[last].Over) {
		return &t.list[last]
	}
	t.list = append(t.list, Attempt{N: n})
	return &t.list[len(t.list)-1]
}

func (c *chronicle) take(r engine.Record) error {
	of, happenings, err := c.fold.Follow(r)
	if err != nil || of == nil || c.fold.State.Run().Run != c.run {
		return err // of an earlier or a later run of the task
	}
	for _, h := range happenings {
		if h.Of.Up != nil && h.Step < 0 {
			continue // the step that the run carries out tells of it
		}
		if said := c.words(h); len(said) > 0 {
			l := Line{At: moment(h.At), Tone: tonesOf[h.What], Text: said[0], More: said[1:]}
			if h.What == view.Passed && !h.Proven {
				l.Tone = "warn"
			}
			c.lines = append(c.lines, l)
		}
	}
	by := func(step string) *tries {
		key := [2]string{of.State.Run().Run, step}
		if c.tries[key] == nil {
			c.tries[key] = &tries{}
		}
		return c.tries[key]
	}
	switch e := r.Event.(type) {
	case engine.WorkDispatched:
		if a := by(e.Step).of(e.Attempt, true); e.Kind != engine.ContractWork && e.Kind != engine.MergeWork && e.Kind != engine.PlanWork {
			a.Agent, a.At = e.Role, moment(r.At)
		}
	case engine.WorkEnded:
		by(e.Step).of(e.Attempt, false).ended(e)
	case engine.CheckEnded:
		t := by(e.Step)
		if e.Phase == engine.Baseline {
			t.before = append(t.before, answer(e))
			break
		}
		a := t.of(e.Attempt, false)
		a.Answers = append(a.Answers, answer(e))
	case engine.StepSettled:
		if e.Attempt == 0 {
			break // it was never tried
		}
		a := by(e.Step).of(e.Attempt, false)
		a.Became, a.Reason, a.Passed, a.Over = string(e.Status), e.Reason, e.Status == engine.Done, true
		if e.Verdict != engine.Pass && e.Verdict != engine.NoVerdict {
			a.Became = string(e.Verdict)
		}
	}
	return nil
}

// ended takes in how the work of an attempt ended. What is about it and is no work of its own,
// such as a merge, tells only of trouble.
func (a *Attempt) ended(e engine.WorkEnded) {
	if e.Kind == engine.MergeWork || e.Kind == engine.PlanWork || e.Kind == engine.ContractWork {
		if e.Reason != "" {
			a.How += fmt.Sprintf("; %s: %s", e.Kind, e.Reason)
		}
		return
	}
	a.Took += e.Ms
	a.How = string(e.How)
	if e.How == engine.Exited {
		a.How = fmt.Sprintf("exit %d", e.Exit)
	}
	switch {
	case e.Reason != "":
		a.How += ", " + e.Reason
	case e.Cause != nil:
		a.How += ", " + e.Cause.String()
	}
	a.Words, a.Stdout, a.Stderr = e.Words, e.Stdout, e.Stderr
	a.Questions, a.Findings = e.Questions, e.Discoveries
	if e.Kind == engine.AgentWork && e.How != engine.NoStart {
		a.Used = view.UsedBy(e.Usage)
	}
}

func answer(e engine.CheckEnded) Answer {
	return Answer{
		Check: e.Check, Phase: string(e.Phase), Text: view.AnswerOf(e), Passed: e.Verdict == engine.Pass, Verdict: e.Verdict, Stdout: e.Stdout, Stderr: e.Stderr,
	}
}

// Write renders the report. An unknown form is an error.
func (r *Report) Write(f Form) ([]byte, error) {
	switch f {
	case HTML:
		return r.html()
	case JUnit:
		return r.junit(), nil
	case Markdown:
		return r.markdown(), nil
	case Badge:
		return r.badge(), nil
	}
	return nil, fmt.Errorf("there is no report %q", f)
}
