package api

import (
	"testing"
	"time"
)

// A step's own attempts tell more than those of its agent, and one that took
// very long, or said nothing, does not carry the others with it.
func TestForecastTakesTheMedianOfTheNearest(t *testing.T) {
	past := trials{
		{path: "a.md", step: "fix", role: "coder", tokens: 10, took: time.Second},
		{path: "a.md", step: "fix", role: "coder", tokens: 30, took: 3 * time.Second},
		{path: "a.md", step: "fix", role: "coder", tokens: 5000, took: time.Hour},
		{path: "a.md", step: "fix", role: "coder", took: 2 * time.Second},
		{path: "a.md", step: "fix", role: "reviewer", tokens: 7},
		{path: "b.md", step: "fix", role: "coder", tokens: 100},
		{path: "b.md", step: "test", role: "coder", tokens: 200},
	}
	tokens := func(t *trial) int64 { return t.tokens }
	for _, c := range []struct {
		path, step, role string
		attempts         int
		tokens           int64
	}{
		{"a.md", "fix", "coder", 4, 30},
		{"b.md", "fix", "coder", 1, 100},
		{"c.md", "fix", "coder", 6, 100}, // of 10, 30, 100, 200, 5000
		{"a.md", "fix", "reviewer", 1, 7},
		{"a.md", "fix", "nobody", 0, 0},
	} {
		like := past.like(c.path, c.step, c.role)
		if got := median(like, tokens); len(like) != c.attempts || got != c.tokens {
			t.Errorf("%s %s by %s: %d tokens of %d attempts", c.path, c.step, c.role, got, len(like))
		}
	}
	if got := median(past[:4], func(t *trial) int64 { return int64(t.took) }); got != int64(2500*time.Millisecond) {
		t.Errorf("median %v", time.Duration(got))
	}
}
