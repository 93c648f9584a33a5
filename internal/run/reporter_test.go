package run_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
)

// TestReportedUsage: what work said that it used is durable while it goes on,
// never becomes less, and counts where its end is lost with its owner.
func TestReportedUsage(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("one"))
		s.pass("t one 1 prepare 1")
		p := s.play("t one 1 work 1")
		for _, in := range []int64{70, 10} {
			p.report.Report(engine.Usage{In: &in}, engine.Claims{Questions: []string{"why?"}})
			synctest.Wait()
		}
		s.dies()
		p.report.Report(engine.Usage{In: new(int64(900))}, engine.Claims{}) // of an owner that is gone
		s.activate("t")
		s.pass("t one 1 prepare 2")
		last := s.play("t one 1 work 2")
		last.report.Report(engine.Usage{In: new(int64(5))}, engine.Claims{})
		synctest.Wait()
		last.answer <- run.Answer{Input: engine.Ended{Key: last.effect.Key, WorkEnded: engine.WorkEnded{How: engine.Exited, Usage: engine.Usage{In: new(int64(3))}}}}
		synctest.Wait()
		s.pass("t one 1 verify 2")
		last.report.Report(engine.Usage{In: new(int64(8))}, engine.Claims{}) // it has ended
		synctest.Wait()
		var got []int64
		for r, err := range s.store.Read(t.Context(), "t", 0) {
			if err != nil {
				t.Fatal(err)
			}
			switch e := r.Event.(type) {
			case engine.WorkReported:
				got = append(got, *e.Usage.In)
				if e.N == 1 && len(e.Questions) != 1 {
					t.Errorf("%+v", e)
				}
			case engine.WorkEnded:
				got = append(got, -*e.Usage.In)
			}
		}
		if diff := cmp.Diff([]int64{70, 70, -70, 5, -5}, got); diff != "" {
			t.Errorf("reported, and negative at the ends (-want +got):\n%s", diff)
		}
	})
}
