package owner

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/store"
)

// shower writes runs into the files of the workspace that show them, behind the loop.
// It writes one run after the other, and rests between for so long that all its
// writing takes a small part of the time, however long the plans are.
type shower struct {
	mu      sync.Mutex
	stale   map[string]bool // streams with news
	working bool
	resting bool
	hurry   chan struct{} // ends a rest: nobody waits for anything else
	leave   chan struct{} // closed when the owner ends

	writing sync.Mutex
	told    map[string]*showing // by stream, of runs that have not ended
	rest    time.Time           // until when it rests
	failed  string              // what it said last of a failure
}

// showing is what is known of the run of a stream that was written last.
type showing struct {
	project.Recorded
	tale api.Tale
}

const (
	restFactor = 60                     // how much longer it rests than it wrote
	restDebt   = 500 * time.Millisecond // of rest that it may owe: small plans are shown at once
	shownBytes = 4 << 10                // of what a step put out
)

func newShower() shower {
	return shower{told: map[string]*showing{}, hurry: make(chan struct{}, 1), leave: make(chan struct{})}
}

// follow takes note of records. Runs that carry out steps of others have no files.
func (o *Owner) follow(records []engine.Record) {
	for _, r := range records {
		if r.Stream != engine.WorkspaceStream && !strings.Contains(r.Stream, "/") {
			o.followStream(r.Stream)
		}
	}
}

func (o *Owner) followStream(stream string) {
	if o.shower.follow(stream) {
		o.chore(o.showAll)
	}
}

// follow takes note of a stream, and reports whether nobody writes yet.
func (s *shower) follow(stream string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stale == nil {
		s.stale = map[string]bool{}
	}
	s.stale[stream] = true
	first := !s.working
	s.working = true
	return first
}

// showAll writes until nothing is new.
func (o *Owner) showAll() {
	for {
		stream, ok := o.nextStale()
		if !ok {
			return
		}
		if !o.shower.pause(o.host.Nudge) {
			return // the next owner writes them
		}
		o.showRun(stream)
	}
}

// pause rests for as long as is due, or until nothing else keeps the owner, which looks
// when it is nudged. It reports whether that goes on.
func (s *shower) pause(nudge func()) bool {
	s.writing.Lock()
	due := time.Until(s.rest.Add(-restDebt))
	s.writing.Unlock()
	if due <= 0 {
		return true
	}
	rest := time.NewTimer(due)
	defer rest.Stop()
	s.rests(true)
	defer s.rests(false)
	nudge()
	select {
	case <-rest.C:
		return true
	case <-s.hurry:
		return true
	case <-s.leave:
		return false
	}
}

func (s *shower) rests(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting = is
	select {
	case <-s.hurry: // of the rest before
	default:
	}
}

// wake ends a rest, if there is one.
func (s *shower) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resting {
		select {
		case s.hurry <- struct{}{}:
		default: // it is told already
		}
	}
}

func (o *Owner) nextStale() (string, bool) {
	o.shower.mu.Lock()
	defer o.shower.mu.Unlock()
	for stream := range o.shower.stale {
		return stream, true
	}
	o.shower.working = false
	return "", false
}

// showRun writes the newest run of a stream as it is now.
func (o *Owner) showRun(stream string) {
	o.shower.writing.Lock()
	defer o.shower.writing.Unlock()
	o.shower.mu.Lock()
	fresh := o.shower.stale[stream]
	delete(o.shower.stale, stream)
	o.shower.mu.Unlock()
	if !fresh {
		return
	}
	began := time.Now()
	if err := o.writeRun(context.Background(), stream); err != nil && err.Error() != o.shower.failed {
		o.shower.failed = err.Error()
		o.say("the files that show runs in .piton are not up to date: %v", err)
	}
	now := time.Now()
	if o.shower.rest.Before(now) {
		o.shower.rest = now
	}
	o.shower.rest = o.shower.rest.Add(restFactor * now.Sub(began))
}

func (o *Owner) writeRun(ctx context.Context, stream string) error {
	heads, err := o.store.Heads(ctx, store.HeadFilter{Stream: stream, Limit: 1})
	if err != nil || len(heads) == 0 {
		return err
	}
	head, at := heads[0], o.shower.told[stream]
	if at == nil || at.Revision.Drafted.Plan != head.Plan {
		if err := o.supersede(at); err != nil {
			return err
		}
		if at, err = o.newShowing(ctx, head); err != nil {
			return err
		}
		o.shower.told[stream] = at
	}
	if at.tale.Run != head.Run {
		at.tale = api.Tale{Run: head.Run, Most: shownBytes}
	}
	at.Head = head
	if at.Steps, err = o.store.Steps(ctx, store.StepFilter{Stream: stream, Run: head.Run}); err != nil {
		return err
	}
	if err := o.base.Tell(ctx, head, &at.tale); err != nil {
		return err
	}
	newest, err := o.store.Heads(ctx, store.HeadFilter{Top: true, Limit: 1})
	if err != nil {
		return err
	}
	at.Deeds, at.Current = at.tale.Deeds, len(newest) == 1 && newest[0].Run == head.Run
	if head.Ended {
		defer delete(o.shower.told, stream) // what is kept of it is for what it does next
	}
	return project.Files(o.cfg.Place.Dir, at.Recorded)
}

// newShowing reads the text of the revision that a run is carried out on.
func (o *Owner) newShowing(ctx context.Context, head engine.HeadRow) (*showing, error) {
	text, err := o.store.Object(ctx, head.Source)
	if err != nil {
		return nil, err
	}
	r, err := o.base.Revision(ctx, head.Plan)
	if err != nil {
		return nil, err
	}
	return &showing{
		Recorded: project.Recorded{Document: api.Parse(head.Path, text).Form, Revision: r},
		tale:     api.Tale{Run: head.Run, Most: shownBytes},
	}, nil
}

// supersede says of a revision that another one has taken its place in its run.
func (o *Owner) supersede(at *showing) error {
	if at == nil || at.Head.Ended {
		return nil
	}
	at.Head.Status, at.Current = engine.Superseded, false
	return project.Files(o.cfg.Place.Dir, at.Recorded)
}

// showNewest writes the run that the workspace is at: its files may be lost, or broken.
func (o *Owner) showNewest(ctx context.Context) {
	heads, err := o.store.Heads(ctx, store.HeadFilter{Top: true, Limit: 1})
	if err == nil && len(heads) == 1 {
		o.followStream(heads[0].Stream)
	}
}
