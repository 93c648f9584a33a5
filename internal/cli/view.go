package cli

import (
	"cmp"
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
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// A view shows one run as its records arrive. It is a fold: what it shows comes
// from the records, and from what attempts say while they work. Its methods return
// at once; past is called first and close last, and close waits until all is shown.
type view interface {
	past([]engine.Record, time.Time) // what the journal held at that time, when the view began; called once, first
	records([]engine.Record)         // what became durable now; none where an attempt has said something
	close()
}

// newView is the view that fits whoever reads. A person at it can do to the run
// what k offers, and what any other process could.
func (a *app) newView(s *session, o api.Opened, k keys) view {
	k.pause, k.resume, k.answer = s.press(o, engine.DoPause), s.press(o, engine.DoResume), s.answerHere
	switch {
	case a.json:
		return newJSONView(a.out, s.Place.State)
	case !a.live():
		return newPlainView(a.out, a.theme(a.out), a.now, s.Place.State)
	}
	t := a.theme(a.out)
	t.width = drawable(t.width)
	v := newLiveView(a.in, a.out, a.env, &liveModel{
		theme: t, clock: a.now, now: a.now(), output: outputEnd(s.Place.State), says: saysOf(s.Place.State), change: s.proposes, fill: s.fill,
		keys: k,
	})
	a.above.Store(v)
	return v
}

// live reports whether lines can be drawn anew where a run is shown.
func (a *app) live() bool {
	env := a.environ()
	return isTerminal(a.out) && env["TERM"] != "dumb" && env["CI"] == ""
}

// press is a key that commands the run, as any other process would.
func (s *session) press(o api.Opened, verb engine.Verb) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		client := api.Dial(s.Place, Version)
		if err := s.Order(ctx, client, engine.HeadRow{Stream: o.Stream, Run: o.Run}, engine.Command{Verb: verb}); err != nil {
			return err
		}
		return client.Activate(ctx, o.Stream)
	}
}

// answerHere answers an item from the live view, as any other process would.
func (s *session) answerHere(it engine.ItemRow, choice, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client := api.Dial(s.Place, Version)
	if err := s.Reply(ctx, client, it, engine.ItemAnswered{Choice: choice, Text: text}); err != nil {
		return err
	}
	return client.Activate(ctx, it.Stream)
}

// event prints one record for programs.
func (a *app) event(run string, r engine.Record) { writeEvent(a.out, run, r) }

func (a *app) showFindings(w io.Writer, fs []verify.Finding) {
	t := a.theme(w)
	for _, f := range fs {
		printLines(w, t.finding(f))
	}
}

func findingTone(s verify.Severity) tone {
	return map[verify.Severity]tone{verify.Error: badTone, verify.Warning: warnTone, verify.Note: idleTone}[s]
}

// finding is written as compilers do, whole: editors read it.
func (t theme) finding(f verify.Finding) []string {
	text := fmt.Sprintf("%s:%d:%d: %s %s %s", t.line(f.File), f.Line, f.Column,
		t.paint(findingTone(f.Severity), string(f.Severity)+":"), f.Code, t.line(f.Message))
	lines := []string{text}
	if f.Hint != "" {
		lines = append(lines, t.paint(idleTone, "    "+t.line(f.Hint)))
	}
	return lines
}

func (a *app) showPlan(doc *api.Document) error {
	if a.json {
		a.document("plan", planDocument(doc))
		return nil
	}
	printLines(a.out, a.theme(a.out).family(doc))
	return nil
}

// standing reads how a run stands from the rows that the journal keeps of it.
func (a *app) standing(ctx context.Context, s *session, head engine.HeadRow) (standing, error) {
	st := standing{head: head, now: a.now(), place: s.workplace(head)}
	var err error
	if !head.Ended {
		if st.by, err = s.stands(ctx); err != nil {
			return standing{}, err
		}
	}
	st.carried = st.by.on(head)
	if st.newest, err = s.newest(ctx, head); err != nil {
		return standing{}, err
	}
	if st.newest {
		if st.other, err = s.Proposal(ctx, head); err != nil {
			return standing{}, err
		}
	}
	if st.items, err = s.Waiting(ctx, head); err != nil {
		return standing{}, err
	}
	if _, err = s.argsOf(ctx, st.items); err != nil {
		return standing{}, err
	}
	if st.under, err = s.Under(ctx, head); err != nil {
		return standing{}, err
	}
	return st, s.steps(ctx, &st)
}

// steps reads the steps of a run, and those of the runs that carry them out.
func (s *session) steps(ctx context.Context, st *standing) error {
	steps, err := s.store.Steps(ctx, st.head.Stream, st.head.Run)
	if err != nil {
		return err
	}
	st.steps, st.below = inPlace(steps), map[string]standing{}
	if st.carried {
		st.said = s.progressOf(st.head, st.steps)
	}
	for _, row := range st.steps {
		if h, ok := st.child(row.ID); ok {
			child := standing{head: h, under: st.under, by: st.by, carried: st.by.on(h), now: st.now}
			if err := s.steps(ctx, &child); err != nil {
				return err
			}
			st.below[row.ID] = child
		}
	}
	return nil
}

// inPlace puts the instances of steps below the steps that they are of.
func inPlace(rows []engine.StepRow) []engine.StepRow {
	place := make(map[string]int, len(rows))
	for _, r := range rows {
		place[r.ID] = r.Index
	}
	of := func(r engine.StepRow) int {
		if pattern, instance := engine.InstanceOf(r.ID); instance {
			return place[pattern]
		}
		return r.Index
	}
	slices.SortStableFunc(rows, func(a, b engine.StepRow) int { return cmp.Or(of(a)-of(b), a.Index-b.Index) })
	return rows
}

// newest reports whether no later run of the plan took this one's place.
func (s *session) newest(ctx context.Context, head engine.HeadRow) (bool, error) {
	heads, err := s.store.Heads(ctx, store.HeadFilter{Stream: head.Stream, Limit: 1})
	return len(heads) == 0 || heads[0].Run == head.Run, err
}

func (a *app) showEnd(ctx context.Context, s *session, head engine.HeadRow) error {
	st, err := a.standing(ctx, s, head)
	if err != nil {
		return err
	}
	if a.json {
		doc := runDocument(st.head, s.Place.Dir, nil)
		doc.Worktree, doc.Waiting = st.place, st.by.open(st.head)
		doc.Steps = stepDocuments(st)
		a.document("run", doc)
		return nil
	}
	st.carried = false
	if !a.live() {
		return a.plainEnd(st)
	}
	printLines(a.out, a.theme(a.out).end(st))
	return nil
}

// plainEnd says what to do next; how the run stands, the plain lines have said.
func (a *app) plainEnd(st standing) error {
	clock := st.now.Local().Format("15:04:05")
	if st.head.Ended && st.place != nil {
		fmt.Fprintf(a.out, "%s left  %s\n", clock, st.place.left(a.theme(a.out)))
	}
	if st.head.Ended && st.head.Status != engine.Failed {
		return nil
	}
	fmt.Fprintf(a.out, "%s next  %s\n", clock, strings.TrimPrefix(a.theme(a.out).next(st), "next: "))
	return nil
}

func (a *app) showStatus(ctx context.Context, s *session, head engine.HeadRow) error {
	st, err := a.standing(ctx, s, head)
	if err != nil {
		return err
	}
	if a.json {
		doc := runDocument(st.head, s.Place.Dir, nil)
		doc.Worktree, doc.Waiting = st.place, st.by.open(st.head)
		doc.Carried = &st.carried
		doc.Steps = stepDocuments(st)
		doc.Proposal = proposalDocument(st.other)
		a.document("run", doc)
		return nil
	}
	printLines(a.out, a.theme(a.out).status(st))
	return nil
}

func (a *app) showList(workspace string, plans []*engine.Revision, heads []engine.HeadRow, by stands, changed map[string]bool, l listing, more bool) error {
	if a.json {
		docs := []runDoc{}
		for _, h := range heads {
			doc := runDocument(h, workspace, nil)
			doc.Changed, doc.Carried, doc.Waiting = changed[h.Run], new(by.on(h)), by.open(h)
			docs = append(docs, doc)
		}
		unrun := []revisionDoc{}
		for _, r := range plans {
			unrun = append(unrun, revisionDocument(api.Entry{Revision: r}))
		}
		a.document("list", map[string]any{"plans": unrun, "runs": docs, "more": more})
		return nil
	}
	t := a.theme(a.out)
	printLines(a.out, t.plans(plans, a.now()))
	switch {
	case len(heads) > 0:
		printLines(a.out, t.list(heads, by, a.now()))
		for _, h := range heads {
			if changed[h.Run] {
				printLines(a.out, t.under(0, warnTone, fmt.Sprintf("%s was changed since run %s was approved; piton status %s says what to do", t.line(h.Path), h.Run, h.Run)))
			}
		}
	case len(plans) > 0:
	case l.filters():
		printLines(a.out, []string{"No run fits. All of them: piton list"})
	default:
		printLines(a.out, []string{"No runs yet. Start one: piton run PLAN"})
	}
	if more {
		a.notice("there are older ones; all of them: piton list --recent 0")
	}
	return nil
}

func (a *app) showInbox(items []engine.ItemRow, plans []*engine.Revision, args map[string]json.RawMessage) error {
	if a.json {
		a.document("inbox", inboxDocument(items, plans, args))
		return nil
	}
	printLines(a.out, a.theme(a.out).inbox(items, plans, a.now()))
	return nil
}

// showItem shows one item and all that it is about.
func (a *app) showItem(it engine.ItemRow, args map[string]json.RawMessage) error {
	items := []engine.ItemRow{it}
	if a.json {
		return a.showInbox(items, nil, args)
	}
	t := a.theme(a.out)
	printLines(a.out, t.asks(items, a.now(), t.matter))
	return nil
}

func (a *app) showLog(head engine.HeadRow, step string, records []engine.Record, values outputs) error {
	if a.json {
		return a.logEvents(head.Run, step, records, values)
	}
	lines, err := a.theme(a.out).history(head.Run, step, records, values)
	printLines(a.out, lines)
	return err
}

// logEvents prints the events of one run, or of one step of it with the values
// that it put out.
func (a *app) logEvents(runID, step string, records []engine.Record, values outputs) error {
	var f fold
	for _, r := range records {
		if _, err := f.apply(r); err != nil {
			return err
		}
		if f.state.Run().Run == runID && (step == "" || f.concerns(r.Event, step)) {
			writeEventWith(a.out, runID, r, values.of(r.Event))
		}
	}
	return nil
}

func (a *app) showDoctor(lines []probe.Line) error {
	if a.json {
		a.document("doctor", map[string]any{"checks": lines})
	} else {
		printLines(a.out, a.theme(a.out).doctor(lines))
	}
	if slices.ContainsFunc(lines, func(l probe.Line) bool { return l.Status == probe.Failure }) {
		return ended(exitMachine)
	}
	return nil
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// plainWriter keeps escape sequences from the terminal.
type plainWriter struct{ w io.Writer }

func (p plainWriter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.w, proc.Plain(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
