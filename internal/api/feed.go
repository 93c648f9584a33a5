package api

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// Feed reads the records of a task as they come, with those of the runs that carry
// out steps of its newest run. It is not safe for concurrent use.
type Feed struct {
	*Product
	stream    string
	read      map[string]uint64 // by stream: the last sequence number
	over      map[string]bool   // by run below: it had ended when it was read last
	delegates bool              // there was a run below
}

// Feed begins with the first record of a task.
func (p *Product) Feed(stream string) *Feed {
	return &Feed{Product: p, stream: stream, read: map[string]uint64{}, over: map[string]bool{}}
}

// Fresh reads what came since the last call, in the order in which it happened.
func (f *Feed) Fresh(ctx context.Context) ([]engine.Record, error) {
	records, err := f.from(ctx, f.stream, 0)
	for _, r := range records {
		w, ok := r.Event.(engine.WorkDispatched)
		f.delegates = f.delegates || ok && w.Child != ""
	}
	if err != nil || !f.delegates {
		return records, err
	}
	below, err := f.below(ctx)
	return merged(append(records, below...)), err
}

// from reads what is fresh in a stream, where that is after a record.
func (f *Feed) from(ctx context.Context, stream string, after uint64) (records []engine.Record, err error) {
	for r, err := range run.Read(ctx, f.Store, stream, max(f.read[stream], after)) {
		if err != nil {
			return nil, err
		}
		f.read[stream] = r.Seq
		records = append(records, r)
	}
	return records, nil
}

// merged puts records of several streams in the order in which they happened, as
// far as times tell: a clock may have been set back. Records of one stream keep
// their order, and no stream begins before the dispatch that opened it.
func merged(records []engine.Record) []engine.Record {
	lanes, unopened := map[string][]engine.Record{}, map[string]bool{}
	for _, r := range records {
		lanes[r.Stream] = append(lanes[r.Stream], r)
		if w, ok := r.Event.(engine.WorkDispatched); ok && w.Child != "" {
			unopened[engine.ChildTask(r.Stream, w.Step)] = true
		}
	}
	for name, lane := range lanes {
		unopened[name] = unopened[name] && lane[0].Seq == 1
	}
	names := slices.Sorted(maps.Keys(lanes))
	var all []engine.Record
	for len(all) < len(records) {
		next := ""
		for _, name := range names {
			if !unopened[name] && (next == "" || lanes[name][0].At.Before(lanes[next][0].At)) {
				next = name
			}
		}
		r := lanes[next][0]
		all = append(all, r)
		if lanes[next] = lanes[next][1:]; len(lanes[next]) == 0 {
			names = slices.DeleteFunc(names, func(name string) bool { return name == next })
		}
		if w, ok := r.Event.(engine.WorkDispatched); ok && w.Child != "" {
			unopened[engine.ChildTask(r.Stream, w.Step)] = false
		}
	}
	return all
}

// below reads what is fresh in the runs that carry out steps of the task's newest run,
// and of those.
func (f *Feed) below(ctx context.Context) (records []engine.Record, err error) {
	heads, err := f.Store.Heads(ctx, store.HeadFilter{Stream: f.stream, Limit: 1})
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	under, err := f.Under(ctx, heads[0])
	if err != nil {
		return nil, err
	}
	from, grown := map[string]uint64{}, map[string]bool{} // by stream: the first record of the first run that counts
	for _, h := range under {
		first := max(h.First, 1)
		from[h.Stream] = min(cmp.Or(from[h.Stream], first), first)
		grown[h.Stream] = grown[h.Stream] || !h.Ended || !f.over[h.Run]
		f.over[h.Run] = h.Ended
	}
	maps.DeleteFunc(from, func(stream string, _ uint64) bool { return !grown[stream] })
	for _, stream := range slices.Sorted(maps.Keys(from)) {
		fresh, err := f.from(ctx, stream, from[stream]-1)
		if err != nil {
			return nil, err
		}
		records = append(records, fresh...)
	}
	return records, nil
}
