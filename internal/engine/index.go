package engine

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// queues are the steps that may start, by what they can run beside.
type queues struct {
	alone  intHeap // agents without a scope
	beside intHeap // everything else
}

func (q *queues) push(p *Step, i int) {
	if p.Exclusive() {
		heap.Push(&q.alone, i)
	} else {
		heap.Push(&q.beside, i)
	}
}

func (q *queues) empty() bool { return len(q.alone) == 0 && len(q.beside) == 0 }

// pop takes the first step in the plan's order; agents without a scope only if
// alone is allowed.
func (q *queues) pop(alone bool) (int, bool) {
	switch {
	case alone && len(q.alone) > 0 && (len(q.beside) == 0 || q.alone[0] < q.beside[0]):
		return heap.Pop(&q.alone).(int), true
	case len(q.beside) > 0:
		return heap.Pop(&q.beside).(int), true
	}
	return 0, false
}

type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// indexSet is a small set of steps whose least member can be asked for.
type indexSet struct {
	in   map[int]bool
	heap intHeap // may hold members that left; they are dropped when they come up
}

func (x *indexSet) put(i int, in bool) {
	switch {
	case in && !x.in[i]:
		if x.in == nil {
			x.in = map[int]bool{}
		}
		x.in[i] = true
		heap.Push(&x.heap, i)
	case !in:
		delete(x.in, i)
		for len(x.heap) > 0 && !x.in[x.heap[0]] {
			heap.Pop(&x.heap)
		}
	}
}

func (x *indexSet) first() (int, bool) {
	if len(x.heap) == 0 {
		return 0, false
	}
	return x.heap[0], true
}

// dueList holds when steps may start again, the earliest first.
type dueList struct {
	at []due
}

type due struct {
	when time.Time
	step int
}

func (d *dueList) Len() int { return len(d.at) }

// push keeps the list sorted; few steps wait at a time.
func (d *dueList) push(when time.Time, step int) {
	at, _ := slices.BinarySearchFunc(d.at, due{when, step}, compareDue)
	d.at = slices.Insert(d.at, at, due{when, step})
}

func compareDue(a, b due) int {
	return cmp.Or(a.when.Compare(b.when), cmp.Compare(a.step, b.step))
}

func (d *dueList) remove(when time.Time, step int) {
	if at, ok := slices.BinarySearchFunc(d.at, due{when, step}, compareDue); ok {
		d.at = slices.Delete(d.at, at, at+1)
	}
}

func (d *dueList) first() (due, bool) {
	if len(d.at) == 0 {
		return due{}, false
	}
	return d.at[0], true
}
