package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// owner answers as a test says, and keeps who asked.
type owner struct {
	api.Uses
	foreign bool
	err     func() error

	mu      sync.Mutex
	callers []api.Caller
	orders  []api.Order
	left    chan api.End
	over    chan struct{}
	freed   chan struct{} // a connection has ended
}

func (o *owner) Order(_ context.Context, q api.Order) (api.Ordered, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orders = append(o.orders, q)
	if o.err != nil {
		return api.Ordered{}, o.err()
	}
	return api.Ordered{Run: q.Run, Carried: true}, nil
}

func (o *owner) Run(context.Context, api.Saying) (api.Said, error) {
	panic("the request kills the owner")
}

func (o *owner) serving() api.Serving {
	return api.Serving{
		Version: "1.0", Foreign: func(int) bool { return o.foreign }, Met: func(int) {},
		Uses: func(c api.Caller) api.Uses {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.callers = append(o.callers, c)
			return o
		},
		Carry: func(_ context.Context, _ api.Caller, _ string, end api.End) (func(), error) {
			if o.err != nil {
				return nil, o.err()
			}
			return func() { o.left <- end }, nil
		},
		Over:    func(string) <-chan struct{} { return o.over },
		Carried: func() []string { return []string{"t-1"} },
		Nudge: func() {
			select {
			case o.freed <- struct{}{}:
			default:
			}
		},
	}
}

func listen(t *testing.T, o *owner) (api.Place, *api.Listener) {
	t.Helper()
	return listenBy(t, o, api.Listen)
}

func listenBy(t *testing.T, o *owner, serve func(api.Place, api.Serving) (*api.Listener, error)) (api.Place, *api.Listener) {
	t.Helper()
	o.left, o.over, o.freed = make(chan api.End, 8), make(chan struct{}), make(chan struct{}, 1)
	p := api.Place{State: t.TempDir()}
	l, err := serve(p, o.serving())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return p, l
}

// The owner knows from the system who asks: a client has no way to say it.
func TestRequestOverTheSocket(t *testing.T) {
	o := &owner{}
	p, _ := listen(t, o)
	c := api.Dial(p, "1.0", []string{"HOME=/", "PITON_POLICY_MARK=off"}, nil)
	q := api.Order{Run: "7f3a21", Step: "a", Verb: engine.DoSkip, Why: "because"}
	done, err := c.Order(t.Context(), q)
	if err != nil || done.Run != "7f3a21" || !done.Carried {
		t.Fatalf("%+v, %v", done, err)
	}
	if streams, err := c.Carried(t.Context()); err != nil || !slices.Equal(streams, []string{"t-1"}) {
		t.Errorf("it carries on %v, %v", streams, err)
	}
	who := o.callers[0]
	if !slices.Equal(o.orders, []api.Order{q}) || who.By != api.Person() || who.Via != "cli" || !slices.Equal(who.Env, []string{"HOME=/", "PITON_POLICY_MARK=off"}) {
		t.Errorf("the owner got %+v from %+v", o.orders, who)
	}
	if info, err := os.Stat(p.Socket()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
}

// Errors come through with their words, and with what faces tell apart.
func TestRefusalsKeepTheirWords(t *testing.T) {
	o := &owner{err: func() error {
		return &engine.Refusal{Code: engine.Conflict, Message: "run 1 is done", Remedy: engine.RetryStep, With: []string{"a", "r1"}}
	}}
	p, _ := listen(t, o)
	order := func() error {
		_, err := api.Dial(p, "1.0", nil, nil).Order(t.Context(), api.Order{})
		return err
	}
	problem, ok := errors.AsType[*api.Problem](order())
	if !ok || problem.Code != api.Conflict || problem.Message != "run 1 is done" || problem.Hint != "piton retry a --run r1 runs the step again" {
		t.Errorf("got %#v", problem)
	}
	for _, cause := range []error{store.ErrCorrupt, store.ErrFull, store.ErrReadOnly, store.ErrVersion, api.ErrMachine} {
		o.err = func() error { return cause }
		if err := order(); !errors.Is(err, cause) {
			t.Errorf("%v came as %v", cause, err)
		}
	}
}

// An agent that asks in a person's name begins a run and cancels one. What says yes to
// anything, answers, or moves a run on, the owner refuses to hear from it.
func TestAgentsApproveNothing(t *testing.T) {
	o := &owner{}
	p, _ := listen(t, o)
	c := api.Dial(p, "1.0", nil, nil)
	c.Face = api.ForAgents
	ctx := t.Context()
	refused := map[string]error{}
	try := func(what string, err error) { refused[what] = err }
	for _, q := range []api.Saying{{Word: "a", Yes: true}, {Word: "a", Weaker: true}, {Word: "a", Hash: "0"}, {Word: "a", Config: "0"}, {Word: "a", Unsealed: true}, {Word: "a", Why: "x"}} {
		_, err := c.Run(ctx, q)
		try(fmt.Sprintf("run %+v", q), err)
	}
	for _, verb := range []engine.Verb{engine.DoPause, engine.DoResume, engine.DoRetry, engine.DoSkip, engine.DoWaive, engine.DoForce, engine.DoReplan} {
		_, err := c.Order(ctx, api.Order{Run: "1", Step: "a", Verb: verb})
		try(string(verb), err)
	}
	_, err := c.Order(ctx, api.Order{Run: "1", Verb: engine.DoCancel, From: true})
	try("cancel from", err)
	_, err = c.Approve(ctx, api.Saying{})
	try("approve", err)
	_, err = c.Reject(ctx, api.Saying{})
	try("reject", err)
	_, err = c.Resume(ctx, api.Resume{})
	try("resume", err)
	_, err = c.Answer(ctx, api.Answer{})
	try("answer", err)
	_, err = c.Plan(ctx, api.Planning{})
	try("plan", err)
	_, err = c.Redraft(ctx, api.Redrafting{})
	try("redraft", err)
	_, err = c.Contract(ctx, api.Contracting{})
	try("contract", err)
	_, err = c.Review(ctx, api.Reviewing{})
	try("review", err)
	_, err = c.Withdraw(ctx, api.Withdrawal{})
	try("withdraw", err)
	_, err = c.Archive(ctx, api.Archive{})
	try("archive", err)
	_, err = c.Collect(ctx, api.Collect{})
	try("gc", err)
	_, err = c.Restore(ctx, api.Restore{})
	try("restore", err)
	_, err = c.Edit(ctx, api.Edit{})
	try("edit", err)
	_, err = c.Release(ctx, api.Release{})
	try("release", err)
	for what, err := range refused {
		if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Code != api.Denied {
			t.Errorf("%s: %v", what, err)
		}
	}
	q := api.Order{Run: "1", Verb: engine.DoCancel, Why: "not needed"}
	if _, err := c.Order(ctx, q); err != nil || !slices.Equal(o.orders, []api.Order{q}) {
		t.Errorf("the owner got %+v, %v", o.orders, err)
	}
	if who := o.callers[len(o.callers)-1]; who.By != api.Person()+" via MCP" || who.Via != api.ForAgents {
		t.Errorf("the owner takes it for %+v", who)
	}
}

func TestProcessesOfARunAreRefused(t *testing.T) {
	o := &owner{foreign: true}
	p, _ := listen(t, o)
	if api.Descends(os.Getpid()) {
		t.Error("a process counts as its own child")
	}
	c := api.Dial(p, "1.0", nil, nil)
	_, err := c.Order(t.Context(), api.Order{})
	carried := c.Carry(t.Context(), "t-1", api.Stop, func() error { return nil })
	watched := c.Watch(t.Context(), "t-1", func() error { return nil })
	_, asked := c.Carried(t.Context())
	for _, err := range []error{err, carried, watched, asked} {
		if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Code != api.Denied {
			t.Errorf("got %v", err)
		}
	}
	if len(o.orders)+len(o.left) > 0 {
		t.Error("the command reached the owner")
	}
}

func TestOtherVersionsAreRefused(t *testing.T) {
	o := &owner{}
	p, _ := listen(t, o)
	start := func(context.Context) error { t.Error("another owner is started"); return nil }
	c := api.Dial(p, "2.0", nil, start)
	_, err := c.Order(t.Context(), api.Order{})
	carried := c.Carry(t.Context(), "t-1", api.Stop, func() error { return nil })
	watched := c.Watch(t.Context(), "t-1", func() error { return nil })
	_, asked := c.Carried(t.Context())
	for _, err := range []error{err, carried, watched, asked} {
		if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Code != api.Unavailable || !strings.Contains(problem.Message, "1.0") {
			t.Errorf("got %v", err)
		}
	}
	if len(o.orders)+len(o.left) > 0 {
		t.Error("the command reached the owner")
	}
}

// Nobody can send what the core takes, a verdict least of all: only the use cases
// have names.
func TestOnlyUseCasesHaveNames(t *testing.T) {
	p, _ := listen(t, &owner{})
	c := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", p.Socket())
	}}}
	for _, name := range []string{"submit", "checked", "ended", "prepared", "expanded", "begin", "open", "draft", "judgement", "activate"} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://piton/v1/"+name, strings.NewReader(`{"version":"1.0","face":"cli","say":{}}`))
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode == http.StatusOK || !strings.Contains(string(body), "unknown request") {
			t.Errorf("%s was taken: %s", name, body)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	_, err := api.Dial(api.Place{State: t.TempDir()}, "1.0", nil, nil).Order(t.Context(), api.Order{})
	if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Code != api.Unavailable {
		t.Errorf("got %v", err)
	}
}

// Where nobody listens the client starts an owner, once, and says what keeps it from
// that.
func TestClientStartsTheOwner(t *testing.T) {
	p := api.Place{State: t.TempDir()}
	o, starts := &owner{}, 0
	start := func(context.Context) error {
		starts++
		l, err := api.Listen(p, o.serving())
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	}
	if _, err := api.Dial(p, "1.0", nil, start).Order(t.Context(), api.Order{}); err != nil || starts != 1 || len(o.orders) != 1 {
		t.Errorf("%v after %d starts and %d orders", err, starts, len(o.orders))
	}
	why := errors.New("no room on the disk")
	_, err := api.Dial(api.Place{State: t.TempDir()}, "1.0", nil, func(context.Context) error { return why }).Order(t.Context(), api.Order{})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// An owner that is about to end takes nothing: the next one gets the request.
func TestStoppingOwnerIsAskedNoMore(t *testing.T) {
	o, began := &owner{}, 0
	o.err = func() error {
		if began++; began < 3 {
			return run.ErrStopped
		}
		return nil
	}
	p, _ := listen(t, o)
	if _, err := api.Dial(p, "1.0", nil, func(context.Context) error { return store.ErrOwned }).Order(t.Context(), api.Order{}); err != nil {
		t.Error(err)
	}
	if again := o.callers[len(o.callers)-1].Again; len(o.callers) != 3 || !again.IsZero() {
		t.Errorf("%d requests, the last one again since %v", len(o.callers), again)
	}
}

// An owner that ended between a request and its answer may have carried it out: the
// next one is told.
func TestLostAnswerIsAskedForAgain(t *testing.T) {
	p := api.Place{State: t.TempDir()}
	dying, err := net.Listen("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := dying.Accept()
		if err == nil {
			io.ReadFull(c, make([]byte, 100)) //nolint:errcheck // the request has come
			c.Close()
		}
		dying.Close()
	}()
	o, before := &owner{}, time.Now()
	_, err = api.Dial(p, "1.0", nil, func(context.Context) error {
		l, err := api.Listen(p, o.serving())
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	}).Order(t.Context(), api.Order{})
	if err != nil || len(o.callers) != 1 {
		t.Fatalf("%v, %d requests", err, len(o.callers))
	}
	if again := o.callers[0].Again; again.Before(before) || again.After(time.Now()) {
		t.Errorf("it was sent first at %v", again)
	}
}

// Who carries a run hears of every change, and its end tells the owner what it means.
func TestCarry(t *testing.T) {
	o := &owner{}
	p, l := listen(t, o)
	told, answers, enough := make(chan struct{}), make(chan error), errors.New("enough")
	over := make(chan error, 1)
	go func() {
		over <- api.Dial(p, "1.0", nil, nil).Carry(t.Context(), "t-1", api.Leave, func() error { told <- struct{}{}; return <-answers })
	}()
	<-told // once at the beginning
	answers <- nil
	l.Changed()
	<-told
	answers <- nil
	l.Changed()
	<-told
	answers <- enough
	if err := <-over; !errors.Is(err, enough) {
		t.Errorf("it ends with %v", err)
	}
	if end := <-o.left; end != api.Leave {
		t.Errorf("the owner is told %q", end)
	}
}

// The end of a run and that of its owner are told apart.
func TestCarryEnds(t *testing.T) {
	follow := func(end func(*owner, *api.Listener)) error {
		o := &owner{}
		p, l := listen(t, o)
		told, over := make(chan struct{}, 8), make(chan error, 1)
		go func() {
			over <- api.Dial(p, "1.0", nil, nil).Carry(t.Context(), "t-1", api.Stop, func() error { told <- struct{}{}; return nil })
		}()
		<-told
		end(o, l)
		return <-over
	}
	if err := follow(func(o *owner, _ *api.Listener) { close(o.over) }); err != nil {
		t.Errorf("the end of the run is %v", err)
	}
	if err := follow(func(_ *owner, l *api.Listener) { l.Close() }); !api.ErrGone(err) {
		t.Errorf("the end of the owner is %v", err)
	}
}

// soon is a wait of the listener that a test sees the end of.
const soon = 100 * time.Millisecond

// A connection on which nothing is said does not keep the owner alive for long.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	o := &owner{}
	p, l := listenBy(t, o, func(p api.Place, s api.Serving) (*api.Listener, error) { return api.ListenFor(p, s, soon, soon, soon) })
	silent, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	silent.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // it is a socket
	if n, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("%d bytes, %v; want the end", n, err)
	}
	for l.Held() {
		<-o.freed
	}
}

// A connection that follows a run keeps the owner alive only by the run.
func TestDeafConnection(t *testing.T) {
	t.Parallel()
	o := &owner{}
	p, l := listen(t, o)
	deaf, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	say := `{"version":"1.0","face":"cli","say":{"stream":"t-1","end":"stop"}}`
	fmt.Fprintf(deaf, "POST /v1/changes HTTP/1.1\r\nHost: piton\r\nContent-Length: %d\r\n\r\n%s", len(say), say)
	deaf.Read(make([]byte, 1)) //nolint:errcheck // the answer begins
	for l.Held() {
		<-o.freed
	}
	for range 100_000 {
		l.Changed() // never waits for it
	}
	deaf.Close()
	if end := <-o.left; end != api.Stop {
		t.Errorf("the owner is told %q", end)
	}
}

// A request of which only a part comes ends with its connection, and takes nobody's
// notes.
func TestHalfARequest(t *testing.T) {
	t.Parallel()
	o := &owner{}
	p, l := listenBy(t, o, func(p api.Place, s api.Serving) (*api.Listener, error) {
		return api.ListenFor(p, s, time.Minute, soon, time.Minute)
	})
	l.Say("a word for the person")
	half, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	io.WriteString(half, "POST /v1/order HTTP/1.1\r\nHost: piton\r\nContent-Length: 200\r\n\r\n{\"run\"") //nolint:errcheck // nobody listens then
	answer, err := io.ReadAll(half)
	if err != nil || !strings.Contains(string(answer), "cannot be read") {
		t.Fatalf("after %q: %v", answer, err)
	}
	for l.Held() {
		<-o.freed
	}
	if strings.Contains(string(answer), "a word") {
		t.Errorf("who is refused takes the notes: %q", answer)
	}
}

func TestLocate(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PITON_STATE": state}
	alone, err := api.Locate(deep, env)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".piton"), 0o755); err != nil {
		t.Fatal(err)
	}
	found, err := api.Locate(deep, env)
	if err != nil {
		t.Fatal(err)
	}
	real, _ := filepath.EvalSymlinks(dir)
	if alone.Dir != filepath.Join(real, "a", "b") || found.Dir != real || found.ID == alone.ID {
		t.Errorf("alone %v, with a mark %v", alone, found)
	}
	again, _ := api.Locate(dir, env)
	if again != found {
		t.Errorf("%v and %v are one workspace", again, found)
	}
	if _, err := api.Locate(dir, map[string]string{"PITON_STATE": filepath.Join(dir, "state")}); err == nil {
		t.Error("a state directory inside the workspace is taken")
	}
}
