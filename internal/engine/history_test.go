package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"pgregory.net/rapid"
)

// op is one thing that happens to a run. It is plain numbers, taken modulo what
// there is to choose from, so that a history can be told again exactly.
type op struct{ What, Which, How, More uint8 }

// histories are short ones, which shrink well, and as many long ones.
func histories(most int) *rapid.Generator[[]op] {
	b := rapid.Byte()
	one := rapid.Custom(func(t *rapid.T) op {
		return op{b.Draw(t, "what"), b.Draw(t, "which"), b.Draw(t, "how"), b.Draw(t, "more")}
	})
	return rapid.OneOf(rapid.SliceOfN(one, 0, most/2), rapid.SliceOfN(one, most/2, most))
}

// programs are random plans of up to most steps. Needs go to steps before and
// after in the plan's order, and never in a circle.
func programs(most int) *rapid.Generator[*engine.Program] {
	return rapid.Custom(func(t *rapid.T) *engine.Program {
		n := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, most), rapid.IntRange(most/2, most)).Draw(t, "steps")
		order := rapid.Permutation(numbers(n)).Draw(t, "order")
		def := engine.Definition{Plan: "plan-1", Title: "Any plan", Parallel: rapid.IntRange(1, 5).Draw(t, "parallel"), Replans: rapid.IntRange(0, 3).Draw(t, "replans")}
		def.Budget = rapid.OneOf(rapid.Just(engine.Amount{}), amounts(3000, 10000, 40*time.Hour)).Draw(t, "budget")
		def.Agents = anyAgents[:rapid.IntRange(0, len(anyAgents)).Draw(t, "agents")]
		for i := range n {
			def.Steps = append(def.Steps, anyStep(t, i))
		}
		for at, i := range order {
			for range rapid.IntRange(0, min(at, 3)).Draw(t, "needs") {
				need := order[rapid.IntRange(0, at-1).Draw(t, "need")]
				def.Steps[i].Needs = append(def.Steps[i].Needs, need)
			}
		}
		for i := range def.Steps {
			if def.Steps[i].Each != nil {
				fitEach(def.Steps, i)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "whole") == 3 {
			def.Steps = append(def.Steps, landing(n))
			def.Steps[n].Leave = rapid.Bool().Draw(t, "leave")
		}
		p, err := engine.NewProgram(def)
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// landing is the end of a run in a worktree of its own.
func landing(steps int) engine.Step {
	p := plain("merge")
	p.Kind, p.Worktree, p.Checks, p.Holds, p.OnFail = engine.Landing, true, nil, false, engine.OnFail{Then: engine.Escalate}
	p.Number, p.Needs = strconv.Itoa(steps+1), numbers(steps)
	return p
}

// fitEach lets a step take its items from one that it needs and that puts out a
// list, where it wants to, and gives its instances scopes of their own.
func fitEach(steps []engine.Step, i int) {
	p := &steps[i]
	for n := range p.Writes {
		p.Writes[n] += engine.ItemMark + "/"
	}
	if p.Each.Ref == "" {
		return
	}
	for _, n := range p.Needs {
		if from := &steps[n]; from.Kind != engine.Ask && from.When != "false" && from.Each == nil {
			p.Each.Ref = "$" + from.ID
			return
		}
	}
	p.Each = &engine.Each{Items: []json.RawMessage{[]byte(`"i"`)}, Batch: p.Each.Batch}
}

// amounts are limits of some kinds and none of others.
func amounts(tokens, micros int64, wall time.Duration) *rapid.Generator[engine.Amount] {
	return rapid.Custom(func(t *rapid.T) (a engine.Amount) {
		kinds := rapid.IntRange(1, 7).Draw(t, "kinds")
		if kinds&1 > 0 {
			a.Tokens = rapid.Int64Range(1, tokens).Draw(t, "tokens")
		}
		if kinds&2 > 0 {
			a.CostMicros = rapid.Int64Range(1, micros).Draw(t, "micros")
		}
		if kinds&4 > 0 {
			a.Wall = time.Duration(rapid.Int64Range(1, int64(wall)).Draw(t, "wall"))
		}
		return a
	})
}

func numbers(n int) []int {
	is := make([]int, n)
	for i := range is {
		is[i] = i
	}
	return is
}

var anyAgents = []engine.Candidate{{Role: "coder", When: "write and fix code"}, {Role: "reviewer"}, {Role: "tester", When: "do tests"}}

func anyStep(t *rapid.T, i int) engine.Step {
	p := plain("s" + strconv.Itoa(i))
	p.Number = strconv.Itoa(i + 1)
	seldom := rapid.IntRange(0, 5)
	p.Kind = rapid.SampledFrom([]engine.Kind{engine.Script, engine.Agent}).Draw(t, "kind")
	p.OnFail.Retries = rapid.IntRange(0, 2).Draw(t, "retries")
	p.OnFail.Then = rapid.SampledFrom([]engine.Then{engine.Escalate, engine.Skip, engine.Abort, engine.Replan}).Draw(t, "then")
	p.Expect = rapid.SampledFrom([]engine.Expect{engine.ExpectAny, engine.ExpectRed, engine.ExpectGreen}).Draw(t, "expect")
	p.Critical = rapid.Bool().Draw(t, "critical")
	p.Holds = seldom.Draw(t, "holds") != 5
	p.Rerunnable = seldom.Draw(t, "rerunnable") != 5
	if seldom.Draw(t, "limited") == 5 {
		p.Budget = amounts(600, 2000, 10*time.Hour).Draw(t, "budget")
	}
	p.Role = rapid.SampledFrom([]string{"", "coder", "reviewer"}).Draw(t, "role")
	p.Target = rapid.SampledFrom([]string{"", "any", "coder"}).Draw(t, "target")
	p.Worktree = seldom.Draw(t, "worktree") == 5
	if seldom.Draw(t, "approval") == 5 {
		p.Approval = "it deploys"
	}
	p.When = rapid.SampledFrom([]string{"", "", "", "true", "false"}).Draw(t, "when")
	if seldom.Draw(t, "asks") == 5 {
		return question(p, rapid.IntRange(0, 2).Draw(t, "form"))
	}
	if seldom.Draw(t, "each") == 5 {
		p.Each = anyEach(t, i)
	}
	p.Backoff = rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Hour, math.MaxInt64}).Draw(t, "backoff")
	p.Writes = rapid.SliceOfN(rapid.SampledFrom([]string{"src/", "src/a/", "src/b/*.go", "docs/", "test/"}), 0, 2).Draw(t, "writes")
	for n := range rapid.IntRange(0, 2).Draw(t, "checks") {
		p.Checks = append(p.Checks, engine.Check{Name: "check" + strconv.Itoa(n), Command: "make", Exit: n, Required: n == 0})
	}
	if seldom.Draw(t, "delegated") == 5 {
		p.Kind, p.Worktree, p.Writes = engine.Delegate, false, nil
		if p.Each == nil && rapid.Bool().Draw(t, "for each") {
			p.Each = anyEach(t, i)
		}
		p.Child = &engine.SubPlan{Path: "child.md", Budget: rapid.OneOf(rapid.Just(engine.Amount{}), amounts(500, 900, time.Hour)).Draw(t, "own")}
		if rapid.Bool().Draw(t, "pinned") {
			p.Child.Hash, p.Child.Own, p.Child.Source, p.Child.Program = "h", "own", "source", "program"
		}
		if rapid.Bool().Draw(t, "bare") {
			p.Checks, p.Holds = nil, false
		}
		return p
	}
	if seldom.Draw(t, "tool") > 3 {
		p.Kind, p.Tool, p.Worktree = engine.Tool, "write_file", false
		if rapid.Bool().Draw(t, "bare") {
			p.Checks, p.Holds = nil, false
		}
	}
	if p.Kind == engine.Agent && p.Rerunnable && seldom.Draw(t, "loops") > 3 {
		p.Iterations = rapid.IntRange(1, 4).Draw(t, "iterations")
		p.Context = rapid.SampledFrom([]int64{0, 0, 200, 100_000}).Draw(t, "context")
	}
	if len(p.Checks) > 1 && seldom.Draw(t, "judged") == 5 && p.Checks[0].Required {
		p.Checks = append(p.Checks, engine.Check{Name: engine.Judge, Question: "Is it good?", Required: true})
	}
	if (p.Kind == engine.Agent || p.Kind == engine.Script) && p.Rerunnable && p.Expect != engine.ExpectGreen && seldom.Draw(t, "strong") > 3 {
		p.Strong = time.Minute
	}
	if p.Kind == engine.Agent {
		p.Fallback = rapid.SampledFrom([]string{"", "", "spare"}).Draw(t, "fallback")
	}
	return p
}

// anyEach lists items, takes them from a step, which must then be needed, or
// asks the host.
func anyEach(t *rapid.T, i int) *engine.Each {
	e := &engine.Each{Batch: rapid.IntRange(0, 2).Draw(t, "batch"), Empty: rapid.Bool().Draw(t, "empty")}
	switch source := rapid.IntRange(0, 3).Draw(t, "source"); {
	case source == 0:
		e.Glob = "src/*"
	case source == 1 && i > 0:
		e.Ref = "$s" + strconv.Itoa(rapid.IntRange(0, i-1).Draw(t, "from"))
	default:
		for n := range rapid.IntRange(1, 4).Draw(t, "items") {
			e.Items = append(e.Items, json.RawMessage(strconv.Quote("i"+strconv.Itoa(n))))
		}
	}
	return e
}

// question makes a step that asks of p: for a choice, a text or a value.
func question(p engine.Step, form int) engine.Step {
	p.Kind, p.Checks, p.Approval = engine.Ask, nil, ""
	switch form {
	case 1:
		p.Choices = []string{"approve", "retry", "none"}
	case 2:
		p.Schema = `{"type":"integer"}`
	}
	return p
}

// saying answers an item: by the choice, or what a question asks for.
func saying(it engine.ItemRow, choice string) engine.ItemAnswered {
	a := engine.ItemAnswered{Item: it.Item, Choice: choice, Text: "so be it", By: "ann"}
	if it.Kind == engine.Question {
		a.Choice = it.Choices[0]
	}
	if it.Schema != "" {
		a.Args = json.RawMessage("7")
	}
	return a
}

// world is a desk to which things happen.
type world struct {
	*desk
	program *engine.Program // that runs are opened with
	policy  engine.Policy
	runs    int
	sent    []engine.Input // to be sent again, too late
	turns   int
}

func newWorld(p *engine.Program, policy engine.Policy) *world {
	w := &world{desk: newDesk(), program: p, policy: policy}
	w.surveys = true
	w.send(begun)
	w.open()
	return w
}

func policies() *rapid.Generator[engine.Policy] {
	return rapid.Custom(func(t *rapid.T) engine.Policy {
		return engine.Policy{
			MaxParallel: rapid.IntRange(0, 5).Draw(t, "max"), Frames: rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "frames"),
			Bounds:   engine.Bounds{Attempts: rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "attempts"), Failures: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "failures")},
			Approve:  rapid.SampledFrom([]string{"", engine.LowRisk, engine.Auto}).Draw(t, "approve"),
			Arbiter:  rapid.Bool().Draw(t, "arbiter"),
			Planner:  rapid.IntRange(0, 3).Draw(t, "planner") > 0,
			Baseline: rapid.Bool().Draw(t, "baseline"), Ratchet: rapid.Bool().Draw(t, "ratchet"),
			Unmetered: rapid.SampledFrom([]string{"", "warn", "refuse"}).Draw(t, "unmetered"),
			Unproven:  rapid.SampledFrom([]string{"", engine.UnprovenAsk, engine.UnprovenRefuse}).Draw(t, "unproven"),
		}
	})
}

// open opens the task's first or next run.
func (w *world) open() {
	w.runs++
	in := engine.Open{By: "ann", Run: engine.RunOpened{
		Run: "r" + strconv.Itoa(w.runs), Plan: "plan-1", Program: w.program.Hash(), Compiled: w.program, Policy: w.policy,
	}}
	if w.runs == 1 {
		in.Task = &engine.TaskOpened{Task: "task"}
	}
	w.send(in)
}

// send admits an input.
func (w *world) send(in engine.Input) error {
	_, err := w.admit(in)
	return err
}

// happen lets one thing happen.
func (w *world) happen(o op) {
	w.hold = o.What >= 240
	switch o.What % 16 {
	case 9:
		w.rush(o)
	case 10:
		w.tick(o)
	case 11:
		w.order(o)
	case 12:
		w.reply(o)
	case 13:
		w.crash(o)
	case 14:
		w.again(o)
	case 15:
		w.strange(o)
	default:
		w.result(o)
	}
	if !w.hold {
		w.decide()
		w.look()
	}
}

// result answers one of the effects that are wanted, or work that is not
// wanted any more.
func (w *world) result(o op) {
	fx := w.state.Effects()
	if len(fx) == 0 {
		w.stopped()
		return
	}
	e := fx[int(o.Which)%len(fx)]
	in := w.answer(e, o)
	w.sent = append(w.sent, in)
	w.send(in)
}

// rush lets a good deal pass, so that a history comes to its later parts.
func (w *world) rush(o op) {
	for n := range int(o.More) {
		fx := w.state.Effects()
		if len(fx) == 0 || w.broken != nil {
			return
		}
		w.send(success(fx[(int(o.Which)+n)%len(fx)]))
	}
}

// stopped ends work that is not wanted any more, as its host does.
func (w *world) stopped() {
	wanted := map[engine.Key]bool{}
	for _, e := range w.state.Effects() {
		wanted[e.Key] = true
	}
	for _, k := range slices.SortedFunc(maps.Keys(w.live), func(a, b engine.Key) int { return strings.Compare(a.String(), b.String()) }) {
		if !wanted[k] {
			in := engine.Ended{Key: k, WorkEnded: engine.WorkEnded{How: engine.Stopped}}
			if slices.ContainsFunc(w.state.Delegations(), func(d engine.Delegation) bool { return d.Key == k && !d.Wanted }) {
				in.Ending, in.Exit = &engine.Ending{Status: engine.Cancelled}, 1
			}
			w.send(in)
			return
		}
	}
}

// answer is a result of an effect, more often a good one.
func (w *world) answer(e engine.Effect, o op) engine.Input {
	if e.Key.Kind == engine.Draw {
		return w.draw(e, o)
	}
	return answer(e, o)
}

func answer(e engine.Effect, o op) engine.Input {
	tree := []string{"", "", "t0", "t1"}[o.More%4]
	switch e.Key.Kind {
	case engine.Expand:
		return find(e, o)
	case engine.Consult:
		return rule(e, o)
	case engine.Survey:
		in := engine.Surveyed{Key: e.Key, Tree: "tree", Touched: []string{"a", "b", "dir/"}[:o.More%4%3]}
		if o.How%32 == 31 {
			in.Err = "no such file"
		}
		return in
	case engine.Prepare:
		return prepare(e, o, tree)
	case engine.Revert:
		return takesBack(e, o)
	case engine.Work, engine.Merge:
		return work(e, o)
	}
	if o.How%32 == 31 && e.Work == engine.ContractWork {
		return engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Stopped}}
	}
	step := e.Step
	if e.Key.Kind == engine.Prove {
		step = commands(step)
	}
	checks := answers(step, tree, verdictFor(o.How, engine.Pass), verdictFor(o.More, engine.Pass))
	if len(checks) > 0 {
		rerun(e, checks, o)
		if path := "dir/"; e.Key.Kind == engine.Prove && slices.Contains(e.Watch, path) && o.More%4 == 3 {
			checks[0].Altered = []engine.Alteration{{Path: path, Was: strconv.Itoa(int(o.How % 2)), Is: strconv.Itoa(int(1 - o.How%2))}}
		}
		if o.More%5 < 2 {
			checks[0].Opened = opened(o)
		}
		checks[0].Stdout, checks[0].Stderr = "\xff a tail that begins in the middle", "and ends in \xe2"
		if c := &checks[len(checks)-1]; c.Check == engine.Judge {
			if c.Usage = (engine.Usage{In: new(int64(o.More)), CostMicros: new(int64(o.How))}); o.More%3 == 0 {
				c.Usage = engine.Usage{} // it does not say
			}
		}
	}
	return engine.Checked{Key: e.Key, Checks: checks}
}

// rerun is what checks may say when they are asked again, sense and now and then nonsense.
func rerun(e engine.Effect, checks []engine.CheckEnded, o op) {
	c, other := &checks[0], []engine.Verdict{engine.Pass, engine.Fail, engine.Timeout}[o.Which%3]
	if c.Check == engine.Judge || !e.Step.Rerunnable {
		return
	}
	c.Tests = int(o.How+o.More) % 4
	c.Same = o.Which%4 == 1 && len(e.Seen) > 0
	switch o.More % 9 {
	case 1:
		c.Reruns = []engine.Verdict{c.Verdict, c.Verdict}
	case 2:
		c.Reruns = []engine.Verdict{c.Verdict, other}
	case 3:
		c.Reruns = []engine.Verdict{other}
	case 4:
		c.Reruns = []engine.Verdict{"odd", other, other}[:o.How%4]
	}
	if slices.Contains(c.Reruns, engine.Infra) {
		c.Reruns = nil
	}
}

// opened is what a check may have opened.
func opened(o op) *engine.Opened {
	return [...]*engine.Opened{
		{},
		{Unseen: "lost"},
		{Unseen: "blind", Dark: true},
		{Files: 1, Changed: []string{"x"}},
		{Files: 2, Made: []string{"y"}},
		{Files: 2, Made: []string{"y", "z"}},
		{Gone: []string{"x"}},
		{Files: 2, Changed: []string{"x", "w"}, Wrote: []string{"w", "x"}},
	}[int(o.Which)%8]
}

// rule is what an arbiter may say, sense and nonsense.
func rule(e engine.Effect, o op) engine.Input {
	in := engine.Ruled{Key: e.Key, ArbiterRuled: engine.ArbiterRuled{Why: "so \xff", Usage: engine.Usage{In: new(int64(o.More)), Out: new(int64(o.How))}, Ms: int64(o.How)}}
	in.Say = []engine.Say{engine.SayRetry, engine.SayReplan, engine.SayEscalate, e.Choices[0], engine.SayComplete, "done", ""}[o.Which%7]
	if e.Choices[0] == engine.SayContinue && o.Which%2 == 0 {
		in.Say = e.Choices[1] // a revision, where one may still be made
	}
	in.Role = []string{"", "", "coder", "reviewer", "nobody"}[o.How%5]
	if o.More%8 == 7 {
		in.Err = "no answer"
	}
	in.Fault = o.More%2 == 0
	if o.How%2 == 0 {
		in.Prompt = "hash" // it was asked
	}
	if o.More%3 == 0 {
		in.Usage = engine.Usage{}
	}
	return in
}

// takesBack is what may be said of what a strong step changed, part by part, and now and
// then nonsense.
func takesBack(e engine.Effect, o op) engine.Input {
	n := len(e.Parts)
	last := engine.PartTried{Verdict: engine.Fail, Part: engine.AllParts}
	if n > 0 {
		last = e.Parts[n-1]
	}
	over := n == 1 && (last.Verdict != engine.Fail || len(last.Reruns) > 0 && last.Reruns[0] != engine.Fail) || n == 2 && last.Verdict != engine.Pass || n > 4
	if over || o.More%8 == 7 {
		in := engine.Reverted{Key: e.Key}
		in.Parts = int(o.Which+1) % 8
		switch o.How % 16 {
		case 13:
			in.Err = "no space \xff"
		case 14:
			in.Cannot = "it is too large"
		case 15:
			in.Tampered = change("x")
		default:
			in.Untried = []string{"a:9 \xff"}[:o.Which%2]
		}
		return in
	}
	p := engine.PartTried{Change: "change", Part: []int{engine.AllParts, engine.NoPart, n - 1}[min(n, 2)], Ms: int64(o.More)}
	switch p.Part {
	case engine.AllParts:
		p.Verdict = verdictFor(o.How, engine.Fail)
		p.Reruns = [][]engine.Verdict{nil, nil, {engine.Fail, engine.Fail}, {engine.Pass}, {"odd"}}[o.Which%5]
	case engine.NoPart:
		p.Verdict = verdictFor(o.How, engine.Pass)
	default:
		p.Verdict, p.Place = []engine.Verdict{engine.Fail, engine.Pass, engine.Timeout, engine.Infra}[o.How%4], fmt.Sprintf("a:%d", p.Part)
	}
	switch o.More % 16 {
	case 3:
		p.Change = "another"
	case 5:
		p.Part++
	}
	return engine.Tried{Key: e.Key, PartTried: p}
}

// find is what a glob may come to.
func find(e engine.Effect, o op) engine.Input {
	in := engine.Expanded{Key: e.Key}
	for n := range int(o.More) % 5 {
		in.Items = append(in.Items, json.RawMessage(strconv.Quote(fmt.Sprintf("x%d", n))))
	}
	switch o.How % 16 {
	case 15:
		in.Err = "too many files \xff"
	case 14:
		in.Items = append(in.Items, json.RawMessage("no json"))
	}
	return in
}

// verdictFor is mostly the one that is hoped for.
func verdictFor(how uint8, hoped engine.Verdict) engine.Verdict {
	switch how % 16 {
	case 8, 9, 10:
		return engine.Fail
	case 11:
		return engine.Timeout
	case 12:
		return engine.Infra
	case 13:
		return engine.Inconclusive
	case 14:
		return engine.Tampered
	case 15:
		return "killed"
	}
	return hoped
}

func prepare(e engine.Effect, o op, tree string) engine.Input {
	in := engine.Prepared{Key: e.Key, Dispatch: engine.WorkDispatched{Prompt: "p", Tree: tree, Frames: engine.FrameIDs(e.Frames)}}
	if e.Step.Kind == engine.Tool || e.Step.Kind == engine.Delegate {
		in.Preview = look(e, o)
	}
	if in.Child = childOf(e); o.More%16 == 12 {
		in.Child = nil
	}
	hoped := engine.Fail
	if e.Step.Expect == engine.ExpectGreen {
		hoped = engine.Pass
	}
	if e.Baseline {
		in.Checks = answers(commands(e.Step), tree, verdictFor(o.How, hoped))
		if len(in.Checks) > 0 {
			in.Checks[0].Tests = int(o.Which) % 4
		}
		if len(in.Checks) > 0 && o.Which%3 == 0 {
			in.Checks[0].Opened = opened(o)
		}
	}
	switch o.More % 16 {
	case 13:
		in.Err = "no such agent \xf0\x9f"
	case 14:
		in.Strays = change("docs/x")
	case 15:
		in.Checks = in.Checks[:len(in.Checks)/2]
	}
	return in
}

// look is what may be seen of a call, and what is there changes now and then.
func look(e engine.Effect, o op) *engine.Preview {
	p := engine.Preview{Args: "args", Low: o.More%2 == 0}
	if e.Edited != "" {
		p.Args = e.Edited
	}
	switch o.How % 16 {
	case 0, 1, 2:
		p.Must, p.Targets = true, []engine.Target{{Path: "a", Before: strconv.Itoa(int(o.More) % 16 / 13)}}
	case 3:
		p.Effect = "command"
	case 4:
		p.Effect = "move"
	case 5:
		p.Refused = "no such key \xff"
	case 6:
		return nil
	}
	p.Hash = fmt.Sprint(p.Args, p.Must, p.Effect, p.Targets)
	return &p
}

func work(e engine.Effect, o op) engine.Input {
	in := engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Exited, Exit: int(o.More % 3)}}
	tokens := int64(o.More)
	in.Usage.In, in.Reason = &tokens, "half a \xe2\x82"
	switch o.Which % 4 {
	case 0:
		in.Usage.In = nil
	case 1:
		in.Usage.Out = &tokens
	case 2:
		in.Usage.Out, in.Usage.CostMicros = &tokens, new(3*tokens)
	}
	in.Ms = int64(o.How) * 1000
	if o.More%4 == 1 {
		in.Discoveries = []string{"the old format is read", "the old format is read", fmt.Sprint("file ", o.Which%8), " \xff"}
		in.Remarks = []engine.Remark{{Kind: "decision", Text: "keep it"}, {Kind: engine.Checkpoint, Text: "it is done"}, {Kind: "not a word", Text: "x"}}
		in.Changed = []string{"a", "b", "c", "d", "e", "f"}[:o.Which%7]
	}
	if e.Value {
		in.Value = json.RawMessage([]string{`["a","b"]`, `["b"]`, `[]`, `"no list"`, ``}[int(o.More)%5])
	}
	if in.Ending = endingOf(e); in.Ending != nil {
		return childEnd(in, o)
	}
	if o.Which%3 > 0 {
		in.Changed = []string{"src/x"}
	}
	in.Behind = e.Step.Kind == engine.Landing && (len(e.Conflicts) > 0 || o.More%3 == 0)
	if o.More%5 == 4 {
		kinds := []engine.CauseKind{engine.NoNetwork, engine.NoLogin, engine.WasDenied, engine.Crashed, "", "unheard"}
		in.Cause = &engine.Cause{Kind: kinds[int(o.Which)%len(kinds)], Text: "401 \xff", Lasts: o.Which%2 == 1}
	}
	if e.Step.Kind == engine.Agent && e.Key.Kind == engine.Work && o.How%8 == 6 {
		return begs(e, o)
	}
	switch o.How % 16 {
	case 9:
		in.How = engine.TimedOut
	case 10:
		in.How = engine.NoStart
	case 11:
		in.How = engine.Stopped
	case 12:
		in.How = engine.Lost
	case 13:
		if e.Key.Kind == engine.Merge {
			in.Conflicts = change("src/x")
			break
		}
		if e.Step.Kind == engine.Landing {
			in.Tampered = change("Makefile")
			break
		}
		in.Tampered = change("Makefile")
	case 7:
		in.Unfit = "its output does not fit its schema: no"
	case 14:
		in.OutOfScope = change("docs/x")
	case 15:
		in.How = "vanished"
	}
	return in
}

// begs is what an agent may ask in the middle of its work, or ask no more.
func begs(e engine.Effect, o op) engine.Input {
	if o.More%4 == 3 {
		return engine.Unasked{Key: e.Key, Why: "enough \xff"}
	}
	w := engine.Wanted{Kind: "run", Command: "make \xff", Paths: []string{"a", "\xfe"}, Role: "nobody", N: 7}
	if o.More%2 == 0 {
		w.Pattern = "run make"
	}
	return engine.Asks{Key: e.Key, Wanted: w, Context: "so \xff"}
}

// childEnd is how a run that does a step may end: its host says nothing else.
func childEnd(in engine.Ended, o op) engine.Input {
	in.Exit = 0
	in.Ending.Spent = engine.Amount{Tokens: int64(o.More), CostMicros: int64(o.Which)}
	switch o.How % 8 {
	case 5:
		in.Ending.Unproven = 1
	case 6:
		in.Ending.Status, in.Exit = engine.Failed, 1
	case 7:
		in.Ending.Status, in.Exit = engine.Cancelled, 1
		in.How = []engine.How{engine.Exited, engine.Stopped}[o.More%2]
	}
	return in
}

// tick moves the clock: to when the core wants to be woken, or anywhere, a
// little back too.
func (w *world) tick(o op) {
	at, ok := w.state.Wake()
	switch {
	case ok && o.How%2 == 0:
		w.now = at
	case o.How%8 == 1:
		w.now = w.now.Add(-time.Duration(o.More) * time.Second)
	default:
		w.now = w.now.Add(time.Duration(o.More) * 13 * time.Minute)
	}
	w.decide()
}

func (w *world) order(o op) {
	if o.How%16 == 15 {
		w.send(engine.Order{Command: engine.Command{Verb: engine.DoReplan, By: "ann", Why: "it must be otherwise"}})
		return
	}
	if o.How%16 == 14 {
		w.send(engine.Order{Command: engine.Command{Verb: engine.DoLand, By: "ann"}})
		return
	}
	if o.How%16 == 13 && o.More%2 == 0 {
		c := engine.Command{Verb: engine.DoVouch, By: "ann"}
		if p := w.state.Program(); p != nil {
			c.Step = p.Step(int(o.Which) % p.Len()).ID
		}
		w.send(engine.Order{Command: c})
		return
	}
	verbs := []engine.Verb{engine.DoPause, engine.DoResume, engine.DoSkip, engine.DoWaive, engine.DoRetry, engine.DoRetry, engine.DoForce, engine.DoCancel}
	c := engine.Command{Verb: verbs[o.How%8], By: "ann", Why: "why \xff"}
	if c.Verb == engine.DoForce {
		c.Role = anyAgents[int(o.More)%len(anyAgents)].Role
	}
	if c.Verb == engine.DoCancel && o.More%8 != 0 {
		c.Verb = engine.DoResume
	}
	if p := w.state.Program(); p != nil {
		c.Step = p.Step(int(o.Which) % p.Len()).ID
	}
	c.From = o.More%2 == 0
	w.send(engine.Order{Command: c})
}

func (w *world) reply(o op) {
	rows := w.rows.open()
	if len(rows) == 0 {
		return
	}
	row := rows[int(o.Which)%len(rows)]
	choice := row.Choices[int(o.How)%len(row.Choices)]
	if choice == engine.ChooseAbort && o.More%4 != 0 {
		choice = engine.ChooseRetry
	}
	a := engine.ItemAnswered{Item: row.Item, Choice: choice, Text: "so \xc3", By: "bob", Via: "test"}
	if o.More%3 == 0 && row.Shortage != nil {
		a.Args = generous(row, int64(o.More%64))
	}
	if row.Limit != "" && o.More%3 == 0 {
		a.Args = json.RawMessage(fmt.Sprintf(`{"%s":%d}`, row.Limit, o.More%4))
	}
	if row.Schema != "" && o.More%4 != 0 {
		a.Args = json.RawMessage("7")
	}
	if row.Tool != "" && (choice == engine.ChooseApprove || choice == engine.ChooseRetry) && o.More%4 == 1 {
		a.Args = json.RawMessage(`{"other":1}`)
	}
	w.send(engine.Reply{ItemAnswered: a, Revise: w.agreed(a.By)})
}

// generous are limits so many times as high as those that are too tight.
func generous(row engine.ItemRow, times int64) json.RawMessage {
	l := row.Shortage.Limits
	args := map[string]any{}
	if l.Tokens > 0 {
		args["tokens"] = l.Tokens * times
	}
	if l.CostMicros > 0 {
		args["cost_usd"] = float64(l.CostMicros*times) / 1e6
	}
	if l.Wall > 0 {
		args["wall"] = min(l.Wall*time.Duration(times), math.MaxInt64/4).String()
	}
	body, _ := json.Marshal(args)
	return body
}

// crash begins a new life: what is in the journal is all there is.
func (w *world) crash(o op) {
	if !w.unwatched {
		if err := w.sound(); err != nil {
			w.fail("%w", err)
		}
	}
	var err error
	next := &engine.State{}
	if o.How%2 == 0 {
		next, err = replay(w.journal)
	} else if w.state.Program() != nil {
		next, err = engine.Restore(w.image(), w.state.Program())
		w.rows.take(engine.Rows{})
	}
	if err != nil {
		w.fail("a new life: %w", err)
		return
	}
	next.Rows()
	w.state = next
	if o.More%2 == 0 {
		w.epoch++
		w.send(begun)
	}
}

// again sends an old result once more.
func (w *world) again(o op) {
	if len(w.sent) > 0 {
		w.send(w.sent[int(o.Which)%len(w.sent)])
	}
}

// strange opens the next run where that is possible, or asks for what makes no
// sense.
func (w *world) strange(o op) {
	switch o.How % 8 {
	case 4, 5, 6, 7:
		w.revise(o)
	case 0:
		if !w.state.Live() {
			w.open()
		}
	case 1:
		w.configure(o)
	case 2:
		w.send(engine.Reply{ItemAnswered: engine.ItemAnswered{Item: "r1/" + strconv.Itoa(int(o.More)%4), Choice: "retry", By: "eve"}})
	case 3:
		k := engine.Key{Task: "task", Run: "r1", Step: "s" + strconv.Itoa(int(o.Which)%9), Attempt: 1 + int(o.More)%3, N: 1, Kind: engine.Verify}
		w.send(engine.Checked{Key: k, Checks: []engine.CheckEnded{{Check: "contract", Verdict: engine.Pass}}})
	}
}

// configure lets the run go on under another configuration.
func (w *world) configure(o op) {
	if w.state.Program() == nil {
		return
	}
	w.send(configured(w.state.Run(), func(e *engine.RunConfigured) {
		e.Config = "config " + strconv.Itoa(int(o.Which%3))
		p := &e.Policy
		p.MaxParallel, p.Frames, p.Ratchet, p.Baseline = int(o.More%6), int(o.More%2), o.More&8 != 0, o.More&16 != 0
		p.Planner, p.Arbiter, p.Approve = o.More&32 != 0, o.More&64 != 0, []string{"", engine.LowRisk, engine.Auto}[o.How/8%3]
		p.Unmetered, p.Bounds.Attempts = []string{"warn", "refuse"}[o.How/32%2], int(o.Which/64)*2
		if o.How >= 248 {
			e.By = engine.ByPolicy
		}
	}))
}

// configured is another configuration of a run, as a person says yes to it.
func configured(now engine.RunOpened, change func(*engine.RunConfigured)) engine.Input {
	e := engine.RunConfigured{Run: now.Run, Was: now.Config, Agents: now.Agents, Policy: now.Policy, Base: now.Base, By: "ann", Via: "test"}
	change(&e)
	return engine.Configure{RunConfigured: e}
}

// look checks after a turn what is cheap, and all of it every few turns.
func (w *world) look() {
	if w.unwatched {
		return
	}
	if w.turns++; w.turns%5 == 0 {
		w.check()
	} else if err := w.moves(); err != nil {
		w.fail("%w", err)
	}
}

// check holds the state against everything that must agree with it.
func (w *world) check() {
	if w.unwatched {
		return
	}
	if err := w.settled(); err != nil {
		w.fail("%w", err)
	}
}

// succeed makes everything pass from here on, and people say yes, until the
// run has ended. It reports whether that took no more than so many turns.
func (w *world) succeed(turns int) bool {
	w.hold = false
	w.decide()
	for ; turns > 0 && w.broken == nil && w.state.Live(); turns-- {
		fx, rows := w.state.Effects(), w.rows.open()
		at, wakes := w.state.Wake()
		switch {
		case len(w.live) > 0 && !w.wantsAny(fx):
			w.stopped()
		case len(fx) > 0:
			w.send(success(fx[turns%len(fx)]))
		case len(rows) > 0:
			choice := engine.ChooseRetry
			switch {
			case rows[0].Kind == engine.Limit, rows[0].Kind == engine.Approval, rows[0].Kind == engine.Proposal, rows[0].Kind == engine.Weakened:
				choice = engine.ChooseApprove
			case noItems(rows[0]):
				choice = engine.ChooseSkip
			}
			a := saying(rows[0], choice)
			if rows[0].Shortage != nil {
				a.Args = json.RawMessage(plenty(rows[0].Shortage))
			}
			w.send(engine.Reply{ItemAnswered: a, Revise: w.agreed(a.By)})
		case w.state.Head().Status == engine.Paused:
			w.send(engine.Order{Command: engine.Command{Verb: engine.DoResume, By: "ann"}})
		case wakes:
			w.now = at
			w.decide()
		}
		w.look()
	}
	w.check()
	return !w.state.Live()
}

// noItems reports an item about a step that has nothing to be done for each of,
// and will have nothing however often it is asked.
func noItems(row engine.ItemRow) bool { return strings.Contains(row.Question, "for each: ") }

// plenty are limits that no test comes to.
func plenty(x *engine.Shortage) string {
	var args []string
	l, times := x.Limits, 1
	if x.Of == engine.OfRun { // for a step that sets plenty aside too
		times = 9
	}
	if l.Tokens > 0 {
		args = append(args, fmt.Sprintf(`"tokens":%d000000000`, times))
	}
	if l.CostMicros > 0 {
		args = append(args, fmt.Sprintf(`"cost_usd":%d00000`, times))
	}
	if l.Wall > 0 {
		args = append(args, fmt.Sprintf(`"wall":"%d00000h"`, 2*times))
	}
	return "{" + strings.Join(args, ",") + "}"
}

// wantsAny reports whether any of the live work is wanted.
func (w *world) wantsAny(fx []engine.Effect) bool {
	for _, e := range fx {
		if w.live[e.Key] {
			return true
		}
	}
	return false
}
