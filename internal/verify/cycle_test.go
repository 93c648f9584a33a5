package verify_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// graph draws needs for up to eight steps called s0, s1, ….
func graph(t *rapid.T) [][]int {
	n := rapid.IntRange(1, 8).Draw(t, "steps")
	needs := make([][]int, n)
	for i := range needs {
		needs[i] = rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, min(n, 2), rapid.ID).Draw(t, "needs")
	}
	return needs
}

func planOf(needs [][]int) *plan.Plan {
	p := plan.New("Graph")
	for i, list := range needs {
		s := plan.NewStep(strconv.Itoa(i), "S")
		s.ID = plan.Is(fmt.Sprintf("s%d", i))
		var refs []plan.Text
		for _, n := range list {
			refs = append(refs, plan.Text{Value: fmt.Sprintf("s%d", n)})
		}
		s.Needs = plan.Is(refs)
		s.Task = plan.Text{Value: "x"}
		s.Contract = &plan.Contract{Command: plan.Text{Value: "grep -q x a"}}
		p.Steps = append(p.Steps, s)
	}
	return p
}

// reaches walks all needs from one step to another.
func reaches(needs [][]int, from, to int) bool {
	seen := map[int]bool{}
	var walk func(int) bool
	walk = func(i int) bool {
		for _, n := range needs[i] {
			if n == to || !seen[n] && func() bool { seen[n] = true; return walk(n) }() {
				return true
			}
		}
		return false
	}
	return walk(from)
}

// TestCycles compares the rule with a walk from every step: there is a finding
// if and only if some step reaches itself, and every cycle that is named is one.
func TestCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		needs := graph(t)
		p := planOf(needs)
		cyclic := false
		for i := range needs {
			cyclic = cyclic || reaches(needs, i, i)
		}
		var found []string
		for _, f := range verify.Check(p, nil, oneAgent(p)) {
			if f.Code == "PT012" {
				found = append(found, f.Message)
			}
		}
		if (len(found) > 0) != cyclic {
			t.Fatalf("needs %v: cyclic %v, findings %q", needs, cyclic, found)
		}
		for _, message := range found {
			named(t, needs, message)
		}
		program, err := verify.Compile(p, nil, oneAgent(p), verify.Options{})
		if (err == nil) != !cyclic || (program == nil) != cyclic {
			t.Fatalf("needs %v: cyclic %v, compiled %v", needs, cyclic, err)
		}
	})
}

// named checks that a message names a cycle of the graph.
func named(t *rapid.T, needs [][]int, message string) {
	_, chain, several := strings.Cut(message, "itself: ")
	if !several {
		i := number(t, strings.Split(message, `"`)[1])
		if !slices.Contains(needs[i], i) {
			t.Fatalf("needs %v: %s", needs, message)
		}
		return
	}
	steps := strings.Split(chain, " → ")
	for k := range len(steps) - 1 {
		if !slices.Contains(needs[number(t, steps[k])], number(t, steps[k+1])) {
			t.Fatalf("needs %v: %s", needs, message)
		}
	}
	if steps[0] != steps[len(steps)-1] {
		t.Fatalf("needs %v: %s does not end where it begins", needs, message)
	}
}

func number(t *rapid.T, id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "s"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func oneAgent(p *plan.Plan) verify.Facts {
	f := verify.Facts{Commands: map[string]string{}, Agents: map[string]verify.Agent{"coder": {Metered: true}}, DefaultAgent: "coder"}
	for _, name := range verify.Needs(p).Commands {
		f.Commands[name] = "/bin/" + name
	}
	return f
}
