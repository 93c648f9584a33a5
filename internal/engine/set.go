package engine

import (
	"container/heap"
	"math/bits"
	"time"
)

// set holds steps by index and knows the least of them. Level 0 has a bit for
// each step; each level above has a bit for each word of the one below that is
// not empty. Putting and asking cost a few words however many steps there are.
type set struct{ levels [][]uint64 }

func newSet(n int) set {
	var x set
	for {
		n = (n + 63) / 64
		x.levels = append(x.levels, make([]uint64, n))
		if n <= 1 {
			return x
		}
	}
}

// grow makes room for more steps, of which none is in.
func (x *set) grow(n int) {
	for l := 0; ; l++ {
		n = (n + 63) / 64
		if l == len(x.levels) {
			x.levels = append(x.levels, []uint64{uint64(ones(x.levels[l-1][0] != 0))})
		}
		x.levels[l] = append(x.levels[l], make([]uint64, n-len(x.levels[l]))...)
		if n <= 1 {
			return
		}
	}
}

// put takes i in or out.
func (x *set) put(i int, in bool) {
	for _, words := range x.levels {
		word := &words[i/64]
		if in {
			*word |= 1 << (i % 64)
		} else {
			*word &^= 1 << (i % 64)
		}
		i, in = i/64, *word != 0
	}
}

func (x *set) has(i int) bool { return x.levels[0][i/64]&(1<<(i%64)) != 0 }

// first is the least member.
func (x *set) first() (int, bool) {
	at := 0
	for l := len(x.levels) - 1; l >= 0; l-- {
		word := x.levels[l][at]
		if word == 0 {
			return 0, false
		}
		at = at*64 + bits.TrailingZeros64(word)
	}
	return at, len(x.levels) > 0
}

// all lists the members in order. It looks at a bit for each step there is.
func (x *set) all() []int {
	var is []int
	if len(x.levels) == 0 {
		return nil
	}
	for w, word := range x.levels[0] {
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
