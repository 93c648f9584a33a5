package tasklist

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

const blank = " \t\r\n"

// task is one task of a list.
type task struct {
	id         string // as the list names it, unique in it
	title      string
	body       string // what to do
	acceptance []string
	needs      []string // ids of tasks that come before
	parent     string   // id of the task that this one is a part of
	said       []string // what else the list says, as "status: done"
}

// list is what a reader makes of task lists.
type list struct {
	kind    Kind
	several bool // files make one plan
	named   bool // ids are those of the list, and worth keeping
	title   string
	issue   string
	context string
	notes   string
	tags    []string
	tasks   []task
	losses  []loss
	steps   map[string]string // ids of steps, by those of their tasks
	unseen  int               // characters that nobody sees, which were dropped
}

// loss is something of a task that a plan cannot hold. Losses of the same label are told as one.
type loss struct{ task, label, why string }

func (l *list) lose(task, label, why string) { l.losses = append(l.losses, loss{task, label, why}) }

const noPlace = "a plan has no place for it"

// lost gathers what was lost, in the order in which it was found.
func (l *list) lost() []form.Loss {
	if l.unseen > 0 {
		l.lose("", "characters", fmt.Sprintf("%d that a reader cannot see were dropped", l.unseen))
	}
	type kind struct{ label, why string }
	var order []kind
	tasks := map[kind][]string{}
	for _, x := range l.losses {
		k := kind{x.label, x.why}
		if _, known := tasks[k]; !known {
			order = append(order, k)
		}
		tasks[k] = append(tasks[k], cmp.Or(l.steps[x.task], x.task))
	}
	out := []form.Loss{}
	for _, k := range order {
		of := tasks[k]
		if len(of) == 1 {
			out = append(out, form.Loss{Step: of[0], Label: k.label, Why: k.why})
			continue
		}
		out = append(out, form.Loss{Label: k.label, Why: fmt.Sprintf("%s (%d tasks, the first is %s)", k.why, len(of), of[0])})
	}
	return out
}

// add notes a task, with texts as a plan may hold them. A list that names two tasks
// alike keeps both, and says so. Of too many tasks it keeps one more than fit.
func (l *list) add(t task) {
	if len(l.tasks) > plan.MaxSteps {
		return
	}
	t.title, t.body = l.line(t.title), l.text(t.body)
	if t.title == "" {
		t.title, t.body, _ = strings.Cut(t.body, "\n")
		t.title = l.line(t.title)
	}
	if t.title == "" {
		t.title = "Task " + t.id
	}
	if short := shortened(t.title); short != t.title {
		t.body = strings.Trim(t.title+"\n\n"+t.body, blank)
		t.title = short
	}
	t.title = shown(t.title)
	for i := range t.acceptance {
		t.acceptance[i] = shown(l.text(t.acceptance[i]))
	}
	t.acceptance = slices.DeleteFunc(t.acceptance, func(s string) bool { return s == "" })
	if len(t.acceptance) > plan.MaxItems {
		l.lose(t.id, "acceptance", fmt.Sprintf("only the first %d criteria fit", plan.MaxItems))
		t.acceptance = t.acceptance[:plan.MaxItems]
	}
	l.tasks = append(l.tasks, t)
}

// maxTitle is how long a step's title becomes at most; a longer one is its task too.
const maxTitle = 120

func shortened(title string) string {
	if len(title) <= maxTitle {
		return title
	}
	cut := strings.LastIndexByte(title[:maxTitle], ' ')
	if cut < maxTitle/2 {
		for cut = maxTitle; title[cut]&0xc0 == 0x80; cut-- {
		}
	}
	return strings.TrimRight(title[:cut], " ,;:") + " …"
}

// text is a text as a plan may hold it.
func (l *list) text(s string) string {
	s, dropped := plan.Visible(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
	l.unseen += dropped
	return strings.Trim(s, blank)
}

// line is a text of one line. A mark at its start would look like that of a step.
func (l *list) line(s string) string {
	s = strings.Join(strings.Fields(l.text(s)), " ")
	for {
		bare := s
		for _, m := range []plan.Mark{plan.MarkDone, plan.MarkFailed, plan.MarkSkipped, plan.MarkWaiting} {
			bare = strings.TrimLeft(strings.TrimPrefix(bare, string(m)), " \ufe0f")
		}
		if bare == s {
			return s
		}
		s = bare
	}
}

// plan is the plan of the list, nil if what its steps wait for is more than a plan can hold.
func (l *list) plan() *plan.Plan {
	title := l.line(l.title)
	switch {
	case title != "":
	case l.kind == Markdown:
		title = "Tasks"
	default:
		title = "Tasks of " + string(l.kind)
	}
	p := plan.New(shown(shortened(title)))
	p.Issue = l.issue
	p.Context = running(l.text(l.context))
	if notes := l.text(l.notes); notes != "" {
		if amiss(notesBefore, notes) {
			notes = plan.FencedBlock("markdown", notes)
		}
		p.Notes.Value = notesHead + notes
	}
	for _, t := range l.tags {
		if t = shown(l.line(t)); t != "" && !strings.Contains(t, ",") {
			p.Tags.Value, p.Tags.Set = append(p.Tags.Value, plan.Text{Value: t}), true
		}
	}
	g := l.graph()
	ids := l.ids()
	if l.named && tooLong(g, ids) {
		return nil
	}
	at := make([]int, len(l.tasks)) // place in the plan
	for n, i := range g.order {
		at[i] = n
	}
	for n, i := range g.order {
		t := l.tasks[i]
		s := plan.NewStep(strconv.Itoa(n+1), t.title)
		if l.named {
			s.ID = plan.Is(ids[i])
		}
		s.Task = running(t.body)
		s.Prose.Value = l.prose(t)
		for _, a := range t.acceptance {
			s.Acceptance.Value, s.Acceptance.Set = append(s.Acceptance.Value, plan.Text{Value: a}), true
		}
		if before := g.before[i]; l.named && !usual(before, at, n) {
			needs := make([]plan.Text, 0, len(before))
			for _, b := range before {
				needs = append(needs, plan.Text{Value: ids[b]})
			}
			s.Needs = plan.Is(needs)
		}
		p.Steps = append(p.Steps, s)
	}
	p.AssignIDs()
	l.steps = map[string]string{}
	for n, i := range g.order {
		l.steps[l.tasks[i].id] = p.Steps[n].ID.Value
	}
	return p
}

// usual reports whether a step waits for what it waits for without a word: the step before it.
func usual(before, at []int, n int) bool {
	if n == 0 {
		return len(before) == 0
	}
	return len(before) == 1 && at[before[0]] == n-1
}

// tooLong reports whether what all steps wait for is longer than a plan may be.
func tooLong(g graph, ids []string) bool {
	size := 0
	for _, before := range g.before {
		for _, i := range before {
			size += len(ids[i]) + len(", ")
		}
	}
	return size > plan.MaxBytes
}

// prose is what the list says of a task, for who reads the plan. No agent gets it.
func (l *list) prose(t task) string {
	said := t.said
	if l.named {
		word := "Task "
		if l.kind.hosted() || l.kind == Beads {
			word = "Issue "
		}
		said = append([]string{word + t.id + " of " + string(l.kind)}, said...)
	}
	return shown(l.line(strings.Join(said, "; ")))
}

// hides reports whether a reader of the rendered plan would not see all of a text: with
// a tag of HTML in it, or the target of a link.
func hides(text string) bool {
	if !strings.ContainsAny(text, "<[") && !(strings.Contains(text, "-") && strings.ContainsAny(text, "|:")) {
		return false // nothing begins what could hide something
	}
	return amiss("# t\n\n## Steps\n\n### 1. t\n\n**task:**\n", text, plan.HiddenText)
}

// notesHead begins what is left of a list; notesBefore is a plan up to there.
const (
	notesHead   = "## From the task list\n\n"
	notesBefore = "---\ntype: plan\nstatus: draft\nowner: o\n---\n\n# t\n\n## Steps\n\n### 1. t\n\n" + notesHead
)

// amiss reports whether a text behind the beginning of a plan gives a problem: one of the codes, or any if none is named.
func amiss(before, text string, codes ...string) bool {
	_, problems := plan.Parse("", []byte(before+text+"\n"))
	return slices.ContainsFunc(problems, func(p plan.Problem) bool { return len(codes) == 0 || slices.Contains(codes, p.Code) })
}

// running is a text of many lines. One that would hide something is shown as it is written.
func running(text string) plan.Text {
	if hides(text) {
		return plan.Text{Value: text, Fenced: true, Lang: "markdown"}
	}
	return plan.Text{Value: text}
}

// shown is a text of one line, or of few, of which a reader sees all.
func shown(text string) string {
	if !hides(text) {
		return text
	}
	return strings.NewReplacer("<", "‹", ">", "›", "[", "(", "]", ")").Replace(text)
}

// ids are the ids of the steps.
func (l *list) ids() []string {
	ids, taken := make([]string, len(l.tasks)), plan.IDs{}
	for i, t := range l.tasks {
		base := t.id
		switch {
		case l.kind.hosted():
			base = "issue " + base
		case strings.Trim(base, "0123456789.") == "":
			base = "task " + base
		}
		ids[i] = taken.Free(plan.Slug(base))
	}
	return ids
}

// graph is what waits for what, by index, and an order in which that can be.
type graph struct {
	before [][]int
	order  []int
}

// graph finds what each task waits for: what it needs, what the tasks need that it is a
// part of, and its own parts. Tasks that wait for each other keep that: verify names the cycle.
func (l *list) graph() graph {
	index := make(map[string]int, len(l.tasks))
	for i, t := range l.tasks {
		if _, twice := index[t.id]; twice {
			l.lose(t.id, "id", "another task has it too; this one has a number behind it")
			continue
		}
		index[t.id] = i
	}
	parents := l.parents(index)
	g := graph{before: make([][]int, len(l.tasks))}
	edge := func(from, to int) { g.before[to] = append(g.before[to], from) }
	for i, t := range l.tasks {
		for _, id := range t.needs {
			if from, known := index[id]; known {
				edge(from, i)
			} else {
				l.lose(t.id, "needs "+id, "the list has no such task")
			}
		}
	}
	own := make([][]int, len(l.tasks))
	for i := range own {
		own[i] = slices.Clip(g.before[i])
	}
	inherited := 0
	for i, t := range l.tasks {
		if slices.ContainsFunc(own[i], func(k int) bool { return l.tasks[k].parent == t.parent }) {
			if parents[i] >= 0 {
				edge(i, parents[i]) // what the parent waits for, that task waits for
			}
			continue
		}
		for k, up := 0, parents[i]; up >= 0 && k < maxUp; k, up = k+1, parents[up] {
			for _, from := range own[up] {
				switch {
				case within(parents, from, up):
				case inherited < maxInherited:
					inherited++
					edge(from, i)
				default:
					l.lose(l.tasks[up].id, "needs", "they are too many to be those of its parts too")
				}
			}
		}
		if parents[i] >= 0 {
			edge(i, parents[i])
		}
	}
	g.order = sorted(distinct(g.before))
	return g
}

// distinct drops what is named twice, and turns the edges round.
func distinct(before [][]int) (_, after [][]int) {
	after = make([][]int, len(before))
	last := make([]int, len(before)) // the task, from 1, that named this one last
	for i := range before {
		before[i] = slices.DeleteFunc(before[i], func(from int) bool {
			twice := last[from] == i+1
			last[from] = i + 1
			return twice
		})
		for _, from := range before[i] {
			after[from] = append(after[from], i)
		}
	}
	return before, after
}

// How far up, and how many in all, a task inherits what its parents wait for.
const (
	maxUp        = 8
	maxInherited = 100_000
)

// within reports whether a task is a part of another.
func within(parents []int, i, of int) bool {
	for k := 0; i >= 0 && k < maxUp; k++ {
		if i == of {
			return true
		}
		i = parents[i]
	}
	return false
}

// parents are the tasks that each one is a part of, -1 for none.
func (l *list) parents(index map[string]int) []int {
	up := make([]int, len(l.tasks))
	for i, t := range l.tasks {
		up[i] = -1
		if t.parent == "" {
			continue
		}
		if p, known := index[t.parent]; known {
			up[i] = p
		} else {
			l.lose(t.id, "parent "+t.parent, "the list has no such task")
		}
	}
	state := make([]int, len(up)) // 0 not seen, else the walk that saw it
	for i := range up {
		for j := i; j >= 0 && state[j] != -1; j = up[j] {
			if state[j] == i+1 {
				l.lose(l.tasks[j].id, "parent "+l.tasks[j].parent, "it would be a part of itself")
				up[j] = -1
				break
			}
			state[j] = i + 1
		}
		for j := i; j >= 0 && state[j] == i+1; j = up[j] {
			state[j] = -1
		}
	}
	return up
}

// first is a heap of indexes, the smallest on top.
type first []int

func (h first) Len() int           { return len(h) }
func (h first) Less(i, j int) bool { return h[i] < h[j] }
func (h first) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *first) Push(x any)        { *h = append(*h, x.(int)) }
func (h *first) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// sorted puts every task behind what it waits for, and else keeps the order of the list.
// Tasks that wait for themselves come last: verify names them.
func sorted(before, after [][]int) []int {
	open, ready, order := make([]int, len(before)), first{}, make([]int, 0, len(before))
	for i := range before {
		if open[i] = len(before[i]); open[i] == 0 {
			ready = append(ready, i)
		}
	}
	for heap.Init(&ready); len(ready) > 0; {
		i := heap.Pop(&ready).(int)
		order = append(order, i)
		for _, k := range after[i] {
			if open[k]--; open[k] == 0 {
				heap.Push(&ready, k)
			}
		}
	}
	for i := range open {
		if open[i] > 0 {
			order = append(order, i)
		}
	}
	return order
}
