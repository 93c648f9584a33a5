package agent

import (
	"errors"
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
		synctest.Wait()
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
// agent does begins them anew, and so does a model that answers that it is too much. Where only a
// person can help, three are too much.
func TestOutageLasts(t *testing.T) {
	again := Deed{Type: Erred, Text: "Reconnecting... waiting for network (Connection failed: error sending request)"}
	refused := Deed{Type: Erred, Text: "unexpected status 401 Unauthorized: Incorrect API key provided"}
	for name, c := range map[string]struct {
		deeds []Deed // 40 s apart
		why   error
	}{
		"refused":             {[]Deed{refused, refused, refused}, errRefused},
		"refused twice":       {[]Deed{refused, refused}, nil},
		"refused on and off":  {[]Deed{refused, again, refused}, nil},
		"refused at work":     {[]Deed{refused, refused, {Type: Called}, refused, refused}, nil},
		"nothing else":        {[]Deed{{Type: Started}, again, again, again, again}, errOutage},
		"not long":            {[]Deed{again, again, again}, nil},
		"once":                {[]Deed{again, {Type: Used}, {Type: Used}, {Type: Used}}, nil},
		"it did something":    {[]Deed{again, again, {Type: Called}, again, again, again}, nil},
		"and is cut off anew": {[]Deed{again, {Type: SaidIt}, again, again, again, again}, errOutage},
		"it uses nothing":     {[]Deed{again, {Type: Used}, again, {Type: Used}, again}, errOutage},
		"a quota":             {[]Deed{again, again, {Type: Erred, Text: "rate limit reached"}, again}, nil},
		"an error of its own": {[]Deed{{Type: Erred, Text: "the file is not there"}, again, again, {Type: Erred, Text: "no such file"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, why := outage{program: "codex"}, error(nil)
				for _, d := range c.deeds {
					why = o.lasts(d)
					time.Sleep(40 * time.Second)
				}
				if !errors.Is(why, c.why) {
					t.Errorf("it ends because of %v", why)
				}
			})
		})
	}
}
