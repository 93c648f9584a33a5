package owner

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/telemetry"
)

// watched sends what runs tell to a collector of OpenTelemetry, behind the loop, where the
// environment of who carries the run says that there is one.
type watched struct {
	mu      sync.Mutex
	stale   map[string]bool // streams with news
	working bool
	failed  string // what it said last of a failure
	out     telemetry.Exporter
}

// watchGather is how long news are gathered before they are sent.
const watchGather = 200 * time.Millisecond

// watch takes note of records that a collector is told of.
func (o *Owner) watch(records []engine.Record) {
	var fresh []string
	for _, r := range records {
		if r.Stream != engine.WorkspaceStream && !slices.Contains(fresh, r.Stream) && collects(o.environ(r.Stream)) {
			fresh = append(fresh, r.Stream)
		}
	}
	o.watchStreams(fresh)
}

// watchPending goes on where an owner before this one ended.
func (o *Owner) watchPending() {
	if !collects(o.cfg.Env) {
		return
	}
	streams, err := o.watched.out.Pending()
	if err != nil {
		o.watchFails(err)
	}
	o.watchStreams(streams)
}

// collects reports whether an environment names a collector.
func collects(environ []string) bool {
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") && strings.HasSuffix(name, "ENDPOINT") && value != "" {
			return true
		}
	}
	return false
}

func (o *Owner) watchStreams(fresh []string) {
	w := &o.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range fresh {
		if w.stale == nil {
			w.stale = map[string]bool{}
		}
		w.stale[s] = true
	}
	if len(w.stale) > 0 && !w.working {
		w.working = true
		o.chore(o.watchAll)
	}
}

// watchAll sends until nothing is new. What a collector does not take in time is sent with what
// comes next, or by the next owner.
func (o *Owner) watchAll() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-o.shower.leave:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-ctx.Done():
		case <-time.After(watchGather):
		}
		w := &o.watched
		w.mu.Lock()
		streams := w.stale
		w.stale = nil
		if w.working = len(streams) > 0 && ctx.Err() == nil; !w.working {
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		for stream := range streams {
			settings, err := telemetry.FromEnv(o.environ(stream), o.cfg.Version)
			if err == nil && settings.On() {
				err = w.out.Export(ctx, settings, stream)
			}
			if err != nil && ctx.Err() == nil {
				o.watchFails(err)
			}
		}
	}
}

// watchFails says once why a collector was not told: no run minds.
func (o *Owner) watchFails(err error) {
	o.watched.mu.Lock()
	again := o.watched.failed == err.Error()
	o.watched.failed = err.Error()
	o.watched.mu.Unlock()
	if !again {
		o.say("telemetry was not sent: %v", err)
	}
}
