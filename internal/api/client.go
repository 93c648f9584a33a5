package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// Client sends requests to the owner of a workspace over its socket, and starts the
// owner where there is none. Set its fields before the first request.
type Client struct {
	Face string       // that the person uses: "cli", "page", "http", "mcp"
	User string       // who was let in from elsewhere; "" is the person whose machine it is
	Dir  string       // where relative paths begin; "" is the directory of this process
	Note func(string) // gets what the owner has to say in words

	http    *http.Client
	server  *server // where requests go in place of the socket; nil for the socket
	version string
	env     []string
	start   func(context.Context) error
}

// Dial returns a client of the place's owner, for the command line. It connects at
// the first request. env is the environment, which goes with each request; start
// starts an owner; with nil there must be one.
func Dial(p Place, version string, env []string, start func(context.Context) error) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, p) }
	return &Client{
		Face: "cli", Note: func(string) {}, version: version, env: env, start: start,
		http: &http.Client{Transport: &http.Transport{DialContext: dial}},
	}
}

// An owner that does not answer may be about to begin or to end, so it is asked
// again for a while: [Patience]. answerTime is how long it may take to make a change
// durable.
const (
	ownerPause = 20 * time.Millisecond
	Patience   = 5 * time.Second
	answerTime = 30 * time.Second
)

func (c *Client) Run(ctx context.Context, s Saying) (Said, error) { return ask[Said](ctx, c, "run", s) }

func (c *Client) Approve(ctx context.Context, s Saying) (Said, error) {
	return ask[Said](ctx, c, "approve", s)
}

func (c *Client) Reject(ctx context.Context, s Saying) (Said, error) {
	return ask[Said](ctx, c, "reject", s)
}

func (c *Client) Resume(ctx context.Context, r Resume) (Opened, error) {
	return ask[Opened](ctx, c, "resume", r)
}

func (c *Client) Plan(ctx context.Context, p Planning) (Planned, error) {
	return ask[Planned](ctx, c, "plan", p)
}

func (c *Client) Redraft(ctx context.Context, r Redrafting) (Planned, error) {
	return ask[Planned](ctx, c, "redraft", r)
}

func (c *Client) Contract(ctx context.Context, q Contracting) (Planned, error) {
	return ask[Planned](ctx, c, "contract", q)
}

func (c *Client) Review(ctx context.Context, r Reviewing) (Planned, error) {
	return ask[Planned](ctx, c, "review", r)
}

func (c *Client) Withdraw(ctx context.Context, w Withdrawal) (Withdrawal, error) {
	return ask[Withdrawal](ctx, c, "withdraw", w)
}

func (c *Client) Order(ctx context.Context, o Order) (Ordered, error) {
	return ask[Ordered](ctx, c, "order", o)
}

func (c *Client) Answer(ctx context.Context, a Answer) (Ordered, error) {
	return ask[Ordered](ctx, c, "answer", a)
}

// Release asks no second owner: one that has ended has stopped all it carried.
func (c *Client) Release(ctx context.Context, r Release) (None, error) {
	there := *c
	there.start = nil
	none, err := ask[None](ctx, &there, "release", r)
	if ErrGone(err) {
		err = nil
	}
	return none, err
}

func (c *Client) Archive(ctx context.Context, a Archive) (Archived, error) {
	return ask[Archived](ctx, c, "archive", a)
}

func (c *Client) Collect(ctx context.Context, q Collect) (Waste, error) {
	return ask[Waste](ctx, c, "gc", q)
}

// Restore gives a plan document the text of one of its revisions.
func (c *Client) Restore(ctx context.Context, q Restore) (Restored, error) {
	return ask[Restored](ctx, c, "restore", q)
}

// Edit gives a plan document another text.
func (c *Client) Edit(ctx context.Context, q Edit) (Edited, error) {
	return ask[Edited](ctx, c, "edit", q)
}

// ask is [Client.ask] for an answer of a type.
func ask[A any](ctx context.Context, c *Client, use string, q any) (answer A, err error) {
	err = c.ask(ctx, use, q, &answer)
	return answer, err
}

// ask sends a request until an owner has answered it. One that ended before it
// answered may have carried it out: the next one is told when it was sent first.
func (c *Client) ask(ctx context.Context, use string, q, answer any) error {
	first, sent := time.Now(), time.Time{}
	return c.persist(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		res, err := c.post(ctx, use, q, sent)
		if err == nil {
			defer res.Body.Close()
			if err = json.NewDecoder(res.Body).Decode(answer); err != nil {
				err = c.lost(err)
			}
		}
		if errors.Is(err, errLost) {
			sent = first
		}
		return err
	})
}

// Forward sends a request as it came from elsewhere, in JSON, and returns the answer.
func (c *Client) Forward(ctx context.Context, use string, say json.RawMessage) (json.RawMessage, error) {
	return ask[json.RawMessage](ctx, c, use, say)
}

// notes passes on what the owner has to say beside the answer.
func (c *Client) notes(res *http.Response) {
	var notes []string
	if json.Unmarshal([]byte(res.Header.Get(NotesHeader)), &notes) == nil {
		for _, note := range notes {
			c.Note(note)
		}
	}
}

// persist does something with an owner; it starts one where nobody listens, and
// tries again for a while. One that owns the workspace and does not listen is about
// to begin or to end, and may take as long as an answer.
func (c *Client) persist(ctx context.Context, do func() error) error {
	patience := Patience
	for began, pause := time.Now(), ownerPause; ; {
		err := do()
		if !ErrGone(err) || ctx.Err() != nil || c.start == nil {
			return err
		}
		failed := c.start(ctx)
		switch {
		case failed == nil:
		case errors.Is(failed, store.ErrOwned):
			patience = answerTime
		case ErrGone(failed):
			err = failed // it died before it listened
		default:
			return failed
		}
		if time.Since(began) > patience {
			return err
		}
		if failed != nil {
			wait(ctx, pause)
			pause = min(2*pause, 10*ownerPause)
		}
	}
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// errGone is the cause of a problem of which the next owner may have none, and errLost
// that of one where an owner may have got the request.
var (
	errGone = errors.New("the owner is gone")
	errLost = fmt.Errorf("%w, and its answer is lost", errGone)
)

func (c *Client) lost(err error) error {
	if c.server != nil {
		p := c.server.silent(err)
		p.cause = errLost // the run goes on meanwhile, and is looked at again
		return p
	}
	p := &Problem{Code: Unavailable, Message: "the owner of this workspace does not answer: " + err.Error(), Hint: "if it hangs, stop it (its state is safe) and use piton resume"}
	op, isOp := errors.AsType[*net.OpError](err)
	timeout, isTimeout := errors.AsType[net.Error](err)
	switch {
	case isTimeout && timeout.Timeout():
	case isOp && op.Op == "dial":
		p.cause = errGone
	default:
		p.cause = errLost
	}
	return p
}

func problemOf(body io.Reader) error {
	var s sent
	if err := json.NewDecoder(body).Decode(&s); err != nil {
		return &Problem{Code: Unavailable, Message: "the owner of this workspace sent an invalid answer: " + err.Error()}
	}
	p := s.problem()
	if errors.Is(p, run.ErrStopped) {
		p.cause = errGone
	}
	return p
}

// post sends one request, and returns the answer unless that is a problem.
func (c *Client) post(ctx context.Context, use string, say any, again time.Time) (*http.Response, error) {
	if c.server != nil {
		body, err := json.Marshal(say)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		return c.server.send(ctx, c, http.MethodPost, use, body)
	}
	dir := c.Dir
	if dir == "" {
		dir, _ = os.Getwd() // else relative paths lead nowhere
	}
	q := request{Version: c.version, Face: c.Face, Dir: []byte(dir), Again: again, User: c.User}
	for _, pair := range c.env {
		q.Env = append(q.Env, []byte(pair))
	}
	var err error
	if q.Say, err = json.Marshal(say); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://piton/v1/"+use, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, c.lost(err)
	}
	c.notes(res)
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, problemOf(res.Body)
	}
	return res, nil
}

// Gone is the problem of an owner that ended before it could say anything.
func Gone(text, hint string) *Problem {
	return &Problem{Code: Unavailable, Message: text, Hint: hint, cause: errGone}
}

// ErrGone reports whether err is that the owner has ended.
func ErrGone(err error) bool { return errors.Is(err, errGone) }

// Carry makes the owner carry a task's run on for as long as this client does, and
// calls each whenever the journal has grown, once at the beginning. It starts an
// owner if there is none. It returns nil when nobody carries the run any more, and
// fails with [ErrGone] when the owner has ended.
func (c *Client) Carry(ctx context.Context, stream string, end End, each func() error) error {
	heard := false
	var over error
	err := c.persist(ctx, func() error {
		over = c.changes(ctx, Following{stream, end}, func() error { heard = true; return each() })
		if heard {
			return nil
		}
		return over
	})
	return cmp.Or(err, over)
}

// HandOver makes the owner carry a task's run on without this client.
func (c *Client) HandOver(ctx context.Context, stream string, end End) error {
	err := c.Carry(ctx, stream, end, func() error { return errHeld })
	if errors.Is(err, errHeld) {
		return nil
	}
	return err
}

// errHeld says that the owner carries it.
var errHeld = errors.New("the owner carries it on")

// Watch is Carry for somebody who only looks: the run goes on, or ends, without
// this client. An owner that takes the run over soon after another one has died is
// followed too. Without an owner it fails with [ErrGone].
func (c *Client) Watch(ctx context.Context, stream string, each func() error) error {
	for until := time.Now(); ; wait(ctx, ownerPause) {
		err := c.changes(ctx, Following{Stream: stream}, func() error {
			until = time.Now().Add(Patience)
			return each()
		})
		if !ErrGone(err) || ctx.Err() != nil || time.Now().After(until) {
			return err
		}
	}
}

// look is how often a task is looked at that nobody carries on.
const look = time.Second

// Follow calls each whenever the journal may have grown, once at the beginning, until ctx ends
// or it fails: also while nobody carries the task's run on.
func (c *Client) Follow(ctx context.Context, stream string, each func() error) error {
	for ctx.Err() == nil {
		var failed error
		streams, err := c.Carried(ctx)
		if err == nil && slices.Contains(streams, stream) {
			_ = c.Watch(ctx, stream, func() error { failed = each(); return failed }) // however it ends, the task is looked at again
		} else {
			failed = each()
		}
		if failed != nil {
			return failed
		}
		wait(ctx, look)
	}
	return ctx.Err()
}

func (c *Client) changes(ctx context.Context, q Following, each func() error) error {
	res, err := c.post(ctx, "changes", q, time.Time{})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return c.lost(err)
		case strings.HasPrefix(line, Noted):
			c.Note(line[len(Noted):])
			continue
		case line == "" && lines.Buffered() > 0:
			continue // more has come already
		}
		if err := each(); err != nil {
			return err
		}
		if line == LetGo {
			return nil
		}
	}
}

// Carried names the streams whose runs the owner carries on. It fails with
// [ErrGone] if there is no owner, and otherwise if the owner does not say in time.
func (c *Client) Carried(ctx context.Context) (streams []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	res, err := c.post(ctx, "carried", nil, time.Time{})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&streams); err != nil {
		return nil, fmt.Errorf("ask the owner of this workspace for its runs: %w", err)
	}
	return streams, nil
}
