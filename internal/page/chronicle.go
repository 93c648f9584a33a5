package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// chronicle is what happened in a run, as far as it was read. It is not safe for concurrent use.
type chronicle struct {
	run     string
	look    looking
	feed    *api.Feed
	fold    view.Fold
	words   func(view.Happening) []string
	now     func() When
	count   int       // records of the task so far: without sub-plans the number of the newest one
	total   int       // lines so far
	first   int       // the number of the first of those that are kept
	lines   []LogLine // the newest, or those before the one that is looked at
	failed  map[[2]string]*Failure
	tries   map[[2]string]*trials // by run and step
	items   map[string]*trials    // by question
	minutes *minutes              // nil where nobody asks who decided what
	past    []engine.StepRow      // of earlier runs
	asked   bool                  // these were read

	stands  string // how the steps stood when this was told of them
	ahead   view.Outlook
	ear     Ear
	deeds   func(log, role string) []string
	history bool                  // what was over before somebody looked is read: deeds of it are not told
	under   map[[2]string]pending // attempts that were under way then
	heard   bool                  // deeds of attempts under way were told
}

// pending is an attempt of an agent under way.
type pending struct {
	run string
	engine.WorkDispatched
}

// Ear hears what agents do while they are at work. It is not safe for concurrent use.
type Ear interface {
	// Take notes the attempts that a record begins and ends.
	Take(run string, event engine.Event)
	// Look tells what was done since the last look.
	Look()
}

// Log is what happened, the newest last.
type Log struct {
	Lines   []LogLine
	Earlier int    // lines that are not shown
	Older   string // where these are, as a part of the log, and as a page
	OlderTo string
	Part    string // where parts of the log are
	Run     string
	Step    string // the only one that is told of
	Find    string
}

// LogLines are a part of the log.
type LogLines Log

// LogLine tells of a happening.
type LogLine struct {
	At   When
	Tone string
	Text string
	More []string
}

// mostLines is how many happenings are shown at once.
const mostLines = 500

func (w *Workspace) chronicle(head engine.HeadRow, l looking) *chronicle {
	c := &chronicle{
		run: head.Run, look: l, feed: w.Feed(head.Stream), words: w.Words, deeds: w.Deeds, now: func() When { return clock(w.Now()) },
		failed: map[[2]string]*Failure{}, tries: map[[2]string]*trials{}, items: map[string]*trials{}, history: true, under: map[[2]string]pending{},
	}
	if w.Listen != nil {
		c.ear = w.Listen(c.did)
	}
	return c
}

// read takes in what is new.
func (c *chronicle) read(ctx context.Context) error {
	fresh, err := c.feed.Fresh(ctx)
	for _, r := range fresh {
		c.count++
		of, happenings, err := c.fold.Follow(r)
		if err != nil {
			return err
		}
		if of == nil || c.fold.State.Run().Run != c.run {
			continue // of an earlier or a later run of the task
		}
		run := of.State.Run().Run
		c.note(run, r)
		c.listen(of, run, r.Event)
		for _, h := range happenings {
			c.take(h)
		}
		c.trim()
	}
	if c.history {
		c.history = false
		for _, p := range c.under {
			if c.ear != nil {
				c.ear.Take(p.run, p.WorkDispatched)
			}
		}
	}
	c.hear()
	return err
}

// hear takes in what agents did since.
func (c *chronicle) hear() {
	if c.ear != nil {
		c.ear.Look()
		c.trim()
	}
}

// trim forgets lines that are not shown.
func (c *chronicle) trim() {
	if over := len(c.lines) - mostLines; over > 0 {
		c.lines, c.first = c.lines[over:], c.first+over
	}
}

// listen follows what agents do. Of attempts that were over before somebody looked it tells what
// they did only where their step is looked at: their outputs may be long.
func (c *chronicle) listen(of *view.Fold, run string, event engine.Event) {
	if !c.history {
		if c.ear != nil {
			c.ear.Take(run, event)
		}
		return
	}
	switch e := event.(type) {
	case engine.WorkDispatched:
		if e.Kind == engine.AgentWork {
			c.under[[2]string{run, e.Step}] = pending{run, e}
		}
	case engine.WorkEnded:
		key := [2]string{run, e.Step}
		p, ok := c.under[key]
		delete(c.under, key)
		if i := of.Index(e.Step); ok && i >= 0 && c.deeds != nil && e.Log != "" && c.look.step != "" && c.concerns(of, i) {
			for _, line := range c.deeds(e.Log, p.Role) {
				c.add(LogLine{Tone: toneOfDeed(line), Text: line})
			}
		}
	}
}

// did takes what an agent did.
func (c *chronicle) did(run, step, line string) {
	of := c.fold.Member(run)
	if of == nil || of.Index(step) < 0 || !c.concerns(of, of.Index(step)) {
		return
	}
	c.heard = true
	l := LogLine{At: c.now(), Tone: toneOfDeed(line), Text: line}
	if c.look.step == "" {
		l.Text = of.Row(of.Index(step)).Number + " " + step + " " + line
	}
	c.add(l)
}

// toneOfDeed is the tone of what an agent did: what it says is read first.
func toneOfDeed(line string) string {
	switch {
	case strings.HasPrefix(line, view.ErrorWord):
		return "er"
	case strings.HasPrefix(line, "says: "):
		return ""
	}
	return "to"
}

// concerns reports whether a step is looked at, or one that it helps to carry out.
func (c *chronicle) concerns(of *view.Fold, step int) bool {
	path := of.Row(step).ID
	only := c.look.step
	return only == "" || path == only || strings.HasPrefix(path, only+"/") || strings.HasPrefix(path, only+".")
}

// tonesOf are the tones of happenings that have one.
var tonesOf = map[view.Deed]string{
	view.Passed: "okc", view.Over: "okc", view.Failed: "er", view.Regressed: "er", view.Asked: "you", view.Retried: "warn", view.Waived: "warn", view.CutOff: "warn", view.Undone: "warn",
}

func (c *chronicle) take(h view.Happening) {
	if h.Of.Up != nil && h.Step < 0 {
		return // the step that the run carries out tells of it
	}
	run := h.Of.State.Run().Run
	if c.minutes != nil {
		c.minutes.take(h)
	}
	if h.What == view.Failed || h.What == view.Regressed {
		c.failed[[2]string{run, h.Of.Step(h.Step).ID}] = failure(h)
	}
	if c.look.step != "" && (h.Step < 0 || !c.concerns(h.Of, h.Step)) {
		return
	}
	if lines := c.words(h); len(lines) > 0 {
		l := LogLine{At: clock(h.At), Tone: tonesOf[h.What], Text: lines[0], More: slices.Clone(lines[1:])}
		if h.What == view.Over && h.Of.State.Head().Status != engine.Done {
			l.Tone = "er"
		}
		if h.What == view.Passed && !h.Proven {
			l.Tone = "warn"
		}
		if h.What == view.Started {
			if t := c.tries[[2]string{run, h.Of.Step(h.Step).ID}]; t != nil && len(t.tries) > 0 && t.tries[len(t.tries)-1].same {
				l.More = append(l.More, "the same script as before, unchanged")
			}
		}
		c.add(l)
	}
}

// add adds a line, if it is looked for.
func (c *chronicle) add(l LogLine) {
	if c.look.find != "" && !finds(l, c.look.find) {
		return
	}
	if n := c.total; c.look.before <= 0 || n < c.look.before {
		c.lines = append(c.lines, l)
	}
	c.total++
}

// finds reports whether a line has a text, in any case.
func finds(l LogLine, text string) bool {
	return strings.Contains(strings.ToLower(l.Text+"\n"+strings.Join(l.More, "\n")), strings.ToLower(text))
}

func (c *chronicle) log() Log {
	q := url.Values{"step": {c.look.step}, "q": {c.look.find}}.Encode()
	l := Log{Lines: c.lines, Earlier: c.first, Run: c.run, Step: c.look.step, Find: c.look.find, Part: "/runs/" + c.run + "/log?" + q}
	if before := "&before=" + strconv.Itoa(c.first); c.first > 0 {
		l.Older, l.OlderTo = l.Part+before, "/runs/"+c.run+"?"+q+before
	}
	return l
}

// lines serves a part of the log.
func (s *server) lines(w http.ResponseWriter, r *http.Request, ws *Workspace) error {
	head, err := ws.run(r.Context(), r.PathValue("run"))
	if err != nil {
		return err
	}
	c := ws.chronicle(head, lookingAt(r))
	if err := c.read(r.Context()); err != nil {
		return err
	}
	html, err := s.show(LogLines(c.log()))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, html) //nolint:errcheck // the browser is gone then
	return nil
}

// outlook is what is to be expected of the run, told anew when a step stands otherwise.
func (c *chronicle) outlook(st view.Standing) view.Outlook {
	var b strings.Builder
	for _, row := range st.Steps {
		fmt.Fprintf(&b, "%s %s %d,", row.ID, row.Status, row.Attempts)
	}
	if now := b.String() + fmt.Sprint(st.Head.Ended, st.Carried); now != c.stands {
		c.stands, c.ahead = now, st.Outlook(c.past, c.atOnce())
		if first, other := c.sinceFirst(st); other {
			c.ahead.Path = first.Outlook(c.past, c.atOnce()).Path
		}
	}
	return c.ahead
}

// sinceFirst is the standing in which a step begins with its first attempt, or with the first question
// about it, if that was earlier. Else it begins with the newest word of a person. other says whether
// any step begins earlier.
func (c *chronicle) sinceFirst(st view.Standing) (first view.Standing, other bool) {
	st.Steps = slices.Clone(st.Steps)
	for i := range st.Steps {
		s := &st.Steps[i]
		t := c.tries[[2]string{st.Head.Run, s.ID}]
		if t == nil || s.Started.IsZero() {
			continue
		}
		if len(t.tries) > 0 && t.tries[0].began.Before(s.Started) {
			s.Started, other = t.tries[0].began, true
		}
		if len(t.waits) > 0 && t.waits[0].began.Before(s.Started) {
			s.Started, other = t.waits[0].began, true
		}
	}
	return st, other
}

// atOnce is how many steps may be at work at once.
func (c *chronicle) atOnce() int {
	p := c.fold.State.Program()
	if p == nil {
		return 1
	}
	return min(p.Parallel(), c.fold.State.Run().Policy.MaxParallel)
}

// gates are the steps before which a person is asked.
func (c *chronicle) gates() map[string]bool {
	gates := map[string]bool{}
	if p := c.fold.State.Program(); p != nil && c.fold.State.Run().Run == c.run {
		for i := range p.Len() {
			gates[p.Step(i).ID] = p.Step(i).Approval != ""
		}
	}
	return gates
}

// scripted reports whether a script does a step.
func (c *chronicle) scripted(run, step string) bool {
	of := c.fold.Member(run)
	if of == nil {
		return false
	}
	i := of.Index(step)
	return i >= 0 && of.Step(i).Kind == engine.Script
}

// failure is why an attempt did not pass.
func failure(h view.Happening) *Failure {
	f := &Failure{Attempt: h.Attempt, Words: h.Words, Unchanged: h.Unchanged}
	if h.Cause != nil {
		f.Cause = h.Cause.String()
	}
	if len(h.Checks) == 0 {
		if h.Work != nil {
			f.Stdout, f.Stderr = h.Work.Stdout, h.Work.Stderr
		}
		f.Cause = cmp.Or(f.Cause, h.Text)
		return f
	}
	e := h.Checks[0]
	f.Check, f.Command, f.How = e.Check, commandOf(h.Of.Step(h.Step), e.Check), view.AnswerOf(e)
	f.Stdout, f.Stderr = e.Stdout, e.Stderr
	if h.Work != nil {
		f.Work = strings.TrimSpace(h.Work.Stdout + "\n" + h.Work.Stderr)
	}
	return f
}

// commandOf is the command of a check of a step.
func commandOf(s *engine.Step, check string) string {
	for _, c := range s.Checks {
		if c.Name == check {
			return cmp.Or(c.Command, c.Question)
		}
	}
	return ""
}
