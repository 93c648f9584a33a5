package page

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// Times of a stream of events: how long changes are gathered, how often a run that nobody
// carries on is looked at, and how long a browser may take to read.
const (
	gather    = 100 * time.Millisecond
	look      = time.Second
	writeTime = 10 * time.Second
)

// chronicle is what happened in a run, as far as it was read.
type chronicle struct {
	run    string
	step   string // the only one that is told of; "" for all
	feed   *api.Feed
	fold   view.Fold
	words  func(view.Happening) []string
	count  int // records of the task so far: without sub-plans the number of the newest one
	lines  []LogLine
	cut    int                    // lines before these
	failed map[[2]string]*Failure // by run and step: the newest
}

// Log is what happened, the newest last.
type Log struct {
	Earlier int // lines that are not shown
	Lines   []LogLine
	Run     string
}

// LogLine tells of a happening.
type LogLine struct {
	At   When
	Tone string
	Text string
	More []string
}

// mostLines is how many happenings are shown.
const mostLines = 500

func (w *Workspace) chronicle(head engine.HeadRow) *chronicle {
	return &chronicle{run: head.Run, feed: w.Feed(head.Stream), words: w.Words, failed: map[[2]string]*Failure{}}
}

// read takes in what is new.
func (c *chronicle) read(ctx context.Context) error {
	fresh, err := c.feed.Fresh(ctx)
	for _, r := range fresh {
		c.count++
		of, happenings, err := c.fold.Follow(r)
		if err != nil {
			return err
		}
		if of == nil || c.fold.State.Run().Run != c.run {
			continue // of an earlier or a later run of the task
		}
		for _, h := range happenings {
			c.take(h)
		}
	}
	if over := len(c.lines) - mostLines; over > 0 {
		c.lines, c.cut = c.lines[over:], c.cut+over
	}
	return err
}

// tonesOf are the tones of happenings that have one.
var tonesOf = map[view.Deed]string{
	view.Passed: "okc", view.Over: "okc", view.Failed: "er", view.Regressed: "er", view.Asked: "you", view.Retried: "warn", view.Waived: "warn", view.CutOff: "warn", view.Undone: "warn",
}

func (c *chronicle) take(h view.Happening) {
	if h.Of.Up != nil && h.Step < 0 {
		return // the step that the run carries out tells of it
	}
	if h.What == view.Failed || h.What == view.Regressed {
		c.failed[[2]string{h.Of.State.Run().Run, h.Of.Step(h.Step).ID}] = failure(h)
	}
	if c.step != "" && (h.Of.Up != nil || h.Step < 0 || h.Of.Step(h.Step).ID != c.step) {
		return
	}
	if lines := c.words(h); len(lines) > 0 {
		c.lines = append(c.lines, LogLine{At: clock(h.At), Tone: tonesOf[h.What], Text: lines[0], More: lines[1:]})
	}
}

// failure is why an attempt did not pass.
func failure(h view.Happening) *Failure {
	f := &Failure{Attempt: h.Attempt, Words: h.Words}
	if h.Cause != nil {
		f.Cause = h.Cause.String()
	}
	if h.Work != nil {
		f.Stdout, f.Stderr = h.Work.Stdout, h.Work.Stderr
	}
	if len(h.Checks) == 0 {
		f.Cause = cmp.Or(f.Cause, h.Text)
		return f
	}
	e := h.Checks[0]
	f.Check, f.Command, f.How = e.Check, commandOf(h.Of.Step(h.Step), e.Check), answerOf(e)
	f.Stdout, f.Stderr = cmp.Or(f.Stdout, e.Stdout), cmp.Or(f.Stderr, e.Stderr)
	return f
}

// commandOf is the command of a check of a step.
func commandOf(s *engine.Step, check string) string {
	for _, c := range s.Checks {
		if c.Name == check {
			return cmp.Or(c.Command, c.Question)
		}
	}
	return ""
}

// answerOf says how a check ended.
func answerOf(e engine.CheckEnded) string {
	said := fmt.Sprintf("%s: exit %d, wanted %d, %s", e.Verdict, e.Exit, e.Want, view.Span(view.Ms(e.Ms)))
	if e.Signal != "" {
		said += ", signal " + e.Signal
	}
	if e.Reason != "" {
		said += " (" + e.Reason + ")"
	}
	return said
}

func (c *chronicle) log() Log { return Log{Earlier: c.cut, Lines: c.lines, Run: c.run} }

// regions are the parts of the page of a run that change, by their ids.
func regions(x Run, n Waiting) (ids []string, parts map[string]any) {
	ids = []string{"waiting", "run", "orders", "asks"}
	parts = map[string]any{"waiting": n, "run": x.Head, "orders": x.Orders, "asks": x.Asks}
	for _, row := range x.Steps.Rows {
		ids = append(ids, row.DOM)
		parts[row.DOM] = row
	}
	return ids, parts
}

// events keeps the page of a run up to date: what changed, gathered for a moment, is sent as
// the parts of the page that it changed. The id of an event is how far the journal was read; who
// comes back with one that is not the newest gets all parts once.
func (s *server) events(w http.ResponseWriter, r *http.Request, ws *Workspace) error {
	ctx := r.Context()
	head, err := ws.run(ctx, r.PathValue("run"))
	if err != nil {
		return err
	}
	t := &telling{server: s, Workspace: ws, w: w, flush: http.NewResponseController(w), c: ws.chronicle(head), head: head}
	t.has, _ = strconv.Atoi(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))) // 0, which is nothing, for no number
	t.flush.SetReadDeadline(time.Time{})                                                       //nolint:errcheck // else the browser connects again
	w.Header().Set("Content-Type", "text/event-stream")
	err = ws.follow(ctx, head, func(carried bool) error { return t.tell(ctx, carried) })
	if t.sent != nil {
		return nil // the stream ends, and the browser connects again
	}
	return err
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

// telling is one browser that follows a run.
type telling struct {
	*server
	*Workspace
	w     http.ResponseWriter
	flush *http.ResponseController
	c     *chronicle
	head  engine.HeadRow
	has   int // how far the browser knows the journal
	ids   []string
	sent  map[string]any
	lines int // of the log
	last  time.Time
	moves bool // the owner carries the run on
}

// tell sends what changed since it was called last.
func (t *telling) tell(ctx context.Context, carried bool) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(gather - min(gather, time.Since(t.last))):
	}
	t.last = time.Now()
	if err := t.c.read(ctx); err != nil {
		return err
	}
	if t.sent != nil && t.c.count == t.has && t.moves == carried {
		return nil
	}
	t.moves = carried
	var err error
	if t.head, err = t.Find(ctx, t.head.Run); err != nil {
		return err
	}
	x, err := t.stood(ctx, t.head, t.c)
	if err != nil {
		return err
	}
	n, err := t.waiting(ctx)
	if err != nil {
		return err
	}
	ids, parts := regions(x, n)
	var out bytes.Buffer
	begins, knows := t.sent == nil, t.has == t.c.count
	if !begins || !knows {
		if err := t.changed(&out, x, ids, parts, begins); err != nil {
			return err
		}
	}
	t.ids, t.sent, t.lines, t.has = ids, parts, t.c.cut+len(t.c.lines), t.c.count
	if out.Len() == 0 && !begins {
		return nil
	}
	return t.send(out.String())
}

// changed writes the parts that are not what was sent last; with all, each of them.
func (t *telling) changed(out *bytes.Buffer, x Run, ids []string, parts map[string]any, all bool) error {
	var failed error
	part := func(id, swap string, values ...any) {
		fmt.Fprintf(out, `<hx-partial hx-target="#%s" hx-swap="%s">`, id, swap)
		for _, v := range values {
			html, err := t.show(v)
			failed = cmp.Or(failed, err)
			out.WriteString(string(html))
		}
		out.WriteString("</hx-partial>")
	}
	steps := all || len(ids) != len(t.ids)
	for _, id := range ids {
		if steps && strings.HasPrefix(id, "s-") {
			continue // with the others
		}
		if all || !reflect.DeepEqual(parts[id], t.sent[id]) {
			part(id, "outerMorph", parts[id])
		}
	}
	if steps {
		part("steps", "outerMorph", x.Steps)
	}
	news := t.c.cut + len(t.c.lines) - t.lines
	switch {
	case all || news > len(t.c.lines):
		part("log", "outerHTML", t.c.log())
	case news > 0:
		var lines []any
		for _, l := range t.c.lines[len(t.c.lines)-news:] {
			lines = append(lines, l)
		}
		part("log", "beforeend", lines...)
	}
	return failed
}

// send writes one event. One without data only says how far the journal was read.
func (t *telling) send(data string) error {
	t.flush.SetWriteDeadline(time.Now().Add(writeTime)) //nolint:errcheck // else it is written without
	var b strings.Builder
	fmt.Fprintf(&b, "id: %d\n", t.has)
	if data != "" {
		for l := range strings.Lines(data) {
			b.WriteString("data: " + strings.TrimSuffix(l, "\n") + "\n")
		}
	}
	b.WriteString("\n")
	if _, err := t.w.Write([]byte(b.String())); err != nil {
		return err
	}
	return t.flush.Flush()
}
