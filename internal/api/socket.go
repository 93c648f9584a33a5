package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Headers of a request.
const (
	versionHeader  = "Piton-Version"
	faceHeader     = "Piton-Face"
	dirHeader      = "Piton-Dir"      // where the person is, escaped as in a URL
	againHeader    = "Piton-Again"    // when the request was sent first; its answer was lost
	settingsHeader = "Piton-Settings" // of the client's environment, as a JSON list
	notesHeader    = "Piton-Notes"    // of an answer: words for the person, as a JSON list
)

// faces may send requests.
var faces = []string{"cli", "page", "mcp"}

// maxRequest bounds a request on the socket: what a person says is short.
const maxRequest = 16 << 20

// Waits of the listener: for a request that was begun, and for the next one on a
// connection. One that says nothing does not keep the owner alive.
const (
	requestTime = 5 * time.Second
	idleTime    = 3 * time.Second
)

// End is what the end of a client's connection means for the run that it carries.
type End string

const (
	Stop  End = "stop"  // the run is let go of, unless somebody else carries it
	Leave End = "leave" // the run goes on
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
func Listen(p Place, s Serving) (*Listener, error) {
	if err := os.Remove(p.Socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("clear the owner's socket: %w", err)
	}
	sock, err := listen(p)
	if err != nil {
		return nil, fmt.Errorf("open the owner's socket: %w", err)
	}
	l := &Listener{Serving: s, ears: map[*ear]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/{use}", l.use)
	mux.HandleFunc("GET /v1/changes", l.changes)
	mux.HandleFunc("GET /v1/carried", l.carried)
	l.server = &http.Server{Handler: mux, ConnContext: l.meet, ConnState: l.connection, ReadHeaderTimeout: requestTime, IdleTimeout: idleTime}
	l.held = 1
	time.AfterFunc(idleTime, l.welcome)
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

// use carries one request out.
func (l *Listener) use(w http.ResponseWriter, r *http.Request) {
	answer, err := l.answer(w, r)
	if err != nil {
		w.WriteHeader(http.StatusConflict)
		answer = encodeProblem(err)
	}
	json.NewEncoder(w).Encode(answer) //nolint:errcheck // the peer is gone then
}

func (l *Listener) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	body, late := read(w, r)
	caller, err := l.admit(r)
	if err != nil {
		return nil, err
	}
	do, known := uses[r.PathValue("use")]
	if !known {
		return nil, &Problem{Code: Invalid, Message: fmt.Sprintf("unknown request %q", r.PathValue("use"))}
	}
	if late != nil {
		return nil, &Problem{Code: Invalid, Message: "the request cannot be read: " + late.Error()}
	}
	answer, err := do(r.Context(), l.Uses(caller), body)
	if notes := l.takeNotes(); notes != nil {
		text, _ := json.Marshal(notes) // texts always can
		w.Header().Set(notesHeader, string(text))
	}
	return answer, err
}

// read reads a request that comes in time. One that does not ends with its connection.
func read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	c := http.NewResponseController(w)
	if err := c.SetReadDeadline(time.Now().Add(requestTime)); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		w.Header().Set("Connection", "close")
		return nil, err
	}
	return body, c.SetReadDeadline(time.Time{})
}

// admit says who sends a request, as the system knows them.
func (l *Listener) admit(r *http.Request) (Caller, error) {
	p, _ := r.Context().Value(peerKey{}).(peer)
	version, face := r.Header.Get(versionHeader), r.Header.Get(faceHeader)
	switch {
	case p.known && l.Foreign(p.pid):
		return Caller{}, &Problem{Code: Denied, Message: "a process that this run started may not control it", Hint: "only a person can; run piton in your own shell"}
	case version != l.Version:
		return Caller{}, &Problem{
			Code: Unavailable, Message: fmt.Sprintf("the owner of this workspace is piton %s, and this is %s", l.Version, version),
			Hint: "let its runs end, or stop it; then use one version",
		}
	case !slices.Contains(faces, face):
		return Caller{}, &Problem{Code: Invalid, Message: fmt.Sprintf("unknown face %q", face)}
	}
	dir, err := url.PathUnescape(r.Header.Get(dirHeader))
	if err != nil {
		return Caller{}, &Problem{Code: Invalid, Message: "the request is not understood: " + err.Error()}
	}
	c := Caller{By: p.user(), Via: face, Dir: dir}
	if again := r.Header.Get(againHeader); again != "" {
		c.Again, _ = time.Parse(time.RFC3339Nano, again)
	}
	return c, json.Unmarshal([]byte(cmp.Or(r.Header.Get(settingsHeader), "null")), &c.Settings)
}

// carried answers with the streams whose runs the owner carries on.
func (l *Listener) carried(w http.ResponseWriter, _ *http.Request) {
	json.NewEncoder(w).Encode(l.Carried()) //nolint:errcheck // the peer is gone then
}

// What a line of the changes begins with; an empty one says that the journal has
// grown.
const (
	letGo   = "x" // nobody carries the run any more
	noted   = "!" // words for the person
	refused = "{" // a problem
)

// changes sends a line each time the journal has grown, until nobody carries the
// task's run on. With `end` it carries the run on itself as long as it lasts.
func (l *Listener) changes(w http.ResponseWriter, r *http.Request) {
	stream, end := r.URL.Query().Get("stream"), End(r.URL.Query().Get("end"))
	e, ok := l.listen(end != "")
	if !ok {
		return
	}
	defer l.deafen(e)
	if end != "" {
		done, err := l.carry(r, stream, end)
		if err != nil {
			w.Write(append(EncodeProblem(err), '\n')) //nolint:errcheck // the peer is gone then
			return
		}
		defer done()
	}
	l.hold(-1)
	defer l.hold(1)
	l.tell(r.Context(), w, e, l.Over(stream))
}

func (l *Listener) carry(r *http.Request, stream string, end End) (func(), error) {
	caller, err := l.admit(r)
	if err != nil {
		return nil, err
	}
	return l.Carry(r.Context(), caller, stream, end)
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
			for _, note := range append(l.take(e), letGo) {
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
		lines = append(lines, noted+strings.ReplaceAll(note, "\n", " "))
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
