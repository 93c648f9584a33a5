package engine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/piton-dev/piton/internal/engine"
)

// TestStories holds conversations with the core, one story a file.
//
// A story opens a run and then says what came in, a line each; below it stands
// what followed: the records, and then where the steps stand and what should
// be running. `go test -run Stories -rewrite` writes the answers; read the
// difference. After every line the journal is replayed, the snapshot restored,
// the rows compared and the journal audited.
//
//	open [parallel=N] [ratchet=on] [baseline=off] [budget=LIMITS] [unmetered=refuse] [unproven=ask|refuse] [for=RUN/STEP] [frames=N] [grant=LIMITS] [item=JSON] [attempts=N] [failures=N]   a run of the plan below it; again: the task's next run
//	revise [by=NAME] [stale=a,b] [was=HASH] [run=R] [plan=ID]   the run's next revision, as below it
//	  ID [script] [needs=a,b] [retries=N] [then=WORD] [expect=WORD] [approval=WHY] [noncritical]
//	     [budget=LIMITS: 10000t+1.50$+20m] [task=WORD] [writes=a/,b/] [once] [step] [backoff=D] [checks=build,lint?] [worktree]
//	     [iterations=N] [context=N] [judge]
//	  where agents are given, as agents=NAME:word+word,NAME: [role=NAME] [target=any] [fallback=NAME]
//	  a step that calls a tool: tool=NAME [args={"a":1}], and without checks: bare
//	  a step that is delegated: plan=PATH [pinned], and without checks: bare
//	drawn [how=WORD] [why=TEXT] [abort=WHY] [weaker=TEXT] [asks] [tokens=N]   the revision below it, where the run is opened with planner=on
//	  [replans=N]; asks: the policy says no yes to it
//	ruled STEP WORD why=TEXT [role=NAME] [tokens=N] [err=TEXT]   of an arbiter, where the run is opened with arbiter=on
//	voted STEP yes|no [round=N] [prompt=HASH] [tokens=N]   of a judge; those of a check that is answered come by themselves
//	failures                             what whoever revises the plan is told
//	ended STEP [status=WORD] [proven=N] [unproven=N] [silent=N]   of a run that did a step
//	recall [why=…]                       what the task above says of its child
//	prepared STEP [must] [effect=WORD] [call=ARGS] [target=PATH:HASH+…] [hash=H] [low] [refused=WHY]  of a tool
//	prepared STEP [base=VERDICT,…] [tests=N] [tree=T] [again=VERDICT,…] [same] [err=WHY] [strays=PATH]
//	reported STEP [tokens=N] [found=…]
//	asks STEP KIND [command=TEXT] [pattern=TEXT] [context=TEXT]   the agent at work asks whether it may do something
//	unasked STEP [why=TEXT]              it waits for no answer any more
//	heeds STEP                           what it was answered
//	ended STEP [found=TEXT,…] [changed=PATH,…] [remark=KIND:TEXT] [words=…]
//	ended STEP [how=WORD] [exit=N] [tampered=PATH] [strays=PATH] [tokens=N] [usd=X] [ms=N] [conflict=PATH]
//	checked STEP [VERDICT,…] [tests=N] [tree=T] [again=VERDICT,…] [same] [moved=PATH] [tokens=N]   N: of the check that is last, a judge; again: of the
//	  first when it is asked again at once; same: it said otherwise before of the same files
//	  with attempt=N, n=N, kind=WORD, run=R or task=T where the key is not the wanted one
//	  with hold: what comes next is in the same turn
//	surveyed [touched=PATH,…] [err=WHY]  where the run is opened with surveys=on; else nothing was touched
//	checked STEP … [altered=PATH:WAS:IS] in a proof at the end
//	lease STEP [behind=RUN/STEP] [first]   where the run is opened with leases=on
//	order VERB [STEP] [from] [role=NAME] [why=…] [by=NAME]
//	reply N CHOICE [text=…] [args=JSON] [by=NAME]
//	epoch                                a new owner takes over
//	wait for=D | wait                    until then, or until the core wants to be woken
//	told STEP                            what its next attempt is told
//	why STEP                             what keeps it
//	expanded STEP ITEM… [why=TEXT]       the files of a glob, of a step with each=*; it may list them too (each=a,b), or refer to a
//	  list (each=$a.b), in batches (batch=N), even of nothing (empty), and {item} stands in task and writes
//	rest                                 everything that is wanted passes, until nothing is
//	item N                               what a person is shown
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			d := newDesk()
			datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
				out := tell(t, d, td)
				if err := d.settled(); err != nil {
					t.Fatalf("%s: %v", td.Pos, err)
				}
				return out
			})
			if err := d.anew(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// journals are those of the stories, in an order that does not change. Nobody may change
// them.
func journals(t testing.TB) [][]engine.Record {
	retold.Do(func() {
		files, err := filepath.Glob("testdata/stories/*.txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d := newDesk()
			d.unwatched = true
			datadriven.RunTestFromStringAny(t, string(text), func(t testing.TB, td *datadriven.TestData) string { return tell(t, d, td) })
			retold.journals = append(retold.journals, d.journal)
		}
	})
	if len(retold.journals) == 0 { // a test over nothing passes always
		t.Fatal("no stories are told")
	}
	return retold.journals
}

var retold struct {
	sync.Once
	journals [][]engine.Record
}

// TestStoriesHoldEveryEvent: an event of a task that no story comes to could be lost on
// its way through the wire unseen.
func TestStoriesHoldEveryEvent(t *testing.T) {
	held := map[string]bool{}
	for _, journal := range journals(t) {
		for _, r := range journal {
			held[fmt.Sprintf("%T", r.Event)] = true
		}
	}
	for _, name := range cases(sources(t), "State", "apply") {
		if !held["engine."+name] {
			t.Errorf("no story comes to %s", name)
		}
	}
}

// heeds is what the agent at work was answered.
func heeds(d *desk, step string) string {
	for _, e := range d.state.Effects() {
		if e.Key.Step == step && e.Key.Kind == engine.Work {
			a, over := d.state.Heeded(e.Key)
			return fmt.Sprintf("%s by %s: %s, over %v, and for the run %v\n", a.Choice, a.By, a.Text, over, d.state.Grants(e.Key, "run-make"))
		}
	}
	return "nothing is at work\n"
}

// tell hands one line of a story to the core and writes down what followed.
func tell(t testing.TB, d *desk, td *datadriven.TestData) string {
	switch td.Cmd {
	case "told":
		return told(d, word(td, 0))
	case "failures":
		return failures(d)
	case "heeds":
		return heeds(d, word(td, 0))
	case "why":
		return held(d, word(td, 0))
	case "item":
		return shown(d, word(td, 0))
	case "wait":
		d.wait(t, value(td, "for"))
	case "rest":
		return d.rest(td) + stand(d)
	default:
		if td.Cmd == "epoch" {
			d.epoch++
		} else if d.state.Seq() == 0 {
			d.begin()
		}
		from := len(d.journal)
		d.hold = td.HasArg("hold")
		_, err := d.admit(input(t, d, td))
		if refusal, ok := err.(*engine.Refusal); ok {
			hint := ""
			if refusal.Remedy != "" {
				hint = " (" + strings.Join(append([]string{refusal.Remedy}, refusal.With...), " ") + ")"
			}
			if !d.hold {
				d.decide()
			}
			return fmt.Sprintf("%s: %s%s\n", refusal.Code, refusal.Message, hint) + d.told(from) + stand(d)
		}
		return d.told(from) + stand(d)
	}
	from := d.mark
	return d.told(from) + stand(d)
}

// told writes down what followed, leases only where the story gives them, and
// frames where it asks for them.
func (d *desk) told(from int) string {
	records := slices.Clone(d.journal[from:])
	for n, r := range records {
		if e, ok := r.Event.(engine.WorkDispatched); ok && !d.frames {
			e.Frames = nil
			records[n].Event = e
		}
	}
	return lines(slices.DeleteFunc(records, func(r engine.Record) bool {
		_, granted := r.Event.(engine.LeaseGranted)
		_, awaited := r.Event.(engine.LeaseAwaited)
		_, frame := r.Event.(engine.FramePushed)
		return !d.manual && (granted || awaited) || frame && !d.frames
	}))
}

// begun is a new owner.
var begun = engine.Begin{EpochBegan: engine.EpochBegan{Host: "h", Version: "1"}}

// begin writes the first owner's epoch.
func (d *desk) begin() {
	if _, err := d.admit(begun); err != nil {
		d.fail("%w", err)
	}
}

// wait moves the clock, to when the core wants to be woken if no time is given.
func (d *desk) wait(t testing.TB, span string) {
	d.mark = len(d.journal)
	if span == "" {
		if at, ok := d.state.Wake(); ok {
			d.now = at
		}
	} else {
		by, err := time.ParseDuration(span)
		if err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(by)
	}
	d.decide()
}

// rest lets everything pass that is wanted, and tells the settlings only.
func (d *desk) rest(td *datadriven.TestData) string {
	from := len(d.journal)
	for fx := d.state.Effects(); len(fx) > 0 && d.broken == nil; fx = d.state.Effects() {
		if _, err := d.admit(success(fx[0])); err != nil {
			d.fail("%s: %w", td.Pos, err)
		}
	}
	var told []engine.Record
	for _, r := range d.journal[from:] {
		switch r.Event.(type) {
		case engine.StepSettled, engine.RunEnded, engine.ItemOpened:
			told = append(told, r)
		}
	}
	return lines(told)
}

// success is the answer that an effect hopes for.
func success(e engine.Effect) engine.Input {
	switch e.Key.Kind {
	case engine.Prepare:
		in := engine.Prepared{Key: e.Key, Dispatch: engine.WorkDispatched{Frames: engine.FrameIDs(e.Frames)}}
		if e.Step.Kind == engine.Tool || e.Step.Kind == engine.Delegate {
			in.Preview = &engine.Preview{Args: cmp.Or(e.Edited, "args"), Low: true, Hash: "h"}
		}
		in.Child = childOf(e)
		if e.Baseline {
			want := engine.Fail
			if e.Step.Expect == engine.ExpectGreen {
				want = engine.Pass
			}
			in.Checks = answers(commands(e.Step), "", want)
		}
		return in
	case engine.Expand:
		return engine.Expanded{Key: e.Key, Items: []json.RawMessage{[]byte(`"x"`), []byte(`"y"`)}}
	case engine.Survey:
		return engine.Surveyed{Key: e.Key, Tree: "tree"}
	case engine.Consult:
		return engine.Ruled{Key: e.Key, ArbiterRuled: engine.ArbiterRuled{Say: e.Choices[0], Why: "as the rules"}}
	case engine.Draw:
		return engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Exited, Reason: "no revision verifies"}}
	case engine.Revert:
		odd := func(v engine.Verdict) bool { return v != engine.Fail }
		switch n := len(e.Parts); {
		case n == 0:
			return engine.Tried{Key: e.Key, PartTried: engine.PartTried{Change: "change", Verdict: engine.Fail}}
		case n == 1 && !odd(e.Parts[0].Verdict) && !slices.ContainsFunc(e.Parts[0].Reruns, odd): // else that says all
			return engine.Tried{Key: e.Key, PartTried: engine.PartTried{Change: e.Parts[0].Change, Part: engine.NoPart, Verdict: engine.Pass}}
		}
		return engine.Reverted{Key: e.Key, ChangeReverted: engine.ChangeReverted{Parts: 1}}
	case engine.Work, engine.Merge:
		end := engine.WorkEnded{How: engine.Exited, Ending: endingOf(e)}
		if e.Step.Iterations > 0 {
			end.Changed = []string{"src/x"}
		}
		if e.Value {
			end.Value = json.RawMessage(`["p","q"]`)
		}
		return engine.Ended{Key: e.Key, WorkEnded: end}
	}
	step := e.Step
	if e.Key.Kind == engine.Prove {
		step = commands(step)
	}
	return engine.Checked{Key: e.Key, Checks: answers(step, "", engine.Pass)}
}

// childOf is the run that would do a delegated step, nil for any other.
func childOf(e engine.Effect) *engine.Opening {
	if e.Step.Kind != engine.Delegate {
		return nil
	}
	return &engine.Opening{Run: "run of " + e.Key.String(), Program: aChild, Base: "base", Plan: engine.SubPlan{Path: e.Step.Child.Path, Own: "own", Hash: "h", Source: "source"}}
}

// endingOf is the end of such a run, which proved all it did.
func endingOf(e engine.Effect) *engine.Ending {
	if e.Work != engine.ChildWork {
		return nil
	}
	return &engine.Ending{Status: engine.Done, Proven: 2, Spent: engine.Amount{Tokens: 100}}
}

// aChild is the program of every plan that a step is delegated to.
var aChild = func() *engine.Program {
	p, err := engine.NewProgram(engine.Definition{Plan: "child", Title: "A child", Parallel: 1, Steps: []engine.Step{plain("c")}})
	if err != nil {
		panic(err)
	}
	return p
}()

// commands is the step as it is asked where no work was done: without its judge.
func commands(p *engine.Step) *engine.Step {
	c := *p
	if _, judged := p.Judge(); judged {
		c.Checks = c.Checks[:len(c.Checks)-1]
	}
	return &c
}

// answers is one answer for each check; the last verdict goes on for the rest.
func answers(p *engine.Step, tree string, verdicts ...engine.Verdict) []engine.CheckEnded {
	var cs []engine.CheckEnded
	for n, c := range p.Checks {
		v := verdicts[min(n, len(verdicts)-1)]
		e := engine.CheckEnded{Check: c.Name, Verdict: v, Exit: c.Exit, Tree: tree, Ms: 1}
		if c.Name == engine.Judge {
			e.Votes = map[engine.Verdict][]engine.Vote{
				engine.Pass: {{Pass: true, Reason: "good"}}, engine.Fail: {{Reason: "bad"}, {Reason: "bad"}},
			}[v]
			e.Reason = map[engine.Verdict]string{engine.Pass: "good", engine.Fail: "bad"}[v]
		}
		switch v {
		case engine.Fail:
			e.Exit, e.Stderr = c.Exit+1, c.Name+" says no"
		case engine.Infra:
			e.Exit, e.Reason = -1, "disk full"
		case engine.Inconclusive:
			e.Exit, e.Reason = 127, "command not found"
		case engine.Tampered:
			e.Tampered = []engine.Change{{Path: "go.mod", What: "changed"}}
		case engine.Timeout:
			e.Exit, e.Signal = -1, "killed"
		case "killed": // a check of the plan that died of a signal
			e.Verdict, e.Exit, e.Signal = engine.Fail, -1, "segmentation fault"
		}
		cs = append(cs, e)
	}
	return cs
}

// input reads a line of a story.
func input(t testing.TB, d *desk, td *datadriven.TestData) engine.Input {
	switch td.Cmd {
	case "open":
		return opening(t, d, td)
	case "revise":
		return revising(t, d, td)
	case "configure":
		return configured(d.state.Run(), func(e *engine.RunConfigured) {
			e.Config, e.Was, e.By = word(td, 0), cmp.Or(value(td, "was"), e.Was), person(td)
			e.Policy.Approve, e.Policy.Planner = cmp.Or(value(td, "approve"), e.Policy.Approve), value(td, "planner") != "off"
			e.Policy.Ratchet = cmp.Or(value(td, "ratchet"), map[bool]string{true: "on"}[e.Policy.Ratchet]) == "on"
		})
	case "epoch":
		return begun
	case "order":
		return engine.Order{Command: engine.Command{
			Verb: engine.Verb(word(td, 0)), Step: word(td, 1), From: td.HasArg("from"), Only: td.HasArg("only"), Role: value(td, "role"), Why: value(td, "why"), By: person(td),
		}}
	case "reply":
		a := engine.ItemAnswered{Item: itemOf(d, word(td, 0)), Choice: word(td, 1), Text: value(td, "text"), By: person(td), Via: "test"}
		if args := value(td, "args"); args != "" {
			a.Args = json.RawMessage(args)
		}
		return engine.Reply{ItemAnswered: a, Revise: d.agreed(a.By)}
	case "ruled":
		in := engine.Ruled{Key: key(t, d, td), Err: value(td, "err")}
		in.Say, in.Role, in.Why = engine.Say(word(td, 1)), value(td, "role"), value(td, "why")
		if n := number(t, td, "tokens", 0); n != 0 {
			in.Usage.In, in.Usage.Out = new(int64(n)), new(int64(0))
		}
		return in
	case "voted":
		in := engine.Voted{Key: key(t, d, td)}
		in.Round, in.Prompt, in.Reason = number(t, td, "round", 1), cmp.Or(value(td, "prompt"), "prompt"), "good"
		if in.Pass = word(td, 1) == "yes"; !in.Pass {
			in.Reason = "bad"
		}
		if n := number(t, td, "tokens", 0); n != 0 {
			in.Usage.In, in.Usage.Out = new(int64(n)), new(int64(0))
		}
		return in
	case "tried":
		in := engine.Tried{Key: key(t, d, td)}
		in.Change, in.Place, in.Verdict, in.Reason = cmp.Or(value(td, "change"), "change"), value(td, "place"), engine.Verdict(word(td, 1)), value(td, "reason")
		in.Part, in.Ms = number(t, td, "part", engine.AllParts), int64(number(t, td, "ms", 0))
		for v := range strings.SplitSeq(value(td, "reruns"), ",") {
			if v != "" {
				in.Reruns = append(in.Reruns, engine.Verdict(v))
			}
		}
		return in
	case "reverted":
		in := engine.Reverted{Key: key(t, d, td), Err: value(td, "err"), Cannot: value(td, "cannot")}
		in.Parts = number(t, td, "parts", 1)
		if v := value(td, "untried"); v != "" {
			in.Untried = strings.Split(v, ",")
		}
		return in
	case "drawn":
		return drawn(t, d, td)
	case "lease":
		return lease(t, d, td)
	case "recall":
		return engine.Recall{Why: value(td, "why")}
	case "prepared":
		return prepared(t, d, td)
	case "ended":
		return ended(t, d, td)
	case "surveyed":
		in := engine.Surveyed{Key: d.state.Pending()[0], Tree: "tree", Err: value(td, "err")}
		if touched := value(td, "touched"); touched != "" {
			in.Touched = strings.Split(touched, ",")
		}
		return in
	case "heard":
		in := engine.Heard{Round: number(t, td, "round", 1), Answer: "answer"}
		in.Key, in.Usage = drawn(t, d, td).(engine.Ended).Key, drawn(t, d, td).(engine.Ended).Usage
		return in
	case "reported":
		end := ended(t, d, td).(engine.Ended)
		return engine.Reported{Key: end.Key, Usage: end.Usage, Claims: end.Claims}
	case "asks":
		w := engine.Wanted{Kind: word(td, 1), Command: value(td, "command"), Pattern: value(td, "pattern")}
		return engine.Asks{Key: key(t, d, td), Wanted: w, Context: value(td, "context")}
	case "unasked":
		return engine.Unasked{Key: key(t, d, td), Why: value(td, "why")}
	case "expanded":
		return found(t, d, td)
	case "checked":
		k := key(t, d, td)
		checks := answers(stepOf(d, k.Step), value(td, "tree"), verdicts(word(td, 1), engine.Pass)...)
		rerunIn(td, checks)
		for n := range checks {
			if td.HasArg("silent") {
				checks[n].Stdout, checks[n].Stderr = "", ""
			}
		}
		if o := openedIn(td); o != nil {
			checks[0].Opened = o
		}
		if path := value(td, "moved"); path != "" {
			checks[0].Moved = map[string]string{path: "hash of " + k.Step}
		}
		if change := strings.Split(value(td, "altered"), ":"); len(change) == 3 {
			checks[0].Altered = []engine.Alteration{{Path: change[0], Was: change[1], Is: change[2]}}
		}
		if n := number(t, td, "tokens", 0); n != 0 {
			checks[len(checks)-1].Usage = engine.Usage{In: new(int64(n)), Out: new(int64(0))}
		}
		return engine.Checked{Key: k, Checks: checks}
	}
	t.Fatalf("%s: unknown line %q", td.Pos, td.Cmd)
	return nil
}

// found are the files of a glob.
func found(t testing.TB, d *desk, td *datadriven.TestData) engine.Input {
	in := engine.Expanded{Key: key(t, d, td), Err: value(td, "why")}
	for n := 1; word(td, n) != ""; n++ {
		in.Items = append(in.Items, json.RawMessage(strconv.Quote(word(td, n))))
	}
	return in
}

// rerunIn adds what a line says of a check that was asked again.
func rerunIn(td *datadriven.TestData, checks []engine.CheckEnded) {
	if len(checks) == 0 {
		return
	}
	c := &checks[0]
	if n := value(td, "tests"); n != "" {
		c.Tests, _ = strconv.Atoi(n)
	}
	if again := value(td, "again"); again != "" {
		c.Reruns = verdicts(again, engine.Pass)
	}
	if td.HasArg("same") {
		c.Same = true
	}
}

// openedIn is what a line says that the first check opened.
func openedIn(td *datadriven.TestData) *engine.Opened {
	o := engine.Opened{}
	for _, list := range []struct {
		word string
		of   *[]string
	}{{"changed", &o.Changed}, {"made", &o.Made}, {"gone", &o.Gone}, {"wrote", &o.Wrote}} {
		if v := value(td, "opened-"+list.word); v != "" {
			*list.of = strings.Split(v, "+")
			o.Files += len(*list.of)
		}
	}
	if value(td, "opened-files") == "none" {
		return &o
	}
	o.Unseen, o.Dark = value(td, "opened-unseen"), value(td, "opened-dark") == "yes"
	if o.Files == 0 && o.Unseen == "" {
		return nil
	}
	return &o
}

// lease is the owner's answer to a step that wants its scope.
func lease(t testing.TB, d *desk, td *datadriven.TestData) engine.Input {
	k := key(t, d, td)
	in := engine.Lease{Step: k.Step, Attempt: k.Attempt}
	for _, c := range d.state.Claims() {
		if c.Step.ID == k.Step {
			in.Attempt = c.Attempt
		}
	}
	if run, step, behind := strings.Cut(value(td, "behind"), "/"); behind {
		in.Behind = &engine.Holder{Run: run, Step: step, Scope: stepOf(d, k.Step).Writes, First: td.HasArg("first")}
	}
	return in
}

func prepared(t testing.TB, d *desk, td *datadriven.TestData) engine.Input {
	k := key(t, d, td)
	in := engine.Prepared{Key: k, Err: value(td, "err"), Strays: change(value(td, "strays"))}
	in.Dispatch.Tree = value(td, "tree")
	if in.Err == "" && stepOf(d, k.Step).Kind == engine.Agent {
		in.Dispatch.Prompt = "prompt"
	}
	if p := stepOf(d, k.Step); p.Kind == engine.Tool || p.Kind == engine.Delegate {
		in.Preview = looked(d, td, k)
	}
	for _, e := range d.state.Effects() {
		if e.Key == k {
			in.Child, in.Dispatch.Frames = childOf(e), engine.FrameIDs(e.Frames)
		}
		if e.Key == k && e.Baseline {
			in.Checks = answers(commands(e.Step), value(td, "tree"), verdicts(value(td, "base"), engine.Fail)...)
			rerunIn(td, in.Checks)
			if o := openedIn(td); o != nil {
				in.Checks[0].Opened = o
			}
		}
	}
	return in
}

func ended(t testing.TB, d *desk, td *datadriven.TestData) engine.Input {
	e := engine.WorkEnded{How: engine.Exited, Tampered: change(value(td, "tampered")), OutOfScope: change(value(td, "strays")), Reason: value(td, "why")}
	if how := value(td, "how"); how != "" {
		e.How = engine.How(how)
	}
	if n := number(t, td, "tokens", 0); n != 0 {
		e.Usage.In, e.Usage.Out = new(int64(n)/2), new(int64(n)-int64(n)/2)
	}
	if usd := value(td, "usd"); usd != "" {
		e.Usage.CostMicros = new(limits(t, usd+"$").CostMicros)
	}
	e.Ms = int64(number(t, td, "ms", 0))
	if v := value(td, "value"); v != "" {
		e.Value = json.RawMessage(v)
	}
	if path := value(td, "conflict"); path != "" {
		e.Conflicts, e.Worktree = []engine.Change{{Path: path, What: "changed on both sides"}}, "/w/a"
	}
	e.Behind = value(td, "behind") != ""
	if status := value(td, "status"); status != "" {
		e.Ending = &engine.Ending{
			Status: engine.Status(status), Proven: number(t, td, "proven", 0), Unproven: number(t, td, "unproven", 0),
			Spent: engine.Amount{Tokens: int64(number(t, td, "tokens", 0))}, Unmetered: number(t, td, "silent", 0),
		}
	}
	if found := value(td, "found"); found != "" {
		e.Discoveries = strings.Split(found, ",")
	}
	if changed := value(td, "changed"); changed != "" {
		e.Changed = strings.Split(changed, ",")
	}
	if kind, text, ok := strings.Cut(value(td, "remark"), ":"); ok {
		e.Remarks = []engine.Remark{{Kind: engine.FrameKind(kind), Text: text}}
	}
	if kind, text, ok := strings.Cut(value(td, "cause"), ":"); ok {
		e.Cause = &engine.Cause{Kind: engine.CauseKind(kind), Text: text, Lasts: value(td, "lasts") != ""}
	}
	e.Words, e.Stdout = value(td, "words"), value(td, "prints")
	e.Exit, e.Absent = number(t, td, "exit", 0), value(td, "absent") != ""
	return engine.Ended{Key: key(t, d, td), WorkEnded: e}
}

// looked is what a line says of a call; without a word it is free.
func looked(d *desk, td *datadriven.TestData, k engine.Key) *engine.Preview {
	p := engine.Preview{
		Args: cmp.Or(value(td, "call"), "args"), Must: td.HasArg("must"),
		Effect: value(td, "effect"), Low: td.HasArg("low"), Refused: value(td, "refused"), Context: "what is there",
	}
	for _, e := range d.state.Effects() {
		if e.Key == k && e.Edited != "" && !td.HasArg("call") {
			p.Args = e.Edited
		}
	}
	for target := range strings.SplitSeq(value(td, "target"), "+") {
		if path, hash, ok := strings.Cut(target, ":"); ok {
			p.Targets = append(p.Targets, engine.Target{Path: path, Before: hash})
			p.Reason = path + " would be overwritten"
		}
	}
	p.Hash = cmp.Or(value(td, "hash"), fmt.Sprint("hash of ", p.Args, p.Must, p.Targets))
	return &p
}

func change(path string) []engine.Change {
	if path == "" {
		return nil
	}
	return []engine.Change{{Path: path, What: "changed"}}
}

func verdicts(list string, otherwise engine.Verdict) []engine.Verdict {
	if list == "" {
		return []engine.Verdict{otherwise}
	}
	var vs []engine.Verdict
	for v := range strings.SplitSeq(list, ",") {
		vs = append(vs, engine.Verdict(v))
	}
	return vs
}

// key is the one that is wanted of the step, changed where the line says so.
func key(t testing.TB, d *desk, td *datadriven.TestData) engine.Key {
	k := engine.Key{Task: "task", Run: d.state.Run().Run, Step: word(td, 0), Attempt: 1, N: 1, Kind: engine.Verify}
	switch td.Cmd {
	case "prepared":
		k.Kind = engine.Prepare
	case "ended", "reported", "asks", "unasked":
		k.Kind = engine.Work
	}
	for _, e := range d.state.Effects() {
		if e.Key.Step == k.Step {
			k = e.Key
		}
	}
	k.Attempt, k.N = number(t, td, "attempt", k.Attempt), number(t, td, "n", k.N)
	if kind := value(td, "kind"); kind != "" {
		k.Kind = engine.EffectKind(kind)
	}
	if run := value(td, "run"); run != "" {
		k.Run = run
	}
	if task := value(td, "task"); task != "" {
		k.Task = task
	}
	return k
}

func stepOf(d *desk, id string) *engine.Step {
	if i, ok := d.state.Program().Index(id); ok {
		return d.state.Program().Step(i)
	}
	return &engine.Step{ID: id}
}

// opening is a run of the plan in the line's input.
func opening(t testing.TB, d *desk, td *datadriven.TestData) engine.Input {
	p := planOf(t, td, "plan-1")
	d.manual, d.surveys = value(td, "leases") == "on", value(td, "surveys") == "on"
	d.frames = td.HasArg("frames")
	in := engine.Open{By: "ann", Run: engine.RunOpened{
		Run: "r1", Plan: p.Plan(), Version: 1, Title: p.Title(), Program: p.Hash(), Compiled: p, Base: "base",
		Policy: engine.Policy{MaxParallel: number(t, td, "max", 9), Frames: number(t, td, "frames", 0), Bounds: engine.Bounds{Attempts: number(t, td, "attempts", 0), Failures: number(t, td, "failures", 0)}, Approve: value(td, "approve"), Baseline: value(td, "baseline") != "off", Ratchet: value(td, "ratchet") == "on", Unmetered: value(td, "unmetered"), Unproven: value(td, "unproven"), Planner: value(td, "planner") == "on", Arbiter: value(td, "arbiter") == "on"},
	}}
	if run, step, below := strings.Cut(value(td, "for"), "/"); below {
		in.Run.Parent = engine.Parent{Task: "above", Run: run, Step: step}
		in.Run.Grant = limits(t, value(td, "grant"))
		if item := value(td, "item"); item != "" {
			in.Run.Item = json.RawMessage(item)
		}
	}
	if d.state.Task() == "" {
		in.Task = &engine.TaskOpened{Task: "task", Intent: "i"}
	} else {
		last, _ := strconv.Atoi(strings.TrimPrefix(d.state.Run().Run, "r"))
		in.Run.Run = fmt.Sprintf("r%d", last+1)
	}
	return in
}

// revising is the next revision of the run, with its policy and its base.
func revising(t testing.TB, d *desk, td *datadriven.TestData) engine.Input {
	now := d.state.Run()
	in := engine.Revise{Run: now, Was: now.Program, By: person(td)}
	in.Run.Version++
	p := planOf(t, td, cmp.Or(value(td, "plan"), fmt.Sprintf("plan-%d", in.Run.Version)))
	in.Run.Plan, in.Run.Program, in.Run.Compiled, in.Run.Run = p.Plan(), p.Hash(), p, cmp.Or(value(td, "run"), now.Run)
	in.Was = cmp.Or(value(td, "was"), in.Was)
	if stale := value(td, "stale"); stale != "" {
		in.Stale = strings.Split(stale, ",")
	}
	return in
}

// drawn is a revision that was made for the run, or why there is none.
func drawn(t testing.TB, d *desk, td *datadriven.TestData) engine.Input {
	now := d.state.Run()
	in := engine.Ended{Key: engine.Key{Task: "task", Run: now.Run, Attempt: number(t, td, "attempt", 1), N: number(t, td, "n", 1), Kind: engine.Draw}}
	for _, k := range d.state.Pending() {
		if k.Kind == engine.Draw {
			in.Key = k
		}
	}
	in.How, in.Reason = engine.How(cmp.Or(value(td, "how"), string(engine.Exited))), value(td, "why")
	if n := number(t, td, "tokens", 0); n != 0 {
		in.Usage.In, in.Usage.Out = new(int64(n)/2), new(int64(n)-int64(n)/2)
	}
	if why := value(td, "abort"); why != "" {
		in.Drawn = &engine.Drawn{Abort: why}
	}
	if td.Input == "" {
		return in
	}
	next := revising(t, d, td).(engine.Revise)
	in.Drawn = &engine.Drawn{Plan: next.Run.Plan, Version: next.Run.Version, Changes: "1 step changed", Reason: "it is better so"}
	if weaker := value(td, "weaker"); weaker != "" {
		in.Drawn.Weakened = []string{weaker}
	}
	d.drawn = next
	if !td.HasArg("asks") {
		next.By, next.Run.ApprovedBy = engine.ByPolicy, engine.ByPolicy
		in.Revise = &next
	}
	return in
}

// agreed is the revision that was drawn last, as somebody says yes to it; nil for
// none.
func (d *desk) agreed(by string) *engine.Revise {
	if d.drawn.Run.Run == "" {
		return nil
	}
	in := d.drawn
	in.By, in.Run.ApprovedBy = by, by
	return &in
}

// failures is what whoever revises the plan is told.
func failures(d *desk) string {
	var b strings.Builder
	for _, e := range d.state.Effects() {
		if e.Key.Kind != engine.Draw {
			continue
		}
		fmt.Fprintf(&b, "because %s\n", e.Note)
		for _, f := range e.Failures {
			fmt.Fprintf(&b, "%s %d %s: %s\n", f.Step.ID, f.Attempt, f.Verdict, f.Reason)
			for _, c := range f.Feedback {
				fmt.Fprintf(&b, "  %s %s exit=%d want=%d %s%s\n", c.Check, c.Verdict, c.Exit, c.Want, c.Reason, c.Stderr)
			}
			for _, said := range f.Claims.Discoveries {
				fmt.Fprintf(&b, "  it found %s\n", said)
			}
		}
	}
	return b.String()
}

// planOf is the plan in the line's input.
func planOf(t testing.TB, td *datadriven.TestData, id string) *engine.Program {
	def := engine.Definition{Plan: id, Title: "A plan", Parallel: number(t, td, "parallel", 1), Replans: number(t, td, "replans", 3), Budget: limits(t, value(td, "budget"))}
	for _, a := range td.CmdArgs {
		if a.Key != "agents" {
			continue
		}
		for _, v := range a.Vals {
			role, when, _ := strings.Cut(v, ":")
			def.Agents = append(def.Agents, engine.Candidate{Role: role, When: strings.ReplaceAll(when, "+", " ")})
		}
	}
	index := map[string]int{}
	for n, line := range strings.Split(strings.TrimSpace(td.Input), "\n") {
		index[strings.Fields(line)[0]] = n
	}
	for n, line := range strings.Split(strings.TrimSpace(td.Input), "\n") {
		def.Steps = append(def.Steps, stepLine(t, n, line, index))
	}
	p, err := engine.NewProgram(def)
	if err != nil {
		t.Fatalf("%s: %v", td.Pos, err)
	}
	return p
}

// limits reads 10000t+1.50$+20m.
func limits(t testing.TB, text string) (a engine.Amount) {
	var err error
	for part := range strings.SplitSeq(text, "+") {
		tokens, isTokens := strings.CutSuffix(part, "t")
		money, isMoney := strings.CutSuffix(part, "$")
		switch {
		case part == "":
		case isTokens:
			a.Tokens, err = strconv.ParseInt(tokens, 10, 64)
		case isMoney:
			var usd float64
			usd, err = strconv.ParseFloat(money, 64)
			a.CostMicros = int64(math.Round(usd * 1e6))
		default:
			a.Wall, err = time.ParseDuration(part)
		}
		if err != nil {
			t.Fatalf("limits %q: %v", text, err)
		}
	}
	return a
}

// plain is a step that an agent does, with the defaults of a plan.
func plain(id string) engine.Step {
	return engine.Step{
		ID: id, Title: strings.ToUpper(id), Kind: engine.Agent, Task: "do " + id, Expect: engine.ExpectAny,
		OnFail: engine.OnFail{Retries: 2, Then: engine.Escalate}, Critical: true, Holds: true, Rerunnable: true,
		Timeout: 10 * time.Minute, CheckTimeout: time.Minute, Mode: "edit", Network: "yes",
		Checks: []engine.Check{{Name: engine.Contract, Command: "true", Required: true}},
	}
}

func stepLine(t testing.TB, n int, line string, index map[string]int) engine.Step {
	words := strings.Fields(line)
	p := plain(words[0])
	p.Number = strconv.Itoa(n + 1)
	for _, w := range words[1:] {
		name, v, _ := strings.Cut(w, "=")
		if name == "budget" {
			p.Budget = limits(t, v)
			continue
		}
		if err := label(&p, name, v, index); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return p
}

// label reads one word of a step's line.
func label(p *engine.Step, name, v string, index map[string]int) (err error) {
	switch name {
	case "script":
		p.Kind = engine.Script
	case "when":
		p.When = v
	case "ask":
		n, _ := strconv.Atoi(v)
		*p = question(*p, n)
	case "tool":
		p.Kind, p.Tool = engine.Tool, v
	case "args":
		p.Args = []byte(v)
	case "plan":
		p.Kind, p.Child = engine.Delegate, &engine.SubPlan{Path: v}
	case "pinned":
		p.Child.Hash, p.Child.Own, p.Child.Source, p.Child.Program = "h", "own", "source", "program"
	case "own":
		p.Child.Budget.Tokens, err = strconv.ParseInt(strings.TrimSuffix(v, "t"), 10, 64)
	case "bare":
		p.Checks, p.Holds = nil, false
	case "each":
		p.Each = eachOf(v)
	case "empty":
		p.Each.Empty = true
	case "batch":
		p.Each.Batch, err = strconv.Atoi(v)
	case "needs":
		for id := range strings.SplitSeq(v, ",") {
			p.Needs = append(p.Needs, index[id])
		}
	case "task":
		p.Task = strings.ReplaceAll(v, "+", " ")
	case "role":
		p.Role = v
	case "target":
		p.Target = v
	case "fallback":
		p.Fallback = v
	case "judge":
		p.Checks = append(p.Checks, engine.Check{Name: engine.Judge, Question: "Is it good?", Required: true})
	case "retries":
		p.OnFail.Retries, err = strconv.Atoi(v)
	case "then":
		p.OnFail.Then = engine.Then(v)
	case "expect":
		p.Expect = engine.Expect(v)
	case "approval":
		p.Approval = v
	case "worktree":
		p.Worktree = true
	case "strong":
		p.Strong = 5 * time.Minute
	case "iterations":
		p.Iterations, err = strconv.Atoi(v)
	case "context":
		p.Context, err = strconv.ParseInt(strings.TrimSuffix(v, "t"), 10, 64)
	case "landing":
		n, _ := strconv.Atoi(v)
		*p = landing(n)
	case "leave":
		p.Leave = true
	case "noncritical":
		p.Critical = false
	case "writes":
		p.Writes = strings.Split(v, ",")
	case "once":
		p.Rerunnable = false
	case "step":
		p.Holds = false
	case "backoff":
		p.Backoff, err = time.ParseDuration(v)
	case "checks":
		for name := range strings.SplitSeq(v, ",") {
			name, optional := strings.CutSuffix(name, "?")
			p.Checks = append(p.Checks, engine.Check{Name: name, Command: "make " + name, Required: !optional})
		}
	default:
		err = fmt.Errorf("unknown word %q", name)
	}
	return err
}

// eachOf reads what a step is for each of: * for a glob, $a.b, or a list.
func eachOf(v string) *engine.Each {
	switch v[0] {
	case '*':
		return &engine.Each{Glob: v}
	case '$':
		return &engine.Each{Ref: v}
	}
	e := &engine.Each{}
	for item := range strings.SplitSeq(v, ",") {
		e.Items = append(e.Items, json.RawMessage(strconv.Quote(item)))
	}
	return e
}

// word is the n-th argument without a value.
func word(td *datadriven.TestData, n int) string {
	for _, a := range td.CmdArgs {
		if len(a.Vals) > 0 {
			continue
		}
		if n--; n < 0 {
			return a.Key
		}
	}
	return ""
}

// value is the value of an argument, "" if it is not there.
func value(td *datadriven.TestData, name string) string {
	for _, a := range td.CmdArgs {
		if a.Key == name {
			return strings.Join(a.Vals, " ")
		}
	}
	return ""
}

func number(t testing.TB, td *datadriven.TestData, name string, otherwise int) int {
	v := value(td, name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %s: %v", td.Pos, name, err)
	}
	return n
}

func person(td *datadriven.TestData) string {
	if td.HasArg("by") {
		return value(td, "by")
	}
	return "ann"
}

func itemOf(d *desk, n string) string { return d.state.Run().Run + "/" + n }

// told is what the step's next attempt is told.
// held says what keeps a step, less what is not so.
func held(d *desk, step string) string {
	p := d.state.Program()
	i, _ := p.Index(step)
	h := d.state.Hold(i, d.now)
	var b strings.Builder
	for what, steps := range map[string][]int{"needs": h.Needs, "beside": h.Beside, "critical": h.Critical} {
		for _, n := range steps {
			fmt.Fprintf(&b, "%s %s\n", what, p.Step(n).ID)
		}
	}
	for what, so := range map[string]bool{"blocked": h.Blocked, "full": h.Full, "budget": h.Budget, "paused": h.Paused, "proving": h.Proving} {
		if so {
			b.WriteString(what + "\n")
		}
	}
	if h.Behind != nil {
		b.WriteString(h.Behind.String() + "\n")
	}
	if h.Item != "" {
		b.WriteString("item " + h.Item + "\n")
	}
	if !h.Retry.IsZero() {
		fmt.Fprintf(&b, "in %s\n", h.Retry.Sub(d.now))
	}
	all := strings.SplitAfter(b.String(), "\n")
	slices.Sort(all)
	return cmp.Or(strings.Join(all, ""), "nothing\n")
}

func told(d *desk, step string) string {
	var b strings.Builder
	for _, e := range d.state.Effects() {
		if e.Key.Step != step {
			continue
		}
		if e.Worktree || e.Renew || e.Round > 0 {
			fmt.Fprintf(&b, "apart=%v renew=%v round=%d conflicts=%v\n", e.Worktree, e.Renew, e.Round, e.Conflicts)
		}
		fmt.Fprintf(&b, "%s %d baseline=%v tree=%q shared=%v moved=%v\n", e.Key.Kind, e.Key.Attempt, e.Baseline, e.Tree, e.Shared, e.Moved)
		for _, f := range e.Feedback {
			fmt.Fprintf(&b, "feedback %s %s exit=%d want=%d %s%s\n", f.Check, f.Verdict, f.Exit, f.Want, f.Reason, f.Stderr)
			if f.Stdout != "" {
				fmt.Fprintf(&b, "printed %s\n", f.Stdout)
			}
		}
		for _, f := range e.Frames {
			if d.frames {
				fmt.Fprintf(&b, "frame %d %s\n", f.ID, f.Summary)
			}
		}
		if e.Iteration > 0 {
			fmt.Fprintf(&b, "iteration %d %v\n", e.Iteration, e.Heard)
		}
		for _, c := range e.Restore {
			fmt.Fprintf(&b, "restore %s\n", c.Path)
		}
		if beside := d.state.Beside(e); e.Key.Kind == engine.Prepare && e.Cut && len(beside) > 0 {
			var scopes [][]string
			for _, n := range beside {
				scopes = append(scopes, n.Writes)
			}
			slices.SortFunc(scopes, slices.Compare)
			fmt.Fprintf(&b, "beside %v\n", scopes)
		}
		if len(e.Item) > 0 {
			fmt.Fprintf(&b, "item %s\n", e.Item)
		}
		if e.Note != "" {
			fmt.Fprintf(&b, "note %s\n", strings.ReplaceAll(e.Note, "\n", "\nnote "))
		}
	}
	return b.String()
}

// shown is what a person sees of an item.
func shown(d *desk, n string) string {
	row, ok := d.rows.items[itemOf(d, n)]
	if !ok {
		return "no such item\n"
	}
	return fmt.Sprintf("%s of %s, open=%v, cause=%q\n%s\n%s\nchoices: %s\n", row.Kind, row.Step, row.Open, row.Cause,
		row.Question, strings.TrimSpace(row.Context), strings.Join(row.Choices, ", "))
}

// lines writes records down, one a line.
func lines(records []engine.Record) string {
	var b strings.Builder
	for _, r := range records {
		actor := ""
		if r.Actor != engine.Harness {
			actor = r.Actor + ": "
		}
		fmt.Fprintf(&b, "%s%s %s\n", actor, r.Event.Type(), strings.TrimSpace(strings.Join(strings.Fields(line(r)), " ")))
	}
	return b.String()
}

// line is what matters of a record.
func line(r engine.Record) string {
	switch e := r.Event.(type) {
	case engine.EpochBegan:
		return strconv.FormatUint(r.Epoch, 10)
	case engine.TaskOpened:
		return e.Task
	case engine.RunOpened:
		if e.Revises != "" {
			return fmt.Sprintf("%s %d steps, revision %d after %s, carried %v", e.Run, e.Compiled.Len(), e.Version, e.Revises, e.Carried)
		}
		return fmt.Sprintf("%s %d steps", e.Run, e.Compiled.Len())
	case engine.RunConfigured:
		return fmt.Sprintf("%s %s after %s", e.Run, e.Config, e.Was)
	case engine.RunEnded:
		return fmt.Sprintf("%s exit=%d proven=%d unproven=%d left=%d %s", e.Status, e.Exit, e.Proven, e.Unproven, e.Left, e.Reason)
	case engine.Command:
		from := ""
		if e.From {
			from = "from"
		}
		return fmt.Sprintf("%s %s %s %s", e.Verb, e.Step, from, e.Why)
	case engine.WorkDispatched:
		if e.Kind == engine.PlanWork {
			return fmt.Sprintf("%d.%d %s", e.Attempt, e.N, e.Kind)
		}
		opens := ""
		if e.Child != "" {
			opens = " by " + e.Child
		}
		gets, who := "", ""
		if len(e.Frames) > 0 {
			gets = fmt.Sprintf(" frames %v", e.Frames)
		}
		if e.Why != "" {
			who = " to " + e.Role + " (" + e.Why + ")"
		}
		return fmt.Sprintf("%s %d.%d %s%s%s%s%s", e.Step, e.Attempt, e.N, e.Kind, who, opens, gets, amount(" reserve", e.Reserve))
	case engine.WorkHeard:
		return fmt.Sprintf("%d.%d round %d %dt", e.Attempt, e.N, e.Round, tokens(e.Usage))
	case engine.WorkReported:
		return fmt.Sprintf("%s %d.%d %dt", e.Step, e.Attempt, e.N, tokens(e.Usage))
	case engine.WorkEnded:
		if e.Drawn != nil && e.Drawn.Abort != "" {
			return fmt.Sprintf("%d.%d %s %s gave up: %s", e.Attempt, e.N, e.Kind, e.How, e.Drawn.Abort)
		}
		if e.Drawn != nil {
			return fmt.Sprintf("%d.%d %s %s drew %s, weaker: %v", e.Attempt, e.N, e.Kind, e.How, e.Drawn.Plan, e.Drawn.Weakened)
		}
		return fmt.Sprintf("%s %d.%d %s %s %s", e.Step, e.Attempt, e.N, e.Kind, e.How, e.Reason)
	case engine.PreviewMade:
		return fmt.Sprintf("%s %d %s %s: %s %s", e.Step, e.Attempt, e.Args, e.Effect, e.Asks, e.Refused)
	case engine.CheckEnded:
		var again strings.Builder
		for _, v := range e.Reruns {
			again.WriteString(", " + string(v))
		}
		return fmt.Sprintf("%s %d %s %s %s%s", e.Step, e.Attempt, e.Phase, e.Check, e.Verdict, again.String())
	case engine.StepSettled:
		return settling(r, e)
	case engine.FramePushed:
		return fmt.Sprintf("%d %s %s %dt %q", e.ID, e.Kind, e.Step, e.Tokens, e.Summary)
	case engine.StepExpanded:
		return fmt.Sprintf("%s %s", e.Step, e.Items)
	case engine.JudgeVoted:
		return fmt.Sprintf("%s %d %s %d %v %s", e.Step, e.Attempt, e.Phase, e.Round, e.Pass, e.Prompt)
	case engine.PartTried:
		return fmt.Sprintf("%s %d part %d %s %q %s %v", e.Step, e.Attempt, e.Part, e.Change, e.Place, e.Verdict, e.Reruns)
	case engine.ChangeReverted:
		return fmt.Sprintf("%s %d %s of %d, unseen=%v untried=%v %s", e.Step, e.Attempt, e.Verdict, e.Parts, e.Unseen, e.Untried, e.Reason)
	case engine.ArbiterRuled:
		return fmt.Sprintf("%s %d %s %s fault=%v: %s", e.Step, e.Attempt, e.Say, e.Role, e.Fault, e.Why)
	case engine.TreeSurveyed:
		return fmt.Sprintf("round %d after=%v touched=%v %s", e.Round, e.After, e.Touched, e.Reason)
	case engine.LeaseGranted:
		return fmt.Sprintf("%s %d %s reads=%v", e.Step, e.Attempt, strings.Join(e.Scope, ","), e.Reads)
	case engine.LeaseAwaited:
		return fmt.Sprintf("%s %d %s", e.Step, e.Attempt, e.Behind)
	case engine.ItemOpened:
		return fmt.Sprintf("%s %s %s %s", e.Item, e.Step, e.Kind, e.Cause)
	case engine.ItemAnswered:
		return fmt.Sprintf("%s %s %s %s", e.Item, e.Choice, e.Text, e.Args)
	}
	return ""
}

// amount writes what there is of an amount, behind a word.
func amount(word string, a engine.Amount) string {
	if a == (engine.Amount{}) {
		return ""
	}
	return fmt.Sprintf("%s %dt+%g$+%s", word, a.Tokens, float64(a.CostMicros)/1e6, a.Wall)
}

func settling(r engine.Record, e engine.StepSettled) string {
	s := fmt.Sprintf("%s %d %s %s", e.Step, e.Attempt, e.Status, e.Verdict)
	if e.Proven {
		s += " proven"
	}
	if e.Satisfies {
		s += " satisfies"
	}
	if e.By != "" {
		s += " by=" + e.By
	}
	if e.RetryAt != nil {
		s += fmt.Sprintf(" retry=+%s", e.RetryAt.Sub(r.At))
	}
	if e.Exit != "" {
		s += " exit=" + string(e.Exit)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// stand is where the run and its steps stand, and what should be running.
func stand(d *desk) string {
	if d.state.Program() == nil {
		return ""
	}
	var b strings.Builder
	head := d.state.Head()
	fmt.Fprintf(&b, "= %s:", head.Status)
	for i := range d.state.Program().Len() {
		row := d.state.StepRow(i)
		fmt.Fprintf(&b, " %s %s", row.ID, row.Status)
		if row.Phase != engine.NoPhase {
			fmt.Fprintf(&b, "/%s", row.Phase)
		}
		if row.Status == engine.Blocked || strings.HasSuffix(row.Reason, " done") || strings.HasPrefix(row.Reason, "waits for step") {
			fmt.Fprintf(&b, " (%s)", row.Reason)
		}
		if l := row.Loop; l != nil {
			fmt.Fprintf(&b, " (iteration %d of %d, %d of %d pass, %dt %s", l.Iteration, l.Iterations, l.Passed, l.Checks, l.Tokens, l.Exit)
			b.WriteString(")")
		}
		b.WriteString(",")
	}
	out := strings.TrimSuffix(b.String(), ",") + "\n"
	if x := head.Budget; x != (engine.Budget{}) {
		out += "$" + amount(" spent", x.Spent) + amount(" held", x.Held) + cmp.Or(amount(" left", x.Left(d.now)), " nothing left") + "\n"
	}
	var wants []string
	for _, c := range d.state.Claims() {
		if !c.Held {
			wants = append(wants, "lease "+c.Step.ID)
		}
	}
	for _, c := range d.state.Delegations() {
		if !c.Wanted {
			wants = append(wants, "recall "+c.Run)
		}
	}
	for _, e := range d.state.Effects() {
		want := fmt.Sprintf("%s %s %d.%d", e.Key.Kind, e.Key.Step, e.Key.Attempt, e.Key.N)
		if e.Baseline {
			want += " with baseline"
		}
		wants = append(wants, want)
	}
	if at, ok := d.state.Wake(); ok {
		wants = append(wants, fmt.Sprintf("wake in %s", at.Sub(d.now)))
	}
	for _, row := range d.rows.open() {
		wants = append(wants, "item "+row.Item[strings.LastIndex(row.Item, "/")+1:])
	}
	if d.state.Idle() {
		wants = append(wants, "idle")
	}
	if len(wants) > 0 {
		out += "> " + strings.Join(wants, "; ") + "\n"
	}
	return out
}
