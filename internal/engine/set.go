package engine

import (
	"container/heap"
	"math/bits"
	"time"
)

// set holds steps by index, a bit for each, and knows the least of them.
type set struct {
	words []uint64
	count int
	low   int // no word below it has a member
}

func newSet(n int) set { return set{words: make([]uint64, (n+63)/64)} }

// grow makes room for n steps; those that are new are not in.
func (x *set) grow(n int) {
	x.words = append(x.words, make([]uint64, (n+63)/64-len(x.words))...)
}

// put takes i in or out.
func (x *set) put(i int, in bool) {
	if x.has(i) == in {
		return
	}
	x.words[i/64] ^= 1 << (i % 64)
	x.count += one(in)
	x.low = min(x.low, i/64)
}

func (x *set) has(i int) bool { return x.words[i/64]&(1<<(i%64)) != 0 }

// first is the least member.
func (x *set) first() (int, bool) {
	if x.count == 0 {
		return 0, false
	}
	for x.words[x.low] == 0 {
		x.low++
	}
	return x.low*64 + bits.TrailingZeros64(x.words[x.low]), true
}

// least lists the first members in order, at most n.
func (x *set) least(n int) []int {
	var is []int
	for w := x.low; w < len(x.words) && len(is) < n; w++ {
		for word := x.words[w]; word != 0 && len(is) < n; word &= word - 1 {
			is = append(is, w*64+bits.TrailingZeros64(word))
		}
	}
	return is
}

// all lists the members in order. It looks at a bit for each step there is.
func (x *set) all() []int {
	var is []int
	for w, word := range x.words {
		for ; word != 0; word &= word - 1 {
			is = append(is, w*64+bits.TrailingZeros64(word))
		}
	}
	return is
}

// due is when a step may go on.
type due struct {
	when time.Time
	step int
}

// dueHeap orders steps by when they may go on. A step that waits no longer, or
// for another time, leaves a stale entry behind; see [State.trim].
type dueHeap []due

func (h dueHeap) Len() int { return len(h) }

func (h dueHeap) Less(i, j int) bool {
	if c := h[i].when.Compare(h[j].when); c != 0 {
		return c < 0
	}
	return h[i].step < h[j].step
}

func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(due)) }

func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	*h = (*h)[:last]
	return d
}

// wait makes the step wait until when.
func (s *State) wait(i int, when time.Time) {
	s.steps[i].RetryAt = when
	heap.Push(&s.due, due{when, i})
}

// unwait ends the step's wait, if it has one.
func (s *State) unwait(i int) {
	s.steps[i].RetryAt = time.Time{}
	s.trim()
}

// trim drops stale entries from the top, so that the first one is always true.
func (s *State) trim() {
	for len(s.due) > 0 && !s.steps[s.due[0].step].RetryAt.Equal(s.due[0].when) {
		heap.Pop(&s.due)
	}
}
