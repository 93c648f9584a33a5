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

// TestOutageLasts: errors of the network alone, for two minutes, are too much; anything that the
// agent does begins them anew, and so does a model that answers that it is too much.
func TestOutageLasts(t *testing.T) {
	again := Deed{Type: Erred, Text: "Reconnecting... waiting for network (Connection failed: error sending request)"}
	for name, c := range map[string]struct {
		deeds []Deed // 40 s apart
		lasts bool
	}{
		"nothing else":        {[]Deed{{Type: Started}, again, again, again, again}, true},
		"not long":            {[]Deed{again, again, again}, false},
		"once":                {[]Deed{again, {Type: Used}, {Type: Used}, {Type: Used}}, false},
		"it did something":    {[]Deed{again, again, {Type: Called}, again, again, again}, false},
		"and is cut off anew": {[]Deed{again, {Type: SaidIt}, again, again, again, again}, true},
		"it uses nothing":     {[]Deed{again, {Type: Used}, again, {Type: Used}, again}, true},
		"a quota":             {[]Deed{again, again, {Type: Erred, Text: "rate limit reached"}, again}, false},
		"an error of its own": {[]Deed{{Type: Erred, Text: "the file is not there"}, again, again, {Type: Erred, Text: "no such file"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, lasts := outage{program: "codex"}, false
				for _, d := range c.deeds {
					lasts = o.lasts(d)
					time.Sleep(40 * time.Second)
				}
				if lasts != c.lasts {
					t.Errorf("it lasts: %v", lasts)
				}
			})
		})
	}
}
