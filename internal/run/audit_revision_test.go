package run_test

import (
	"context"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// openedAt is a text of a run, and the record that says so.
type openedAt struct {
	seq    uint64
	opened engine.RunOpened
	text   text
}

// revised is the next text of the run at hand.
func (s *streamAudit) revised(e engine.RunOpened) {
	next, known := s.world.text(e.Plan)
	if !known || next.hash != e.Program {
		s.find("objects", "%s goes on with a program that nobody approved", e.Run)
		return
	}
	s.object(e.Program)
	s.world.counts["steps carried"] += len(e.Carried)
	s.world.counts["steps begun anew"] += len(s.ledger.steps) - len(e.Carried)
	if !s.ledger.live {
		s.world.counts["revision of a failed run"]++
	}
	if s.ledger.paused {
		s.world.counts["revision of a paused run"]++
	}
	s.ledger.revise(e, next)
	s.world.counts["work left"] += len(s.ledger.leaving)
}

// claims: what an attempt used is in the journal as it was told.
func (s *streamAudit) claims(r engine.Record, x *effort, e engine.WorkEnded) {
	in, ok := x.answer.Input.(engine.Ended)
	if ok && in.Usage.In != nil && (e.Usage.In == nil || *e.Usage.In != *in.Usage.In) {
		s.find("truth", "%s %d does not say what %s used", s.stream, r.Seq, x.token)
	}
}

// auditSpent: all that the ends of a run's work used is summed up for people.
func (w *world) auditSpent(g *ledger) {
	heads, err := w.store.Heads(context.Background(), store.HeadFilter{Run: g.opened.Run})
	if err != nil || len(heads) != 1 || heads[0].TokensIn != g.spent {
		w.find("spent", "%s used %d tokens; people are told of %+v (%v)", g.opened.Run, g.spent, heads, err)
	}
}

// auditRevisions: no run goes on with a text that nobody said yes to.
func (w *world) auditRevisions() {
	yes := map[string]engine.Record{}
	for _, r := range w.records(engine.WorkspaceStream) {
		e, answers := r.Event.(engine.PlanAnswered)
		if !answers {
			continue
		}
		w.counts[kindOf(e)]++
		if _, known := yes[e.Plan]; e.Yes && !known {
			yes[e.Plan] = r
		}
	}
	for _, j := range w.jobs {
		for _, o := range w.textsOf(j.stream) {
			answer, said := yes[o.opened.Plan]
			if e, _ := answer.Event.(engine.PlanAnswered); o.opened.Revises != "" && (!said || e.Hash != o.opened.Program && e.Hash != o.text.hash) {
				w.find("yes", "%s goes on with %s, and nobody said yes to it", o.opened.Run, o.opened.Plan)
			}
		}
	}
}

// streams are all there are.
func (w *world) streams() []string {
	all := []string{engine.WorkspaceStream}
	for _, j := range w.jobs {
		all = append(all, j.stream)
	}
	return all
}

// textsOf are the texts of a stream's runs, in order.
func (w *world) textsOf(stream string) []openedAt {
	if known, ok := w.course[stream]; ok {
		return known
	}
	var all []openedAt
	for _, r := range w.records(stream) {
		if e, ok := r.Event.(engine.RunOpened); ok {
			all = append(all, openedAt{r.Seq, e, w.texts[e.Plan]})
		}
	}
	w.course[stream] = all
	return all
}

// until are the texts of an effort's run up to when the effort began.
func (w *world) until(x *effort) []openedAt {
	return slices.DeleteFunc(slices.Clone(w.textsOf(x.effect.Key.Task)), func(o openedAt) bool {
		return o.seq > x.head || o.opened.Run != x.effect.Key.Run
	})
}

// textOf is the text that an effort was begun for.
func (w *world) textOf(x *effort) text {
	all := w.until(x)
	if len(all) == 0 {
		return text{}
	}
	return all[len(all)-1].text
}

// room is how many efforts may be under way beside each other. What a revision
// finds under way keeps its place.
func (w *world) room(x *effort) int {
	room := 1
	for _, o := range w.until(x) {
		room = max(room, min(o.text.plan.Parallel, o.opened.Policy.MaxParallel))
	}
	return room
}

// sameStep reports whether the step of x was carried over by every revision
// between the beginnings of x and y.
func (w *world) sameStep(x, y *effort) bool {
	for _, o := range w.until(y) {
		if o.seq > x.head && !slices.Contains(o.opened.Carried, x.effect.Key.Step) {
			return false
		}
	}
	return true
}
