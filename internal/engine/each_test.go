package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
)

// divided is a run of one step for each of the items, which has begun.
func divided(t *testing.T, p engine.Step, parallel int, items ...string) *desk {
	p.Each = &engine.Each{Batch: p.Each.Batch, Glob: p.Each.Glob, Empty: p.Each.Empty}
	for _, item := range items {
		p.Each.Items = append(p.Each.Items, json.RawMessage(item))
	}
	program, err := engine.NewProgram(engine.Definition{Plan: "p", Parallel: parallel, Steps: []engine.Step{p}})
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk()
	d.begin()
	d.admit(engine.Open{By: "ann", Task: &engine.TaskOpened{Task: "task"}, Run: engine.RunOpened{Run: "r1", Program: program.Hash(), Compiled: program, Policy: engine.Policy{MaxParallel: 9}}})
	if d.broken != nil {
		t.Fatal(d.broken)
	}
	return d
}

// TestItems: where an item stands, and that it is nothing but itself there.
func TestItems(t *testing.T) {
	tests := []struct {
		item, title, task, args string
		batch                   int
		writes                  []string
	}{
		{item: `"a.go"`, title: "Port a.go", task: "Do a.go.", args: `{"all":"a.go","in":"x a.go","lit":"$5"}`, writes: []string{"src/a.go"}},
		{item: `"$up.key"`, title: "Port $up.key", task: "Do $up.key.", args: `{"all":"$$up.key","in":"x $up.key","lit":"$5"}`, writes: []string{"src/$up.key"}},
		{item: `"*[a]{b}?!"`, title: "Port *[a]{b}?!", task: "Do *[a]{b}?!.", args: `{"all":"*[a]{b}?!","in":"x *[a]{b}?!","lit":"$5"}`, writes: []string{`src/\*\[a\]\{b\}\?\!`}},
		{item: `7`, title: "Port 7", task: "Do 7.", args: `{"all":7,"in":"x 7","lit":"$5"}`, writes: []string{"src/7"}},
		{item: `"a"`, batch: 2, title: `Port ["a"]`, task: `Do ["a"].`, args: `{"all":["a"],"in":"x [\"a\"]","lit":"$5"}`, writes: []string{"src/a"}},
	}
	for _, tt := range tests {
		p := plain("s")
		p.Kind, p.Tool, p.Title, p.Task, p.Writes = engine.Tool, "write_file", "Port {item}", "Do {item}.", []string{"src/{item}"}
		p.Args = json.RawMessage(`{"all":"{item}","in":"x {item}","lit":"$5"}`)
		p.Each = &engine.Each{Batch: tt.batch}
		d := divided(t, p, 2, tt.item)
		if n := d.state.Program().Len(); n != 2 {
			t.Fatalf("%s: %d steps: %s", tt.item, n, d.state.StepRow(0).Reason)
		}
		x := d.state.Program().Step(1)
		if diff := cmp.Diff([]string{tt.title, tt.task, tt.args}, []string{x.Title, x.Task, string(x.Args)}); diff != "" {
			t.Errorf("%s:\n%s", tt.item, diff)
		}
		if diff := cmp.Diff(tt.writes, x.Writes); diff != "" {
			t.Errorf("%s:\n%s", tt.item, diff)
		}
		args, err := x.Arguments(func(string) (any, error) { t.Errorf("%s: a reference is followed", tt.item); return nil, nil })
		if err != nil || strings.Contains(string(args), `"$$`) {
			t.Errorf("%s: called with %s, %v", tt.item, args, err)
		}
	}
}

// TestItemsThatFitNowhere: no item widens a scope.
func TestItemsThatFitNowhere(t *testing.T) {
	for item, why := range map[string]string{
		`""`: "not a plain path", `"."`: "not a plain path", `".."`: "not a plain path", `"../x"`: "not a plain path", `"a/../../x"`: "not a plain path", `"/etc"`: "not a plain path",
		`"a/"`: "not a plain path", `"~root"`: "a scope must not have", `"a\\b"`: "a scope must not have", `"a\u0000b"`: "a scope must not have",
		`".git/hooks"`: "write .git", `".GIT"`: "write .git", `".piton/config.yaml"`: "write .piton",
	} {
		p := plain("s")
		p.Writes, p.Each = []string{"{item}"}, &engine.Each{}
		d := divided(t, p, 1, item)
		if row := d.state.StepRow(0); row.Status != engine.Waiting || !strings.Contains(row.Reason, why) || d.state.Program().Len() != 1 {
			t.Errorf("%s: %s, %s", item, row.Status, row.Reason)
		}
	}
}

// TestTooManyInstances: more than a machine should hold are refused.
func TestTooManyInstances(t *testing.T) {
	items := make([]string, engine.MaxInstances+1)
	for n := range items {
		items[n] = "1"
	}
	p := plain("s")
	p.Each = &engine.Each{}
	if row := divided(t, p, 1, items...).state.StepRow(0); row.Status != engine.Waiting || !strings.Contains(row.Reason, "at most 1000 are allowed: give it a batch") {
		t.Errorf("%s: %s", row.Status, row.Reason)
	}
	p.Each.Batch = 2
	if n := len(divided(t, p, 1, items...).state.Program().Instances(0)); n != engine.MaxInstances/2+1 {
		t.Errorf("%d instances", n)
	}
}

// TestNoItems: a step for each of nothing is done and not proven.
func TestNoItems(t *testing.T) {
	p := plain("s")
	p.Each = &engine.Each{Glob: "*.go", Empty: true}
	d := divided(t, p, 2)
	d.admit(engine.Expanded{Key: d.state.Effects()[0].Key})
	row, head := d.state.StepRow(0), d.state.Head()
	if row.Status != engine.Done || row.Proven || row.Verdict != engine.NoVerdict || row.Reason != "nothing to do: no items" {
		t.Errorf("it is %+v", row)
	}
	if head.Proven != 0 || head.Unproven != 1 {
		t.Errorf("%d proven, %d unproven", head.Proven, head.Unproven)
	}
	old := slices.Clone(d.journal)
	at := slices.IndexFunc(old, func(r engine.Record) bool { return r.Event.Type() == "step.settled" })
	e := old[at].Event.(engine.StepSettled)
	e.Verdict, e.Proven, e.Reason = engine.Pass, true, ""
	old[at].Event = e
	if _, err := replay(old); err == nil {
		t.Error("a record that calls it proven is taken")
	}
}

// TestItemsThatFitNoVariable: scripts and checks would not find them, which is
// known before anything is made for them.
func TestItemsThatFitNoVariable(t *testing.T) {
	long := `"` + strings.Repeat("x", engine.MaxVariable+1) + `"`
	for item, want := range map[string]string{long: "at most 98304 do", `"a\u0000b"`: "NUL", `1e400`: ""} {
		p := plain("s")
		p.Each = &engine.Each{}
		row := divided(t, p, 1, item).state.StepRow(0)
		if waits := row.Status == engine.Waiting; waits != (want != "") || !strings.Contains(row.Reason, want) {
			t.Errorf("%.12s: %s, %s", item, row.Status, row.Reason)
		}
	}
}

// TestInstance: an instance that is made alone is the one of the run, and costs the same however many there are.
func TestInstance(t *testing.T) {
	p := plain("s")
	p.Title, p.Each = "Port {item}", &engine.Each{Batch: 3}
	items := []string{`"a"`, `"b"`, `"c"`, `"d"`, `"e"`, `"f"`, `"g"`}
	program := divided(t, p, 1, items...).state.Program()
	pattern := program.Step(0)
	for _, n := range program.Instances(0) {
		want := program.Step(n)
		got, err := pattern.Instance(want.ID, pattern.Each.Items)
		if err != nil || got.Title != want.Title || string(got.Item) != string(want.Item) {
			t.Errorf("%s: %+v, %v", want.ID, got, err)
		}
	}
	for _, id := range []string{"s.0", "s.4", "s.-1", "s.x", "s", "s.9223372036854775807"} {
		if got, err := pattern.Instance(id, pattern.Each.Items); err == nil {
			t.Errorf("%s: %+v", id, got)
		}
	}
	cost := func(items []json.RawMessage) float64 {
		return testing.AllocsPerRun(10, func() {
			if _, err := pattern.Instance("s.2", items); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := cost(pattern.Each.Items[:6]), cost(slices.Repeat(pattern.Each.Items[:6], 500)); many != few {
		t.Errorf("%v allocations with 6 items, %v with 3,000", few, many)
	}
}
