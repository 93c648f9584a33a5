package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// A gate holds the first transaction open until the test lets it go on, and
// counts commits.
type gate struct {
	once    sync.Once
	reached chan struct{}
	pass    chan struct{}
	commits atomic.Int32
}

func (g *gate) point(name string) {
	switch name {
	case sqlite.PointAppendWritten:
		g.once.Do(func() {
			close(g.reached)
			<-g.pass
		})
	case sqlite.PointAppendDone:
		g.commits.Add(1)
	}
}

func gated(t *testing.T) (*sqlite.Store, uint64, *gate) {
	t.Helper()
	g := &gate{reached: make(chan struct{}), pass: make(chan struct{})}
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: scratch(t), Point: g.point})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, own(t, s), g
}

// until waits for a number of appends that wait.
func until(s *sqlite.Store, n int) {
	for s.Waiting() != n {
		runtime.Gosched()
	}
}

func appendBehind(ctx context.Context, s *sqlite.Store, b store.Batch) chan error {
	result := make(chan error, 1)
	go func() { result <- s.Append(ctx, b) }()
	return result
}

func TestWhatWaitsIsOneCommit(t *testing.T) {
	t.Parallel()
	s, epoch, g := gated(t)
	first := appendBehind(t.Context(), s, settled("first", 0, epoch, 1))
	<-g.reached
	var rest []chan error
	for i := range 10 {
		stream, after := fmt.Sprintf("s%d", i), uint64(0)
		if i == 4 {
			after = 7 // does not fit, and must not harm the others
		}
		rest = append(rest, appendBehind(t.Context(), s, settled(stream, after, epoch, 2)))
	}
	until(s, 10)
	close(g.pass)
	if err := <-first; err != nil {
		t.Error(err)
	}
	for i, result := range rest {
		err, want := <-result, 2
		if i == 4 {
			if !errors.Is(err, store.ErrConflict) {
				t.Errorf("append %d: %v, want ErrConflict", i, err)
			}
			want = 0
		} else if err != nil {
			t.Errorf("append %d: %v", i, err)
		}
		if n := len(read(t, s, fmt.Sprintf("s%d", i))); n != want {
			t.Errorf("stream s%d has %d records, want %d", i, n, want)
		}
	}
	if n := g.commits.Load(); n != 2 {
		t.Errorf("%d commits, want 2: the first, and one for all that waited", n)
	}
	if _, err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOneStreamInOneCommit(t *testing.T) {
	t.Parallel()
	s, epoch, g := gated(t)
	first := appendBehind(t.Context(), s, settled("first", 0, epoch, 1))
	<-g.reached
	var rest []chan error
	for i := range 3 { // in this order: each waits before the next comes
		rest = append(rest, appendBehind(t.Context(), s, settled("a", uint64(i), epoch, 1)))
		until(s, i+1)
	}
	close(g.pass)
	for _, result := range append(rest, first) {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
	if n := len(read(t, s, "a")); n != 3 || g.commits.Load() != 2 {
		t.Errorf("%d records in %d commits, want 3 in 2", n, g.commits.Load())
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	s, epoch, g := gated(t)
	first := appendBehind(t.Context(), s, settled("first", 0, epoch, 1))
	<-g.reached
	ctx, cancel := context.WithCancel(t.Context())
	gone := appendBehind(ctx, s, settled("gone", 0, epoch, 1))
	until(s, 1)
	stays := appendBehind(t.Context(), s, settled("stays", 0, epoch, 1))
	until(s, 2)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v, want context.Canceled", err)
	}
	close(g.pass)
	for _, result := range []chan error{first, stays} {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
	if got := []int{len(read(t, s, "gone")), len(read(t, s, "stays"))}; !slices.Equal(got, []int{0, 1}) {
		t.Errorf("records %v, want [0 1]", got)
	}
}

// TestCancelledWhileWriting gives up an append that is being written: it must
// say what really happened.
func TestCancelledWhileWriting(t *testing.T) {
	t.Parallel()
	s, epoch, g := gated(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := appendBehind(ctx, s, settled("a", 0, epoch, 1))
	<-g.reached
	cancel()
	close(g.pass)
	if err := <-result; err != nil {
		t.Errorf("append: %v, want nil", err)
	}
	if n := len(read(t, s, "a")); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}

func TestReleaseWaitsForTheAppend(t *testing.T) {
	t.Parallel()
	g := &gate{reached: make(chan struct{}), pass: make(chan struct{})}
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: scratch(t), Point: g.point})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	epoch, release, err := s.Own(t.Context(), "workspace")
	if err != nil {
		t.Fatal(err)
	}
	appended := appendBehind(t.Context(), s, settled("a", 0, epoch, 1))
	<-g.reached
	behind := appendBehind(t.Context(), s, settled("b", 0, epoch, 1))
	until(s, 1)
	released := make(chan error)
	go func() { released <- release() }()
	close(g.pass)
	if err := <-appended; err != nil {
		t.Errorf("append: %v", err)
	}
	if err := <-behind; err != nil && !errors.Is(err, store.ErrFenced) {
		t.Errorf("append behind it: %v, want nil or ErrFenced", err)
	}
	if err := <-released; err != nil {
		t.Errorf("release: %v", err)
	}
}
