package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// maxRequest bounds a request on the socket: a program of the largest plan
// fits many times.
const maxRequest = 256 << 20

// Listener is the owner's socket: other processes send their changes here and
// hear when the journal has grown. Close it before the owner's loop is closed.
type Listener struct {
	owner   Owner
	version string
	foreign func(pid int) bool
	server  *http.Server

	mu    sync.Mutex
	ears  map[chan struct{}]bool
	ended bool
}

// Listen serves owner on the place's socket, which only this user may open.
// foreign reports whether a process descends from an agent or a contract that
// this owner started: its commands are refused. met gets each other process that
// connects, where the system tells which that is; one
// after the other.
func Listen(p Place, owner Owner, version string, foreign func(pid int) bool, met func(pid int)) (*Listener, error) {
	if err := os.Remove(p.Socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("clear the owner's socket: %w", err)
	}
	sock, err := listen(p)
	if err != nil {
		return nil, fmt.Errorf("open the owner's socket: %w", err)
	}
	l := &Listener{owner: owner, version: version, foreign: foreign, ears: map[chan struct{}]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /submit", l.submit)
	mux.HandleFunc("GET /changes", l.changes)
	mux.HandleFunc("GET /carried", l.carried)
	l.server = &http.Server{Handler: mux, ConnContext: l.meet(met), ReadHeaderTimeout: 10 * time.Second}
	go l.server.Serve(sock) //nolint:errcheck // it ends with Close
	return l, nil
}

// meet notes which process is at the other end of a connection, and tells.
func (l *Listener) meet(met func(pid int)) func(context.Context, net.Conn) context.Context {
	return func(ctx context.Context, c net.Conn) context.Context {
		ctx = withPeer(ctx, c)
		if pid, ok := ctx.Value(peerKey{}).(int); ok && !l.foreign(pid) {
			met(pid)
		}
		return ctx
	}
}

// Changed tells everybody who watches that there is something to read.
func (l *Listener) Changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ear := range l.ears {
		select {
		case ear <- struct{}{}:
		default:
		}
	}
}

// Close ends the socket and everybody who hangs on it.
func (l *Listener) Close() error {
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		for ear := range l.ears {
			close(ear)
		}
		l.ears = nil
	}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := l.server.Shutdown(ctx); err != nil {
		return l.server.Close()
	}
	return nil
}

func (l *Listener) submit(w http.ResponseWriter, r *http.Request) {
	err := l.take(r)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.WriteHeader(http.StatusConflict)
	json.NewEncoder(w).Encode(Explain(err)) //nolint:errcheck // the peer is gone then
}

func (l *Listener) take(r *http.Request) error {
	if pid, ok := r.Context().Value(peerKey{}).(int); ok && l.foreign(pid) {
		return &Problem{Code: Denied, Message: "a process that this run started may not command it", Hint: "only a person can; run piton in your own shell"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxRequest))
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		return &Problem{Code: Invalid, Message: "the request is not understood: " + err.Error()}
	}
	if req.Version != l.version {
		return &Problem{
			Code: Unavailable, Message: fmt.Sprintf("the owner of this workspace is piton %s, and this is %s", l.version, req.Version),
			Hint: "let its runs end, or stop it; then use one version",
		}
	}
	if req.Kind == activate {
		return l.owner.Activate(r.Context(), req.Stream)
	}
	return l.forward(r.Context(), req)
}

func (l *Listener) forward(ctx context.Context, req request) error {
	decode, ok := kinds[req.Kind]
	if !ok {
		return &Problem{Code: Invalid, Message: fmt.Sprintf("unknown request %q", req.Kind)}
	}
	in, err := decode(req.Input)
	if err != nil {
		return &Problem{Code: Invalid, Message: "the request is not understood: " + err.Error()}
	}
	var objects []store.Object
	for _, body := range req.Objects {
		objects = append(objects, store.NewObject(body))
	}
	if in, err = req.open(in, objects); err != nil {
		return err
	}
	return l.owner.Submit(ctx, req.Stream, in, objects...)
}

// carried answers with the streams whose runs the owner carries on.
func (l *Listener) carried(w http.ResponseWriter, _ *http.Request) {
	json.NewEncoder(w).Encode(l.owner.Carried()) //nolint:errcheck // the peer is gone then
}

// changes sends a byte each time the journal has grown.
func (l *Listener) changes(w http.ResponseWriter, r *http.Request) {
	ear := make(chan struct{}, 1)
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return
	}
	l.ears[ear] = true
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.ears, ear)
	}()
	flush := http.NewResponseController(w)
	for open := true; open; {
		if _, err := w.Write([]byte{'\n'}); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case _, open = <-ear:
		case <-r.Context().Done():
			return
		}
	}
}

// Client is a Desk over the owner's socket.
type Client struct {
	http    *http.Client
	version string
}

// Dial returns a desk at the place's owner. It connects at the first request.
func Dial(p Place, version string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, p) }
	return &Client{version: version, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// Submit sends an input to the owner.
func (c *Client) Submit(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error {
	kind, err := kindOf(in)
	if err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	req := request{Version: c.version, Stream: stream, Kind: kind, Input: body}
	for _, o := range objects {
		req.Objects = append(req.Objects, o.Body)
	}
	return c.post(ctx, req)
}

// Activate asks the owner to go on with a task's run.
func (c *Client) Activate(ctx context.Context, stream string) error {
	return c.post(ctx, request{Version: c.version, Stream: stream, Kind: activate})
}

// answerTime is how long an owner may take to make a change durable.
const answerTime = 30 * time.Second

func (c *Client) post(ctx context.Context, req request) error {
	body, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://piton/submit", bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := c.http.Do(r)
	if err != nil {
		return &Problem{
			Code: Unavailable, Message: "the owner of this workspace does not answer: " + err.Error(),
			Hint: "if it hangs, stop it (its state is safe) and use piton resume",
		}
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		return nil
	}
	var p Problem
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
		return &Problem{Code: Unavailable, Message: "the owner of this workspace answers nonsense: " + err.Error()}
	}
	return &p
}

// Changes calls each whenever the journal has grown, and once at the
// beginning, until the owner goes away or ctx ends. It fails if there is no owner.
func (c *Client) Changes(ctx context.Context, each func() error) error {
	res, err := c.get(ctx, "changes")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for buf := make([]byte, 64); ; {
		if _, err := res.Body.Read(buf); err != nil {
			return nil // the owner ended, or ctx
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// Carried names the streams whose runs the owner carries on. It fails with
// Unavailable if there is no owner, and otherwise if the owner, of another
// version, does not say.
func (c *Client) Carried(ctx context.Context) (streams []string, err error) {
	res, err := c.get(ctx, "carried")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&streams); err != nil {
		return nil, fmt.Errorf("ask the owner of this workspace what it carries on: %w", err)
	}
	return streams, nil
}

func (c *Client) get(ctx context.Context, what string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://piton/"+what, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, &Problem{Code: Unavailable, Message: "the owner of this workspace does not answer: " + err.Error()}
	}
	return res, nil
}
