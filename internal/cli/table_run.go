package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// status shows a run, its steps, and what people can do about it.
func (t theme) status(s view.Standing) []string {
	lines := t.heading(s)
	lines = append(lines, "")
	lines = append(lines, t.steps(s)...)
	if len(s.Items) > 0 {
		lines = append(lines, "")
		lines = append(lines, t.items(s.Items, s.Now)...)
	}
	if s.Other != nil {
		lines = append(lines, "")
		lines = append(lines, t.proposed(s.Other)...)
	}
	if lines = append(lines, ""); s.Head.Status == engine.Failed && !s.Newest {
		lines = append(lines, "a later run of the plan took its place")
	}
	return append(lines, t.advice(s.Next())...)
}

// advice shows commands whole, each on a line: they are there to be copied.
func (t theme) advice(all []view.Advice) []string {
	var lines []string
	for _, a := range all {
		lines = append(lines, fmt.Sprintf("%s: %s", a.Word, t.one(a.Command)))
	}
	return lines
}

func (t theme) heading(s view.Standing) []string {
	h := s.Head
	state, l := t.runState(s)
	about := fmt.Sprintf("v%d, run %s, %s", h.Version, h.Run, view.Plural(h.Total, "step", "steps"))
	if h.Parent.Run != "" {
		about += fmt.Sprintf(", for step %s of run %s", t.line(view.Above(h.Parent)), h.Parent.Run)
	}
	if h.ApprovedBy == engine.ByPolicy {
		about += ", approved by policy"
	}
	lines := t.sides(cell{t.line(h.Title), boldTone}, cell{about, idleTone})
	lines = append(lines, t.sides(cell{state, l.tone}, cell{t.times(s), idleTone})...)
	counts := []string{fmt.Sprintf("%d of %d finished", h.Settled, h.Total)}
	if h.Status != engine.Done {
		counts = append(counts, view.Sums(h)...)
	}
	counts = append(counts, view.Spending(h, view.CmpTime(h.Finished, s.Now))...)
	lines = append(lines, t.sides(cell{strings.Join(counts, ", "), plainTone}, t.isolation(h.Isolation))...)
	return append(lines, t.place(s)...)
}

// isolation is the level that a run has.
func (t theme) isolation(level string) cell {
	if level == unsealed {
		return cell{"UNSEALED", badTone}
	}
	return cell{t.line(level), idleTone}
}

// runState says how a run stands, and why.
func (t theme) runState(s view.Standing) (string, look) {
	h := s.Head
	l := lookOf(s.By.Shown(h), "")
	state := t.glyph(l) + " " + l.word
	if h.Ended && h.Status == engine.Done {
		state = t.glyph(l) + " done: " + view.Join(view.Sums(h))
	}
	if h.Ended && h.Status == engine.Failed {
		state += fmt.Sprintf(" (exit %d)", h.Exit)
	}
	if h.Reason != "" {
		state += ": " + t.line(h.Reason)
	}
	return state, l
}

// place says where the work of a run is that has a worktree.
func (t theme) place(s view.Standing) []string {
	switch {
	case s.Place == nil:
		return nil
	case s.Head.Ended:
		return t.under(0, warnTone, t.left(s))
	}
	if s.Place.Branch == "" {
		return t.under(0, idleTone, "works in a worktree: "+t.line(s.Place.Dir))
	}
	return t.under(0, idleTone, fmt.Sprintf("works in a worktree, branch %s: %s", s.Place.Branch, t.line(s.Place.Dir)))
}

// left says where the work of a run is that was not merged.
func (t theme) left(s view.Standing) string {
	w := s.Place
	switch {
	case s.Head.Branch.Waits:
		return t.unmerged(s.Head, s.Newest) + ", in " + t.line(w.Dir)
	case w.Branch == "":
		return "not merged: what it did is in " + t.line(w.Dir)
	}
	return fmt.Sprintf("not merged: its work is on branch %s, in %s", w.Branch, t.line(w.Dir))
}

// unmerged says that the work of a run waits on its branch, and how it is merged: by piton only
// while the run is the newest of its plan.
func (t theme) unmerged(h engine.HeadRow, newest bool) string {
	switch {
	case h.Branch.Name == "":
		return "not merged: run " + h.Run + " changed nothing that git follows"
	case !newest:
		return fmt.Sprintf("run %[1]s waits on branch %[2]s; git merge %[2]s merges it", h.Run, t.line(h.Branch.Name))
	}
	return fmt.Sprintf("run %[1]s waits on branch %[2]s; piton land %[1]s merges it", h.Run, t.line(h.Branch.Name))
}

// times says when the run began and how long it has worked.
func (t theme) times(s view.Standing) string {
	if s.Adrift() {
		return t.day(s.Head.Started, s.Now)
	}
	return fmt.Sprintf("%s, %s", t.day(s.Head.Started, s.Now), view.Span(s.Head.Work.At(s.Now)))
}

// day writes a time of today by its clock, another with its date.
func (t theme) day(at, now time.Time) string {
	at, now = at.In(t.zone), now.In(t.zone)
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04")
}

var stepColumns = []column{
	{most: 1},                         // glyph
	{most: 6, right: true, least: 24}, // number
	{most: 18},                        // id
	{flex: true, least: 60},           // title
	{most: 14, least: 100},            // agent
	{most: 4, right: true, least: 60}, // attempts
	{most: 7, right: true, least: 34}, // time
	{most: 14},                        // word
}

func (t theme) steps(s view.Standing) []string {
	var rows [][]cell
	var under [][]string
	t.gather(s, "", func(row []cell, below []string) { rows, under = append(rows, row), append(under, below) })
	var lines []string
	for i, row := range t.table(stepColumns, rows) {
		lines = append(append(lines, row), under[i]...)
	}
	return lines
}

// gather hands over the rows of a run's steps, each with the lines below it, and
// behind a step those of the run that carries it out, unless that has come to a
// good end. indent is how far in they stand.
func (t theme) gather(s view.Standing, indent string, add func(row []cell, below []string)) {
	for _, st := range s.Steps {
		row := t.stepCells(st, s)
		row[2].text = indent + row[2].text
		child, delegated := s.Below[st.ID]
		add(row, t.below(st, s, 6+len(indent)))
		if delegated && child.Head.Status != engine.Done {
			t.gather(child, indent+"  ", add)
		}
	}
}

// below is what stands below the row of a step.
func (t theme) below(st engine.StepRow, s view.Standing, indent int) []string {
	var lines []string
	if reason := t.line(st.Reason); reason != "" {
		lines = append(lines, t.under(indent, idleTone, reason)...)
	}
	if text := view.LoopLine(st.Loop); text != "" {
		lines = append(lines, t.under(indent, idleTone, text)...)
	}
	if says := t.line(s.Said[st.ID].String()); says != "" {
		lines = append(lines, t.under(indent, idleTone, "says: "+says)...)
	}
	if child, ok := s.Below[st.ID]; ok {
		lines = append(lines, t.under(indent, idleTone, t.progress(child.Head, s.By))...)
	}
	return lines
}

// progress says how far a run is that carries out a step.
func (t theme) progress(h engine.HeadRow, by view.Stands) string {
	return fmt.Sprintf("run %s of %s: %s, %d of %d finished", h.Run, t.line(h.Path), lookOf(by.Shown(h), "").word, h.Settled, h.Total)
}

func (t theme) stepCells(st engine.StepRow, s view.Standing) []cell {
	l := lookOf(s.Shown(st))
	idle := s.Head.Ended || s.Adrift()
	tries, took := "", ""
	if st.Attempts > 1 {
		tries = fmt.Sprintf("x%d", st.Attempts)
	}
	leftOut := st.Status == engine.Skipped || st.Status == engine.Waived // then it has waited, most of the time
	if !st.Started.IsZero() && (!st.Finished.IsZero() || !idle) && !leftOut {
		took = view.Span(view.CmpTime(st.Finished, s.Now).Sub(st.Started))
	}
	return []cell{
		{t.glyph(l), l.tone},
		{t.line(st.Number), idleTone},
		{st.ID, plainTone},
		{t.line(st.Title), plainTone},
		{t.line(st.Agent), idleTone},
		{tries, warnTone},
		{took, idleTone},
		{l.word, l.tone},
	}
}

// items shows open questions with the commands that answer them, of each so much
// that all can be looked through.
func (t theme) items(items []engine.ItemRow, now time.Time) []string {
	return t.asks(items, now, t.asked, t.about)
}

// asks shows open items, each with its question, what it is about, and its answers.
func (t theme) asks(items []engine.ItemRow, now time.Time, question, about func(engine.ItemRow) []string) []string {
	var lines []string
	for n, it := range items {
		if n > 0 {
			lines = append(lines, "")
		}
		l := lookOf(engine.Waiting, "")
		what := fmt.Sprintf("%s %s  step %s", t.glyph(l), it.Item, it.Step)
		if it.Step == "" {
			what = fmt.Sprintf("%s %s  run %s", t.glyph(l), it.Item, it.Run)
		}
		if it.Parent.Run != "" {
			what += fmt.Sprintf(" (for step %s of run %s)", t.line(view.Above(it.Parent)), it.Parent.Run)
		}
		lines = append(lines, t.sides(cell{what, l.tone}, cell{view.Age(now.Sub(it.Opened)), idleTone})...)
		lines = append(lines, question(it)...)
		lines = append(lines, t.subject(it)...)
		lines = append(lines, about(it)...)
		on := it.Run
		if it.Parent.Run != "" {
			on = "" // the run that it is carried out for
		}
		if commands := view.Resolving(it.ItemOpened, on); commands != nil {
			lines = append(lines, t.under(2, plainTone, "to resolve it:")...)
			for _, c := range commands { // whole: they are there to be copied
				lines = append(lines, " "+t.paint(boldTone, t.one(c)))
			}
		}
		if it.Schema != "" {
			lines = append(lines, t.under(4, idleTone, "schema: "+t.one(it.Schema))...)
		}
		room := 0
		for _, c := range it.Choices {
			room = max(room, len(view.Answering(it.Item, it.Schema, c)))
		}
		for _, c := range it.Choices {
			lines = append(lines, t.choice(room, view.Answering(it.Item, it.Schema, c), view.Consequence(it, c))...)
		}
	}
	return lines
}

// question is the question of an item.
func (t theme) question(it engine.ItemRow) []string { return t.under(2, plainTone, t.one(it.Question)) }

// asked is the question of an item. Of a long one, which an agent's words can make so, the middle
// is left out.
func (t theme) asked(it engine.ItemRow) []string {
	lines := t.question(it)
	if left := len(lines) - mostFailed - 1; left > 0 {
		return slices.Concat(lines[:mostFailed], t.elsewhere(it, left), lines[len(lines)-1:])
	}
	return lines
}

// subject says what an item asks about, but for its text.
func (t theme) subject(it engine.ItemRow) []string {
	var lines []string
	if len(it.Behind) > 0 {
		lines = t.under(2, idleTone, "waiting for it: "+t.line(strings.Join(it.Behind, ", ")))
	}
	if it.Kind == engine.Proposal || it.Kind == engine.Weakened {
		lines = append(lines, t.under(2, idleTone, fmt.Sprintf("piton diff %s %s shows the difference", it.Run, t.line(it.Plan)))...)
	}
	if it.Kind == engine.Escalation && it.Cause != engine.NoVerdict {
		lines = append(lines, t.under(2, idleTone, "category: "+string(it.Cause))...)
	}
	if it.Tool != "" {
		lines = append(lines, t.under(2, idleTone, strings.TrimSuffix(fmt.Sprintf("tool %s, effect %s", t.line(it.Tool), it.Effect), ", effect "))...)
	}
	return lines
}

// mostAsked is how many lines are shown of what a person says yes to, and
// mostFailed of what came out of a step that did not pass.
const (
	mostAsked  = 40
	mostFailed = 5
)

// about shows what an item is about: the end of what came out of a step that did
// not pass, else the beginning. What is left out is said.
func (t theme) about(it engine.ItemRow) []string {
	lines := t.matter(it)
	if it.Kind == engine.Escalation {
		left := max(0, len(lines)-mostFailed)
		return append(t.elsewhere(it, left), lines[left:]...)
	}
	shown := min(len(lines), mostAsked)
	return append(lines[:shown:shown], t.elsewhere(it, len(lines)-shown)...)
}

// elsewhere says where the lines are that were left out.
func (t theme) elsewhere(it engine.ItemRow, left int) []string {
	if left == 0 {
		return nil
	}
	return t.under(4, warnTone, fmt.Sprintf("%s %s: piton inbox %s shows all of it", t.dots(), view.Plural(left, "more line", "more lines"), it.Item))
}

// matter is all that an item is about.
func (t theme) matter(it engine.ItemRow) []string {
	if it.Context == "" {
		return nil
	}
	return t.quote(4, it.Context)
}

// leastBeside is the width from which a text is told beside a command of a list, and not below.
const leastBeside = 30

// choice is a command whole, and what follows from it: to its right where there is
// room, in a column that begins behind room columns.
func (t theme) choice(room int, command, follows string) []string {
	first := " " + t.paint(boldTone, command)
	at := 1 + room + gap
	if t.width-at < leastBeside {
		return append([]string{first}, t.under(4, idleTone, follows)...)
	}
	for n, l := range t.wrap(follows, t.width-at) {
		if n == 0 {
			first += strings.Repeat(" ", at-1-len(command)) + t.paint(idleTone, l)
			continue
		}
		first += "\n" + strings.Repeat(" ", at) + t.paint(idleTone, l)
	}
	return strings.Split(first, "\n")
}

// inbox shows all that waits for people.
func (t theme) inbox(items []engine.ItemRow, plans []*engine.Revision, now time.Time) []string {
	lines := t.items(items, now)
	for _, r := range plans {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		p := r.Drafted
		l := lookOf(engine.Waiting, "")
		lines = append(lines, t.sides(cell{fmt.Sprintf("%s %s", t.glyph(l), t.line(p.Plan)), l.tone}, cell{view.Age(now.Sub(r.At)), idleTone})...)
		lines = append(lines, t.under(2, plainTone, fmt.Sprintf("May revision %d of %s run? %s", p.Version, t.line(p.Path), t.line(p.Title)))...)
		for _, w := range p.Weakened {
			lines = append(lines, t.under(2, badTone, weakened(w)+": "+t.line(w))...)
		}
		lines = append(lines, " "+t.paint(boldTone, t.line(view.ToRun(r))))
	}
	if len(lines) == 0 {
		return []string{"Nothing waits for you."}
	}
	return lines
}

var runColumns = []column{
	{most: 1},
	{most: 12},                        // id
	{most: 12},                        // word
	{flex: true},                      // title
	{most: 5, right: true, least: 60}, // version
	{most: 9, right: true, least: 50}, // finished steps
	{most: 7, right: true, least: 60}, // time
	{most: 16, least: 80},             // when
}

// list shows runs, and how they stand. What runs wait for that carry out their
// steps stands below.
func (t theme) list(heads []engine.HeadRow, by view.Stands, now time.Time) []string {
	rows := make([][]cell, len(heads))
	for i, h := range heads {
		rows[i] = t.runCells(h, by, now)
	}
	lines := t.table(runColumns, rows)
	newer := map[string]bool{}
	for _, h := range heads {
		if h.Branch.Waits {
			lines = append(lines, t.under(0, warnTone, t.unmerged(h, !newer[h.Stream]))...)
		}
		newer[h.Stream] = true
		for _, it := range by.Asks[h.Run] {
			if it.Run != h.Run {
				lines = append(lines, t.under(0, youTone, fmt.Sprintf("run %s waits for an answer to %s: step %s of run %s asks", h.Run, it.Item, it.Step, it.Run))...)
			}
		}
	}
	return lines
}

func (t theme) runCells(h engine.HeadRow, by view.Stands, now time.Time) []cell {
	l, took, name := lookOf(by.Shown(h), ""), "", t.line(h.Title)
	l.word = view.Word(by.Of(h), "") // there is no room to say what is not proven
	if h.Parent.Run != "" {
		name = fmt.Sprintf("%s, for step %s of %s", name, t.line(view.Above(h.Parent)), h.Parent.Run)
	}
	if h.Ended || by.On(h) {
		took = view.Span(h.Work.At(now))
	}
	return []cell{
		{t.glyph(l), l.tone},
		{h.Run, plainTone},
		{l.word, l.tone},
		{name, plainTone},
		{fmt.Sprintf("v%d", h.Version), idleTone},
		{fmt.Sprintf("%d/%d", h.Settled, h.Total), plainTone},
		{took, idleTone},
		{t.day(h.Started, now), idleTone},
	}
}

// plans shows plans of which nothing was run yet, and what is to be done with each.
func (t theme) plans(plans []*engine.Revision, now time.Time) []string {
	rows := make([][]cell, len(plans))
	for i, r := range plans {
		l := lookOf(view.PlanStatus(r), "")
		rows[i] = []cell{
			{t.glyph(l), l.tone},
			{"not run", idleTone},
			{l.word, l.tone},
			{t.line(r.Drafted.Title), plainTone},
			{fmt.Sprintf("v%d", r.Drafted.Version), idleTone},
			{},
			{},
			{t.day(r.At, now), idleTone},
		}
	}
	var lines []string
	for i, row := range t.table(runColumns, rows) {
		lines = append(append(lines, row), t.under(4, idleTone, t.line(view.ToRun(plans[i])))...)
	}
	return lines
}

// end is the last word on a run at a terminal.
func (t theme) end(s view.Standing) []string {
	h := s.Head
	took := view.Span(h.Work.At(s.Now))
	cost := ""
	if h.CostMicros > 0 {
		cost = " for " + strings.Join(view.Spending(h, h.Finished), ", ")
	}
	l := lookOf(s.By.Shown(h), "")
	switch {
	case h.Ended && h.Status == engine.Done:
		lines := t.under(0, l.tone, fmt.Sprintf("%s Done in %s%s: %s.", t.glyph(l), took, cost, view.Join(view.Sums(h))))
		for _, why := range view.Unproven(s.Steps) {
			lines = append(lines, t.under(2, warnTone, t.line(why))...)
		}
		lines = append(append(lines, t.result(s)...), t.place(s)...)
		if h.Unproven > 0 {
			lines = append(lines, t.advice(s.Next())...)
		}
		return lines
	case h.Ended:
		lines := t.under(0, l.tone, fmt.Sprintf("%s %s after %s%s: %s", t.glyph(l), title(l.word), took, cost, cmp.Or(t.line(h.Reason), "no reason given")))
		lines = append(lines, t.fit(fmt.Sprintf("  %d of %d finished, %s.", h.Settled, h.Total, view.Join(view.Sums(h))), t.width))
		lines = append(lines, t.place(s)...)
		return append(lines, t.advice(s.Next())...)
	case len(s.Items) > 0:
		return t.items(s.Items, s.Now)
	}
	return t.advice(s.Next())
}

// result says where the work of a run is that is done; nothing where it waits to be merged.
func (t theme) result(s view.Standing) []string {
	switch h := s.Head; {
	case h.Branch.Waits || s.Place != nil:
		return nil
	case h.Landed && h.Branch.Name != "":
		return t.under(2, idleTone, "The work is in your files, not committed, and on branch "+t.line(h.Branch.Name)+" as commits: commit the files, or open a pull request from the branch.")
	default:
		return t.under(2, idleTone, "The work is in your files.")
	}
}

// title begins a word with a capital.
func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
