package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/piton-dev/piton/internal/engine"
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

// scrollColumns are those of finished lines and of the live region, so that
// they stand below each other.
var scrollColumns = []column{{}, {right: true}, {}, {flex: true}, {}, {}, {right: true}, {right: true}}

func (t theme) scrollWidths() []int {
	w := []int{1, 3, 12, 0, 0, 0, 7, 7}
	switch {
	case t.width >= wide:
		w[2], w[4], w[5] = 14, 12, 30
	case t.width < 50:
		w[2], w[6], w[7] = 10, 0, 0
	}
	if t.nested && t.width >= 50 {
		w[1] = 5
	}
	left := t.width - 1
	for i, n := range w {
		if i != 3 && n > 0 {
			left -= n + gap
		}
	}
	w[3] = max(left, 0)
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
func (t theme) scroll(h happening) []string {
	f := h.of
	switch {
	case f.up != nil && h.step < 0:
		return nil // the step that the run carries out tells of it
	case h.what == opened:
		return t.opened(f)
	}
	var row engine.StepRow
	if h.step >= 0 {
		row = f.indented(h.step)
	}
	cost := ""
	if h.cost != nil {
		cost = money(*h.cost)
	}
	switch h.what {
	case passed:
		text := t.line(row.Title)
		if !h.proven {
			text += " (unproven)"
		}
		if h.waited > 0 {
			text += ", waited " + span(h.waited) + " for you"
		}
		return []string{t.stepLine(looks[engine.Done], row, text, t.line(row.Agent), t.contract(f, h), took(h.took), cost)}
	case failed:
		text := fmt.Sprintf("attempt %d: %s", h.attempt, t.line(h.text))
		lines := []string{t.stepLine(looks[engine.Failed], row, text, t.line(row.Agent), t.contract(f, h), took(h.took), cost)}
		return append(lines, t.failure(f, h)...)
	case retried:
		return []string{t.retryLine(h)}
	case regressed:
		return append([]string{t.stepLine(looks[engine.Regressed], row, t.line(h.text))}, t.failure(f, h)...)
	case skipped:
		return []string{t.stepLine(looks[engine.Skipped], row, t.byWhom("skipped", h))}
	case waived:
		return []string{t.stepLine(looks[engine.Waived], row, t.byWhom("waived", h))}
	case redone:
		return []string{t.stepLine(looks[engine.Regressed], row, t.byWhom("once more", h))}
	case cutOff:
		return []string{t.stepLine(looks[engine.Cancelled], row, "cut off: "+t.line(h.text))}
	case undone:
		return append([]string{t.stepLine(looks[engine.Regressed], row, "undone")}, t.under(6, warnTone, t.line(h.text))...)
	case answered:
		return []string{t.stepLine(looks[engine.Waiting], row, t.line(h.by)+" answered: "+h.text)}
	case revised:
		return t.under(1, warnTone, t.line(h.text))
	case commanded:
		return []string{t.paint(warnTone, t.fit(fmt.Sprintf(" %s by %s", h.verb, t.line(h.by)), t.width))}
	}
	return nil // what starts and waits stands below; the end has its own words
}

func took(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return span(d)
}

func (t theme) byWhom(what string, h happening) string {
	if h.by != "" {
		what += " by " + t.line(h.by)
	}
	if h.text != "" {
		what += ": " + t.line(h.text)
	}
	return what
}

func (t theme) opened(f *fold) []string {
	r, head := f.state.Run(), f.state.Head()
	about := fmt.Sprintf("v%d, run %s, %s", r.Version, r.Run, plural(head.Total, "step", "steps"))
	isolation := cell{t.line(r.Isolation), idleTone}
	if r.Isolation == unsealed {
		isolation = cell{"UNSEALED", badTone}
	}
	return []string{
		t.sides(cell{t.line(r.Title), boldTone}, cell{about, idleTone}),
		t.sides(cell{t.line(r.Workspace), idleTone}, isolation), "",
	}
}

// contract is the command of the check that a happening quotes first.
func (t theme) contract(f *fold, h happening) string {
	if len(h.checks) == 0 {
		return ""
	}
	for _, c := range f.state.Program().Step(h.step).Checks {
		if c.Name == h.checks[0].Check {
			return t.brief(c.Command)
		}
	}
	return ""
}

// failure shows the check that failed, where no column has it, and the end of
// what it printed.
func (t theme) failure(f *fold, h happening) []string {
	var lines []string
	if command := t.contract(f, h); command != "" && t.width < wide {
		lines = append(lines, t.fit("      $ "+command, t.width))
	}
	for _, c := range h.checks {
		lines = append(lines, t.quoteTail(6, c.Stdout+lineEnd(c.Stdout)+c.Stderr, 5)...)
	}
	return lines
}

func (t theme) retryLine(h happening) string {
	corner := "└ "
	if t.ascii {
		corner = "` "
	}
	text := fmt.Sprintf("attempt %d", h.attempt)
	if h.allowed > 0 {
		text += fmt.Sprintf(" of %d", h.allowed)
	}
	if h.text != "" {
		text = t.line(h.text)
	}
	if h.wait > 0 {
		text += " in " + span(h.wait)
	}
	indent := min(6, t.width/4)
	return strings.Repeat(" ", indent) + t.paint(warnTone, t.fit(corner+text, t.width-indent))
}

// shown are the steps that run, by index.
func (f *fold) shown() []engine.StepRow {
	rows := make([]engine.StepRow, 0, len(f.busy))
	for _, i := range slices.Sorted(maps.Keys(f.busy)) {
		rows = append(rows, f.busy[i])
	}
	return rows
}

// indented is what the live view shows of a step: one of a sub-plan stands further
// in than those of the run above.
func (f *fold) indented(i int) engine.StepRow {
	row := f.row(i)
	row.ID = strings.Repeat("  ", f.depth()) + f.state.Program().Step(i).ID
	return row
}

// View draws the live region: at most twelve lines, none wider than the
// terminal. Of a window that is too low for them it leaves a line free, and the
// last lines are drawn.
//
// A region that shrinks is cleared only from where the cursor stands, so it
// must shrink when that is at its top: right after lines were printed above it.
// Until then it keeps its height, and while lines are printed its content.
func (m *liveModel) View() tea.View {
	switch {
	case m.quits || m.fold.state.Program() == nil:
		return tea.NewView(" ")
	case m.printing:
		return tea.NewView(m.frame)
	}
	lines := []string{m.theme.paint(idleTone, m.theme.rule())}
	lines = append(lines, m.rows()...)
	if w := m.waitingLine(); w != "" {
		lines = append(lines, w)
	}
	blank := min(max(1, m.height-2-len(lines)), m.room()-2-len(lines))
	lines = append(lines, make([]string, max(0, blank))...)
	lines = append(lines, m.counters(), m.keyLine())
	lines = lines[max(0, len(lines)-m.room()):]
	m.frame, m.height = strings.Join(lines, "\n"), len(lines)
	return tea.NewView(m.frame)
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
			lines = append(lines, t.paint(idleTone, t.fit("      "+r.below, t.width)))
		}
	}
	return lines
}

// liveRow is a step at work, or an item that waits, and the last that the step said.
type liveRow struct{ head, below string }

// tree are the rows of a run. Those of the runs that carry out its steps stand
// below these steps where deep says so; else a step has all in its own.
func (m *liveModel) tree(f *fold, deep bool) []liveRow {
	var rows []liveRow
	for _, s := range f.shown() {
		rows = append(rows, liveRow{m.running(f, s, deep), m.theme.line(m.last[f.row(s.Index).ID])})
		if child := f.child(s); child != nil && deep {
			rows = append(rows, m.tree(child, deep)...)
		}
	}
	for _, it := range f.waiting() {
		if _, own := f.items[it.Item]; own {
			rows = append(rows, liveRow{head: m.asking(f, it)})
		}
	}
	return rows
}

// child is the run that carries the step out now; nil for none.
func (f *fold) child(s engine.StepRow) *fold {
	if c := f.below[s.ID]; c != nil && c.state.Live() {
		return c
	}
	return nil
}

var (
	spinner      = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	asciiSpinner = []string{"|", "/", "-", `\`}
)

func (m *liveModel) running(f *fold, s engine.StepRow, deep bool) string {
	t, child := m.theme, f.child(s)
	l := lookOf(s.Status, s.Phase)
	if child != nil && !deep && len(child.waiting()) > 0 {
		l = looks[engine.Waiting]
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
	last := t.line(m.last[f.row(s.Index).ID])
	if child != nil {
		about, last = child.counts()+": "+about, "run "+child.state.Run().Run
	}
	if s.Attempts > 1 {
		about = fmt.Sprintf("attempt %d, %s", s.Attempts, about)
	}
	cost := ""
	if try := f.tries[s.ID]; try != nil && try.cost != nil {
		cost = money(*try.cost)
	}
	elapsed := ""
	if s.Status == engine.Running {
		elapsed = took(f.elapsed(s.ID, m.now))
	}
	return t.stepLine(l, f.indented(s.Index), about, t.line(s.Agent), last, elapsed, cost)
}

func (m *liveModel) asking(f *fold, it engine.ItemRow) string {
	row := engine.StepRow{ID: it.Step}
	if i := f.index(it.Step); i >= 0 {
		row = f.indented(i)
	}
	return m.theme.stepLine(looks[engine.Waiting], row, "needs you: press a", "", "piton answer "+it.Item, span(m.now.Sub(it.Opened)))
}

// maxNamed is how many waiting steps are named.
const maxNamed = 6

func (m *liveModel) waitingLine() string {
	idle := m.fold.idle
	if len(idle) == 0 {
		return ""
	}
	var names []string
	for _, i := range idle[:min(len(idle), maxNamed)] {
		names = append(names, m.fold.state.Program().Step(i).ID)
	}
	t := m.theme
	text := fmt.Sprintf(" %s %d waiting: %s", t.glyph(looks[engine.Pending]), len(idle), join(names))
	if len(idle) > maxNamed {
		text += ", " + t.dots()
	}
	return t.paint(idleTone, t.fit(text, t.width))
}

func (m *liveModel) counters() string {
	t, h := m.theme, m.fold.state.Head()
	left := []string{fmt.Sprintf("%d/%d passed", h.Settled, h.Total)}
	if n := len(m.fold.busy); n > 0 {
		left = append(left, fmt.Sprintf("%d running", n))
	}
	if n := len(m.fold.waiting()); n > 0 {
		left = append(left, plural(n, "needs you", "need you"))
	}
	if m.paused() {
		left = append(left, "paused")
	}
	right := []string{span(cmpTime(h.Finished, m.now).Sub(h.Started))}
	right = append(right, spending(h, cmpTime(h.Finished, m.now))...)
	return t.sides(cell{" " + strings.Join(left, "  "), plainTone}, cell{strings.Join(right, "  "), plainTone})
}

func (m *liveModel) keyLine() string {
	if m.reply != nil {
		return m.prompt()
	}
	var offers []string
	if len(m.fold.waiting()) > 0 {
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
	if m.keys.stops != nil && m.keys.stops() {
		offers = append(offers, "ctrl-c stop")
	} else {
		offers = append(offers, "ctrl-c leave")
	}
	return m.theme.paint(idleTone, m.theme.fit(" "+strings.Join(offers, "  "), m.theme.width))
}
