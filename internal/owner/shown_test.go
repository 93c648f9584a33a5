package owner

import (
	"testing"
	"time"
)

// However long a rest is due, an owner that has nothing else to do does not stay for
// it, and one that ends does not either.
func TestRestEnds(t *testing.T) {
	s := newShower()
	nothing := func() { t.Error("nothing is due, and the owner is nudged") }
	if !s.pause(nothing) {
		t.Error("it ends without a rest")
	}
	s.rest = time.Unix(1<<33, 0) // in more than two hundred years
	for range 2 {
		if !s.pause(func() { s.wake(); s.wake() }) {
			t.Error("it ends while the owner goes on")
		}
		s.wake() // nobody rests
	}
	if s.pause(func() { close(s.leave) }) {
		t.Error("it goes on after the owner")
	}
}
