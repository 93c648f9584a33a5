package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/users"
)

// Times of a stream of events: how long changes are gathered, how often a run that nobody
// carries on and what agents do is looked at, when a browser hears that the stream still is there,
// and how long it may take to read.
const (
	gather    = 100 * time.Millisecond
	look      = time.Second
	beat      = 5 * time.Second
	writeTime = 10 * time.Second
)

// most messages that wait for a browser. One that is further behind connects again.
const mostBehind = 64

// A hub tells all browsers that look at the same thing of a run what changed: that is found out,
// and drawn, once for all of them.
type hub struct {
	*server
	run   string
	look  looking
	users int // under the server's lock
	stop  context.CancelFunc
	ended chan struct{}

	mu    sync.Mutex // of all below
	ears  map[*ear]bool
	ws    *Workspace
	c     *chronicle
	x     Run // as it was drawn last
	ids   []string
	parts map[string]any // nil before it was drawn
	lines int            // of the log
	moves bool           // the owner carries the run on
}

// ear is one browser.
type ear struct {
	has  int // how far it knows the journal
	news chan []byte
}

// events keeps the page of a run up to date: what changed, gathered for a moment, is sent as
// the parts of the page that it changed. The id of an event is how far the journal was read; who
// comes back with one that is not the newest gets all parts once.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	ws, closed, err := s.Open(r.Context())
	if err == nil {
		_, err = ws.run(r.Context(), r.PathValue("run"))
		closed() //nolint:errcheck // it was only read
	}
	if err != nil {
		s.fail(w, r, nil, err)
		return
	}
	e := &ear{news: make(chan []byte, mostBehind)}
	e.has, _ = strconv.Atoi(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))) // 0, which is nothing, for no number
	flush := http.NewResponseController(w)
	flush.SetReadDeadline(time.Time{}) //nolint:errcheck // else the browser connects again
	w.Header().Set("Content-Type", "text/event-stream")
	h := s.join(r.Context(), r.PathValue("run"), lookingAt(r), e)
	defer s.leave(h, e)
	for more := true; more; { // then the browser connects again
		var news []byte
		select {
		case <-r.Context().Done():
			return
		case news, more = <-e.news:
		case <-time.After(beat):
			news = []byte("event: beat\n\n")
		}
		if more {
			flush.SetWriteDeadline(time.Now().Add(writeTime)) //nolint:errcheck // else it is written without
			if _, err := w.Write(news); err != nil || flush.Flush() != nil {
				return
			}
		}
	}
}

// join lets a browser hear of a run.
func (s *server) join(ctx context.Context, run string, l looking, e *ear) *hub {
	key := run + "?" + l.key()
	s.mu.Lock()
	h := s.hubs[key]
	if h == nil {
		h = &hub{server: s, run: run, look: l, ended: make(chan struct{}), ears: map[*ear]bool{}}
		var follows context.Context
		follows, h.stop = context.WithCancel(users.With(context.WithoutCancel(ctx), "")) // it is for all who see the run
		s.hubs[key] = h
		go h.follow(follows)
	}
	h.users++
	s.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ears[e] = true
	if h.parts != nil {
		h.greet(e)
	}
	return h
}

// leave ends that. The last one ends the hub.
func (s *server) leave(h *hub, e *ear) {
	h.mu.Lock()
	delete(h.ears, e)
	h.mu.Unlock()
	s.mu.Lock()
	h.users--
	last := h.users == 0
	if key := h.run + "?" + h.look.key(); last && s.hubs[key] == h {
		delete(s.hubs, key)
	}
	s.mu.Unlock()
	if last {
		h.stop()
		<-h.ended
	}
}

// Trouble is why a page is not up to date; none where it is.
type Trouble struct{ Message, Hint string }

// follow tells what changes until nobody hears any more. Where it fails it tells why, and begins
// anew.
func (h *hub) follow(ctx context.Context) {
	defer close(h.ended)
	for ctx.Err() == nil {
		if err := h.tells(ctx); ctx.Err() == nil {
			h.fails(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}

// fails tells why the page stands still. All of it is told anew when it works again.
func (h *hub) fails(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parts = nil
	p := api.Explain(err)
	var out bytes.Buffer
	_ = h.part(&out, "trouble", "outerMorph", Trouble{p.Message, p.Hint}) // these can be drawn
	h.send(message(0, nil, out.String()))
}

func (h *hub) tells(ctx context.Context) error {
	ws, closed, err := h.Open(ctx)
	if err != nil {
		return err
	}
	defer closed() //nolint:errcheck // it was only read
	head, err := ws.run(ctx, h.run)
	if err != nil {
		return err
	}
	h.ws, h.c = ws, ws.chronicle(head, h.look)
	hearing, silent := context.WithCancel(ctx)
	var deaf sync.WaitGroup
	deaf.Go(func() { h.hears(hearing) })
	defer deaf.Wait()
	defer silent()
	var last time.Time
	return ws.follow(ctx, head, func(carried bool) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(gather - min(gather, time.Since(last))):
		}
		last = time.Now()
		return h.tell(ctx, head, carried)
	})
}

// hears tells what agents do, now and then.
func (h *hub) hears(ctx context.Context) {
	if h.c.ear == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(look):
		}
		h.mu.Lock()
		if h.parts != nil {
			h.c.hear()
			h.unsent()
		}
		h.mu.Unlock()
	}
}

// unsent sends the lines of the log that were not sent yet.
func (h *hub) unsent() {
	var out bytes.Buffer
	if h.fresh(&out) == nil && out.Len() > 0 {
		h.send(message(h.c.count, nil, out.String()))
	}
}

// follow calls each whenever the journal may have grown, until ctx ends or it fails. It tells it
// whether the owner carries the run on.
func (w *Workspace) follow(ctx context.Context, head engine.HeadRow, each func(carried bool) error) error {
	var failed error
	for ctx.Err() == nil && failed == nil {
		by, err := w.Stands(ctx)
		if err != nil {
			return err
		}
		if by.Stream(head.Stream) && !by.All {
			_ = w.Client.Watch(ctx, head.Stream, func() error { failed = each(true); return failed }) // however it ends, the run is looked at again
		} else {
			failed = each(by.On(head))
		}
		if failed == nil {
			select {
			case <-ctx.Done():
			case <-time.After(look):
			}
		}
	}
	return failed
}

// tell sends what changed since it was called last.
func (h *hub) tell(ctx context.Context, head engine.HeadRow, carried bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.c.count
	if err := h.c.read(ctx); err != nil {
		return err
	}
	first := h.parts == nil
	if !first && h.c.count == was && h.moves == carried {
		h.unsent() // else who comes now gets these lines twice
		return nil
	}
	h.moves = carried
	head, err := h.ws.Find(ctx, head.Run)
	if err != nil {
		return err
	}
	x, err := h.ws.stood(ctx, head, h.c)
	if err != nil {
		return err
	}
	n, err := h.ws.waiting(ctx)
	if err != nil {
		return err
	}
	ids, parts := regions(x, n)
	var out bytes.Buffer
	var states [][4]string
	if !first {
		if states, err = h.changed(&out, x, ids, parts); err != nil {
			return err
		}
	}
	h.x, h.ids, h.parts = x, ids, parts
	switch {
	case first:
		h.lines = h.c.total
		for e := range h.ears {
			h.greet(e)
		}
	case out.Len() > 0 || len(states) > 0 || h.c.count != was:
		h.send(message(h.c.count, states, out.String()))
	}
	return nil
}

// regions are the parts of the page of a run that change, by their ids.
func regions(x Run, n Waiting) (ids []string, parts map[string]any) {
	ids = []string{"trouble", "waiting", "run", "orders", "asks", "meters", "axis", "panel"}
	parts = map[string]any{"trouble": x.Trouble, "waiting": n, "run": x.Head, "orders": x.Orders, "asks": x.Asks, "meters": x.Meters, "axis": x.Timeline.Axis, "panel": x.Panel}
	for _, row := range x.Timeline.Rows.All {
		ids = append(ids, row.DOM)
		parts[row.DOM] = row
	}
	return ids, parts
}

// part writes what is to come in the place of a part of the page.
func (h *hub) part(out *bytes.Buffer, id, swap string, values ...any) error {
	fmt.Fprintf(out, `<hx-partial hx-target="#%s" hx-swap="%s">`, id, swap)
	for _, v := range values {
		html, err := h.show(v)
		if err != nil {
			return err
		}
		out.WriteString(string(html))
	}
	out.WriteString("</hx-partial>")
	return nil
}

// changed writes the parts that are not as they were drawn last, and tells the steps of the graph
// that stand otherwise.
func (h *hub) changed(out *bytes.Buffer, x Run, ids []string, parts map[string]any) (states [][4]string, err error) {
	again := !reflect.DeepEqual(ids, h.ids)
	for _, id := range ids {
		if again && strings.HasPrefix(id, "s-") {
			continue // with the others
		}
		if !reflect.DeepEqual(parts[id], h.parts[id]) {
			if err := h.part(out, id, "outerMorph", parts[id]); err != nil {
				return nil, err
			}
		}
	}
	if again {
		if err := h.part(out, "steps", "outerMorph", x.Timeline.Rows); err != nil {
			return nil, err
		}
	}
	if reflect.DeepEqual(x.Graph.shape(), h.x.Graph.shape()) {
		states = x.Graph.states(h.x.Graph)
	} else if err := h.part(out, "graph", "outerHTML", x.Graph); err != nil {
		return nil, err
	}
	return states, h.fresh(out)
}

// fresh writes the lines of the log that were not sent yet.
func (h *hub) fresh(out *bytes.Buffer) error {
	news := h.c.total - h.lines
	h.lines = h.c.total
	switch {
	case news == 0:
		return nil
	case news > len(h.c.lines):
		return h.part(out, "log", "outerHTML", h.c.log())
	}
	var lines []any
	for _, l := range h.c.lines[len(h.c.lines)-news:] {
		lines = append(lines, l)
	}
	return h.part(out, "log", "beforeend", lines...)
}

// greet sends a browser what it may not know: all parts, or where it has read as far those of them
// that also change with the clock and with who carries the run on.
func (h *hub) greet(e *ear) {
	var out bytes.Buffer
	for _, id := range h.ids {
		if !strings.HasPrefix(id, "s-") {
			_ = h.part(&out, id, "outerMorph", h.parts[id]) // it was drawn before
		}
	}
	if e.has != h.c.count {
		_ = h.part(&out, "steps", "outerMorph", h.x.Timeline.Rows)
		_ = h.part(&out, "graph", "outerHTML", h.x.Graph)
	}
	if e.has != h.c.count || h.c.heard {
		_ = h.part(&out, "log", "outerHTML", h.c.log())
	}
	h.sendTo(e, message(h.c.count, nil, out.String()))
}

// send sends all browsers a message.
func (h *hub) send(news []byte) {
	for e := range h.ears {
		h.sendTo(e, news)
	}
}

func (h *hub) sendTo(e *ear, news []byte) {
	select {
	case e.news <- news:
	default: // it is too far behind
		close(e.news)
		delete(h.ears, e)
	}
}

// message is an event as it is sent. One without data only says how far the journal was read.
func message(count int, states [][4]string, data string) []byte {
	var b bytes.Buffer
	if len(states) > 0 {
		text, err := json.Marshal(states)
		if err == nil { // texts always can be written
			fmt.Fprintf(&b, "event: state\ndata: %s\n\n", text)
		}
	}
	fmt.Fprintf(&b, "id: %d\n", count)
	for l := range strings.Lines(data) {
		b.WriteString("data: " + strings.TrimSuffix(l, "\n") + "\n")
	}
	b.WriteString("\n")
	return b.Bytes()
}
