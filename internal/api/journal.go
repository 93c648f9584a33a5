package api

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Reading is a way to read the journal from elsewhere, as [store.Store] has it.
type Reading struct {
	Name            string
	Request, Answer reflect.Type
	Do              func(ctx context.Context, s store.Store, request []byte) (answer any, err error)
}

// SentRecord is a record on its way.
type SentRecord struct {
	Stream string          `json:"stream"`
	Seq    uint64          `json:"seq"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor"`
	Epoch  uint64          `json:"epoch"`
	Type   string          `json:"type"`
	Event  json.RawMessage `json:"event"`
	Mark   *engine.Mark    `json:"mark,omitempty"`
}

func sentRecord(r engine.Record) (SentRecord, error) {
	body, err := engine.Encode(r.Event)
	return SentRecord{Stream: r.Stream, Seq: r.Seq, At: r.At, Actor: r.Actor, Epoch: r.Epoch, Type: r.Event.Type(), Event: body}, err
}

func (s SentRecord) record() (engine.Record, error) {
	e, err := engine.Decode(s.Type, s.Event)
	return engine.Record{Stream: s.Stream, Seq: s.Seq, At: s.At, Actor: s.Actor, Epoch: s.Epoch, Event: e}, err
}

// Requests of readings that have no filter.
type (
	Span struct {
		Stream string `json:"stream"`
		After  uint64 `json:"after"`  // records after this one
		Before uint64 `json:"before"` // marks: only those before it; 0 for all
	}
	Named struct {
		Name string `json:"name"` // a hash, or a stream
	}
	Snapshot struct {
		Seq  uint64 `json:"seq"`
		Body []byte `json:"body"`
	}
)

// piece is how many records are sent at once.
const piece = 2000

// Readings are all ways to read the journal.
func Readings() []Reading {
	return []Reading{
		reading("heads", store.Store.Heads),
		reading("items", store.Store.Items),
		reading("count-items", store.Store.CountItems),
		reading("steps", store.Store.Steps),
		reading("count-steps", store.Store.CountSteps),
		reading("things", store.Store.Things),
		reading("object", func(s store.Store, ctx context.Context, q Named) ([]byte, error) { return s.Object(ctx, q.Name) }),
		reading("snapshot", func(s store.Store, ctx context.Context, q Named) (Snapshot, error) {
			seq, body, err := s.Snapshot(ctx, q.Name)
			return Snapshot{seq, body}, err
		}),
		reading("marks", func(s store.Store, ctx context.Context, q Span) ([]engine.Mark, error) {
			return s.Marks(ctx, q.Stream, q.After, q.Before)
		}),
		reading("marked", readMarked),
		reading("records", readPiece),
	}
}

func readMarked(s store.Store, ctx context.Context, q store.MarkFilter) ([]SentRecord, error) {
	all, err := s.Marked(ctx, q)
	out := make([]SentRecord, len(all))
	for i, m := range all {
		if err == nil {
			out[i], err = sentRecord(m.Record)
			out[i].Mark = &m.Mark
		}
	}
	return out, err
}

func readPiece(s store.Store, ctx context.Context, q Span) ([]SentRecord, error) {
	out := []SentRecord{}
	for r, err := range s.Read(ctx, q.Stream, q.After) {
		var sent SentRecord
		if err == nil {
			sent, err = sentRecord(r)
		}
		if err != nil {
			return nil, err
		}
		if out = append(out, sent); len(out) == piece {
			break
		}
	}
	return out, nil
}

func reading[Q, A any](name string, do func(store.Store, context.Context, Q) (A, error)) Reading {
	return Reading{
		Name: name, Request: reflect.TypeFor[Q](), Answer: reflect.TypeFor[A](),
		Do: func(ctx context.Context, s store.Store, request []byte) (any, error) {
			var q Q
			if err := understood(request, &q); err != nil {
				return nil, err
			}
			return do(s, ctx, q)
		},
	}
}

// elsewhere is the journal of a workspace on another machine, for reading.
type elsewhere struct{ c *Client }

func fetched[A any](ctx context.Context, e elsewhere, name string, q any) (A, error) {
	return ask[A](ctx, e.c, "journal/"+name, q)
}

func (e elsewhere) Heads(ctx context.Context, q store.HeadFilter) ([]engine.HeadRow, error) {
	return fetched[[]engine.HeadRow](ctx, e, "heads", q)
}

func (e elsewhere) Items(ctx context.Context, q store.ItemFilter) ([]engine.ItemRow, error) {
	return fetched[[]engine.ItemRow](ctx, e, "items", q)
}

func (e elsewhere) CountItems(ctx context.Context, q store.ItemFilter) (int, error) {
	return fetched[int](ctx, e, "count-items", q)
}

func (e elsewhere) Steps(ctx context.Context, q store.StepFilter) ([]engine.StepRow, error) {
	return fetched[[]engine.StepRow](ctx, e, "steps", q)
}

func (e elsewhere) CountSteps(ctx context.Context, q store.StepFilter) (int, error) {
	return fetched[int](ctx, e, "count-steps", q)
}

func (e elsewhere) Things(ctx context.Context, q store.ThingFilter) ([]engine.ThingRow, error) {
	return fetched[[]engine.ThingRow](ctx, e, "things", q)
}

func (e elsewhere) Object(ctx context.Context, hash string) ([]byte, error) {
	body, err := fetched[[]byte](ctx, e, "object", Named{hash})
	if err != nil && Explain(err).Code == NotFound {
		return nil, store.ErrNotFound
	}
	return body, err
}

func (e elsewhere) Snapshot(ctx context.Context, stream string) (uint64, []byte, error) {
	s, err := fetched[Snapshot](ctx, e, "snapshot", Named{stream})
	return s.Seq, s.Body, err
}

func (e elsewhere) Marks(ctx context.Context, stream string, from, before uint64) ([]engine.Mark, error) {
	return fetched[[]engine.Mark](ctx, e, "marks", Span{stream, from, before})
}

func (e elsewhere) Marked(ctx context.Context, q store.MarkFilter) ([]store.Marked, error) {
	all, err := fetched[[]SentRecord](ctx, e, "marked", q)
	out := make([]store.Marked, len(all))
	for i, s := range all {
		if out[i].Record, err = s.record(); err != nil {
			return nil, err
		}
		if s.Mark != nil {
			out[i].Mark = *s.Mark
		}
	}
	return out, err
}

func (e elsewhere) Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for {
			all, err := fetched[[]SentRecord](ctx, e, "records", Span{Stream: stream, After: after})
			if err != nil {
				yield(engine.Record{}, err)
				return
			}
			for _, s := range all {
				r, err := s.record()
				if !yield(r, err) || err != nil {
					return
				}
				after = r.Seq
			}
			if len(all) < piece {
				return
			}
		}
	}
}

// Changed is asked only by who owns a journal.
func (e elsewhere) Changed(context.Context, string) ([]string, string, error) {
	return nil, "", store.ErrReadOnly
}

func (e elsewhere) Append(context.Context, ...store.Batch) error { return store.ErrReadOnly }

func (e elsewhere) Own(context.Context, string) (uint64, func() error, error) {
	return 0, nil, store.ErrReadOnly
}

func (e elsewhere) Close() error { return nil }
