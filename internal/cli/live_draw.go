package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// liveLines is how many lines the live region has at most, and liveRows how many
// of them are about steps.
const (
	liveLines = 12
	liveRows  = 7
)

// usualLines is taken for the height of a window that does not tell it.
const usualLines = 24

// wide is the width from which there are more columns.
const wide = 110

// roomy is the width from which these have room for long ids and commands.
const roomy = 160

// scrollColumns are those of finished lines and of the live region, so that
// they stand below each other.
var scrollColumns = []column{{}, {right: true}, {}, {flex: true}, {}, {}, {right: true}, {right: true}}

// titleColumn has what nothing else has room for, and lastColumn what a step said or did last.
const (
	titleColumn = 3
	lastColumn  = 5
)

func (t theme) scrollWidths() []int {
	w := []int{1, 3, 12, 0, 0, 0, 7, 7}
	switch {
	case t.width >= roomy:
		w[2], w[4], w[lastColumn] = 30, 14, 50
	case t.width >= wide:
		w[2], w[4], w[lastColumn] = 18, 12, 30
	case t.width < 50:
		w[2], w[6], w[7] = 10, 0, 0
	}
	if t.nested && t.width >= 50 {
		w[1] = 5
	}
	left := t.width - 1
	for i, n := range w {
		if i != titleColumn && n > 0 {
			left -= n + gap
		}
	}
	w[titleColumn] = max(left, 0)
	return w
}

// stepLine is a line about one step.
func (t theme) stepLine(l look, row engine.StepRow, cells ...string) string {
	cells = append(cells, "", "", "", "", "")
	return t.row(scrollColumns, t.scrollWidths(), []cell{
		{t.glyph(l), l.tone},
		{t.line(row.Number), idleTone},
		{row.ID, plainTone},
		{cells[0], plainTone},
		{cells[1], idleTone},
		{cells[2], idleTone},
		{cells[3], plainTone},
		{cells[4], plainTone},
	})
}

// scroll writes what stays of a happening in the scrollback.
func (t theme) scroll(h view.Happening) []string {
	f := h.Of
	switch {
	case f.Up != nil && h.Step < 0:
		return nil // the step that the run carries out tells of it
	case h.What == view.Opened:
		return t.opened(f)
	}
	var row engine.StepRow
	if h.Step >= 0 {
		row = indent(f, h.Step)
	}
	cost := ""
	if h.Cost != nil {
		cost = view.Money(*h.Cost)
	}
	switch h.What {
	case view.Passed:
		how := engine.Done
		if !h.Proven {
			how = view.DoneUnproven
		}
		return []string{t.stepLine(lookOf(how, ""), row, t.line(row.Title)+passing(h), t.line(row.Agent), t.contract(f, h), took(h.Took), cost)}
	case view.Failed:
		text, why := fmt.Sprintf("attempt %d", h.Attempt), t.line(h.Text)
		if h.Loop.Exit != "" {
			text = string(h.Loop.Exit)
		}
		var below []string
		if all := text + ": " + why; ansi.StringWidth(all) <= t.scrollWidths()[titleColumn] {
			text = all
		} else {
			below = t.under(6, badTone, why)
		}
		lines := append([]string{t.stepLine(lookOf(engine.Failed, ""), row, text, t.line(row.Agent), t.contract(f, h), took(h.Took), cost)}, below...)
		return append(lines, t.failure(f, h)...)
	case view.Retried:
		return []string{t.retryLine(h)}
	case view.Regressed:
		return append([]string{t.stepLine(lookOf(engine.Regressed, ""), row, t.line(h.Text))}, t.failure(f, h)...)
	case view.Skipped:
		return []string{t.stepLine(lookOf(engine.Skipped, ""), row, t.byWhom("skipped", h))}
	case view.Waived:
		return []string{t.stepLine(lookOf(engine.Waived, ""), row, t.byWhom("waived", h))}
	case view.Vouched:
		return []string{t.stepLine(lookOf(row.Status, ""), row, t.byWhom("vouched for", h))}
	case view.Redone:
		return []string{t.stepLine(lookOf(engine.Regressed, ""), row, t.byWhom("once more", h))}
	case view.CutOff:
		return []string{t.stepLine(lookOf(engine.Cancelled, ""), row, "cut off: "+t.line(h.Text))}
	case view.Undone:
		return append([]string{t.stepLine(lookOf(engine.Regressed, ""), row, "undone")}, t.under(6, warnTone, t.line(h.Text))...)
	case view.Answered:
		return []string{t.stepLine(lookOf(engine.Waiting, ""), row, t.line(h.By)+" answered: "+h.Text)}
	case view.Forced:
		return []string{t.stepLine(lookOf(engine.Waiting, ""), row, t.line(h.By)+" forces agent "+t.line(h.Agent))}
	case view.Replans:
		text := "the planner is asked for a revision: " + h.Text
		if h.By != "" {
			text += ", by " + h.By
		}
		return t.under(1, warnTone, t.line(text))
	case view.Drawn, view.Revised, view.Configured:
		return t.under(1, warnTone, t.line(h.Text))
	case view.Commanded:
		return []string{t.paint(warnTone, t.fit(fmt.Sprintf(" %s by %s", h.Verb, t.line(h.By)), t.width))}
	}
	return nil // what starts and waits stands below; the end has its own words
}

// passing is how a step was passed, where more is to be said of it.
func passing(h view.Happening) string {
	text := ""
	if !h.Proven {
		text = " (unproven)"
	}
	if n := h.Loop.Iteration; n > 0 {
		text += fmt.Sprintf(", %s in %s", h.Loop.Exit, view.Plural(n, "iteration", "iterations"))
	}
	if h.Waited > 0 {
		text += ", waited " + view.Span(h.Waited) + " for you"
	}
	return text
}

func took(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return view.Span(d)
}

func (t theme) byWhom(what string, h view.Happening) string {
	if h.By != "" {
		what += " by " + t.line(h.By)
	}
	if h.Text != "" {
		what += ": " + t.line(h.Text)
	}
	return what
}

func (t theme) opened(f *view.Fold) []string {
	r, head := f.State.Run(), f.State.Head()
	about := fmt.Sprintf("v%d, run %s, %s", r.Version, r.Run, view.Plural(head.Total, "step", "steps"))
	lines := t.sides(cell{t.line(r.Title), boldTone}, cell{about, idleTone})
	return append(append(lines, t.sides(cell{t.line(r.Workspace), idleTone}, t.isolation(r.Isolation))...), "")
}

// contract is the command of the check that a happening quotes first.
func (t theme) contract(f *view.Fold, h view.Happening) string {
	if len(h.Checks) == 0 {
		return ""
	}
	for _, c := range f.Step(h.Step).Checks {
		if c.Name == h.Checks[0].Check {
			return t.brief(c.Command)
		}
	}
	return ""
}

// failure shows the check that failed, where no column has it, and the end of
// what it printed.
func (t theme) failure(f *view.Fold, h view.Happening) []string {
	var lines []string
	if command := t.contract(f, h); command != "" && t.width < wide {
		lines = append(lines, t.fit("      $ "+command, t.width))
	}
	for _, c := range h.Checks {
		lines = append(lines, t.quoteEnds(6, c.Stdout, c.Stderr, 5)...)
	}
	if w := h.Work; w != nil {
		lines = append(lines, t.fit("      "+workPrinted(w), t.width))
		lines = append(lines, t.quoteEnds(6, w.Stdout, w.Stderr, 5)...)
	}
	lines = append(lines, t.claimed(6, agentSaid, h.Words)...)
	return lines
}

func (t theme) retryLine(h view.Happening) string {
	corner := "└ "
	if t.ascii {
		corner = "` "
	}
	text := fmt.Sprintf("attempt %d", h.Attempt)
	if h.Loop.Iteration > 0 {
		text += fmt.Sprintf(", iteration %d of %d", h.Loop.Iteration, h.Loop.Iterations)
	}
	if h.Allowed > 0 {
		text += fmt.Sprintf(" of %d", h.Allowed)
	}
	if h.Text != "" {
		text = t.line(h.Text)
	}
	if h.Wait > 0 {
		text += " in " + view.Span(h.Wait)
	}
	indent := min(6, t.width/4)
	return strings.Repeat(" ", indent) + t.paint(warnTone, t.fit(corner+text, t.width-indent))
}

// View draws the live region: at most twelve lines, none wider than the
// terminal. Of a window that is too low for them it leaves a line free, and the
// last lines are drawn.
func (m *liveModel) View() string {
	switch {
	case m.quits || m.fold.State.Program() == nil:
		return ""
	case m.printing:
		return m.frame
	}
	lines := []string{m.theme.paint(idleTone, m.theme.rule())}
	lines = append(lines, m.rows()...)
	if w := m.waitingLine(); w != "" {
		lines = append(lines, w)
	}
	if len(lines)+2 < m.room() {
		lines = append(lines, "")
	}
	lines = append(lines, m.counters(), m.keyLine())
	lines = lines[max(0, len(lines)-m.room()):]
	m.frame = strings.Join(lines, "\n")
	return m.frame
}

// rows are the steps at work, and the items that wait; the last lines of their
// output where there is room.
func (m *liveModel) rows() []string {
	t := m.theme
	rows := m.tree(&m.fold, true)
	if len(rows) > min(liveRows, m.room()-4) {
		rows = m.tree(&m.fold, false)
	}
	var lines []string
	room := liveRows - len(rows)
	if room < 0 {
		for _, r := range rows[:liveRows-1] {
			lines = append(lines, r.head)
		}
		more := len(rows) - liveRows + 1
		return append(lines, t.paint(idleTone, t.fit(fmt.Sprintf("   %s and %d more", t.dots(), more), t.width)))
	}
	for _, r := range rows {
		lines = append(lines, r.head)
		if r.below != "" && room > 0 && t.width < wide {
			room--
			lines = append(lines, t.paint(idleTone, t.fit("      "+t.deed(r.below, t.width-6), t.width)))
		}
	}
	return lines
}

// liveRow is a step at work, or an item that waits, and the last that the step said.
type liveRow struct{ head, below string }

// tree are the rows of a run. Those of the runs that carry out its steps stand
// below these steps where deep says so; else a step has all in its own.
func (m *liveModel) tree(f *view.Fold, deep bool) []liveRow {
	var rows []liveRow
	for _, s := range f.Shown() {
		rows = append(rows, liveRow{m.running(f, s, deep), m.lastOf(f, s)})
		if child := f.Child(s); child != nil && deep {
			rows = append(rows, m.tree(child, deep)...)
		}
	}
	for _, it := range f.Waiting() {
		if _, own := f.Items[it.Item]; own {
			rows = append(rows, liveRow{head: m.asking(f, it)})
		}
	}
	return rows
}

// lastOf is what a step at work said or did last, or the command by which it is tried.
func (m *liveModel) lastOf(f *view.Fold, s engine.StepRow) string {
	if what, _ := m.theme.trying(f, s); what != "" {
		return "$ " + what
	}
	return m.theme.line(m.last[f.Row(s.Index).ID])
}

var (
	spinner      = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	asciiSpinner = []string{"|", "/", "-", `\`}
)

func (m *liveModel) running(f *view.Fold, s engine.StepRow, deep bool) string {
	t, child := m.theme, f.Child(s)
	l := lookOf(s.Status, s.Phase)
	if child != nil && !deep && len(child.Waiting()) > 0 {
		l = lookOf(engine.Waiting, "")
	}
	if l.tone == runTone {
		l.glyph, l.ascii = spinner[m.tick%len(spinner)], asciiSpinner[m.tick%len(asciiSpinner)]
	}
	about := t.line(s.Title)
	if s.Phase != engine.Working {
		about = l.word + ": " + about
	}
	if s.Status == engine.Ready {
		about = t.line(s.Reason) // it waits for another run
	}
	last := t.deed(m.lastOf(f, s), t.scrollWidths()[lastColumn])
	if child != nil {
		about, last = view.Join(child.Counts())+": "+about, "run "+child.State.Run().Run
	}
	if text := view.LoopLine(s.Loop); text != "" {
		about = text + ": " + about
	} else if s.Attempts > 1 {
		about = fmt.Sprintf("attempt %d, %s", s.Attempts, about)
	}
	cost := ""
	if try := f.Tries[s.ID]; try != nil && try.Cost != nil {
		cost = view.Money(*try.Cost)
	}
	elapsed := ""
	if s.Status == engine.Running {
		elapsed = took(f.Elapsed(s.ID, m.now))
	}
	return t.stepLine(l, indent(f, s.Index), about, t.line(s.Agent), last, elapsed, cost)
}

func (m *liveModel) asking(f *view.Fold, it engine.ItemRow) string {
	row := engine.StepRow{ID: it.Step}
	if i := f.Index(it.Step); i >= 0 {
		row = indent(f, i)
	}
	return m.theme.stepLine(lookOf(engine.Waiting, ""), row, "waiting for you: press a", "", "piton answer "+it.Item, view.Span(m.now.Sub(it.Opened)))
}

// maxNamed is how many waiting steps are named.
const maxNamed = 6

func (m *liveModel) waitingLine() string {
	idle := m.fold.Idle
	if len(idle) == 0 {
		return ""
	}
	t := m.theme
	text := fmt.Sprintf(" %s %d pending", t.glyph(lookOf(engine.Pending, "")), len(idle))
	var names []string
	for n, i := range idle[:min(len(idle), maxNamed)] {
		more := ""
		if n < len(idle)-1 {
			more = ", " + t.dots()
		}
		if names = append(names, m.fold.State.Program().Step(i).ID); ansi.StringWidth(text+": "+view.Join(names)+more) > t.width {
			names = names[:n]
			break
		}
	}
	if len(names) > 0 {
		text += ": " + view.Join(names)
		if len(names) < len(idle) {
			text += ", " + t.dots()
		}
	}
	return t.paint(idleTone, t.fit(text, t.width))
}

// counters says how far the run is, and what it has used. Time, cost and tokens come before how
// many steps run and wait, which is seen above.
func (m *liveModel) counters() string {
	t, h := m.theme, m.fold.State.Head()
	left := m.fold.Counts()
	if m.paused() {
		left = append(left, "paused")
	}
	right := view.Spent(h, view.CmpTime(h.Finished, m.now))
	if h.Budget.Limits.Wall == 0 { // else that says it
		right = slices.Insert(right, 0, view.Span(h.Work.At(m.now)))
	}
	used := t.some(right, t.width-1-ansi.StringWidth(left[0])-gap)
	room := t.width - 1 - gap - ansi.StringWidth(used)
	said := t.some(left[:1], t.width-1)
	for n := 1; n < len(left); n++ {
		if more := strings.Join(slices.Concat(left[:1], left[n:]), "  "); ansi.StringWidth(more) <= room {
			said = more
			break
		}
	}
	between := t.width - 1 - ansi.StringWidth(said) - ansi.StringWidth(used)
	return strings.TrimRight(" "+said+strings.Repeat(" ", max(0, between))+used, " ")
}

func (m *liveModel) keyLine() string {
	if m.reply != nil {
		return m.prompt()
	}
	var offers []string
	if len(m.fold.Waiting()) > 0 {
		offers = append(offers, "a answer")
	}
	offers = append(offers, "l log")
	switch {
	case m.paused() && m.keys.resume != nil:
		offers = append(offers, "p resume")
	case !m.paused() && m.keys.pause != nil:
		offers = append(offers, "p pause")
	}
	if m.keys.detach != nil {
		offers = append(offers, "q detach")
	}
	if m.keys.stop != nil {
		offers = append(offers, "ctrl-c stop")
	} else {
		offers = append(offers, "ctrl-c leave")
	}
	return m.theme.paint(idleTone, " "+m.theme.some(offers, m.theme.width-1))
}

// indent is what the live view shows of a step: one of a sub-plan stands further
// in than those of the run above.
func indent(f *view.Fold, i int) engine.StepRow {
	row := f.Row(i)
	row.ID = strings.Repeat("  ", f.Depth()) + f.State.Program().Step(i).ID
	return row
}
