package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// silence is how long a plain view says nothing before it says who is at work.
const silence = time.Minute

// plainView writes one line for each thing that happens. The word begins in
// the tenth column.
type plainView struct {
	mu    sync.Mutex
	fold  *view.Fold
	theme theme
	out   io.Writer
	now   func() time.Time
	quiet *time.Timer

	said  effect.Ear
	shown map[*effect.Voice]time.Time // when something that it says was shown last

	deeds *deedEar             // nil tells none
	poll  *time.Timer          // between two looks at the deeds
	mute  bool                 // what was done before is not told
	woes  map[[2]string]string // by run and step: the error that its agent told last, and did nothing since

	change   func(engine.HeadRow) string // what the plan document proposes now, "" for nothing
	proposed string                      // what it proposed when it was last looked at
	looks    int                         // at what happens beside the journal

	trials map[trial]time.Time // since when checks are tried; zero once that was told
}

// A trial is one asking of a step's checks.
type trial struct {
	run, step string
	attempt   int
	phase     engine.Phase
}

// patience is how long checks may take before a plain view says what is tried.
const patience = 5 * time.Second

// listening is the time between two looks at what agents do.
const listening = time.Second

// listen tells the deeds of agents from now on.
func (v *plainView) listen(s *session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.deeds, v.change = s.deedEar(v.did), s.proposes
	v.poll = time.AfterFunc(listening, func() {
		v.mu.Lock()
		v.deeds.look()
		v.tries()
		v.mu.Unlock()
		v.lookAtPlan()
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.poll != nil {
			v.poll.Reset(listening)
		}
	})
}

// lookAtPlan says, now and then, that somebody changes the document of the plan: the run goes
// on with what was approved. Nothing waits for the look itself: a server may be slow.
func (v *plainView) lookAtPlan() {
	v.mu.Lock()
	v.looks++
	due := v.looks%2 == 1 && v.fold.State.Program() != nil && v.fold.State.Live()
	var head engine.HeadRow
	if due {
		head = v.fold.State.Head()
	}
	v.mu.Unlock()
	if !due {
		return
	}
	now := v.change(head)
	v.mu.Lock()
	defer v.mu.Unlock()
	was := v.proposed
	if v.proposed = now; v.poll != nil && v.proposed != "" && v.proposed != was {
		v.quiet.Reset(silence)
		printLines(v.out, v.theme.fold(0, plainIndent, fmt.Sprintf("%s %-5s %s", v.clock(v.now()), "plan", v.proposed)))
	}
}

// tries says of checks that take long what is tried, each time once: with an empty cache the
// first build takes a minute, in which nothing else happens.
func (v *plainView) tries() {
	now, under := v.now(), map[trial]time.Time{}
	for _, f := range v.fold.Family() {
		for _, s := range f.Shown() {
			what, when := v.theme.trying(f, s)
			if what == "" {
				continue
			}
			key := trial{f.State.Run().Run, s.ID, s.Attempts, s.Phase}
			since, known := v.trials[key]
			if !known {
				since = now
			}
			if !since.IsZero() && now.Sub(since) >= patience {
				since = time.Time{}
				row := f.Row(s.Index)
				v.quiet.Reset(silence)
				fmt.Fprintf(v.out, "%s %-5s %s %s %s %s, which takes a while\n", v.clock(now), "check", v.theme.line(row.Number), v.theme.id(row.ID), quoteLine(v.theme.fit(what, quoted)), when)
			}
			under[key] = since
		}
	}
	v.trials = under
}

// trying is the first of the commands by which a step is tried now, and when that is; "" where
// none is.
func (t theme) trying(f *view.Fold, s engine.StepRow) (what, when string) {
	switch s.Phase {
	case engine.Baseline:
		when = "before the work"
	case engine.Verifying:
		when = "after the work"
	case engine.Ratchet:
		when = "at the end of the run"
	default:
		return "", ""
	}
	for _, c := range f.Step(s.Index).Checks {
		if c.Command != "" {
			return t.brief(c.Command), when
		}
	}
	return "", ""
}

// did shows one deed.
func (v *plainView) did(run, step, line string) {
	delete(v.woes, [2]string{run, step})
	if after, ok := strings.CutPrefix(line, view.ErrorWord); ok {
		v.woes[[2]string{run, step}] = after
	}
	of := v.fold.Member(run)
	if v.mute || of == nil || of.Index(step) < 0 {
		return
	}
	row := of.Row(of.Index(step))
	v.quiet.Reset(silence)
	fmt.Fprintf(v.out, "%s does  %s %s %s\n", v.clock(v.now()), v.theme.line(row.Number), v.theme.id(row.ID), v.theme.deed(v.theme.line(line), quoted))
}

// plainIndent is where the text of a line begins, behind its time and its word.
const plainIndent = len("15:04:05 start ")

// quoted is how much of a contract a line quotes, in columns.
const quoted = 100

// shownID is how much of a step's id stands in a line, in columns: one that is made of a long
// title would push all else to the right. Its number names the step as well. Where no person
// reads it is whole.
const shownID = 24

// shownTitle is how much of a run's title stands in a line, in columns.
const shownTitle = 60

func (t theme) id(id string) string {
	if t.whole {
		return id
	}
	return t.fit(id, shownID)
}

// tailLines is how much of a failed check's output is shown under its line.
const tailLines = 10

// saidPause is how long a plain view keeps to itself what an attempt says after
// it has shown a line of it.
const saidPause = 10 * time.Second

func newPlainView(w io.Writer, t theme, now func() time.Time, state string) *plainView {
	v := &plainView{fold: &view.Fold{}, theme: t, out: w, now: now, said: effect.Ear{State: state}, shown: map[*effect.Voice]time.Time{}, woes: map[[2]string]string{}}
	v.quiet = time.AfterFunc(silence, v.still)
	return v
}

func (v *plainView) past(rs []engine.Record, at time.Time, news []engine.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mute = true
	for _, r := range rs {
		if _, ok := v.take(r); !ok {
			return
		}
	}
	v.deeds.look()
	v.mute = false
	if v.fold.State.Program() == nil {
		return
	}
	v.tell(view.Happening{Of: v.fold, At: at, What: view.Opened, Step: -1})
	for _, it := range v.fold.Unanswered(news) {
		v.tell(v.fold.Ask(it, at))
	}
	v.says()
}

func (v *plainView) records(rs []engine.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range rs {
		hs, ok := v.take(r)
		if !ok {
			return
		}
		for _, h := range hs {
			v.tell(h)
		}
	}
	v.says()
}

// take folds a record, or says that it cannot.
func (v *plainView) take(r engine.Record) ([]view.Happening, bool) {
	of, hs, err := v.fold.Follow(r)
	if err != nil {
		v.lost(err)
		return nil, false
	}
	if of != nil {
		v.said.Take(of.State.Run().Run, r.Event)
		v.deeds.take(of.State.Run().Run, r.Event)
		if e, ok := r.Event.(engine.WorkDispatched); ok {
			delete(v.woes, [2]string{of.State.Run().Run, e.Step})
		}
	}
	return hs, true
}

// says shows what attempts say, now and then.
func (v *plainView) says() {
	for _, s := range v.said.Look() {
		of := v.fold.Member(s.From.Run)
		text := v.theme.line(claimed(s.Said).String())
		if of == nil || of.Index(s.From.Step) < 0 || text == "" || s.At.Sub(v.shown[s.From]) < saidPause {
			continue
		}
		v.shown[s.From] = s.At
		row := of.Row(of.Index(s.From.Step))
		v.quiet.Reset(silence)
		fmt.Fprintf(v.out, "%s says  %s %s %s\n", v.clock(s.At), v.theme.line(row.Number), v.theme.id(row.ID), v.theme.fit(text, quoted))
	}
}

// lost says that the view can show no more.
func (v *plainView) lost(err error) {
	fmt.Fprintf(v.out, "%s lost  cannot follow the run: %s\n", v.clock(v.now()), v.theme.line(err.Error()))
}

func (v *plainView) ring() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if isTerminal(v.out) {
		io.WriteString(v.out, bell) //nolint:errcheck // a terminal that is gone rings no bell
	}
}

func (v *plainView) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.quiet.Stop()
	if v.poll != nil {
		v.poll.Stop()
		v.poll = nil
	}
}

func (v *plainView) clock(at time.Time) string { return at.In(v.theme.zone).Format("15:04:05") }

func (v *plainView) tell(h view.Happening) {
	v.quiet.Reset(silence)
	if h.Of.Up != nil && h.Step < 0 {
		return // the step that the run carries out tells of it
	}
	for _, l := range v.theme.lines(h) {
		printLines(v.out, v.theme.fold(0, plainIndent, v.clock(h.At)+" "+l))
	}
}

// still is the line for a minute of silence.
func (v *plainView) still() {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	var who []string
	for _, f := range v.fold.Family() {
		for _, i := range slices.Sorted(maps.Keys(f.Busy)) {
			s := f.Row(i)
			line := fmt.Sprintf("%s %s %s", s.Number, v.theme.id(s.ID), view.Span(f.Elapsed(f.Busy[i].ID, now)))
			if woe := v.woes[[2]string{f.State.Run().Run, s.ID}]; woe != "" {
				line += ": " + v.theme.fit(v.theme.line(woe), quoted)
			}
			who = append(who, line)
		}
	}
	if n := len(v.fold.Waiting()); n > 0 {
		who = append(who, view.Plural(n, "item waits", "items wait")+" for you")
	}
	if len(who) > 0 && v.fold.State.Live() {
		fmt.Fprintf(v.out, "%s still %s\n", v.clock(now), strings.Join(who, ", "))
	}
	v.quiet.Reset(silence)
}

// words gathers the words of a line, and the lines below it.
type words struct {
	theme theme
	lines []string
}

func (l *words) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(l.lines) == 0 {
		l.lines = []string{text}
		return
	}
	l.lines[0] += " " + text
}

func (l *words) flag(name, value string) {
	if value != "" {
		l.add("%s=%s", name, l.theme.line(value))
	}
}

func (l *words) note(text string) {
	if text = l.theme.line(text); text != "" {
		l.add("(%s)", text)
	}
}

func (l *words) question(h view.Happening) {
	l.add("%s", quoteLine(l.theme.line(h.Text)))
	if choices := h.Item.Choices; len(choices) == 1 {
		l.add("answer: %s", view.Answering(h.Item.Item, h.Item.Schema, choices[0]))
		return
	}
	l.add("(%s) answer: piton inbox %s", l.theme.line(view.Join(h.Item.Choices)), h.Item.Item)
	on := h.Of
	for on.Up != nil {
		on = on.Up
	}
	for _, c := range view.Resolving(h.Item, on.State.Run().Run) {
		l.lines = append(l.lines, "  $ "+l.theme.one(c))
	}
}

func (l *words) start(h view.Happening) {
	l.add("attempt=%d", h.Attempt)
	if h.N > 1 {
		l.add("start=%d", h.N)
	}
	l.loop(h)
	l.flag("agent", h.Agent)
	l.flag("run", h.Child)
	l.note(h.Text)
}

// loop adds how far a loop is.
func (l *words) loop(h view.Happening) {
	if h.Loop.Iteration > 0 {
		l.add("iteration=%d of %d", h.Loop.Iteration, h.Loop.Iterations)
	}
	l.flag("exit", string(h.Loop.Exit))
}

func (l *words) retrial(h view.Happening) {
	l.add("attempt=%d", h.Attempt)
	l.loop(h)
	if h.Allowed > 0 {
		l.add("of %d", h.Allowed)
	}
	if h.Wait > 0 {
		l.add("in %s", view.Span(h.Wait))
	}
	l.note(h.Text)
}

// lines writes a happening as plain lines, without their time.
func (t theme) lines(h view.Happening) []string {
	l, f := &words{theme: t}, h.Of
	l.add("%-5s", string(h.What))
	if h.Step >= 0 {
		row := f.Row(h.Step)
		l.add("%s %s", t.line(row.Number), t.id(row.ID))
	}
	switch h.What {
	case view.Opened:
		l.opening(f)
	case view.Started:
		l.start(h)
	case view.Merging:
		l.add("attempt=%d", h.Attempt)
	case view.Passed, view.Failed, view.Regressed:
		l.verdict(h)
	case view.Retried:
		l.retrial(h)
	case view.Asked:
		l.question(h)
	case view.Answered:
		l.add("%s", t.line(h.Text))
		if h.Said != "" {
			l.add("%s", quoteLine(t.fit(t.line(h.Said), quoted)))
		}
		if h.Args != "" {
			l.add("args=%s", quoteLine(t.fit(t.line(h.Args), quoted)))
		}
		l.add("by %s", t.line(h.By))
	case view.Commanded:
		l.lines[0] = fmt.Sprintf("%-5s", string(h.Verb)) + " " + f.State.Run().Run + " by " + t.line(h.By)
		l.note(h.Text)
	case view.Drawn:
		l.lines[0] += " " + f.State.Run().Run
		if h.Took > 0 {
			l.add("%s", view.Span(h.Took))
		}
		if h.Cost != nil {
			l.add("%s", view.Money(*h.Cost))
		}
		l.note(h.Text)
	case view.Configured:
		l.add("%s by %s", f.State.Run().Run, t.line(h.By))
		l.note(h.Text)
	case view.Replans:
		if h.Step < 0 {
			l.lines[0] += " " + f.State.Run().Run
		}
		if h.By != "" {
			l.add("by %s", t.line(h.By))
		}
		l.note(h.Text)
	case view.Revised:
		l.lines[0] += " " + f.State.Run().Run
		l.note(h.Text)
	case view.Over:
		l.ending(h)
	default: // skip, waive, redo, stop, undo, wait, force
		l.flag("agent", h.Agent)
		if h.By != "" {
			l.add("by %s", t.line(h.By))
		}
		l.note(h.Text)
	}
	return l.lines
}

func (l *words) opening(f *view.Fold) {
	r, head := f.State.Run(), f.State.Head()
	l.add("%s %s, v%d, %s", r.Run, l.theme.fit(l.theme.line(r.Title), shownTitle), r.Version, view.Plural(head.Total, "step", "steps"))
	if head.Settled > 0 {
		l.add("(%d finished before)", head.Settled)
	}
	if r.ApprovedBy == engine.ByPolicy {
		l.add("approved by policy")
	}
	if _, apart := f.State.Program().Landing(); apart {
		l.add("in its own worktree")
	}
	switch r.Isolation {
	case unsealed:
		l.add("UNSEALED: agents and contracts see what you see")
	case "fenced":
		l.add("fenced: agents and contracts see what you see; they change the workspace and what programs keep in your home")
	}
}

func (l *words) verdict(h view.Happening) {
	f := h.Of
	if f.Pattern(h.Step) {
		if h.What == view.Passed && !h.Proven {
			l.add("unproven")
		}
		l.note(h.Text)
		return
	}
	if h.Attempt > 0 { // a question that is answered has none
		l.add("attempt=%d", h.Attempt)
	}
	l.loop(h)
	if h.Took > 0 {
		l.add("%s", view.Span(h.Took))
	}
	if h.Waited > 0 {
		l.add("waited=%s", view.Span(h.Waited))
	}
	if h.Cost != nil {
		l.add("%s", view.Money(*h.Cost))
	}
	if h.What != view.Passed && h.Verdict != engine.Fail {
		l.flag("verdict", string(h.Verdict))
	}
	if h.What == view.Failed && h.Cause != nil {
		l.note(h.Cause.String())
	}
	if len(h.Checks) > 0 {
		l.evidence(f, h.Step, h.Checks[0])
	}
	if h.What == view.Passed {
		if !h.Proven {
			l.add("unproven")
		}
		l.note(h.Text)
		return
	}
	if h.Cause == nil && (len(h.Checks) == 0 || h.Verdict != engine.Fail) {
		l.note(h.Text)
	}
	for _, c := range h.Checks {
		l.printed(c.Stdout, c.Stderr)
	}
	if w := h.Work; w != nil {
		l.lines = append(l.lines, "  "+workPrinted(w))
		l.printed(w.Stdout, w.Stderr)
	}
	if h.Unchanged {
		l.lines = append(l.lines, "  no change of the agent was seen")
	}
	if said := l.theme.beginning(h.Words, 2*quoted); said != nil {
		l.lines = append(l.lines, "  "+agentSaid)
		for _, line := range said {
			l.lines = append(l.lines, "  | "+line)
		}
	}
}

// agentSaid heads the last words of an agent whose work did not pass.
const agentSaid = "the agent's last words:"

// printed quotes the end of what a check, or the work, printed.
func (l *words) printed(stdout, stderr string) {
	for _, line := range l.theme.ends(stdout, stderr, tailLines, 2*quoted) {
		l.lines = append(l.lines, "  | "+line)
	}
}

// workPrinted heads what the work printed.
func workPrinted(w *engine.WorkEnded) string {
	if w.How != engine.Exited {
		return "the work printed:"
	}
	return fmt.Sprintf("the work, which ended with exit=%d, printed:", w.Exit)
}

// evidence quotes a check and its answer.
func (l *words) evidence(f *view.Fold, step int, c engine.CheckEnded) {
	for _, want := range f.Step(step).Checks {
		if want.Question != "" && want.Name == c.Check {
			l.add("%s %s %s", c.Check, c.Verdict, quoteLine(l.theme.fit(l.theme.one(c.Reason), quoted)))
			return
		}
		if want.Name == c.Check {
			l.add("%s=%s", l.theme.line(c.Check), quoteLine(l.theme.fit(l.theme.brief(want.Command), quoted)))
		}
	}
	l.add("exit=%d", c.Exit)
	if c.Exit != c.Want {
		l.add("want=%d", c.Want)
	}
	if c.Verdict == engine.Fail {
		l.note(c.Reason)
	}
	l.flag("signal", c.Signal)
	l.flag("again", verdicts(c.Reruns))
}

// ending is the last line of a run. Its word is fail for a failed one.
func (l *words) ending(h view.Happening) {
	f := h.Of
	switch h.End.Status {
	case engine.Failed:
		l.lines[0] = fmt.Sprintf("%-5s", string(view.Failed))
	case engine.Done:
	default:
		l.lines[0] = fmt.Sprintf("%-5s", string(h.End.Status))
	}
	head := f.State.Head()
	l.add("%s %s", head.Run, view.Span(head.Work.Ran))
	if used := view.Spending(head, head.Finished); len(used) > 0 {
		l.add("%s", strings.Join(used, ", "))
	}
	forgone := f.State.Forgone()
	head.Skipped -= forgone
	counts := view.Sums(head)
	if forgone > 0 {
		counts = append(counts, fmt.Sprintf("%d skipped and not satisfied", forgone))
	}
	if f.Retries > 0 {
		counts = append(counts, view.Plural(f.Retries, "retry", "retries"))
	}
	if left := h.End.Left - forgone; left > 0 {
		counts = append(counts, fmt.Sprintf("%d left", left))
	}
	l.lines[0] += ": " + view.Join(counts)
	l.note(h.End.Reason)
	if head.Unproven > 0 {
		rows := make([]engine.StepRow, f.State.Program().Len())
		for i := range rows {
			rows[i] = f.State.StepRow(i)
		}
		for _, why := range view.Unproven(rows) {
			l.lines = append(l.lines, "  "+l.theme.line(why))
		}
	}
}

// quoteLine puts a line that is safe to show into quotes. It is no word for a shell.
func quoteLine(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
