package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// wide is a run of many steps in layers, of which those of the first layers are done and some are
// at work.
func wide(layers, width, done int) view.Standing {
	st := view.Standing{Head: engine.HeadRow{Run: "r", Started: noon, Total: layers * width}, Now: at(1000), Carried: true}
	for l := range layers {
		for i := range width {
			row := engine.StepRow{Index: len(st.Steps), ID: fmt.Sprintf("s%d-%d", l, i), Number: fmt.Sprint(len(st.Steps) + 1), Title: "Step", Status: engine.Pending, Agent: "coder"}
			if l > 0 {
				row.Needs = []string{fmt.Sprintf("s%d-%d", l-1, i), fmt.Sprintf("s%d-%d", l-1, (i+1)%width)}
			}
			switch {
			case l < done:
				row.Status, row.Proven, row.Started, row.Finished, row.Attempts = engine.Done, l > 1, at(float64(l*10)), at(float64(l*10+9)), 1
				row.Effort = engine.Effort{Attempts: 1, WorkMs: 8000, CheckMs: 1000}
			case l == done && i == 0:
				row.Status, row.Started, row.Attempts = engine.Running, at(990), 1
			}
			st.Steps = append(st.Steps, row)
		}
	}
	return st
}

// A graph of few steps has each of them. One of many joins those that are proven, those that are
// unproven, and those to come. What is at work, and what is looked at, is never joined.
func TestGraph(t *testing.T) {
	few := graph(wide(3, 4, 1), map[string]bool{"s2-1": true}, view.Outlook{}, "s1-2")
	if len(few.Nodes) != 12 || len(few.Edges) != 16 {
		t.Errorf("%d nodes and %d edges", len(few.Nodes), len(few.Edges))
	}
	for _, n := range few.Nodes {
		if n.Gate != (n.Key == "s2-1") || n.Current != (n.Key == "s1-2") {
			t.Errorf("%s: gate %v, current %v", n.Key, n.Gate, n.Current)
		}
	}
	on := 0
	for _, e := range few.Edges {
		if e.On {
			on++
		}
	}
	if on != 2 {
		t.Errorf("%d edges lead to the step at work", on)
	}
	many := graph(wide(40, 25, 10), nil, view.Outlook{}, "s5-7")
	if want := "50 unproven, 75 done, 133 s5-7, 24 done, 100 done, 24 to go, 251 s10-0, 725 to go"; strings.Join(sorted(many), ", ") != want {
		t.Errorf("the nodes are %s, want %s", strings.Join(sorted(many), ", "), want)
	}
}

// sorted names the nodes of a drawing from the left, and from above.
func sorted(g Graph) (names []string) {
	nodes := slices.Clone(g.Nodes)
	slices.SortFunc(nodes, func(a, b Node) int {
		var ax, ay, bx, by float64
		fmt.Sscan(a.X, &ax)
		fmt.Sscan(a.Y, &ay)
		fmt.Sscan(b.X, &bx)
		fmt.Sscan(b.Y, &by)
		if ax != bx {
			return int(ax - bx)
		}
		return strings.Compare(b.Name, a.Name)
	})
	for _, n := range nodes {
		names = append(names, n.Number+" "+n.Name)
	}
	return names
}

// Needs that go round in a circle are no drawing, and no reason to fail.
func TestGraphCycle(t *testing.T) {
	if g := graphOf([]Node{{Key: "a"}, {Key: "b"}}, [][]int{{1}, {0}}, nil, true); len(g.Nodes) != 0 || g.Label == "" {
		t.Errorf("the drawing is %v", g)
	}
}

// Only steps that stand otherwise are told of.
func TestStates(t *testing.T) {
	st := wide(3, 4, 1)
	was := graph(st, nil, view.Outlook{}, "")
	st.Steps[5].Status = engine.Failed
	is := graph(st, nil, view.Outlook{}, "")
	if got := fmt.Sprint(is.states(was)); got != "[[s1-1 bad bad failed]]" {
		t.Errorf("told is %s", got)
	}
}

// The critical path is the longest way, and what is to come follows what it needs.
func TestOutlook(t *testing.T) {
	st := wide(3, 2, 1)
	o := st.Outlook(nil, 1)
	if o.Unknown != 0 || len(o.Spans) != 4 {
		t.Fatalf("%d unknown, %d to come", o.Unknown, len(o.Spans))
	}
	if want := st.Now.Add(3 * 9 * time.Second); !o.End.Equal(want) {
		t.Errorf("it ends at %v, want %v", o.End, want)
	}
	if two := st.Outlook(nil, 2); !two.End.Equal(st.Now.Add(18 * time.Second)) {
		t.Errorf("with two at once it ends at %v", two.End)
	}
	n := 0
	for _, row := range st.Steps {
		if o.Path[row.ID] {
			n++
		}
		if a, ok := o.Spans[row.ID]; ok {
			for _, need := range row.Needs {
				if before, ok := o.Spans[need]; ok && a.From.Before(before.To) {
					t.Errorf("%s begins at %v, before %s is over at %v", row.ID, a.From, need, before.To)
				}
			}
		}
	}
	if n != 3 || !o.Path["s1-0"] {
		t.Errorf("the path is %v", o.Path)
	}
}

// A run of 1,000 steps is drawn in little time.
func BenchmarkDraw(b *testing.B) {
	st := wide(40, 25, 10)
	c := &chronicle{tries: map[[2]string]*trials{}, items: map[string]*trials{}}
	for b.Loop() {
		o := st.Outlook(nil, 4)
		c.timeline(st, o, placesOf(st, "s", "", false), "")
		graph(st, nil, o, "")
	}
}
