package verify

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/plan"
)

// Weakening is one way in which a plan asks less of a step than the plan before.
type Weakening struct {
	Step   string `json:"step"`   // id, or "" for the plan as a whole
	Number string `json:"number"` // in the new plan, or in the old one if it is gone
	Text   string `json:"text"`   // what is weaker, for people
}

// Weaker lists every way in which after proves, guards or asks less than before:
// steps that are gone, and what is less in those that both have. It is what a person
// must have seen, whatever the policy says. Another number of tries weakens nothing. A
// contract or check that is another one counts unless it is plain that it proves as
// much: what it asks instead only the person can judge.
func Weaker(before, after *plan.Plan) []Weakening {
	return weaker(read(before, Facts{}), read(after, Facts{}))
}

// What a text ends with that names what is another one.
const (
	mayProveLess = ": it may prove less"
	mayAskLess   = ": it may ask for less"
)

// Unsure reports whether a line about a weakening says of something only that it is another
// one: it may ask for more as well.
func Unsure(line string) bool {
	return strings.HasSuffix(line, mayProveLess) || strings.HasSuffix(line, mayAskLess)
}

// commits says a plan's word for what becomes a commit, which it may leave to the policy.
func commits(word string) string {
	if word == "" {
		return "no commit label"
	}
	return "commit " + word
}

func weaker(a, b *document) []Weakening {
	var all []Weakening
	for _, text := range weakerPlan(a.plan, b.plan) {
		all = append(all, Weakening{Text: "the plan " + text})
	}
	old, stays := a.byID(), b.byID()
	for _, u := range a.units {
		if stays[u.ID.Value] == nil {
			all = append(all, Weakening{Step: u.ID.Value, Number: u.Number, Text: "is gone, or has another id"})
		}
	}
	opened, allowed, fixed := newOpenings(a, stays), newGrants(a), weakerOutputs(a, b)
	for _, u := range b.units {
		was := old[u.ID.Value]
		texts := opened.by(was, u)
		if was == nil {
			texts = append(texts, allowed.exceeded(u)...)
		} else {
			texts = slices.Concat(weakerProof(was, u), weakerDoing(was, u), fixed[u.ID.Value], weakerBounds(was, u), weakerOrder(a, b, stays, was, u), weakerEnd(was, u), texts)
		}
		for _, text := range texts {
			all = append(all, Weakening{Step: u.ID.Value, Number: u.Number, Text: text})
		}
	}
	if opened.left < 0 {
		all = append(all, Weakening{Text: "the plan has too many scopes to compare them all with the files that judge its steps"})
	}
	return all
}

// weakerPlan compares what stands before the steps.
func weakerPlan(a, b *plan.Plan) []string {
	all := lacking("no longer protects %s", a.Protect.Value, b.Protect.Value)
	if was, now := a.Isolation.Value, b.Isolation.Value; sealing(now) < sealing(was) {
		all = append(all, fmt.Sprintf("asks for isolation %q, was %q", now, was))
	}
	if was, now := a.Permissions.Value, b.Permissions.Value; plan.Laxer(was, now) {
		all = append(all, fmt.Sprintf("has permissions %q, was %q", now, was))
	}
	all = append(all, weakerBudget(a.Budget.Value, b.Budget.Value)...)
	all = append(all, lacking("drops the constraint %q", a.Constraints.Value, b.Constraints.Value)...)
	if was, now := a.Replans.Value, b.Replans.Value; now > was {
		all = append(all, fmt.Sprintf("may be revised %d times after failures, was %d (replans)", now, was))
	}
	if a.Workspace.Value != shared && b.Workspace.Value == shared {
		all = append(all, "no longer works in its own worktree (workspace)")
	}
	if merging(a) < merging(b) {
		all = append(all, "may be merged at its end (land)")
	}
	if was, now := a.Commit.Value, b.Commit.Value; was != now {
		all = append(all, fmt.Sprintf("has %s, had %s", commits(now), commits(was)))
	}
	if runsOther(a.Setup, b.Setup) {
		all = append(all, "runs other commands before the work (setup)")
	}
	return all
}

// weakerProof compares what decides about the step.
func weakerProof(a, b *unit) []string {
	var all []string
	for _, was := range a.proofs {
		if text := weakerScript(was, b.proofs); was.required && text != "" {
			all = append(all, text)
		}
	}
	if relaxed(a.Expect.Value, b.Expect.Value) {
		all = append(all, fmt.Sprintf("expects its checks to be %s before the work, was %s", b.Expect.Value, a.Expect.Value))
	}
	all = append(all, lacking("drops the criterion %q", a.Acceptance.Value, b.Acceptance.Value)...)
	switch {
	case a.Holds.Value == "run" && b.Holds.Value == "step":
		all = append(all, "is no longer proven at the end of the run (holds: step)")
	case a.Rerunnable.Value && !b.Rerunnable.Value:
		all = append(all, "is no longer proven before the work and at the end of the run (rerunnable: no)")
	}
	switch now := b.When.Value; {
	case now == a.When.Value:
	case a.When.IsZero() || now == "false":
		all = append(all, "is skipped if a condition is false (when)")
	default:
		all = append(all, "has another condition (when)")
	}
	if a.Reveal.Value != b.Reveal.Value && b.Reveal.Value == "first" {
		all = append(all, "shows its agent at once what judges it (reveal: first)")
	}
	all = append(all, weakerItems(a, b)...)
	switch was, now := strings.TrimSpace(a.Judge.Value), strings.TrimSpace(b.Judge.Value); {
	case was == "" || was == now:
	case now == "":
		all = append(all, "is no longer judged")
	default:
		all = append(all, "is judged by another question (judge)")
	}
	if a.Iterations.Set && !b.Iterations.Set {
		all = append(all, "is no loop any more: it may pass with nothing changed (iterations)")
	}
	switch was, now := strings.TrimSpace(a.Schema.Value), strings.TrimSpace(b.Schema.Value); {
	case was == "" || was == now:
	case now == "":
		all = append(all, "schema is gone")
	default:
		all = append(all, "schema is replaced"+mayAskLess)
	}
	return all
}

// weakerItems compares what the step is done for.
func weakerItems(a, b *unit) []string {
	was, now := a.ForEach, b.ForEach
	all := lacking("is no longer done for %s", was.Value.Items, now.Value.Items)
	if now.Set && (!was.Set || len(all) == 0 && was.Value.Kind() != now.Value.Kind()) {
		all = append(all, "is done for other items (for each)")
	}
	if a.Batch.Value != b.Batch.Value {
		all = append(all, fmt.Sprintf("takes %d items at once, was %d (batch)", b.Batch.Value, a.Batch.Value))
	}
	if b.AllowEmpty.Value && !a.AllowEmpty.Value {
		all = append(all, "is done where there is no item (allow_empty)")
	}
	return all
}

// weakerOrder compares what the step waits for, also through others.
func weakerOrder(a, b *document, stays map[string]*unit, was, now *unit) []string {
	var lost []string
	direct := make(map[int]bool, len(now.needs)) // also in a plan whose needs go round
	for _, n := range now.needs {
		direct[n.index] = true
	}
	for _, n := range was.needs {
		id := a.units[n.index].ID.Value
		if u := stays[id]; u != nil && !direct[u.index] && !b.order().precedes(u.index, now.index) {
			lost = append(lost, id)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return []string{"no longer waits for " + few(lost)}
}

// weakerEnd compares what follows where the step fails, and what it may cost.
func weakerEnd(a, b *unit) []string {
	var all []string
	if a.Critical.Value && !b.Critical.Value {
		all = append(all, "may fail and other steps go on (critical: no)")
	}
	if a.Strong.Value && !b.Strong.Value {
		all = append(all, "has a contract that may pass without its change (strong: no)")
	}
	switch was, then := a.OnFail.Value.Then, b.OnFail.Value.Then; {
	case was == then:
	case then == plan.Skip:
		all = append(all, "is skipped if it fails (on_fail)")
	case was == plan.Escalate:
		all = append(all, fmt.Sprintf("asks no person if it fails (on_fail: %s)", then))
	}
	for _, x := range []struct {
		what, label string
		was, now    time.Duration
	}{
		{"each attempt", "timeout", a.Timeout.Value, b.Timeout.Value},
		{"its contract and each check", "contract timeout", a.CheckTimeout.Value, b.CheckTimeout.Value},
	} {
		if x.now > x.was {
			all = append(all, fmt.Sprintf("gives %s %s, was %s (%s)", x.what, x.now, x.was, x.label))
		}
	}
	all = append(all, lacking("gets the variable %s", b.Env.Value, a.Env.Value)...)
	all = append(all, lacking("no longer gets the variable %s", a.Env.Value, b.Env.Value)...)
	if was, now := a.context(), b.context(); was > 0 && now > was {
		all = append(all, fmt.Sprintf("may use %d tokens in its loop, was %d (context limit)", now, was))
	}
	return append(all, weakerBudget(a.Budget.Value, b.Budget.Value)...)
}

// context is what a loop may use, 0 for a step that is none.
func (u *unit) context() int {
	if !u.Iterations.Set {
		return 0
	}
	return cmp.Or(u.ContextLimit.Value, plan.DefaultContext)
}

// weakerBudget compares limits; 0 is none.
func weakerBudget(a, b plan.Budget) []string {
	var all []string
	for _, x := range []struct {
		name     string
		was, now int64
	}{
		{"tokens", a.Tokens, b.Tokens},
		{"cost", a.CostMicros, b.CostMicros},
		{"time", int64(a.Wall), int64(b.Wall)},
	} {
		if x.was > 0 && (x.now == 0 || x.now > x.was) {
			all = append(all, "may use more "+x.name+" (budget)")
		}
	}
	return all
}

// weakerScript says how the required script was is less than it was, "" if it
// is not. It is known by its text, or by its label where that is another one.
func weakerScript(was script, now []script) string {
	if slices.ContainsFunc(now, func(s script) bool {
		// One without a text is looked for in the workspace, by its name.
		return s.required && s.text.Value == was.text.Value && s.exit == was.exit && (!was.text.IsZero() || s.label == was.label)
	}) {
		return ""
	}
	at := slices.IndexFunc(now, func(s script) bool { return s.label == was.label })
	if at < 0 {
		return was.label + " is gone"
	}
	s := now[at]
	switch {
	case !s.required:
		return was.label + " is optional now"
	case s.exit != was.exit:
		return fmt.Sprintf("%s wants exit code %d, was %d", was.label, s.exit, was.exit)
	case s.readable() && s.Ends == s.exit && !(was.readable() && was.Ends == was.exit):
		return was.label + " can no longer fail"
	case asksLess(was, s):
		return was.label + " checks less: some of its commands are gone"
	case !provesAsMuch(was, s):
		return was.label + " is replaced" + mayProveLess
	}
	return ""
}

// provesAsMuch reports whether it is plain that a script passes only where the
// one before did: it is the same, or goes on behind && where that ended.
func provesAsMuch(was, now script) bool {
	switch {
	case strings.TrimSpace(was.text.Value) == strings.TrimSpace(now.text.Value):
		return true
	case !was.readable() || !now.readable() || strings.Contains(was.text.Value+now.text.Value, "<<"):
		return false // of a here-document, what a command is given stands elsewhere
	}
	a, lines := commandsOf(was)
	b, same := commandsOf(now)
	more := len(b) > len(a)
	return lines == same && len(b) >= len(a) && slices.Equal(a, b[:len(a)]) && (!more || now.exit == 0)
}

// asksLess reports whether a script is another one with commands taken away.
func asksLess(was, now script) bool {
	if !was.readable() || !now.readable() {
		return false
	}
	a, _ := commandsOf(was)
	b, _ := commandsOf(now)
	had := map[string]bool{}
	for _, c := range a {
		had[c] = true
	}
	return len(b) < len(a) && !slices.ContainsFunc(b, func(c string) bool { return !had[c] })
}

// commandsOf is what a script does one after the other, as text: its
// statements, of which the last is taken apart where it is joined by &&. It also
// returns how many statements there are.
func commandsOf(s script) (all []string, statements int) {
	add := func(st *syntax.Stmt) {
		from, to := int(st.Pos().Offset()), int(st.End().Offset())
		all = append(all, strings.TrimRight(strings.TrimSpace(s.text.Value[from:to]), "; \t"))
	}
	last := len(s.File.Stmts) - 1
	for i, st := range s.File.Stmts {
		if i < last {
			add(st)
			continue
		}
		for _, part := range chained(st) {
			add(part)
		}
	}
	return all, len(s.File.Stmts)
}

// chained takes a statement apart at each && that is not inside of anything.
func chained(st *syntax.Stmt) []*syntax.Stmt {
	if and, ok := st.Cmd.(*syntax.BinaryCmd); ok && and.Op == syntax.AndStmt && !st.Background {
		return append(chained(and.X), chained(and.Y)...)
	}
	return []*syntax.Stmt{st}
}

// relaxed reports whether an answer that would have stopped the work before no
// longer does.
func relaxed(was, now string) bool { return was != now && (was == "red" || was == "green") }

// weakerBounds compares what the step may do.
func weakerBounds(a, b *unit) []string {
	var all []string
	switch {
	case a.Writes.Set && !b.Writes.Set:
		all = append(all, "may change the whole workspace")
	case a.Writes.Set:
		had := newReach(texts(a.Writes.Value))
		for _, w := range b.Writes.Value {
			if !had.covers(w.Value) {
				all = append(all, "may also change "+w.Value)
			}
		}
	}
	all = append(all, lacking("no longer protects %s", a.Protect.Value, b.Protect.Value)...)
	if a.Workspace.Value == inWorktree && b.Workspace.Value != inWorktree {
		all = append(all, "no longer works in its own worktree (workspace)")
	}
	switch was, now := approval(a.Approval.Value), approval(b.Approval.Value); {
	case was == "" || was == now:
	case now == "":
		all = append(all, "no longer asks before it runs")
	default:
		all = append(all, "asks before it runs in other words (approval)")
	}
	for _, x := range rights() {
		if was, now := x.of(a.Step), x.of(b.Step); slices.Index(x.order, now) > slices.Index(x.order, was) {
			all = append(all, fmt.Sprintf("has %s %q, was %q", x.name, now, was))
		}
	}
	if was := hostsOf(a.Step); len(was) > 0 {
		all = append(all, lacking("may ask %s (network)", hostsOf(b.Step), was)...)
	}
	return all
}

// reach is what some scopes name.
type reach struct {
	scopes map[string]bool
	below  map[string]bool // directories that are named with all that is in them
}

func newReach(scopes []string) reach {
	r := reach{map[string]bool{}, map[string]bool{}}
	for _, scope := range scopes {
		scope = path.Clean(scope)
		r.scopes[scope] = true
		if scope == "**" {
			scope = "."
		}
		if dir := strings.TrimSuffix(scope, "/**"); !isGlob(dir) {
			r.below[dir] = true
		}
	}
	return r
}

// covers reports whether whatever a glob names is surely within reach.
func (r reach) covers(glob string) bool {
	glob = path.Clean(glob)
	if r.scopes[glob] || r.below["."] {
		return true
	}
	for at := range len(glob) {
		if glob[at] == '/' && r.below[glob[:at]] {
			return true
		}
	}
	return false
}

// lacking words every text of before that is not in after.
func lacking(format string, before, after []plan.Text) []string {
	var all []string
	for _, t := range before {
		if !slices.ContainsFunc(after, func(x plan.Text) bool { return x.Value == t.Value }) {
			all = append(all, fmt.Sprintf(format, t.Value))
		}
	}
	return all
}

func sealing(level string) int { return slices.Index([]string{"", "fenced", "sealed"}, level) }

// merging orders plans by whether their work may be merged: a plan that says nothing goes by the
// configuration.
func merging(p *plan.Plan) int {
	switch {
	case !p.Land.Set:
		return 1
	case p.Land.Value:
		return 2
	}
	return 0
}
