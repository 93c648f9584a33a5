package proc

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

type stuck struct {
	begun, free chan struct{}
	writes      int
}

func (w *stuck) Write(p []byte) (int, error) {
	if w.writes++; w.writes == 1 {
		close(w.begun)
	}
	<-w.free
	return len(p), nil
}

// A writer that hangs holds no result up, and gets nothing more when it goes on.
func TestStuckTee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{}
		p.buffers.New = func() any { b := make([]byte, 2); return &b }
		w := &stuck{begun: make(chan struct{}), free: make(chan struct{})}
		c := &Child{spec: Spec{Tee: w}}
		both := &tee{to: w}
		c.out, c.err = p.read(piped(t, "out"), Output{}, both), p.read(piped(t, ""), Output{}, both)
		<-w.begun
		begun := time.Now()
		var r Result
		c.drain(&r)
		if took := time.Since(begun); took > 2*(drainWait+teeTime) || r.Stdout.String() != "ou" {
			t.Errorf("%q after %v", r.Stdout.String(), took)
		}
		close(w.free)
		<-c.out.done
		if w.writes != 1 {
			t.Errorf("%d writes", w.writes)
		}
	})
}

func piped(t *testing.T, text string) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}
