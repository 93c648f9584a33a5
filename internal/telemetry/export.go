package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// Exporter sends traces and metrics of the journal to a collector. What waits to be sent is the
// journal itself: it holds no more than a request in memory, and after a restart it goes on after
// the last record whose spans a collector has taken. Its methods are safe for concurrent use.
type Exporter struct {
	Store store.Store
	State string // directory in which it keeps how far it has come
	Now   func() time.Time

	mu     sync.Mutex
	closed bool
	sent   map[string]uint64 // by stream: the last record that was sent; nil until it was read
	traces map[string]*trace // by stream, of runs that are under way
	counts tallies
}

// Bounds of an export. What was not sent in time is sent with what follows.
const (
	mostSpans  = 512 // in a request
	firstPause = time.Second
	mostPause  = 8 * time.Second
	patience   = 30 * time.Second
	mostAnswer = 64 << 10
)

// sentFile keeps how far each stream was sent.
const sentFile = "otlp.json"

// Pending are the streams of which something was sent before: more may have been recorded since.
func (e *Exporter) Pending() ([]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.load()
	return sortedKeys(e.sent), err
}

// Close waits until nothing is read of the store any more. Call it once what calls Export has ended
// its context; nothing is sent afterwards.
func (e *Exporter) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (e *Exporter) load() error {
	if e.sent != nil {
		return nil
	}
	body, err := os.ReadFile(filepath.Join(e.State, sentFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sent := map[string]uint64{}
	if err == nil && (json.Unmarshal(body, &sent) != nil || sent == nil) {
		sent = map[string]uint64{} // it is sent again, with the same ids
	}
	e.sent, e.traces, e.counts.began = sent, map[string]*trace{}, e.Now()
	return nil
}

// Export sends what the stream of a task has and no collector has taken. It gives up after half
// a minute, or when ctx ends: the next call goes on from there.
func (e *Exporter) Export(ctx context.Context, s Settings, stream string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.load(); err != nil || e.closed {
		return err
	}
	was := e.sent[stream]
	err := e.spans(ctx, s, stream)
	if e.sent[stream] != was {
		body, _ := json.Marshal(e.sent) // texts and numbers
		err = errors.Join(err, durable.Replace(filepath.Join(e.State, sentFile), body, 0o600, nil))
		if all := e.counts.metrics(e.Now()); len(all) > 0 {
			r := metricRequest{[]resourceMetrics{{resource{s.resource}, []scopeMetrics{{scope{scopeName}, all}}}}}
			err = errors.Join(err, send(ctx, s.metrics, s.timeout, r))
		}
	}
	return err
}

// spans sends the spans of a stream, some at a time.
func (e *Exporter) spans(ctx context.Context, s Settings, stream string) error {
	t := e.traces[stream]
	if t == nil || t.seq != e.sent[stream] {
		t = &trace{}
	}
	delete(e.traces, stream) // unless all goes well
	var all []span
	var counts []count
	var refused error
	flush := func() error {
		if len(all) > 0 {
			r := traceRequest{[]resourceSpans{{resource{s.resource}, []scopeSpans{{scope{scopeName}, all}}}}}
			err := send(ctx, s.traces, s.timeout, r)
			if no, ok := errors.AsType[refusal](err); ok {
				refused = no // sent again, it would be refused again
			} else if err != nil {
				return err
			}
		}
		for _, c := range counts {
			e.counts.add(c)
		}
		e.sent[stream], all, counts = t.seq, nil, nil
		return nil
	}
	var failed error
	top := func(p engine.Parent) string {
		id, err := e.top(ctx, p)
		failed = cmp.Or(failed, err)
		return id
	}
	for r, err := range run.Read(ctx, e.Store, stream, t.seq) {
		if err != nil {
			return err
		}
		spans, told := t.take(r, top)
		if failed != nil {
			return failed
		}
		if r.Seq <= e.sent[stream] {
			continue
		}
		all, counts = append(all, spans...), append(counts, told...)
		if len(all) >= mostSpans {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if t.seq > e.sent[stream] {
		if err := flush(); err != nil {
			return err
		}
	}
	if !t.began.IsZero() {
		e.traces[stream] = t
	}
	return refused
}

// top is the run that a step is carried out for in the end.
func (e *Exporter) top(ctx context.Context, p engine.Parent) (string, error) {
	for {
		heads, err := e.Store.Heads(ctx, store.HeadFilter{Stream: p.Task, Run: p.Run, Limit: 1})
		if err != nil || len(heads) == 0 || heads[0].Parent.Run == "" {
			return p.Run, err
		}
		p = heads[0].Parent
	}
}

// client follows no redirects: what goes with a request is for its collector alone.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// refusal is that a collector will not take a request, however often it is sent.
type refusal struct{ error }

// send posts a request until a collector takes it, refuses it for good, or ctx ends.
func send(ctx context.Context, to sink, timeout time.Duration, request any) error {
	if to.url == "" {
		return nil
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	pause := firstPause
	for {
		after, err := post(ctx, to, timeout, body)
		if err == nil {
			return nil
		}
		if after < 0 {
			return refusal{err}
		}
		if after == 0 {
			after = pause/2 + rand.N(pause/2)
			pause = min(2*pause, mostPause)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(after):
		}
	}
}

// post sends a request once. after says when it may be sent again, 0 for whenever that is fit; it
// is below 0 where it may not.
func post(ctx context.Context, to sink, timeout time.Duration, body []byte) (after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "piton")
	for _, h := range to.headers {
		r.Header.Set(h[0], h[1])
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, io.LimitReader(answer.Body, mostAnswer)) //nolint:errcheck // it was taken or not
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if n, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && n > 0 {
			after = time.Duration(min(n, 3600)) * time.Second
		}
		return after, fmt.Errorf("the collector at %s answers %s", r.URL.Host, answer.Status)
	}
	return -1, fmt.Errorf("the collector at %s refuses it: %s", r.URL.Host, answer.Status)
}
