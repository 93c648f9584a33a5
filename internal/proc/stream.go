package proc

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// drainWait is how long an output pipe may stay open after the tree is dead. A Tee
// may take teeTime more for what is still in it. One that hangs is left behind.
const (
	drainWait = 500 * time.Millisecond
	teeTime   = 2 * time.Second
)

// A tee hands both streams of a child to one writer; nil is none.
type tee struct {
	mu   sync.Mutex
	to   io.Writer
	over atomic.Bool // it begins no more writes
}

func (t *tee) write(p []byte) {
	if t.to == nil || len(p) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over.Load() {
		_, _ = t.to.Write(p) // it keeps its own errors
	}
}

// plumbing are the pipes of one child, seen from both sides.
type plumbing struct {
	childIn, childOut, childErr *os.File
	in, out, err                *os.File
}

// plumb makes the pipes. Without input and talk there is none for stdin.
func plumb(input []byte, talk bool) (w plumbing, err error) {
	defer func() {
		if err != nil {
			w.closeChildEnds()
			w.closeOwnEnds()
		}
	}()
	if input != nil || talk {
		if w.childIn, w.in, err = os.Pipe(); err != nil {
			return w, err
		}
	}
	if w.out, w.childOut, err = os.Pipe(); err != nil {
		return w, err
	}
	w.err, w.childErr, err = os.Pipe()
	return w, err
}

func (w plumbing) closeChildEnds() { closeAll(w.childIn, w.childOut, w.childErr) }
func (w plumbing) closeOwnEnds()   { closeAll(w.in, w.out, w.err) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// feed writes the child's input. The pipe fails when the tree is dead, at the
// latest, so the goroutine ends with the child.
func feed(w *os.File, input []byte) {
	if w == nil {
		return
	}
	go func() {
		defer w.Close()
		w.Write(input) // a child need not read it
	}()
}

// A stream reads one output pipe to its end.
type stream struct {
	pipe *os.File
	tee  *tee
	done chan struct{}

	mu   sync.Mutex
	ring *ring // nil once what it holds is taken
}

func (p *Pool) read(pipe *os.File, o Output, t *tee) *stream {
	s := &stream{pipe: pipe, tee: t, ring: newRing(o), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		buf := p.buffers.Get().(*[]byte)
		defer p.buffers.Put(buf)
		for {
			n, err := pipe.Read(*buf)
			s.keep((*buf)[:n])
			t.write((*buf)[:n])
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *stream) keep(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ring != nil {
		s.ring.write(p)
	}
}

// finish returns what was read when the pipe has ended, which it does with the
// tree, or at limit, when something outside of the tree keeps it open or the tee
// hangs.
func (s *stream) finish(limit context.Context) Capture {
	select {
	case <-s.done:
	case <-limit.Done():
		if s.pipe.SetReadDeadline(time.Now()) != nil {
			s.pipe.Close() // no deadlines here: Windows
		}
		select {
		case <-s.done:
		case <-time.After(drainWait):
			s.tee.over.Store(true)
		}
	}
	s.pipe.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.ring
	s.ring = nil
	return kept.capture()
}
