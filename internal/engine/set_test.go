package engine

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A set is what a map says it is, for every size around the words' ends.
func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 63, 64, 65, 4095, 4096, 4097, 300_000}).Draw(t, "n")
		x, model := newSet(n), map[int]bool{}
		for range rapid.IntRange(0, 40).Draw(t, "ops") {
			i := rapid.IntRange(0, n-1).Draw(t, "i")
			in := rapid.Bool().Draw(t, "in")
			x.put(i, in)
			if delete(model, i); in {
				model[i] = true
			}
			want := slices.Sorted(maps.Keys(model))
			if got := x.all(); !slices.Equal(got, want) {
				t.Fatalf("holds %v, want %v", got, want)
			}
			if first, ok := x.first(); ok != (len(want) > 0) || ok && first != want[0] {
				t.Fatalf("first is %d, %v of %v", first, ok, want)
			}
			if x.has(i) != in {
				t.Fatalf("has %d: %v", i, !in)
			}
		}
	})
}

// The zero set is empty and can be asked.
func TestSetZero(t *testing.T) {
	var x set
	if _, ok := x.first(); ok || x.all() != nil {
		t.Error("it holds something")
	}
}

// Overlap must never miss a path that two scopes share.
func TestOverlap(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want bool
	}{
		{"src/", "src/api/x.go", true},
		{"src/**", "src/api/", true},
		{"./src/a", "src/a", true},
		{"*.go", "docs/", true}, // its fixed part is empty: on the safe side
		{"docs/*.md", "docs/b/", true},
		{"docs/", "test/", false},
		{"src/a/", "src/b/", false},
		{"src/[ab]", "src/c", true},
	} {
		if overlap([]string{"x/", x.a}, []string{x.b}) != x.want || overlap([]string{x.b}, []string{x.a}) != x.want {
			t.Errorf("%q and %q: want %v", x.a, x.b, x.want)
		}
	}
	if overlap(nil, []string{"src/"}) {
		t.Error("no scope overlaps nothing by itself")
	}
}
