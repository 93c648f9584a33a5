package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
)

// standing is a run as status shows it.
type standing struct {
	head    engine.HeadRow
	steps   []engine.StepRow
	items   []engine.ItemRow    // open ones of this run, and of those under it
	under   []engine.HeadRow    // runs that carry out its steps, and of those, the newest first
	below   map[string]standing // by step: the newest run that carries it out
	carried bool                // a process carries it on
	by      stands              // how it stands, and those under it
	other   *api.Proposal       // what its plan document proposes, nil for nothing
	newest  bool                // no later run of its plan took its place
	now     time.Time
	said    map[string]effect.Said // by step: how far the attempt under way says it is
	place   *workplace             // the run's worktree, nil for none
}

// status shows a run, its steps, and what people can do about it.
func (t theme) status(s standing) []string {
	lines := t.heading(s)
	lines = append(lines, "")
	lines = append(lines, t.steps(s)...)
	if len(s.items) > 0 {
		lines = append(lines, "")
		lines = append(lines, t.items(s.items, s.now)...)
	}
	if s.other != nil {
		lines = append(lines, "")
		lines = append(lines, t.proposed(s.other)...)
	}
	if next := t.next(s); next != "" {
		lines = append(append(lines, ""), t.commands(0, next)...)
	}
	return lines
}

// commands breaks a text about what to do into lines, and no command in it: that
// is there to be copied.
func (t theme) commands(indent int, text string) []string {
	var lines []string
	line := strings.Repeat(" ", indent)
	hang := line
	if strings.HasPrefix(text, "next: ") {
		hang += "      "
	}
	for _, part := range commandParts(text) {
		if strings.TrimSpace(line) != "" && ansi.StringWidth(line+part) > t.width {
			lines, line = append(lines, strings.TrimRight(line, " ")), hang
		}
		line += part + " "
	}
	return append(lines, strings.TrimRight(line, " "))
}

// commandParts are the commands in a text, each with what follows it, and the words
// of the rest.
func commandParts(text string) []string {
	var parts []string
	command := false
	for word := range strings.FieldsSeq(text) {
		switch {
		case word == "piton" && len(parts) == 1 && parts[0] == "next:":
			parts[0] += " " + word
			command = true
		case word == "piton" || !command:
			parts, command = append(parts, word), word == "piton"
		default:
			parts[len(parts)-1] += " " + word
			command = !strings.HasSuffix(word, ";")
		}
	}
	return parts
}

func (t theme) heading(s standing) []string {
	h := s.head
	state, l := t.runState(s)
	about := fmt.Sprintf("v%d, run %s, %s", h.Version, h.Run, plural(h.Total, "step", "steps"))
	if h.Parent.Run != "" {
		about += fmt.Sprintf(", for step %s of run %s", t.above(h.Parent), h.Parent.Run)
	}
	if h.ApprovedBy == engine.ByPolicy {
		about += ", approved by policy"
	}
	lines := []string{
		t.sides(cell{t.line(h.Title), boldTone}, cell{about, idleTone}),
		t.sides(cell{state, l.tone}, cell{t.times(s), idleTone}),
	}
	counts := []string{fmt.Sprintf("%d of %d finished", h.Settled, h.Total)}
	if h.Status != engine.Done {
		counts = append(counts, sums(h)...)
	}
	counts = append(counts, spending(h, until(h))...)
	isolation := cell{h.Isolation, idleTone}
	if h.Isolation == unsealed {
		isolation = cell{"UNSEALED", badTone}
	}
	lines = append(lines, t.sides(cell{strings.Join(counts, ", "), plainTone}, isolation))
	return append(lines, t.place(s)...)
}

// runState says how a run stands, and why.
func (t theme) runState(s standing) (string, look) {
	h := s.head
	l := looks[s.by.of(h)]
	state := t.glyph(l) + " " + l.word
	if h.Ended && h.Status == engine.Done {
		state = t.glyph(l) + " done: " + join(sums(h))
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
func (t theme) place(s standing) []string {
	switch {
	case s.place == nil:
		return nil
	case s.head.Ended:
		return t.under(0, warnTone, s.place.left(t))
	}
	return t.under(0, idleTone, fmt.Sprintf("works on branch %s, in %s", s.place.Branch, t.line(s.place.Dir)))
}

func (w *workplace) left(t theme) string {
	return fmt.Sprintf("not merged: its work is on branch %s, in %s", w.Branch, t.line(w.Dir))
}

// sums says what became of a run's steps: what was proven, and what counts
// without a proof.
func sums(h engine.HeadRow) []string {
	parts := []string{fmt.Sprintf("%d proven", h.Proven)}
	for _, p := range []struct {
		n    int
		word string
	}{{h.Unproven, "unproven"}, {h.Waived, "waived"}, {h.Skipped, "skipped"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	return parts
}

// adrift reports whether the run could go on and nobody carries it on.
func (s standing) adrift() bool { return !s.head.Ended && !s.carried }

// times says when the run began and how long it takes.
func (t theme) times(s standing) string {
	if s.adrift() {
		return t.day(s.head.Started, s.now)
	}
	end := s.head.Finished
	if !s.head.Ended {
		end = s.now
	}
	return fmt.Sprintf("%s, %s", t.day(s.head.Started, s.now), span(end.Sub(s.head.Started)))
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
	{most: 13},                        // word
}

func (t theme) steps(s standing) []string {
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
func (t theme) gather(s standing, indent string, add func(row []cell, below []string)) {
	for _, st := range s.steps {
		row := t.stepCells(st, s)
		row[2].text = indent + row[2].text
		child, delegated := s.below[st.ID]
		add(row, t.below(st, s, 6+len(indent)))
		if delegated && child.head.Status != engine.Done {
			t.gather(child, indent+"  ", add)
		}
	}
}

// below is what stands below the row of a step.
func (t theme) below(st engine.StepRow, s standing, indent int) []string {
	var lines []string
	if reason := t.line(st.Reason); reason != "" && (st.Status != engine.Done || !st.Proven || st.Phase == engine.Ratchet) {
		lines = append(lines, t.under(indent, idleTone, reason)...)
	}
	if says := t.line(saidText(s.said[st.ID])); says != "" {
		lines = append(lines, t.under(indent, idleTone, "says: "+says)...)
	}
	if child, ok := s.below[st.ID]; ok {
		lines = append(lines, t.under(indent, idleTone, t.progress(child.head, s.by))...)
	}
	return lines
}

// child is the newest run that carries out a step.
func (s standing) child(step string) (engine.HeadRow, bool) {
	for _, h := range s.under {
		if h.Parent.Run == s.head.Run && h.Parent.Step == step {
			return h, true
		}
	}
	return engine.HeadRow{}, false
}

// asks reports whether a person is asked by what carries a step out: a run, or
// instances of the step.
func (s standing) asks(step string) bool {
	mine := func(id string) bool {
		of, instance := engine.InstanceOf(id)
		return id == step || instance && of == step
	}
	for id, child := range s.below {
		if mine(id) && s.by.of(child.head) == engine.Waiting {
			return true
		}
	}
	return slices.ContainsFunc(s.by.asks[s.head.Run], func(it engine.ItemRow) bool { return it.Run == s.head.Run && mine(it.Step) })
}

// progress says how far a run is that carries out a step.
func (t theme) progress(h engine.HeadRow, by stands) string {
	return fmt.Sprintf("run %s of %s: %s, %d of %d finished", h.Run, t.line(h.Path), looks[by.of(h)].word, h.Settled, h.Total)
}

func (t theme) stepCells(st engine.StepRow, s standing) []cell {
	l := lookOf(st.Status, st.Phase)
	idle := s.head.Ended || s.adrift()
	if st.Status == engine.Running && s.asks(st.ID) {
		l = looks[engine.Waiting]
	} else if s.adrift() && st.Status == engine.Running {
		l = looks[interrupted]
	}
	if s.head.Ended && st.Status == engine.Waiting { // nobody can answer any more
		l = looks[engine.Cancelled]
	}
	tries, took := "", ""
	if st.Attempts > 1 {
		tries = fmt.Sprintf("x%d", st.Attempts)
	}
	leftOut := st.Status == engine.Skipped || st.Status == engine.Waived // then it has waited, most of the time
	if !st.Started.IsZero() && (!st.Finished.IsZero() || !idle) && !leftOut {
		took = span(cmpTime(st.Finished, s.now).Sub(st.Started))
	}
	word := l.word
	if st.Status == engine.Done && !st.Proven && st.Phase == engine.NoPhase {
		word = "unproven"
	}
	return []cell{
		{t.glyph(l), l.tone},
		{t.line(st.Number), idleTone},
		{st.ID, plainTone},
		{t.line(st.Title), plainTone},
		{t.line(st.Agent), idleTone},
		{tries, warnTone},
		{took, idleTone},
		{word, l.tone},
	}
}

func cmpTime(at, otherwise time.Time) time.Time {
	if at.IsZero() {
		return otherwise
	}
	return at
}

// next is what a person can do now.
func (t theme) next(s standing) string {
	h := s.head
	switch {
	case h.Status == engine.Done || h.Status == engine.Cancelled:
		return "next: piton log " + h.Run
	case h.Ended && h.Parent.Run != "":
		return fmt.Sprintf("next: piton log %s; it was carried out for step %s of run %s", h.Run, t.above(h.Parent), h.Parent.Run)
	case h.Ended:
		if st, ok := firstFailed(s.steps); ok && !s.newest {
			return fmt.Sprintf("next: piton log %s %s; a later run of the plan took its place", h.Run, st.ID)
		} else if ok {
			return fmt.Sprintf("next: piton log %s %s, then piton retry %s and piton resume %s", h.Run, st.ID, st.ID, h.Run)
		}
		if st, ok := forgone(s); ok && s.newest {
			return fmt.Sprintf("next: piton skip %s, to go on without it, or piton retry %s; then piton resume %s", st.ID, st.ID, h.Run)
		}
		return "next: piton log " + h.Run
	case len(s.items) > 0:
		return "next: " + answering(s.items[0].Item, s.items[0].Schema, s.items[0].Choices)
	case h.Status == engine.Paused:
		return "next: piton resume " + h.Run
	case !s.carried:
		return "nobody carries this run on now; piton resume " + h.Run + " does"
	}
	return "next: piton watch " + h.Run
}

// forgone is the skipped step that the run failed because of.
func forgone(s standing) (engine.StepRow, bool) {
	i := slices.IndexFunc(s.steps, func(st engine.StepRow) bool { return st.Status == engine.Skipped && st.Ends() == s.head.Reason })
	if i < 0 {
		return engine.StepRow{}, false
	}
	return s.steps[i], true
}

func firstFailed(steps []engine.StepRow) (engine.StepRow, bool) {
	first, found := engine.StepRow{}, false
	for _, st := range steps {
		if st.Status != engine.Failed && st.Status != engine.Waiting {
			continue
		}
		if pattern, _ := engine.InstanceOf(st.ID); found && pattern == first.ID {
			return st, true // because of which the step failed
		}
		if !found {
			first, found = st, true
		}
	}
	return first, found
}

// consequence says what a choice of an item does.
func consequence(choice string) string {
	switch choice {
	case engine.ChooseApprove:
		return "the step runs"
	case engine.ChooseDeny:
		return "left out; blocks what needs it; the run fails"
	case engine.ChooseRetry:
		return "one more attempt; --text goes with it"
	case engine.ChooseSkip:
		return "left out; what needs it goes on without it"
	case engine.ChooseWaive:
		return "accepted without proof, in your name"
	case engine.ChooseAnswer:
		return "your own words, with --text; a value, with --args"
	case engine.ChooseAbort:
		return "the step fails, and the run with it"
	}
	return ""
}

// items shows open questions with the commands that answer them, of each so much
// that all can be looked through.
func (t theme) items(items []engine.ItemRow, now time.Time) []string {
	return t.asks(items, now, t.about)
}

// asks shows open questions, and between each and its answers what it is about.
func (t theme) asks(items []engine.ItemRow, now time.Time, about func(engine.ItemRow) []string) []string {
	var lines []string
	for n, it := range items {
		if n > 0 {
			lines = append(lines, "")
		}
		l := looks[engine.Waiting]
		what := fmt.Sprintf("%s %s  step %s", t.glyph(l), it.Item, it.Step)
		if it.Parent.Run != "" {
			what += fmt.Sprintf(" (for step %s of run %s)", t.above(it.Parent), it.Parent.Run)
		}
		lines = append(lines, t.sides(cell{what, l.tone}, cell{age(now.Sub(it.Opened)), idleTone}))
		lines = append(lines, t.under(2, plainTone, t.whole(it.Question))...)
		lines = append(lines, t.subject(it)...)
		lines = append(lines, about(it)...)
		if it.Schema != "" {
			lines = append(lines, t.under(4, idleTone, "schema: "+t.whole(it.Schema))...)
		}
		for _, c := range it.Choices {
			command := answering(it.Item, it.Schema, []string{c})
			room := max(30, len(command))
			lines = append(lines, t.row(choiceColumns, []int{min(room, t.width-2), max(0, t.width-room-2*gap)}, []cell{{command, boldTone}, {consequence(c), idleTone}}))
		}
	}
	return lines
}

// above names the step that a run carries out, and the item that the step is for.
func (t theme) above(p engine.Parent) string {
	if p.Item == "" {
		return p.Step
	}
	return fmt.Sprintf("%s (%s)", p.Step, t.line(p.Item))
}

// subject says what an item asks about, but for its text.
func (t theme) subject(it engine.ItemRow) []string {
	var lines []string
	if len(it.Behind) > 0 {
		lines = t.under(2, idleTone, "behind it: "+t.line(strings.Join(it.Behind, ", ")))
	}
	if it.Tool != "" {
		lines = append(lines, t.under(2, idleTone, fmt.Sprintf("tool %s, tier %s", t.line(it.Tool), it.Tier))...)
	}
	return lines
}

// mostAsked is how many lines are shown of what a person says yes to, and
// mostFailed of what came out of a step that did not pass.
const (
	mostAsked  = 40
	mostFailed = 8
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
	return t.under(4, warnTone, fmt.Sprintf("%s %s: piton inbox %s shows all of it", t.dots(), plural(left, "more line", "more lines"), it.Item))
}

// matter is all that an item is about.
func (t theme) matter(it engine.ItemRow) []string {
	if it.Context == "" {
		return nil
	}
	return t.quote(4, it.Context)
}

var choiceColumns = []column{{most: 30}, {flex: true}}

// inbox shows all that waits for people.
func (t theme) inbox(items []engine.ItemRow, plans []*engine.Revision, now time.Time) []string {
	lines := t.items(items, now)
	for _, r := range plans {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		p := r.Drafted
		l := looks[engine.Waiting]
		lines = append(lines, t.sides(cell{fmt.Sprintf("%s %s", t.glyph(l), t.line(p.Plan)), l.tone}, cell{age(now.Sub(r.At)), idleTone}))
		lines = append(lines, t.under(2, plainTone, fmt.Sprintf("May version %d of %s run? %s", p.Version, t.line(p.Path), t.line(p.Title)))...)
		for _, w := range p.Weakened {
			lines = append(lines, t.under(2, badTone, "weaker: "+t.line(w))...)
		}
		lines = append(lines, t.row(choiceColumns, []int{t.width, 0}, []cell{{t.line(toRun(r)), boldTone}, {}}))
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
func (t theme) list(heads []engine.HeadRow, by stands, now time.Time) []string {
	rows := make([][]cell, len(heads))
	for i, h := range heads {
		rows[i] = t.runCells(h, by, now)
	}
	lines := t.table(runColumns, rows)
	for _, h := range heads {
		for _, it := range by.asks[h.Run] {
			if it.Run != h.Run {
				lines = append(lines, t.under(0, youTone, fmt.Sprintf("run %s waits for an answer to %s: step %s of run %s asks", h.Run, it.Item, it.Step, it.Run))...)
			}
		}
	}
	return lines
}

func (t theme) runCells(h engine.HeadRow, by stands, now time.Time) []cell {
	l, took, name := looks[by.of(h)], "", t.line(h.Title)
	if h.Parent.Run != "" {
		name = fmt.Sprintf("%s, for step %s of %s", name, t.above(h.Parent), h.Parent.Run)
	}
	switch {
	case h.Ended:
		took = span(h.Finished.Sub(h.Started))
	case by.on(h):
		took = span(now.Sub(h.Started))
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
		l := looks[planStatus(r)]
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
		lines = append(append(lines, row), t.under(4, idleTone, t.line(toRun(plans[i])))...)
	}
	return lines
}

// end is the last word on a run at a terminal.
func (t theme) end(s standing) []string {
	h := s.head
	took := span(cmpTime(h.Finished, s.now).Sub(h.Started))
	cost := ""
	if h.CostMicros > 0 {
		cost = " for " + money(h.CostMicros)
	}
	l := looks[h.Status]
	switch {
	case h.Ended && h.Status == engine.Done:
		return append(t.under(0, l.tone, fmt.Sprintf("%s Done in %s%s: %s.", t.glyph(l), took, cost, join(sums(h)))), t.place(s)...)
	case h.Ended:
		lines := t.under(0, l.tone, fmt.Sprintf("%s %s after %s%s: %s", t.glyph(l), title(l.word), took, cost, cmp.Or(t.line(h.Reason), "no reason was given")))
		lines = append(lines, t.fit(fmt.Sprintf("  %d of %d finished, %s.", h.Settled, h.Total, join(sums(h))), t.width))
		lines = append(lines, t.place(s)...)
		return append(lines, t.commands(2, t.next(s))...)
	case len(s.items) > 0:
		return t.items(s.items, s.now)
	}
	return t.commands(2, t.next(s))
}

// title begins a word with a capital.
func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
