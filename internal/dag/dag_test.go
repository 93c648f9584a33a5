package dag

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

var usual = Size{W: 112, H: 30, GapX: 40, GapY: 10}

// random is a graph of n nodes that grows about as wide as is said.
func random(n, width int) [][]int {
	r := rand.New(rand.NewPCG(1, 2))
	needs := make([][]int, n)
	for i := width; i < n; i++ {
		seen := map[int]bool{}
		for range 1 + r.IntN(2) {
			if d := i - 1 - r.IntN(min(i, width*2)); !seen[d] {
				seen[d] = true
				needs[i] = append(needs[i], d)
			}
		}
	}
	return needs
}

// No node lies on another, every edge leads to the right, and all of it is inside.
func TestLay(t *testing.T) {
	for _, needs := range [][][]int{nil, {nil}, {nil, {0}, {0}, {1, 2, 0}}, random(1000, 25)} {
		l, err := Lay(needs, usual)
		if err != nil {
			t.Fatal(err)
		}
		at := map[Point]int{}
		for i, p := range l.Nodes {
			if p.X < 0 || p.Y < -1e-6 || p.X+usual.W > l.Width+1e-6 || p.Y+usual.H > l.Height+1e-6 {
				t.Errorf("node %d is at %v, outside of %v by %v", i, p, l.Width, l.Height)
			}
			for j, q := range l.Nodes[:i] {
				if p.X == q.X && p.Y-q.Y < usual.H+usual.GapY-1e-6 && q.Y-p.Y < usual.H+usual.GapY-1e-6 {
					t.Errorf("nodes %d and %d are %v and %v", i, j, p, q)
				}
			}
			at[p] = i
		}
		count := 0
		for _, e := range l.Edges {
			for i := 1; i < len(e.points); i++ {
				if e.points[i].X <= e.points[i-1].X {
					t.Errorf("the edge from %d to %d does not lead to the right: %v", e.From, e.To, e.points)
				}
			}
			count++
		}
		want := 0
		for _, before := range needs {
			want += len(before)
		}
		down, err := LayDown(needs, Size{W: usual.H, H: usual.W, GapX: usual.GapY, GapY: usual.GapX})
		if err != nil || down.Width != l.Height || down.Height != l.Width {
			t.Errorf("turned, %v by %v is %v by %v, %v", l.Width, l.Height, down.Width, down.Height, err)
		}
		for i, p := range l.Nodes {
			if q := (Point{p.Y, p.X}); down.Nodes[i] != q {
				t.Errorf("turned, node %d is at %v, not %v", i, down.Nodes[i], q)
			}
		}
		for _, e := range down.Edges {
			for i := 1; i < len(e.points); i++ {
				if e.points[i].Y <= e.points[i-1].Y {
					t.Errorf("the edge from %d to %d does not lead downward: %v", e.From, e.To, e.points)
				}
			}
		}
		if count != want || len(at) != len(needs) {
			t.Errorf("%d edges of %d, %d places of %d", count, want, len(at), len(needs))
		}
	}
}

func TestCycle(t *testing.T) {
	needs := [][]int{{2}, {0}, {1}, nil}
	if _, err := Lay(needs, usual); !errors.Is(err, ErrCycle) {
		t.Errorf("Lay: %v", err)
	}
	if _, err := Reduced(needs); !errors.Is(err, ErrCycle) {
		t.Errorf("Reduced: %v", err)
	}
}

// What is needed in another way too is left out, and nothing else.
func TestReduced(t *testing.T) {
	got, err := Reduced([][]int{nil, {0}, {0, 1}, {0, 1, 2}, {1, 0}})
	if want := [][]int{nil, {0}, {1}, {2}, {1}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	all := make([][]int, 200)
	for i := range all {
		for n := range i {
			all[i] = append(all[i], n)
		}
	}
	got, err = Reduced(all)
	for i := 1; i < len(got); i++ {
		if err != nil || !reflect.DeepEqual(got[i], []int{i - 1}) {
			t.Fatalf("%d needs %v, %v", i, got[i], err)
		}
	}
}

// A graph of 1,000 nodes is laid out in less than 30 ms.
func BenchmarkLay(b *testing.B) {
	for _, n := range []int{20, 200, 1000} {
		needs := random(n, max(3, n/40))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				less, err := Reduced(needs)
				if err == nil {
					_, err = Lay(less, usual)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
