package proc

import (
	"os"
	"testing"
	"time"
)

// A kill that comes after the end must not meet the next child of the holder.
func TestLateKillIsNotSent(t *testing.T) {
	for _, level := range []Level{Namespace, Subreaper} {
		h, err := newHost(Config{Level: level, Idle: 1, Patience: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		begin := func(script string) tree {
			t.Helper()
			child, err := h.begin(order{path: "/bin/sh", argv: []string{"sh", "-c", script}, dir: "/", env: []string{"PATH=/bin:/usr/bin"}}, nil, null, null)
			if err != nil {
				t.Fatal(err)
			}
			return child
		}
		first := begin("exit 5")
		if e := <-first.done(); e.exit != 5 || e.err != nil {
			t.Fatalf("%s: %+v", level, e)
		}
		second := begin("sleep 0.1; exit 6")
		<-second.started()
		if a, b := first.(*lease).h, second.(*lease).h; a != b {
			t.Errorf("%s: a second holder was started", level)
		}
		first.kill()
		first.terminate()
		if e := <-second.done(); e.exit != 6 || e.signal != "" {
			t.Errorf("%s: %+v", level, e)
		}
		h.close()
		null.Close()
	}
}

// A pool that is to run several children at once has their holders before it is
// asked, and no more of them than keep the processors busy.
func TestHoldersAreReady(t *testing.T) {
	for ready, want := range map[int]int{0: 1, 1: 1, 2: 2, enough + 9: enough} {
		h, err := newHost(Config{Level: Namespace, Idle: 2 * enough, Patience: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		hs := h.(*holders)
		hs.warm(ready)
		hs.ending.Wait()
		if len(hs.idle) != want || hs.busy != 0 {
			t.Errorf("ready for %d: %d are idle and %d busy, want %d and none", ready, len(hs.idle), hs.busy, want)
		}
		h.close()
	}
}
