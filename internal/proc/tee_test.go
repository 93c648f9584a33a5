package proc

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestTeeOfNothing(t *testing.T) {
	none := newTee(nil)
	none.write([]byte("x"))
	if err := none.finish(); err != nil {
		t.Error(err)
	}
}

// A writer that is slower than the child gets all, as long as it moves.
func TestTeeWaitsForASlowWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		tee := newTee(writerFunc(func(b []byte) (int, error) {
			time.Sleep(teeStall / 2)
			return got.Write(b)
		}))
		var streams sync.WaitGroup
		for range 2 {
			streams.Go(func() {
				for range 20 {
					tee.write(make([]byte, teeWaiting/3))
				}
			})
		}
		streams.Wait()
		if err := tee.finish(); err != nil || got.Len() != 40*(teeWaiting/3) {
			t.Errorf("got %d bytes, %v", got.Len(), err)
		}
	})
}

func TestTeeGivesUpAStuckWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		tee := newTee(writerFunc(func(b []byte) (int, error) {
			<-free
			return len(b), nil
		}))
		begun := time.Now()
		for range 100 {
			tee.write(make([]byte, teeWaiting/3))
		}
		err := tee.finish()
		if took := time.Since(begun); !errors.Is(err, errStalled) || took != teeStall {
			t.Errorf("%v after %v", err, took)
		}
		close(free) // its goroutine ends, or synctest complains
	})
}

func TestTeeStuckAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		tee := newTee(writerFunc(func([]byte) (int, error) { <-free; return 0, io.ErrClosedPipe }))
		tee.write([]byte("x"))
		if err := tee.finish(); !errors.Is(err, errStalled) {
			t.Error(err)
		}
		close(free)
	})
}

func TestTeeStopsAtAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		tee := newTee(writerFunc(func([]byte) (int, error) { calls++; return 0, io.ErrShortWrite }))
		for range 10 {
			tee.write([]byte("x"))
			synctest.Wait()
		}
		if err := tee.finish(); !errors.Is(err, io.ErrShortWrite) || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}
