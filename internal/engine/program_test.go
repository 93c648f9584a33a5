package engine_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piton-dev/piton/internal/engine"
	"pgregory.net/rapid"
)

// two is a valid definition of two steps, the second of which needs the first.
func two() engine.Definition {
	return engine.Definition{Plan: "p", Title: "T", Parallel: 1, Steps: []engine.Step{plain("a"), after(plain("b"), 0)}}
}

func TestNewProgramRefuses(t *testing.T) {
	for name, x := range map[string]struct {
		spoil func(d *engine.Definition)
		want  string
	}{
		"no steps":       {func(d *engine.Definition) { d.Steps = nil }, "no steps"},
		"too many":       {func(d *engine.Definition) { d.Steps = make([]engine.Step, engine.MaxSteps+1) }, "at most"},
		"parallel":       {func(d *engine.Definition) { d.Parallel = 0 }, "at least 1"},
		"no id":          {func(d *engine.Definition) { d.Steps[0].ID = "" }, "no id"},
		"twice":          {func(d *engine.Definition) { d.Steps[1].ID = "a" }, "twice"},
		"need outside":   {func(d *engine.Definition) { d.Steps[1].Needs = []int{2} }, "not another step"},
		"need negative":  {func(d *engine.Definition) { d.Steps[1].Needs = []int{-1} }, "not another step"},
		"needs itself":   {func(d *engine.Definition) { d.Steps[1].Needs = []int{1} }, "not another step"},
		"cycle":          {func(d *engine.Definition) { d.Steps[0].Needs = []int{1} }, "cycle"},
		"kind":           {func(d *engine.Definition) { d.Steps[0].Kind = "human" }, "kind"},
		"expect":         {func(d *engine.Definition) { d.Steps[0].Expect = "blue" }, "expect"},
		"then":           {func(d *engine.Definition) { d.Steps[0].OnFail.Then = "cry" }, "on_fail"},
		"retries":        {func(d *engine.Definition) { d.Steps[0].OnFail.Retries = engine.MaxAttempts }, "retries"},
		"fewer retries":  {func(d *engine.Definition) { d.Steps[0].OnFail.Retries = -1 }, "retries"},
		"timeout":        {func(d *engine.Definition) { d.Steps[0].Timeout = 0 }, "timeout"},
		"check timeout":  {func(d *engine.Definition) { d.Steps[0].CheckTimeout = -1 }, "timeout"},
		"backoff":        {func(d *engine.Definition) { d.Steps[0].Backoff = -time.Second }, "backoff"},
		"nothing proves": {func(d *engine.Definition) { d.Steps[0].Checks = nil }, "nothing could prove"},
		"optional only":  {func(d *engine.Definition) { d.Steps[0].Checks[0].Required = false }, "nothing could prove"},
		"no command":     {func(d *engine.Definition) { d.Steps[0].Checks[0].Command = "" }, "without name or command"},
		"check twice":    {func(d *engine.Definition) { d.Steps[0].Checks = slices.Repeat(d.Steps[0].Checks, 2) }, "two checks"},
		"exit":           {func(d *engine.Definition) { d.Steps[0].Checks[0].Exit = 256 }, "exit code"},
	} {
		d := two()
		x.spoil(&d)
		if p, err := engine.NewProgram(d); err == nil || p != nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q in it", name, err, x.want)
		}
	}
}

func TestProgram(t *testing.T) {
	d := two()
	d.Steps[0].Guards, d.Steps[1].Guards = []string{"go.mod", "x"}, []string{"x", "y"}
	p, err := engine.NewProgram(d)
	if err != nil {
		t.Fatal(err)
	}
	if p.Plan() != "p" || p.Title() != "T" || p.Parallel() != 1 || p.Len() != 2 || p.Step(1).ID != "b" {
		t.Errorf("it is %s", p.Encode())
	}
	if i, ok := p.Index("b"); !ok || i != 1 {
		t.Errorf("b is %d, %v", i, ok)
	}
	if _, ok := p.Index("c"); ok {
		t.Error("c is a step")
	}
	if diff := cmp.Diff([]int{1}, p.Dependents(0)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"go.mod", "x", "y"}, p.Guards()); diff != "" {
		t.Error(diff)
	}
	if !p.Step(0).Checkable() || !p.Step(0).Exclusive() {
		t.Error("an agent with a contract and no scope is checkable and exclusive")
	}
	if _, err := engine.DecodeProgram([]byte("{")); err == nil {
		t.Error("half a program is one")
	}
}

// A program reads back as what was hashed, whatever its texts hold.
func TestProgramReadsBack(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		d := two()
		d.Title, d.Steps[0].Task = text.Draw(t, "title"), text.Draw(t, "task")
		d.Steps[1].Acceptance = rapid.SliceOf(text).Draw(t, "acceptance")
		p, err := engine.NewProgram(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := engine.DecodeProgram(p.Encode())
		if err != nil || again.Hash() != p.Hash() || string(again.Encode()) != string(p.Encode()) {
			t.Fatalf("%v\n%s %s\n%s %s", err, p.Hash(), p.Encode(), again.Hash(), again.Encode())
		}
	})
}

// Two programs have one hash only if they are the same.
func TestProgramHash(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(d *engine.Definition){
		"as it is": func(*engine.Definition) {},
		"title":    func(d *engine.Definition) { d.Title = "U" },
		"task":     func(d *engine.Definition) { d.Steps[0].Task = "other" },
		"command":  func(d *engine.Definition) { d.Steps[0].Checks[0].Command = "false" },
		"exit":     func(d *engine.Definition) { d.Steps[0].Checks[0].Exit = 1 },
		"needs":    func(d *engine.Definition) { d.Steps[1].Needs = nil },
		"writes":   func(d *engine.Definition) { d.Steps[0].Writes = []string{"src/"} },
	} {
		d := two()
		change(&d)
		p, err := engine.NewProgram(d)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[p.Hash()]; twice {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[p.Hash()] = name
	}
}

// Random needs are accepted exactly if some order satisfies them.
func TestProgramCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "steps")
		d := engine.Definition{Plan: "p", Parallel: 1}
		for i := range n {
			p := plain("s" + strconv.Itoa(i))
			p.Needs = rapid.SliceOfN(rapid.IntRange(0, n-1).Filter(func(k int) bool { return k != i }), 0, 2).Draw(t, "needs")
			d.Steps = append(d.Steps, p)
		}
		done := map[int]bool{}
		for range n {
			for i := range n {
				if !slices.ContainsFunc(d.Steps[i].Needs, func(k int) bool { return !done[k] }) {
					done[i] = true
				}
			}
		}
		if _, err := engine.NewProgram(d); (err == nil) != (len(done) == n) {
			t.Fatalf("%v, and %d of %d steps can run", err, len(done), n)
		}
	})
}
