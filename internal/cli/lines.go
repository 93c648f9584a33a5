package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// silence is how long a plain view says nothing before it says who is at work.
const silence = time.Minute

// plainView writes one line for each thing that happens. The word begins in
// the tenth column.
type plainView struct {
	mu    sync.Mutex
	fold  *fold
	theme theme
	out   *spool
	now   func() time.Time
	quiet *time.Timer

	progress progress
}

// quoted is how much of a contract a line quotes, in columns.
const quoted = 100

// tailLines is how much of a failed check's output is shown under its line.
const tailLines = 10

// saidPause is how long a plain view keeps to itself what an attempt says after
// it has shown a line of it.
const saidPause = 10 * time.Second

func newPlainView(w io.Writer, t theme, now func() time.Time, state string) *plainView {
	v := &plainView{fold: &fold{}, theme: t, out: newSpool(w), now: now, progress: progress{state: state}}
	v.quiet = time.AfterFunc(silence, v.still)
	return v
}

func (v *plainView) past(rs []engine.Record, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range rs {
		if _, ok := v.take(r); !ok {
			return
		}
	}
	if v.fold.state.Program() == nil {
		return
	}
	v.tell(happening{of: v.fold, at: at, what: opened, step: -1})
	for _, it := range v.fold.waiting() {
		v.tell(v.fold.ask(it, at))
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
func (v *plainView) take(r engine.Record) ([]happening, bool) {
	of, hs, err := v.fold.follow(r)
	if err != nil {
		v.lost(err)
		return nil, false
	}
	if of != nil {
		v.progress.take(of.state.Run().Run, r.Event)
	}
	return hs, true
}

// says shows what attempts say, now and then.
func (v *plainView) says() {
	for _, s := range v.progress.look() {
		of := v.fold.member(s.from.run)
		text := v.theme.line(saidText(s.Said))
		if of == nil || of.index(s.from.step) < 0 || text == "" || s.At.Sub(s.from.shown) < saidPause {
			continue
		}
		s.from.shown = s.At
		row := of.row(of.index(s.from.step))
		v.quiet.Reset(silence)
		fmt.Fprintf(v.out, "%s says  %s %s %s\n", v.clock(s.At), v.theme.line(row.Number), row.ID, v.theme.fit(text, quoted))
	}
}

// lost says that the view can show no more.
func (v *plainView) lost(err error) {
	fmt.Fprintf(v.out, "%s lost  cannot follow the run: %s\n", v.clock(v.now()), v.theme.line(err.Error()))
}

func (v *plainView) close() {
	v.quiet.Stop()
	v.out.close()
}

func (v *plainView) clock(at time.Time) string { return at.In(v.theme.zone).Format("15:04:05") }

func (v *plainView) tell(h happening) {
	v.quiet.Reset(silence)
	if h.of.up != nil && h.step < 0 {
		return // the step that the run carries out tells of it
	}
	for _, l := range h.of.lines(v.theme, h) {
		fmt.Fprintf(v.out, "%s %s\n", v.clock(h.at), l)
	}
}

// still is the line for a minute of silence.
func (v *plainView) still() {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	var who []string
	for _, f := range v.fold.family() {
		for _, i := range slices.Sorted(maps.Keys(f.busy)) {
			s := f.row(i)
			who = append(who, fmt.Sprintf("%s %s %s", s.Number, s.ID, span(f.elapsed(f.busy[i].ID, now))))
		}
	}
	if n := len(v.fold.waiting()); n > 0 {
		who = append(who, plural(n, "item waits", "items wait")+" for you")
	}
	if len(who) > 0 && v.fold.state.Live() {
		fmt.Fprintf(v.out, "%s still %s\n", v.clock(now), strings.Join(who, ", "))
	}
	v.quiet.Reset(silence)
}

// waiting are the open items of the run and of those below it, the oldest first.
func (f *fold) waiting() []engine.ItemRow {
	var all []engine.ItemRow
	for _, one := range f.family() {
		all = slices.AppendSeq(all, maps.Values(one.items))
	}
	slices.SortFunc(all, func(a, b engine.ItemRow) int { return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.Item, b.Item)) })
	return all
}

// open reports whether an item still waits.
func (f *fold) open(it engine.ItemRow) bool {
	return slices.ContainsFunc(f.waiting(), func(o engine.ItemRow) bool { return o.Item == it.Item })
}

// member is the fold of a run, or nil where it is none of the family.
func (f *fold) member(run string) *fold {
	all := f.family()
	if i := slices.IndexFunc(all, func(o *fold) bool { return o.state.Run().Run == run }); i >= 0 {
		return all[i]
	}
	return nil
}

// ask tells of an item that waits already.
func (f *fold) ask(it engine.ItemRow, at time.Time) happening {
	of := f.member(it.Run)
	return happening{
		of: of, at: at, what: asked, step: of.index(it.Step), text: it.Question,
		item: engine.ItemOpened{Item: it.Item, Kind: it.Kind, Choices: it.Choices, Schema: it.Schema},
	}
}

// lines writes a happening as plain lines, without their time.
func (f *fold) lines(t theme, h happening) []string {
	l := &words{theme: t}
	l.add("%-5s", string(h.what))
	if h.step >= 0 {
		row := f.row(h.step)
		l.add("%s %s", t.line(row.Number), row.ID)
	}
	switch h.what {
	case opened:
		f.opening(l)
	case started:
		l.start(h)
	case merging:
		l.add("attempt=%d", h.attempt)
	case passed, failed, regressed:
		f.verdict(l, h)
	case retried:
		l.retrial(h)
	case asked:
		l.add("%s answer: %s", quote(t.line(h.text)), answering(h.item.Item, h.item.Schema, h.item.Choices))
	case answered:
		l.add("%s", t.line(h.text))
		if h.said != "" {
			l.add("%s", quote(t.fit(t.line(h.said), quoted)))
		}
		l.add("by %s", t.line(h.by))
	case commanded:
		l.lines[0] = fmt.Sprintf("%-5s", string(h.verb)) + " " + f.state.Run().Run + " by " + t.line(h.by)
		l.note(h.text)
	case revised:
		l.lines[0] += " " + f.state.Run().Run
		l.note(h.text)
	case over:
		f.ending(l, h)
	default: // skip, waive, redo, stop, undo, wait
		if h.by != "" {
			l.add("by %s", t.line(h.by))
		}
		l.note(h.text)
	}
	return l.lines
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

// quote makes a line that is safe already one word.
func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

func (l *words) start(h happening) {
	l.add("attempt=%d", h.attempt)
	if h.n > 1 {
		l.add("start=%d", h.n)
	}
	l.flag("agent", h.agent)
	l.flag("run", h.child)
}

func (l *words) retrial(h happening) {
	l.add("attempt=%d", h.attempt)
	if h.allowed > 0 {
		l.add("of %d", h.allowed)
	}
	if h.wait > 0 {
		l.add("in %s", span(h.wait))
	}
	l.note(h.text)
}

func (f *fold) opening(l *words) {
	r, head := f.state.Run(), f.state.Head()
	l.add("%s %s, v%d, %s", r.Run, l.theme.line(r.Title), r.Version, plural(head.Total, "step", "steps"))
	if head.Settled > 0 {
		l.add("(%d finished before)", head.Settled)
	}
	if r.ApprovedBy == engine.ByPolicy {
		l.add("approved by policy")
	}
	if r.Isolation == unsealed {
		l.add("UNSEALED: agents and contracts see what you see")
	}
}

func (f *fold) verdict(l *words, h happening) {
	if f.pattern(h.step) {
		if h.what == passed && !h.proven {
			l.add("unproven")
		}
		l.note(h.text)
		return
	}
	l.add("attempt=%d", h.attempt)
	if h.took > 0 {
		l.add("%s", span(h.took))
	}
	if h.waited > 0 {
		l.add("waited=%s", span(h.waited))
	}
	if h.cost != nil {
		l.add("%s", money(*h.cost))
	}
	if h.what != passed && h.verdict != engine.Fail {
		l.flag("verdict", string(h.verdict))
	}
	if len(h.checks) > 0 {
		f.evidence(l, h.step, h.checks[0])
	}
	if h.what == passed {
		if !h.proven {
			l.add("unproven")
		}
		return
	}
	if len(h.checks) == 0 || h.verdict != engine.Fail {
		l.note(h.text)
	}
	for _, c := range h.checks {
		for _, line := range l.theme.tail(c.Stdout+lineEnd(c.Stdout)+c.Stderr, tailLines, 2*quoted) {
			l.lines = append(l.lines, "  | "+line)
		}
	}
}

// evidence quotes a check and its answer.
func (f *fold) evidence(l *words, step int, c engine.CheckEnded) {
	for _, want := range f.state.Program().Step(step).Checks {
		if want.Name == c.Check {
			l.add("%s=%s", l.theme.line(c.Check), quote(l.theme.fit(l.theme.brief(want.Command), quoted)))
		}
	}
	l.add("exit=%d", c.Exit)
	if c.Exit != c.Want {
		l.add("want=%d", c.Want)
	}
	l.flag("signal", c.Signal)
}

// lineEnd is what a text lacks to end in a line of its own.
func lineEnd(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return ""
	}
	return "\n"
}

// ending is the last line of a run. Its word is fail for a failed one.
func (f *fold) ending(l *words, h happening) {
	switch h.end.Status {
	case engine.Failed:
		l.lines[0] = fmt.Sprintf("%-5s", string(failed))
	case engine.Done:
	default:
		l.lines[0] = fmt.Sprintf("%-5s", string(h.end.Status))
	}
	head := f.state.Head()
	l.add("%s %s", head.Run, span(head.Finished.Sub(head.Started)))
	if head.Budget.Limits != (engine.Amount{}) {
		l.add("%s", strings.Join(spending(head, head.Finished), ", "))
	} else if head.CostMicros > 0 {
		l.add("%s", money(head.CostMicros))
	}
	forgone := f.state.Forgone()
	head.Skipped -= forgone
	counts := sums(head)
	if forgone > 0 {
		counts = append(counts, fmt.Sprintf("%d skipped and not satisfied", forgone))
	}
	if f.retries > 0 {
		counts = append(counts, plural(f.retries, "retry", "retries"))
	}
	if left := h.end.Left - forgone; left > 0 {
		counts = append(counts, fmt.Sprintf("%d left", left))
	}
	l.lines[0] += ": " + join(counts)
	l.note(h.end.Reason)
}
