package agent

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestClocksStand: while somebody is asked, neither the time nor the silence of an attempt
// counts, and what ran before does.
func TestClocksStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var over, still time.Duration
		l := newLimit(10*time.Second, func() { over = time.Since(begun) })
		p := newPulse(5*time.Second, func() { still = time.Since(begun) })
		defer l.stop()
		defer p.stop()
		time.Sleep(4 * time.Second)
		first, second, silence := l.stand(), l.stand(), p.stand()
		time.Sleep(time.Hour)
		p.touch()
		time.Sleep(time.Hour)
		first()
		time.Sleep(time.Hour)
		second()
		silence()
		if away := l.away(); away != 3*time.Hour {
			t.Errorf("it stood for %s", away)
		}
		time.Sleep(time.Minute)
		if over != 3*time.Hour+10*time.Second || still != 3*time.Hour+9*time.Second {
			t.Errorf("its time was over after %s, and it was still after %s", over, still)
		}
	})
}

func TestNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimit(0, func() { t.Error("its time was over") })
		goOn := l.stand()
		time.Sleep(time.Hour)
		goOn()
		var p *pulse
		p.stand()()
		if l.away() != time.Hour {
			t.Errorf("it stood for %s", l.away())
		}
	})
}
