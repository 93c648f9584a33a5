package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/users"
)

// NotesHeader of an answer holds words for the person, as a JSON list.
const NotesHeader = "Piton-Notes"

// request is what a client sends: what the system does not say of it, and what it
// asks for.
type request struct {
	Version string          `json:"version"`
	Face    string          `json:"face"`
	Dir     []byte          `json:"dir"`            // where the person is; no text, for a name may be any bytes
	Env     [][]byte        `json:"env"`            // of the client
	Again   time.Time       `json:"again,omitzero"` // when it was sent first; its answer was lost
	User    string          `json:"user,omitzero"`  // whom a server let in
	Say     json.RawMessage `json:"say"`
}

func texts(all [][]byte) []string {
	out := make([]string, len(all))
	for i, b := range all {
		out[i] = string(b)
	}
	return out
}

// Following asks to hear of changes.
type Following struct {
	Stream string `json:"stream"`
	End    End    `json:"end,omitzero"` // who gives one carries the task's run on
}

// faces may send requests.
var faces = []string{"cli", "page", ForHTTP, ForAgents}

// ForHTTP is the face by which programs elsewhere ask.
const ForHTTP = "http"

// maxRequest bounds a request on the socket: what a person says is short.
const maxRequest = 16 << 20

// waits are those of the listener: for the head of a request, for its body, and for the
// next request of a connection. One that says nothing does not keep the owner alive.
type waits struct{ head, body, idle time.Duration }

var usual = waits{head: 5 * time.Second, body: 5 * time.Second, idle: 3 * time.Second}

// End is what the end of a client's connection means for the run that it carries.
type End string

const (
	Stop  End = "stop"  // the run is let go of, unless somebody else carries it
	Leave End = "leave" // the run goes on
	Rest  End = "rest"  // the run goes on until only people can move it
)

// Serving is what a [Listener] needs of the owner. Its functions are safe for
// concurrent use.
type Serving struct {
	Version string
	Uses    func(Caller) Uses
	// Carry starts what the task's run wants. done ends this client's part in it.
	Carry func(ctx context.Context, c Caller, stream string, end End) (done func(), err error)
	// Over is closed when nobody carries the task's run any more; it is so at once
	// where nobody does.
	Over    func(stream string) <-chan struct{}
	Carried func() []string
	// Foreign reports whether a process descends from an agent or a contract that
	// this owner started: its commands are refused.
	Foreign func(pid int) bool
	Met     func(pid int) // another process has connected, where the system tells which
	Nudge   func()        // a connection has ended
}

// Listener is the owner's socket: other processes send their requests here and
// hear when the journal has grown. Close it before the owner's loop is closed.
type Listener struct {
	Serving
	server *http.Server
	state  string // the state directory
	waits  waits

	mu    sync.Mutex
	ears  map[*ear]bool
	notes []string // for the next client that carries a run
	held  int      // connections on which a request can still come; at first, that of who started the owner
	met   bool     // somebody has connected
	ended bool
}

// ear is one client that follows.
type ear struct {
	carries bool
	notes   []string // not told yet; the listener's mutex guards them
	more    chan struct{}
}

// Listen serves the place's socket, which only this user may open.
func Listen(p Place, s Serving) (*Listener, error) { return listenFor(p, s, usual) }

func listenFor(p Place, s Serving, w waits) (*Listener, error) {
	if err := os.Remove(p.Socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("clear the owner's socket: %w", err)
	}
	sock, err := listen(p)
	if err != nil {
		return nil, fmt.Errorf("open the owner's socket: %w", err)
	}
	l := &Listener{Serving: s, state: p.State, waits: w, ears: map[*ear]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/{use}", l.serve)
	l.server = &http.Server{Handler: mux, ConnContext: l.meet, ConnState: l.connection, ReadHeaderTimeout: w.head, IdleTimeout: w.idle}
	l.held = 1
	time.AfterFunc(w.idle, l.welcome)
	go l.server.Serve(sock) //nolint:errcheck // it ends with Close
	return l, nil
}

// welcome ends the wait for whoever started the owner.
func (l *Listener) welcome() {
	l.mu.Lock()
	met := l.met
	l.met = true
	l.mu.Unlock()
	if !met {
		l.hold(-1)
	}
}

// meet notes which process is at the other end of a connection.
func (l *Listener) meet(ctx context.Context, c net.Conn) context.Context {
	p := peerOf(c)
	if p.known && !l.Foreign(p.pid) {
		l.Met(p.pid)
	}
	return context.WithValue(ctx, peerKey{}, p)
}

func (l *Listener) connection(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		l.hold(1)
		l.welcome()
	case http.StateClosed, http.StateHijacked:
		l.hold(-1)
	}
}

func (l *Listener) hold(n int) {
	l.mu.Lock()
	l.held += n
	l.mu.Unlock()
	if n < 0 {
		l.Nudge()
	}
}

// Held reports whether there is a connection on which a request can still come.
func (l *Listener) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held > 0
}

// Changed tells everybody who watches that there is something to read.
func (l *Listener) Changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range l.ears {
		e.hear()
	}
}

func (e *ear) hear() {
	select {
	case e.more <- struct{}{}:
	default:
	}
}

// Say tells everybody who carries a run something in words; where nobody does, who
// sends the next request.
func (l *Listener) Say(note string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := false
	for e := range l.ears {
		if e.carries {
			told = true
			e.notes = append(e.notes, note)
			e.hear()
		}
	}
	if !told {
		l.notes = append(l.notes, note)
	}
}

// Close ends the socket and everybody who hangs on it.
func (l *Listener) Close() error {
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		for e := range l.ears {
			close(e.more)
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

// serve carries one request out.
func (l *Listener) serve(w http.ResponseWriter, r *http.Request) {
	caller, say, err := l.admit(w, r)
	if err == nil && r.PathValue("use") == "changes" {
		err = l.changes(w, r, caller, say)
		if err == nil {
			return
		}
	}
	var answer any
	if err == nil {
		answer, err = l.answer(w, r, caller, say)
	}
	if err != nil {
		w.WriteHeader(http.StatusConflict)
		answer = encodeProblem(err)
	}
	json.NewEncoder(w).Encode(answer) //nolint:errcheck // the peer is gone then
}

func (l *Listener) answer(w http.ResponseWriter, r *http.Request, caller Caller, say []byte) (any, error) {
	name := r.PathValue("use")
	if name == "carried" {
		return l.Carried(), nil
	}
	do, known := uses[name]
	if _, may := asked[name]; known && caller.Via == ForAgents {
		if do = asked[name]; !may {
			return nil, forPeople("ask for " + name)
		}
	}
	if !known {
		return nil, &Problem{Code: Invalid, Message: fmt.Sprintf("unknown request %q", name)}
	}
	answer, err := do.do(r.Context(), l.Uses, caller, say)
	if notes := l.takeNotes(); notes != nil {
		text, _ := json.Marshal(notes) // texts always can
		w.Header().Set(NotesHeader, string(text))
	}
	return answer, err
}

// admit reads every request, and says who sends it, as the system knows them. An
// owner that ends admits nobody.
func (l *Listener) admit(w http.ResponseWriter, r *http.Request) (Caller, []byte, error) {
	var q request
	body, err := l.read(w, r)
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	p, _ := r.Context().Value(peerKey{}).(peer)
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	switch {
	case p.known && l.Foreign(p.pid):
		err = &Problem{Code: Denied, Message: "a process that this run started may not control it, nor may one in a container", Hint: "only a person can; run piton in your own shell"}
	case err != nil:
		err = &Problem{Code: Invalid, Message: "the request cannot be read: " + err.Error()}
	case q.Version != l.Version:
		err = &Problem{
			Code: Unavailable, Message: fmt.Sprintf("the owner of this workspace is piton %s, and this is %s", l.Version, q.Version),
			Hint: "let its runs end, or stop it; then use one version",
		}
	case !slices.Contains(faces, q.Face):
		err = &Problem{Code: Invalid, Message: fmt.Sprintf("unknown face %q", q.Face)}
	case ended:
		err = run.ErrStopped
	}
	c := Caller{By: p.user(), Via: q.Face, Dir: string(q.Dir), Env: texts(q.Env), Again: q.Again}
	if q.Face == ForAgents {
		c.By += " via MCP"
	} else if err == nil && q.User != "" {
		err = l.identify(&c, q.User)
	}
	return c, q.Say, err
}

// identify makes a user of the workspace the caller, with the rights that they have now.
func (l *Listener) identify(c *Caller, name string) error {
	u, err := users.In(l.state).Named(name)
	if errors.Is(err, users.ErrUnknown) {
		return &Problem{Code: Denied, Message: name + " is let in no more", Hint: "who runs the server lets users in: piton serve token " + name}
	}
	c.By, c.User = u.Name, &u
	return err
}

// read reads a request that comes in time. One that does not ends with its connection.
func (l *Listener) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	c := http.NewResponseController(w)
	if err := c.SetReadDeadline(time.Now().Add(l.waits.body)); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		w.Header().Set("Connection", "close")
		return nil, err
	}
	return body, c.SetReadDeadline(time.Time{})
}

// What a line of the changes begins with; an empty one says that the journal has
// grown.
const (
	LetGo = "x" // nobody carries the run any more
	Noted = "!" // words for the person
)

// changes sends a line each time the journal has grown, until nobody carries the
// task's run on. With an end it carries the run on itself as long as it lasts.
func (l *Listener) changes(w http.ResponseWriter, r *http.Request, caller Caller, say []byte) error {
	var q Following
	if err := json.Unmarshal(say, &q); err != nil {
		return err
	}
	e, ok := l.listen(q.End != "")
	if !ok {
		return run.ErrStopped
	}
	defer l.deafen(e)
	if q.End != "" {
		if err := caller.May(users.Run); err != nil {
			return err
		}
		done, err := l.Carry(r.Context(), caller, q.Stream, q.End)
		if err != nil {
			return err
		}
		defer done()
	}
	l.hold(-1)
	defer l.hold(1)
	l.tell(r.Context(), w, e, l.Over(q.Stream))
	return nil
}

// tell writes until there is nothing more to tell.
func (l *Listener) tell(ctx context.Context, w http.ResponseWriter, e *ear, over <-chan struct{}) {
	flush := http.NewResponseController(w)
	for {
		for _, note := range append(l.take(e), "") {
			if _, err := io.WriteString(w, note+"\n"); err != nil {
				return
			}
		}
		if flush.Flush() != nil {
			return
		}
		select {
		case _, open := <-e.more:
			if !open {
				return
			}
		case <-over:
			for _, note := range append(l.take(e), LetGo) {
				io.WriteString(w, note+"\n") //nolint:errcheck // the peer is gone then
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

// take is what an ear has to be told in words.
func (l *Listener) take(e *ear) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, note := range e.notes {
		lines = append(lines, Noted+strings.ReplaceAll(note, "\n", " "))
	}
	e.notes = nil
	return lines
}

// takeNotes are the words that nobody was told.
func (l *Listener) takeNotes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	notes := l.notes
	l.notes = nil
	return notes
}

// listen makes an ear that hears of every change from now on.
func (l *Listener) listen(carries bool) (*ear, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &ear{carries: carries, more: make(chan struct{}, 1)}
	if carries {
		e.notes, l.notes = l.notes, nil
	}
	if !l.ended {
		l.ears[e] = true
	}
	return e, !l.ended
}

func (l *Listener) deafen(e *ear) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ears, e)
}
