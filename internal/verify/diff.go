package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/plan"
)

// How says what became of a step between two plans.
type How string

const (
	Added   How = "added"
	Removed How = "removed"
	Changed How = "changed"
	Moved   How = "moved" // the same step at another place
)

// StepChange is what became of one step. A step is known by its id.
type StepChange struct {
	ID     string   `json:"id"`
	Number string   `json:"number"` // in the new plan, or in the old one if it is gone
	Title  string   `json:"title"`
	How    How      `json:"how"`
	Labels []string `json:"labels"` // that differ, where it changed
}

// Difference is what two plans differ in, apart from marks and statuses.
type Difference struct {
	Header  []string     `json:"header"` // labels before the steps that differ
	Steps   []StepChange `json:"steps"`  // in the order of the new plan, removed ones last
	Weaker  []Weakening  `json:"weaker"` // see [Weaker]
	Numbers int          `json:"renumbered"`
}

// Empty reports whether nothing that counts differs.
func (d Difference) Empty() bool { return len(d.Header)+len(d.Steps) == 0 }

// Counts says in a few words how many steps became what: "2 steps changed, 1 added".
func (d Difference) Counts() string {
	n := map[How]int{}
	for _, s := range d.Steps {
		n[s.How]++
	}
	var parts []string
	for _, how := range []How{Changed, Added, Removed, Moved} {
		switch {
		case n[how] == 0:
		case len(parts) > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n[how], how))
		case n[how] == 1:
			parts = append(parts, fmt.Sprintf("1 step %s", how))
		default:
			parts = append(parts, fmt.Sprintf("%d steps %s", n[how], how))
		}
	}
	if len(d.Header) > 0 {
		parts = append(parts, "the header changed")
	}
	if len(parts) == 0 {
		return "no step changed"
	}
	return strings.Join(parts, ", ")
}

// Diff compares two plans by what they say, not by how it is written. Its cost
// is linear in the size of both, apart from the order of steps (n log n).
func Diff(before, after *plan.Plan) Difference {
	a, b := read(before, Facts{}), read(after, Facts{})
	d := Difference{Header: differing(header(before), header(after)), Weaker: weaker(a, b)}
	old := a.byID()
	moved := movedIDs(a, b)
	for _, u := range b.units {
		id := u.ID.Value
		change := StepChange{ID: id, Number: u.Number, Title: u.Title.Value}
		was := old[id]
		switch {
		case was == nil:
			change.How = Added
		default:
			change.Labels = differing(a.labels(was), b.labels(u))
			if was.Number != u.Number {
				d.Numbers++
			}
			switch {
			case len(change.Labels) > 0:
				change.How = Changed
			case moved[id]:
				change.How = Moved
			default:
				continue
			}
		}
		d.Steps = append(d.Steps, change)
	}
	stays := b.byID()
	for _, u := range a.units {
		if stays[u.ID.Value] == nil {
			d.Steps = append(d.Steps, StepChange{ID: u.ID.Value, Number: u.Number, Title: u.Title.Value, How: Removed})
		}
	}
	return d
}

func (d *document) byID() map[string]*unit {
	if d.known == nil {
		d.known = make(map[string]*unit, len(d.units))
		for _, u := range d.units {
			d.known[u.ID.Value] = u
		}
	}
	return d.known
}

// movedIDs are the steps that stand in another order among those that both
// plans have: the fewest of them that, taken away, leave the order the same.
func movedIDs(a, b *document) map[string]bool {
	place := map[string]int{}
	for i, u := range b.units {
		place[u.ID.Value] = i + 1
	}
	var ids []string
	var at []int
	for _, u := range a.units {
		if p := place[u.ID.Value]; p > 0 {
			ids, at = append(ids, u.ID.Value), append(at, p)
		}
	}
	moved := map[string]bool{}
	for _, id := range ids {
		moved[id] = true
	}
	for _, i := range rising(at) {
		delete(moved, ids[i])
	}
	return moved
}

// rising is a longest rising run of the values, as indexes.
func rising(values []int) []int {
	var ends []int // index of the least end of a run of each length
	before := make([]int, len(values))
	for i, v := range values {
		n, _ := slices.BinarySearchFunc(ends, v, func(end, v int) int { return cmp.Compare(values[end], v) })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	var run []int
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			run = append(run, i)
		}
	}
	return run
}

// label is one label's meaning as text, to be compared.
type label struct{ name, value string }

// differing names the labels that differ. Both lists name the same labels in
// the same order.
func differing(a, b []label) []string {
	var names []string
	for i := range a {
		if a[i].value != b[i].value {
			names = append(names, a[i].name)
		}
	}
	return names
}

func header(p *plan.Plan) []label {
	return []label{
		{"title", p.Title.Value},
		{"context", p.Context.Value},
		{"budget", budget(p.Budget)},
		{"priority", p.Priority.Value},
		{"constraints", join(p.Constraints.Value)},
		{"tags", join(p.Tags.Value)},
		{"complexity", strconv.Itoa(p.Complexity.Value)},
		{"memories", join(p.Memories.Value)},
		{"estimate", p.Estimate.Value.String()},
		{"parallel", strconv.Itoa(p.Parallel.Value)},
		{"replans", strconv.Itoa(p.Replans.Value)},
		{"protect", join(p.Protect.Value)},
		{"isolation", p.Isolation.Value},
		{"permissions", p.Permissions.Value},
		{"workspace", p.Workspace.Value},
		{"commit", p.Commit.Value},
		{"land", strconv.FormatBool(p.Land.Value)},
		{"setup", p.Setup.Value},
	}
}

// labels is everything that a step says, needs by their ids.
func (d *document) labels(u *unit) []label {
	contract := ""
	if u.Contract != nil {
		contract = fmt.Sprintf("%d %s", u.Contract.ExitCode.Value, u.Contract.Command.Value)
	}
	return []label{
		{"title", u.Title.Value},
		{"target", u.Target.Value},
		{"fallback", u.Fallback.Value},
		{"needs", strings.Join(d.needIDs(u), "\x00")},
		{"subscriptions", each(u.Subscriptions.Value, func(s plan.Subscription) string { return s.Kind + ":" + s.Ref })},
		{"task", u.Task.Value},
		{"acceptance", join(u.Acceptance.Value)},
		{"tool", u.Tool.Value},
		{"args", u.Args.Value},
		{"plan", u.Plan.Value},
		{"ask", u.Ask.Value + "\x00" + join(u.Choices)},
		{"when", u.When.Value},
		{"for_each", join(u.ForEach.Value.Items) + strconv.Itoa(u.Batch.Value)},
		{"contract", contract},
		{"checks", each(d.plan.Steps[u.index].Checks.Value, func(c plan.Check) string { return fmt.Sprintf("%q %v %s", c.Name.Value, c.Optional, c.Command.Value) })},
		{"judge", u.Judge.Value},
		{"expect", u.Expect.Value},
		{"on_fail", fmt.Sprintf("%d %s", u.OnFail.Value.Retries, u.OnFail.Value.Then)},
		{"backoff", u.Backoff.Value.String()},
		{"iterations", strconv.Itoa(u.Iterations.Value)},
		{"context limit", strconv.Itoa(u.ContextLimit.Value)},
		{"approval", u.Approval.Value},
		{"critical", strconv.FormatBool(u.Critical.Value)},
		{"timeout", u.Timeout.Value.String()},
		{"contract timeout", u.CheckTimeout.Value.String()},
		{"writes", fmt.Sprintf("%v %s", u.Writes.Set, join(u.Writes.Value))},
		{"protect", join(u.Protect.Value)},
		{"budget", budget(u.Budget)},
		{"mode", u.Mode.Value},
		{"network", u.Network.Value},
		{"env", join(u.Env.Value)},
		{"workspace", u.Workspace.Value},
		{"setup", u.Setup.Value},
		{"isolation", u.Isolation.Value},
		{"holds", u.Holds.Value},
		{"allow_empty", strconv.FormatBool(u.AllowEmpty.Value)},
		{"reveal", u.Reveal.Value},
		{"rerunnable", strconv.FormatBool(u.Rerunnable.Value)},
		{"strong", strconv.FormatBool(u.Strong.Value)},
		{"schema", u.Schema.Value},
	}
}

func (d *document) needIDs(u *unit) []string {
	var ids []string
	for _, n := range u.needs {
		ids = append(ids, d.units[n.index].ID.Value)
	}
	for _, l := range u.lost {
		ids = append(ids, "?"+l.text.Value)
	}
	slices.Sort(ids)
	return ids
}

func budget(b plan.Field[plan.Budget]) string {
	return fmt.Sprintf("%d %d %d", b.Value.Tokens, b.Value.CostMicros, b.Value.Wall/time.Millisecond)
}

func join(list []plan.Text) string {
	return each(list, func(t plan.Text) string { return t.Value })
}

func each[T any](list []T, text func(T) string) string {
	var b strings.Builder
	for _, x := range list {
		b.WriteString(text(x))
		b.WriteByte(0)
	}
	return b.String()
}
