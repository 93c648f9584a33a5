package agent

import (
	"errors"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// errLate is why an attempt's context ends when its time is over.
var errLate = errors.New("late")

// pulse calls still when nothing has touched it for a while. Time in which this
// process itself was stopped says nothing of the agent.
type pulse struct {
	timer *time.Timer
	every time.Duration
	mu    sync.Mutex
	since time.Time // the last touch
	waits int       // for whom it stands
}

// late is how late a timer is at most in a process that runs.
const late = 100 * time.Millisecond

// newPulse returns nil, which is always alive, if there is no bound.
func newPulse(every time.Duration, still func()) *pulse {
	if every <= 0 {
		return nil
	}
	p := &pulse{every: every, since: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(every, func() {
		p.mu.Lock()
		silent, stands := time.Since(p.since), p.waits > 0
		p.mu.Unlock()
		switch {
		case stands:
		case silent > every+late:
			p.touch()
		default:
			still()
		}
	})
	return p
}

func (p *pulse) touch() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Now()
	if p.waits == 0 {
		p.timer.Reset(p.every)
	}
}

// stand lets the time stand still until the answer is called.
func (p *pulse) stand() (goOn func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits++
	p.timer.Stop()
	return func() {
		p.mu.Lock()
		p.waits--
		p.mu.Unlock()
		p.touch()
	}
}

func (p *pulse) stop() {
	if p != nil {
		p.timer.Stop()
	}
}

// limit calls over when the time is up, less what it stood still.
type limit struct {
	mu    sync.Mutex
	timer *time.Timer // nil without a bound
	left  time.Duration
	since time.Time // when it began to run
	waits int       // for whom it stands
	stood time.Duration
	still time.Time // since when it stands
}

// newLimit has no bound where most is 0.
func newLimit(most time.Duration, over func()) *limit {
	l := &limit{left: most, since: time.Now()}
	if most <= 0 {
		return l
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(most, func() {
		if !l.goesOn() {
			over()
		}
	})
	return l
}

// catchUp is how long this process takes to hear what happened while it was stopped.
const catchUp = time.Second

// goesOn reports whether the time is not up: it stands, or this process was stopped.
func (l *limit) goesOn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ran := time.Since(l.since)
	if l.waits == 0 && ran > l.left+late {
		l.left = ran + catchUp
		l.timer.Reset(catchUp)
		return true
	}
	return l.waits > 0
}

// stand lets the time stand still until the answer is called.
func (l *limit) stand() (goOn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits++; l.waits == 1 {
		l.still = time.Now()
		l.left -= l.still.Sub(l.since)
		if l.timer != nil {
			l.timer.Stop()
		}
	}
	return l.goOn
}

func (l *limit) goOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits--; l.waits > 0 {
		return
	}
	l.since = time.Now()
	l.stood += l.since.Sub(l.still)
	if l.timer != nil {
		l.timer.Reset(max(0, l.left))
	}
}

// away is how long it stood.
func (l *limit) away() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits > 0 {
		return l.stood + time.Since(l.still)
	}
	return l.stood
}

func (l *limit) stop() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

// outage finds an agent that tells of nothing but that it does not reach its model: it would try
// again for as long as it may. What such a model says of a quota is an answer, for which the
// agent may wait.
type outage struct {
	program string
	since   time.Time // of the first of these errors; zero where the agent did anything since
	refused int       // how many in a row told of what only a person changes
}

// maxOutage is how long an agent may tell of nothing else. It counts from error to error: an
// agent that is silent may be waiting for a model that thinks.
const maxOutage = 2 * time.Minute

// maxRefused is how often in a row an agent may tell that its login, its key or its model is
// refused. A program may renew its login once; to ask again after that changes nothing.
const maxRefused = 3

// lasts takes a deed, and says why it is too much; nil where it is not.
func (o *outage) lasts(d Deed) error {
	why := Outage(o.program, d, nil)
	switch {
	case d.Type == Started || d.Type == Used || d.Type == Erred && why.Kind == "":
		return nil
	case d.Type != Erred || why.Kind == engine.NoQuota:
		o.since, o.refused = time.Time{}, 0
		return nil
	case o.since.IsZero():
		o.since = time.Now()
	}
	o.refused++
	if !why.Lasts {
		o.refused = 0
	}
	switch {
	case o.refused >= maxRefused:
		return errRefused
	case time.Since(o.since) >= maxOutage:
		return errOutage
	}
	return nil
}
