package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// A viewer shows one run as its records arrive. It is a fold: what it shows comes
// from the records, and from what attempts say while they work. Its methods return
// at once; past is called first and close last, and close waits until all is shown.
type viewer interface {
	past(rs []engine.Record, at time.Time, news []engine.Record) // what the journal held at that time, when the view began; called once, first
	records([]engine.Record)                                     // what became durable now; none where an attempt has said something
	ring()                                                       // the bell of a terminal
	close()
}

// newView is the view that fits whoever reads. A person at it can do to the run
// what k offers, and what any other process could.
func (a *app) newView(d *follower) viewer {
	s, o, k := d.session, d.opened, d.keys()
	k.pause, k.resume, k.answer = s.press(o, engine.DoPause), s.press(o, engine.DoResume), s.answerHere
	switch {
	case a.json:
		return newJSONView(a.out, s.Place.State, d.after)
	case !a.live():
		v := newPlainView(a.out, a.theme(a.out), a.now, s.Place.State)
		v.listen(s)
		return v
	}
	t := a.theme(a.out)
	t.width = drawable(t.width)
	v := newLiveView(a.in, a.out, &liveModel{
		theme: t, clock: a.now, now: a.now(), output: s.outputEnd, says: s.says, change: s.proposes, fill: s.fill,
		keys: k,
	})
	a.above.Store(v)
	return v
}

// live reports whether lines can be drawn anew where a run is shown.
func (a *app) live() bool { return a.draws(a.out) }

// draws reports whether a terminal takes more than lines one below the other.
func (a *app) draws(w io.Writer) bool {
	env := a.environ()
	return isTerminal(w) && env["TERM"] != "dumb" && env["CI"] == ""
}

// press is a key that commands the run, as any other process would.
func (s *session) press(o api.Opened, verb engine.Verb) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := s.client.Order(ctx, api.Order{Run: o.Run, Verb: verb})
		return err
	}
}

// answerHere answers an item from the live view, as any other process would.
func (s *session) answerHere(it engine.ItemRow, choice, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := s.client.Answer(ctx, api.Answer{Item: it.Item, Choice: choice, Text: text})
	return err
}

func (a *app) showFindings(w io.Writer, fs []verify.Finding) {
	t := a.theme(w)
	for _, f := range fs {
		printLines(w, t.finding(f))
	}
}

func findingTone(s verify.Severity) tone {
	return map[verify.Severity]tone{verify.Error: badTone, verify.Warning: warnTone, verify.Note: idleTone}[s]
}

// finding is written as compilers do. Where no person reads, it is one line: editors take it.
func (t theme) finding(f verify.Finding) []string {
	code := f.Code
	if code != "" {
		code += " "
	}
	severity := string(f.Severity) + ":"
	lines := t.fold(0, 2, fmt.Sprintf("%s:%d:%d: %s %s%s", t.line(f.File), f.Line, f.Column, severity, code, t.line(f.Message)))
	for i := range lines {
		lines[i] = strings.Replace(lines[i], severity, t.paint(findingTone(f.Severity), severity), 1)
	}
	if f.Hint == "" {
		return lines
	}
	for _, l := range t.fold(4, 4, t.line(f.Hint)) {
		lines = append(lines, t.paint(idleTone, l))
	}
	return lines
}

// reader reads what is shown of this workspace.
func (s *session) reader() view.Reader {
	return view.Reader{Product: s.Product, Stands: s.stands, Place: s.workplace, Said: s.progressOf}
}

func (a *app) showEnd(ctx context.Context, s *session, head engine.HeadRow) error {
	st, err := s.reader().Standing(ctx, head)
	if err != nil {
		return err
	}
	if a.json {
		a.document("run", st.Document(s.Place.Dir))
		return nil
	}
	st.Carried = false
	if !a.live() {
		return a.plainEnd(st)
	}
	printLines(a.out, a.theme(a.out).end(st))
	return nil
}

// plainEnd says what to do next; how the run stands, the plain lines have said.
func (a *app) plainEnd(st view.Standing) error {
	clock := st.Now.Local().Format("15:04:05")
	if st.Head.Ended && st.Place != nil {
		fmt.Fprintf(a.out, "%s left  %s\n", clock, a.theme(a.out).left(st))
	}
	if h := st.Head; h.Status == engine.Done && !h.Branch.Waits {
		if h.Landed && h.Branch.Name != "" {
			fmt.Fprintf(a.out, "%s work  in your files, not committed, and on branch %s as commits: commit the files, or open a pull request from the branch\n", clock, h.Branch.Name)
		}
		if h.Unproven == 0 {
			return nil
		}
	}
	for _, next := range st.Next() {
		fmt.Fprintf(a.out, "%s %-5s %s\n", clock, next.Word, next.Command)
	}
	return nil
}

func (a *app) showStatus(ctx context.Context, s *session, head engine.HeadRow) error {
	st, err := s.reader().Standing(ctx, head)
	if err != nil {
		return err
	}
	errands, err := s.Underway(ctx)
	if err != nil {
		return err
	}
	doc := st.Document(s.Place.Dir)
	doc.Errands = view.ErrandsOf(errands)
	doc.Carried, doc.Proposal = &st.Carried, view.ChangeOf(st.Other)
	a.prints("run", doc, func(t theme) []string { return append(t.status(st), t.underway(errands)...) })
	return nil
}

func (a *app) showList(found view.Listed, l view.Listing) {
	if a.json {
		a.document("list", found.Document())
		return
	}
	t := a.theme(a.out)
	printLines(a.out, t.plans(found.Plans, a.now()))
	switch {
	case len(found.Heads) > 0:
		printLines(a.out, t.list(found.Heads, found.By, a.now()))
		for _, h := range found.Heads {
			if found.Changed[h.Run] {
				printLines(a.out, t.under(0, warnTone, fmt.Sprintf("%s was changed since run %s was approved; piton status %s says what to do", t.line(h.Path), h.Run, h.Run)))
			}
		}
	case len(found.Plans) > 0:
	case len(l.Status) > 0 || l.Title != "" || l.Archived:
		printLines(a.out, []string{"No run fits. All of them: piton list"})
	default:
		printLines(a.out, []string{"No runs yet. Start one: piton run PLAN"})
	}
	if found.More {
		a.notice("there are older ones; all of them: piton list --recent 0")
	}
}

func (a *app) showInbox(items []engine.ItemRow, plans []*engine.Revision, args map[string]json.RawMessage) {
	a.prints("inbox", view.InboxOf(items, plans, args), func(t theme) []string { return t.inbox(items, plans, a.now()) })
}

func (a *app) showLog(head engine.HeadRow, step string, records []engine.Record, values view.Outputs, deeds deedsOf) error {
	if a.json {
		return a.logEvents(head.Run, step, records, values)
	}
	lines, err := a.theme(a.out).history(head.Run, step, records, values, deeds)
	printLines(a.out, lines)
	return err
}

// logEvents prints the events of one run, or of one step of it with the values
// that it put out.
func (a *app) logEvents(runID, step string, records []engine.Record, values view.Outputs) error {
	var f view.Fold
	for _, r := range records {
		if _, err := f.Apply(r); err != nil {
			return err
		}
		if f.State.Run().Run == runID && (step == "" || f.Concerns(r.Event, step)) {
			writeEvent(a.out, runID, r, values.Of(r.Event))
		}
	}
	return nil
}

func (a *app) showDoctor(lines []probe.Line) error {
	a.prints("doctor", map[string]any{"checks": lines}, func(t theme) []string { return t.doctor(lines) })
	if slices.ContainsFunc(lines, func(l probe.Line) bool { return l.Status == probe.Failure }) {
		return ended(exitMachine)
	}
	return nil
}

// plainWriter keeps escape sequences from the terminal.
type plainWriter struct{ w io.Writer }

func (p plainWriter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.w, proc.Plain(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
