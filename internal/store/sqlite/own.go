package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/piton-dev/piton/internal/store"
)

// An owner is the time from Own to release.
type owner struct {
	lock   *lock
	guard  func() error // gives the guard back
	writer *writer
	queue  queue
	anchor *anchorer
	epoch  uint64
}

// Own implements [store.Store]. The epoch is durable when it returns.
func (s *Store) Own(ctx context.Context, workspace string) (uint64, func() error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fatal != nil:
		return 0, nil, s.fatal
	case s.owner != nil:
		return 0, nil, fmt.Errorf("journal: own %s: this store owns it already: %w", s.path, store.ErrOwned)
	case s.inspect:
		return 0, nil, fmt.Errorf("journal: own %s: it was opened to be inspected: %w", s.path, store.ErrReadOnly)
	}
	held, err := acquire(s.lockPath())
	if err != nil {
		return 0, nil, err
	}
	guard, err := acquireGuard(ctx, s.guard)
	if err != nil {
		return 0, nil, errors.Join(err, held.release())
	}
	o, err := s.takeOver(ctx, workspace)
	if err != nil {
		return 0, nil, errors.Join(err, guard(), held.release())
	}
	o.lock, o.guard = held, guard
	s.owner = o
	return o.epoch, func() error { return s.release(o) }, nil
}

// takeOver runs under the lock. It checks the version and the tail once more,
// because there may have been another owner since Open.
func (s *Store) takeOver(ctx context.Context, workspace string) (*owner, error) {
	if _, err := s.made(ctx); err != nil {
		return nil, s.explain("own", err)
	}
	if err := s.checkTail(ctx); err != nil {
		return nil, err
	}
	w, err := s.newWriter(ctx)
	if err != nil {
		return nil, s.explain("own", err)
	}
	file, err := os.Stat(s.path)
	if err != nil {
		return nil, errors.Join(s.explain("own", err), w.close())
	}
	s.point(PointEpochWrite)
	epoch, err := w.nextEpoch(ctx, workspace)
	if err != nil {
		return nil, errors.Join(s.explain("own", err), w.close())
	}
	s.point(PointEpochDone)
	o := &owner{writer: w, epoch: epoch, anchor: &anchorer{path: s.anchorPath(), point: s.point, ours: func() bool {
		now, err := os.Stat(s.path)
		return err == nil && os.SameFile(now, file)
	}}}
	w.epoch = epoch
	return o, nil
}

func (s *Store) release(o *owner) error {
	s.mu.Lock()
	if s.owner != o {
		s.mu.Unlock()
		return errors.New("journal: release: not the owner any more")
	}
	s.owner = nil
	s.mu.Unlock()
	return s.end(o)
}

// end ends an ownership: first the writing, then the anchor, last the lock.
// After a failed commit nothing more is written.
func (s *Store) end(o *owner) error {
	o.queue.commit.Lock() // an append that is still under way ends first
	defer o.queue.commit.Unlock()
	s.mu.Lock()
	sound := s.fatal == nil
	s.mu.Unlock()
	if sound {
		o.writer.settle()
	}
	return errors.Join(o.writer.close(), o.anchor.close(), o.guard(), o.lock.release())
}

// current returns the owner, or the error that an append has to answer with.
func (s *Store) current() (*owner, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fatal != nil:
		return nil, s.fatal
	case s.owner == nil:
		return nil, fmt.Errorf("journal: append to %s: nobody owns it; call Own first: %w", s.path, store.ErrFenced)
	}
	return s.owner, nil
}

// fail makes err the answer to every further append, unless there was one.
func (s *Store) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fatal == nil {
		s.fatal = fmt.Errorf("%w; nothing more is written: stop and start again", err)
	}
	return s.fatal
}
