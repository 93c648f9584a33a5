package cli

import (
	"io"
	"sync"
)

// spool writes in a goroutine of its own, so that a reader who stops reading
// stops nobody's run. What was handed to Write is written in order; it is kept
// in memory until then. It is safe for concurrent use.
type spool struct {
	mu   sync.Mutex
	more sync.Cond
	buf  []byte
	end  bool
	done chan struct{}
}

func newSpool(w io.Writer) *spool {
	s := &spool{done: make(chan struct{})}
	s.more.L = &s.mu
	go s.drain(w)
	return s
}

func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = append(s.buf, p...)
	s.more.Signal()
	return len(p), nil
}

func (s *spool) drain(w io.Writer) {
	defer close(s.done)
	for {
		s.mu.Lock()
		for len(s.buf) == 0 && !s.end {
			s.more.Wait()
		}
		out, end := s.buf, s.end
		s.buf = nil
		s.mu.Unlock()
		if len(out) > 0 {
			w.Write(out) //nolint:errcheck // nobody reads: nothing to do
		}
		if end && len(out) == 0 {
			return
		}
	}
}

// close returns when all is written.
func (s *spool) close() {
	s.mu.Lock()
	s.end = true
	s.more.Signal()
	s.mu.Unlock()
	<-s.done
}
