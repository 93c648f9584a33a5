package cli

import (
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// jsonView writes each record as an event, and what attempts say of themselves
// between them.
type jsonView struct {
	fold  view.Fold
	said  effect.Ear
	out   io.Writer
	after uint64 // of which nothing is written
}

func newJSONView(w io.Writer, state string, after uint64) *jsonView {
	return &jsonView{out: w, after: after, said: effect.Ear{State: state}}
}

// past writes what happened in the run before, and nothing of earlier runs of
// the task, nor of those that carry out its steps. The first record is its own.
func (v *jsonView) past(rs []engine.Record, _ time.Time, _ []engine.Record) {
	rs = slices.DeleteFunc(slices.Clone(rs), func(r engine.Record) bool { return r.Stream != rs[0].Stream })
	first := view.Opening(rs)
	for _, r := range rs[:first] {
		v.fold.Apply(r) //nolint:errcheck // nothing of it is shown
	}
	v.records(rs[first:])
}

func (v *jsonView) records(rs []engine.Record) {
	for _, r := range rs {
		if v.fold.IsBelow(r.Stream) {
			continue // piton watch of that run has its events
		}
		v.fold.Apply(r) //nolint:errcheck // events are shown all the same
		run := v.fold.State.Run().Run
		rest := v.said.Take(run, r.Event)
		if r.Seq > v.after {
			writeSaid(v.out, rest)
			writeEvent(v.out, run, r, nil)
		}
	}
	writeSaid(v.out, v.said.Look())
}

func (v *jsonView) ring() {}

func (v *jsonView) close() {}

// writeEvent writes one record as an event: the event's own fields, where it stands
// in the journal, and the value that it tells of, if there is one.
func writeEvent(w io.Writer, run string, r engine.Record, value json.RawMessage) {
	view.Write(w, "event", view.EventOf(run, r, value))
}
