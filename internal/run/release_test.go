package run_test

import (
	"testing"
)

// A run that is let go of is stopped gently, stays open, and goes on when somebody
// carries it again; others go on meanwhile.
func TestRelease(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		s.task("u", script("b"))
		s.pass("t a 1 prepare 1")
		s.pass("u b 1 prepare 1")
		s.wantRunning("t a 1 work 1", "u b 1 work 1")
		before := s.head("t")
		released := make(chan error, 1)
		go func() { released <- s.host.Release(t.Context(), "t") }()
		if err := <-released; err != nil {
			t.Fatal(err)
		}
		s.wantRunning("u b 1 work 1")
		s.wantJournal("t", before, "work.ended a 1.1 cancelled: told to stop")
		if carried := s.host.Carried(); len(carried) != 1 || carried[0] != "u" {
			t.Errorf("carried are %v", carried)
		}
		s.activate("t")
		s.wantRunning("t a 1 prepare 2", "u b 1 work 1")
	})
}

// What carries out a step is let go of with the run that has the step.
func TestReleaseOfAFamily(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", delegated("sub"))
		s.ready("t sub 1 prepare 1", "c1", script("a"))
		s.pass("t/sub a 1 prepare 1")
		s.wantRunning("t/sub a 1 work 1")
		if err := s.host.Release(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		s.wantRunning()
		if carried := s.host.Carried(); len(carried) != 0 {
			t.Errorf("carried are %v", carried)
		}
		s.activate("t")
		s.wantRunning("t/sub a 1 prepare 2")
	})
}
