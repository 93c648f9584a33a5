package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

// Times of a stream: how long a client may take to read, and after how long without news it
// gets a line that says nothing, so that whoever is between does not take it for dead.
const (
	writeTime = 10 * time.Second
	beatTime  = 15 * time.Second
)

// errOver ends a stream whose run has ended.
var errOver = errors.New("the run is over")

// events tells of a run as it goes on, from behind the record that the client names.
func events(c *call) error {
	head, err := c.head()
	if err != nil {
		return err
	}
	after, err := strconv.ParseUint(cmp.Or(c.r.Header.Get("Last-Event-ID"), c.r.URL.Query().Get("after"), "0"), 10, 64)
	if err != nil {
		return &api.Problem{Code: api.Invalid, Message: "the last event is no sequence number", Hint: "give the id of an event, or leave it out"}
	}
	t := telling{call: c, run: head.Run, after: after, feed: c.Feed(head.Stream), flush: http.NewResponseController(c.w)}
	if err := t.read(); err != nil {
		return err
	}
	if t.ended && len(t.news) == 0 {
		c.w.WriteHeader(http.StatusNoContent)
		return errStreamed
	}
	t.flush.SetReadDeadline(time.Time{}) //nolint:errcheck // else the client connects again
	c.w.Header().Set("Content-Type", "text/event-stream")
	if err := t.send(); err != nil || t.ended {
		return errStreamed
	}
	_ = c.Client.Follow(c.ctx, head.Stream, t.more) // the client connects again, however it ended
	return errStreamed
}

// telling is one stream of events.
type telling struct {
	*call
	run   string
	after uint64 // what the client has
	feed  *api.Feed
	fold  view.Fold
	flush *http.ResponseController
	news  [][]byte
	ended bool
	beat  time.Time
}

func (t *telling) more() error {
	if err := t.read(); err != nil {
		return err
	}
	if err := t.send(); err != nil {
		return err
	}
	if t.ended {
		return errOver
	}
	return nil
}

// read takes in what is new.
func (t *telling) read() error {
	fresh, err := t.feed.Fresh(t.ctx)
	if err != nil {
		return err
	}
	for _, r := range fresh {
		if t.fold.IsBelow(r.Stream) {
			continue // its run has a stream of its own
		}
		if _, err := t.fold.Apply(r); err != nil {
			return err
		}
		is := t.fold.State.Run().Run
		t.ended = t.ended && is != t.run || is == t.run && !t.fold.State.Live()
		if is != t.run || r.Seq <= t.after {
			continue
		}
		body, err := json.Marshal(view.EventOf(t.run, r, nil))
		if err != nil {
			return fmt.Errorf("encode event %d: %w", r.Seq, err)
		}
		t.news = append(t.news, fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", r.Seq, r.Event.Type(), body))
	}
	return nil
}

// send writes what is new; now and then, where nothing is, a line that says so.
func (t *telling) send() error {
	text := bytes.Join(t.news, nil)
	t.news = nil
	if len(text) == 0 {
		if time.Since(t.beat) < beatTime {
			return nil
		}
		text = []byte(":\n\n")
	}
	t.beat = time.Now()
	t.flush.SetWriteDeadline(time.Now().Add(writeTime)) //nolint:errcheck // else it is written without
	if _, err := t.w.Write(text); err != nil {
		return err
	}
	return t.flush.Flush()
}

// tell passes on what a client hears of a task: a line each time the journal has grown, words
// for the person, and at the end that nobody carries the run on.
func (c *call) tell() error {
	q, err := said[api.Following](c)
	if err != nil {
		return err
	}
	flush, begun := http.NewResponseController(c.w), false
	line := func(text string) error {
		if !begun {
			begun = true
			flush.SetReadDeadline(time.Time{}) //nolint:errcheck // else the client asks again
			c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
		flush.SetWriteDeadline(time.Now().Add(writeTime)) //nolint:errcheck // else it is written without
		if _, err := io.WriteString(c.w, text+"\n"); err != nil {
			return err
		}
		return flush.Flush()
	}
	c.Client.Note = func(note string) { _ = line(api.Noted + strings.ReplaceAll(note, "\n", " ")) } // who is gone hears nothing
	each := func() error { return line("") }
	if q.End == "" {
		err = c.Client.Watch(c.ctx, q.Stream, each)
	} else {
		err = c.Client.Carry(c.ctx, q.Stream, q.End, each)
	}
	if err == nil {
		_ = line(api.LetGo)
	}
	if begun {
		return errStreamed
	}
	return err
}
