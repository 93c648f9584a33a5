package sqlite

import (
	"context"
	"fmt"

	"github.com/piton-dev/piton/internal/store"
)

// Append implements [store.Store].
func (s *Store) Append(ctx context.Context, batches ...store.Batch) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("journal: append: %w", err)
	}
	o, err := s.current()
	if err != nil {
		return err
	}
	t := &ticket{batches: make([]prepared, len(batches))}
	for i, b := range batches {
		if t.batches[i], err = prepare(b); err != nil {
			return fmt.Errorf("journal: append: %w", err)
		}
		if err := s.writeLarge(b.Objects); err != nil {
			return s.fail(s.explain("append to", err))
		}
	}
	return o.queue.enter(ctx, t, func(group []*ticket) { s.commit(o, group) })
}

// commit writes all tickets of the group in one transaction and sets their
// errors. A ticket that is refused leaves no trace; a failure is everybody's,
// and the last thing that the store does.
func (s *Store) commit(o *owner, group []*ticket) {
	now, err := s.current()
	switch {
	case err != nil:
	case now != o:
		err = fmt.Errorf("journal: append to %s: epoch %d was released: %w", s.path, o.epoch, store.ErrFenced)
	default:
		err = alone(o.writer.conn, func() error { return s.transact(o.writer, group) })
	}
	for _, t := range group {
		if err != nil && t.err == nil {
			t.err = err
		}
	}
	if err == nil && o.writer.anchored < o.writer.newest.ID {
		o.writer.anchored = o.writer.newest.ID
		o.anchor.note(o.writer.newest)
	}
}

func (s *Store) transact(w *writer, group []*ticket) error {
	if err := w.begin(); err != nil {
		return s.broken(w, err)
	}
	s.point(PointAppendBegin)
	epoch, err := w.storedEpoch()
	if err != nil {
		return s.broken(w, err)
	}
	if epoch != w.epoch {
		return s.fenced(w, epoch)
	}
	wrote := false
	for _, t := range group {
		if t.err, err = w.admit(t.batches); err == nil && t.err == nil {
			wrote = true
			err = w.writeAll(t.batches)
		}
		if err != nil {
			return s.broken(w, err)
		}
	}
	if !wrote {
		return s.refused(w)
	}
	s.point(PointAppendWritten)
	if err := w.commit(); err != nil {
		return s.broken(w, err)
	}
	s.point(PointAppendDone)
	w.keep()
	return nil
}

func (s *Store) broken(w *writer, err error) error {
	w.rollback() // what failed is told; this can add nothing
	return s.fail(s.explain("append to", err))
}

// refused ends a transaction in which nothing was written.
func (s *Store) refused(w *writer) error {
	if err := w.rollback(); err != nil {
		return s.broken(w, err)
	}
	return nil
}

func (s *Store) fenced(w *writer, epoch uint64) error {
	if err := s.refused(w); err != nil {
		return err
	}
	return fmt.Errorf("journal: append to %s: epoch %d took over from %d: %w", s.path, epoch, w.epoch, store.ErrFenced)
}
