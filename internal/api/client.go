package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
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
	Face string       // that the person uses: "cli", "page", "mcp"
	Note func(string) // gets what the owner has to say in words

	http    *http.Client
	version string
	env     string // settings of the environment, as JSON
	start   func(context.Context) error
}

// Dial returns a client of the place's owner, for the command line. It connects at
// the first request. env is the environment, whose settings go with each request;
// start starts an owner; with nil there must be one.
func Dial(p Place, version string, env []string, start func(context.Context) error) *Client {
	settings := slices.DeleteFunc(slices.Clone(env), func(v string) bool { return !strings.HasPrefix(v, "PITON_") })
	sent, _ := json.Marshal(settings) // texts always can
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, p) }
	return &Client{
		Face: "cli", Note: func(string) {}, version: version, env: string(sent), start: start,
		http: &http.Client{Transport: &http.Transport{DialContext: dial}},
	}
}

// An owner that does not answer may be about to begin or to end, so it is asked
// again for a while. answerTime is how long it may take to make a change durable.
const (
	ownerPause    = 20 * time.Millisecond
	ownerPatience = 5 * time.Second
	answerTime    = 30 * time.Second
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

// ask sends a request until an owner has answered it. One that ended before it
// answered may have carried it out: the next one is told when it was sent first.
func ask[A any](ctx context.Context, c *Client, use string, q any) (answer A, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return answer, fmt.Errorf("encode request: %w", err)
	}
	first, sent := time.Now(), time.Time{}
	err = c.persist(ctx, func() error {
		res, err := c.post(ctx, use, body, sent)
		if err != nil {
			if !unheard(err) {
				sent = first
			}
			return c.lost(err)
		}
		defer res.Body.Close()
		c.notes(res)
		if res.StatusCode != http.StatusOK {
			return problemOf(res.Body)
		}
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
			sent = first
			return c.lost(err)
		}
		return nil
	})
	return answer, err
}

// notes passes on what the owner has to say beside the answer.
func (c *Client) notes(res *http.Response) {
	var notes []string
	if json.Unmarshal([]byte(res.Header.Get(notesHeader)), &notes) == nil {
		for _, note := range notes {
			c.Note(note)
		}
	}
}

// persist does something with an owner; it starts one where nobody listens, and
// tries again for a while.
func (c *Client) persist(ctx context.Context, do func() error) error {
	for began := time.Now(); ; {
		err := do()
		if !errors.Is(err, errGone) || ctx.Err() != nil {
			return err
		}
		if c.start != nil {
			failed := c.start(ctx)
			switch {
			case failed == nil && time.Since(began) < ownerPatience:
				continue
			case errors.Is(failed, errGone):
				err = failed // it died before it listened
			case failed != nil && !errors.Is(failed, store.ErrOwned):
				return failed
			}
		}
		if c.start == nil || time.Since(began) > ownerPatience {
			return err
		}
		time.Sleep(ownerPause)
	}
}

// errGone is the cause of a problem of which the next owner may have none.
var errGone = errors.New("the owner is gone")

func (c *Client) lost(err error) error {
	p := &Problem{Code: Unavailable, Message: "the owner of this workspace does not answer: " + err.Error(), Hint: "if it hangs, stop it (its state is safe) and use piton resume"}
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		p.cause = errGone
	}
	return p
}

// unheard reports whether an error came before anybody could get the request.
func unheard(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
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

func (c *Client) post(ctx context.Context, use string, body []byte, again time.Time) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://piton/v1/"+use, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	if !again.IsZero() {
		r.Header.Set(againHeader, again.UTC().Format(time.RFC3339Nano))
	}
	res, err := c.send(r)
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &canceller{res.Body, cancel}
	return res, nil
}

// canceller ends the request with its answer.
type canceller struct {
	io.ReadCloser
	cancel func()
}

func (c *canceller) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

func (c *Client) send(r *http.Request) (*http.Response, error) {
	r.Header.Set(versionHeader, c.version)
	r.Header.Set(faceHeader, c.Face)
	r.Header.Set(settingsHeader, c.env)
	if dir, err := os.Getwd(); err == nil {
		r.Header.Set(dirHeader, url.PathEscape(dir))
	}
	return c.http.Do(r)
}

// Gone is the problem of an owner that ended before it could say anything.
func Gone(text, hint string) *Problem {
	return &Problem{Code: Unavailable, Message: text, Hint: hint, cause: errGone}
}

// ErrGone reports whether err is that the owner has ended.
func ErrGone(err error) bool { return errors.Is(err, errGone) }

// Carry makes the owner carry a task's run on for as long as this client does, and
// calls each whenever the journal has grown, once at the beginning. It returns nil
// when nobody carries the run any more, and fails with [ErrGone] when the owner
// has ended.
func (c *Client) Carry(ctx context.Context, stream string, end End, each func() error) error {
	return c.persistOnce(ctx, url.Values{"stream": {stream}, "end": {string(end)}}, each)
}

// persistOnce follows the changes of an owner that is started if there is none.
func (c *Client) persistOnce(ctx context.Context, query url.Values, each func() error) error {
	heard := false
	var over error
	err := c.persist(ctx, func() error {
		if heard {
			return nil
		}
		over = c.changes(ctx, query, func() error { heard = true; return each() })
		if heard {
			return nil
		}
		return over
	})
	if err != nil {
		return err
	}
	return over
}

// Watch is Carry for somebody who only looks: the run goes on, or ends, without
// this client. Without an owner it fails with [ErrGone].
func (c *Client) Watch(ctx context.Context, stream string, each func() error) error {
	return c.changes(ctx, url.Values{"stream": {stream}}, each)
}

func (c *Client) changes(ctx context.Context, query url.Values, each func() error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://piton/v1/changes?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	res, err := c.send(r)
	if err != nil {
		return c.lost(err)
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
		case strings.HasPrefix(line, refused):
			return DecodeProblem([]byte(line))
		case strings.HasPrefix(line, noted):
			c.Note(line[len(noted):])
			continue
		case line == "" && lines.Buffered() > 0:
			continue // more has come already
		}
		if err := each(); err != nil {
			return err
		}
		if line == letGo {
			return nil
		}
	}
}

// Carried names the streams whose runs the owner carries on. It fails with
// [ErrGone] if there is no owner, and otherwise if the owner does not say.
func (c *Client) Carried(ctx context.Context) (streams []string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://piton/v1/carried", nil)
	if err != nil {
		return nil, err
	}
	res, err := c.send(r)
	if err != nil {
		return nil, c.lost(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&streams); err != nil {
		return nil, fmt.Errorf("ask the owner of this workspace for its runs: %w", err)
	}
	return streams, nil
}
