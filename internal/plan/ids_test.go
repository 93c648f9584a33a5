package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/plan"
)

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Analyze the bug":               "analyze-the-bug",
		"  Fix: `handler.go` (again!)":  "fix-handler-go-again",
		"3 ways":                        "3-ways",
		"2024":                          "step-2024",
		"Größe ändern":                  "gr-e-ndern",
		"исправить":                     "step",
		"":                              "step",
		strings.Repeat("abcdefghi ", 9): "abcdefghi-abcdefghi-abcdefghi-abcdefghi-abcdefghi-abcdefghi",
	} {
		if got := plan.Slug(title); got != want {
			t.Errorf("Slug(%q) = %q; want %q", title, got, want)
		}
	}
}

func TestIDs(t *testing.T) {
	p := plan.New("t")
	for _, s := range []string{"A", "A", "=a-2", "A", "a 2", "=b", "B", "A-3"} {
		step := plan.NewStep("", s)
		if id, given := strings.CutPrefix(s, "="); given {
			step.ID = plan.Is(id)
		}
		p.Steps = append(p.Steps, step)
	}
	p.AssignIDs()
	var got []string
	for _, s := range p.Steps {
		got = append(got, s.ID.Value)
	}
	want := []string{"a", "a-3", "a-2", "a-4", "a-2-2", "b", "b-2", "a-3-2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestIDsAreUnique checks that any titles give different ids that `id:` takes.
func TestIDsAreUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plan.New("t")
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			p.Steps = append(p.Steps, plan.NewStep("", rapid.StringMatching(`[ab2é ]{0,3}-?[23]?`).Draw(t, "title")))
		}
		p.AssignIDs()
		seen := map[string]bool{}
		for _, s := range p.Steps {
			if seen[s.ID.Value] {
				t.Fatalf("%q twice", s.ID.Value)
			}
			seen[s.ID.Value] = true
			s.ID.Set = true
			s.Title.Value = "x"
		}
		q, _ := plan.Parse("", plan.Format(p))
		for i, s := range q.Steps {
			if !s.ID.Set || s.ID.Value != p.Steps[i].ID.Value {
				t.Errorf("%q is no id that can be written", p.Steps[i].ID.Value)
			}
		}
	})
}

func TestRefs(t *testing.T) {
	p := plan.New("t")
	for i, number := range []string{"1", "2", "3–N", "N+1", "2"} {
		s := plan.NewStep(number, fmt.Sprint("Step ", i))
		p.Steps = append(p.Steps, s)
	}
	p.Steps[1].ID = plan.Is("two")
	p.AssignIDs()
	refs := p.Refs()
	for ref, want := range map[string][]int{
		"1": {0}, "two": {1}, "2": {1, 4}, "3-N": {2}, "3 – n": {2}, "N+1": {3}, "step-4": {4}, "step-1": nil, "9": nil, "": nil,
	} {
		if diff := cmp.Diff(want, refs.Find(ref)); diff != "" {
			t.Errorf("Find(%q): %s", ref, diff)
		}
	}
}
