package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piton-dev/piton/internal/egress"
	"github.com/piton-dev/piton/internal/proc"
)

// A Server is an MCP server whose tools can be used: a command, which is started
// with the first question about it, or the address of one that runs.
type Server struct {
	Command []string
	URL     string
	Env     map[string]string // set for the command
	EnvPass []string          // passed on to it
	Reads   []string          // its tools that only read, as whoever configured it says
	Login   []string          // what it may change in the home, by name there
	Network []string          // hosts that it may ask; none: all
	Open    bool              // it runs with all rights of the harness
}

// Limits of a server.
const (
	startTime   = 30 * time.Second
	maxTools    = 200
	maxMessages = 8 << 20 // bytes of one message
	maxStarts   = 2       // the first, and one after a crash
)

// server is a configured server, running or not.
type server struct {
	name string
	conf Server
	pool *proc.Pool
	env  []string
	dir  string
	life context.Context //nolint:containedctx // of the registry: what the server's processes hang on

	tellers tellers

	mu     sync.Mutex
	link   *link
	starts int
	why    error // the last start failed, or the last session ended; nil: neither did
}

// link is a session with a running server.
type link struct {
	session *mcp.ClientSession
	child   *proc.Child // nil if the server is an address
	kill    context.CancelFunc
	over    chan struct{} // closed once the session is
	broken  atomic.Bool   // nothing sensible came back: the session is not used again
	tools   map[string]*entry
	faults  []error // tools that cannot be used
	ends    sync.Once
	last    string // what its end said, once it has been ended
}

func newServer(life context.Context, name string, conf Server, c Config) *server {
	return &server{name: name, conf: conf, pool: c.Pool, dir: c.Workspace, life: life, env: proc.Environ(c.Environ, conf.EnvPass, conf.Env)}
}

// get returns a link to the running server; it starts one that does not run yet,
// and once one that ended by itself.
func (s *server) get(ctx context.Context) (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil && !s.link.ended() {
		return s.link, nil
	}
	if s.link != nil {
		s.link.end()
		s.link = nil
	}
	if s.life.Err() != nil {
		return nil, problem(Unavailable, "server %s is closed", s.name)
	}
	if s.starts == maxStarts && s.conf.URL == "" {
		return nil, &Problem{Code: Unavailable, Message: fmt.Sprintf("server %s is not started a third time: %v", s.name, s.why), cause: s.why}
	}
	s.starts++
	l, err := s.start(ctx)
	if err != nil {
		s.why = err
		return nil, err
	}
	s.link = l
	return l, nil
}

// start begins a session. Neither the start nor the list of tools may take longer
// than startTime, and the end of ctx ends both.
func (s *server) start(ctx context.Context) (*link, error) {
	life, kill := context.WithCancel(s.life)
	l := &link{kill: kill, over: make(chan struct{})}
	slow := time.AfterFunc(startTime, kill)
	stop := context.AfterFunc(ctx, kill)
	defer stop()
	err := s.open(life, l)
	if err == nil {
		go func() {
			defer close(l.over)
			l.session.Wait() //nolint:errcheck // why it ended is asked of the child
		}()
		if err = s.learn(life, l); err == nil && stop() && slow.Stop() {
			return l, nil
		}
	}
	if !slow.Stop() {
		err = fmt.Errorf("no answer in %v", startTime)
	}
	said := l.end()
	if ctx.Err() != nil {
		return nil, asProblem(ctx.Err())
	}
	return nil, &Problem{Code: Unavailable, Message: bounded(fmt.Sprintf("server %s does not start: %v%s", s.name, err, said), maxMessage), cause: err}
}

func (s *server) open(ctx context.Context, l *link) error {
	transport, err := s.transport(ctx, l)
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "piton", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}, ProgressNotificationHandler: s.tellers.heard})
	l.session, err = client.Connect(ctx, transport, nil)
	return err
}

func (s *server) transport(ctx context.Context, l *link) (mcp.Transport, error) {
	if s.conf.URL != "" {
		return overHTTP(s.conf.URL), nil
	}
	if s.pool == nil {
		return nil, errors.New("programs cannot be run here")
	}
	spec := proc.Spec{Argv: s.conf.Command, Dir: s.dir, Env: s.env}
	if !s.conf.Open {
		spec.Room = &proc.Room{Dir: s.dir, Login: s.conf.Login}
	}
	gate, err := egress.For(egress.Rules{Own: s.conf.Network})
	if err != nil {
		return nil, err
	}
	if gate != nil {
		s.pool.Bind(&spec, gate, false)
	}
	child, err := s.pool.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	l.child = child
	return &mcp.IOTransport{Reader: child.Stdout, Writer: child.Stdin, MaxLineLength: maxMessages}, nil
}

// lastWords is how long a program that is to end may take to end by itself.
const lastWords = time.Second

// end ends the session and everything of the server, and returns what its program
// last said on its error output.
func (l *link) end() string {
	l.ends.Do(func() { l.last = l.finish() })
	return l.last
}

func (l *link) finish() string {
	if l.child == nil {
		if l.session != nil {
			l.session.Close() //nolint:errcheck // nobody is left to hear of it
		}
		l.kill()
		return ""
	}
	l.child.Stdin.Close() // which asks it to end
	late := time.AfterFunc(lastWords, l.kill)
	r := l.child.Wait()
	late.Stop()
	l.kill()
	if l.session != nil {
		l.session.Close() //nolint:errcheck // nobody is left to hear of it
	}
	l.child.Stdout.Close()
	said := bounded(r.Stderr.LastLines(5, 512), 512)
	if said != "" {
		said = "; it said: " + said
	}
	if exit, ok := r.Exited(); ok {
		return fmt.Sprintf("; its exit code was %d%s", exit, said)
	}
	return said
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		s.link.end()
		s.link = nil
	}
	s.starts = maxStarts
}

// learn asks for the tools.
func (s *server) learn(ctx context.Context, l *link) error {
	l.tools = map[string]*entry{}
	for t, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the tools: %w", err)
		}
		if len(l.tools) == maxTools {
			l.faults = append(l.faults, fmt.Errorf("server %s has more than %d tools; the rest is left out", s.name, maxTools))
			return nil
		}
		e, err := s.entry(t)
		if err != nil {
			l.faults = append(l.faults, fmt.Errorf("tool %q of server %s is left out: %w", bounded(t.Name, 100), s.name, err))
			if len(l.faults) > maxTools {
				return errors.New("too many tools that cannot be used")
			}
			continue
		}
		l.tools[t.Name] = e
	}
	return nil
}

// entry makes a tool of what the server says of it, which is bounded and proves nothing.
func (s *server) entry(t *mcp.Tool) (*entry, error) {
	if t.Name == "" || len(t.Name) > 128 || strings.Trim(t.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") != "" {
		return nil, errors.New("a tool cannot have that name")
	}
	d := Definition{Name: s.name + "." + t.Name, Description: bounded(t.Description, maxDescription), Effect: Command, Server: s.name, Foreign: true}
	if s.conf.URL != "" {
		d.Effect = Network
	}
	if slices.Contains(s.conf.Reads, t.Name) {
		d.Effect = Read
	}
	var err error
	if d.Input, err = schemaText(t.InputSchema); err != nil {
		return nil, err
	}
	if d.Input == nil {
		d.Input = json.RawMessage(`{"type":"object"}`)
	}
	if d.Output, err = schemaText(t.OutputSchema); err != nil {
		return nil, err
	}
	own := t.Name
	return ready(Tool{Definition: d, Call: func(ctx context.Context, c *Call) (json.RawMessage, error) { return s.call(ctx, own, c.Args) }})
}

func schemaText(schema any) (json.RawMessage, error) {
	if schema == nil {
		return nil, nil
	}
	return encode(schema)
}

func (s *server) find(ctx context.Context, own string) (*entry, error) {
	l, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	if e := l.tools[own]; e != nil {
		return e, nil
	}
	return nil, problem(NotFound, "server %s has no tool %q", s.name, cut(own, 100))
}

func (s *server) list(ctx context.Context) ([]Definition, error) {
	l, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	var list []Definition
	for _, e := range l.tools {
		list = append(list, e.Definition)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list, errors.Join(l.faults...)
}

// call asks the server. A call that the server did not live to answer is not
// repeated: nobody knows what of it was done.
func (s *server) call(ctx context.Context, own string, args json.RawMessage) (json.RawMessage, error) {
	l, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	params := &mcp.CallToolParams{Name: own, Arguments: args}
	if token, end := s.tellers.begin(ctx); token != "" {
		defer end()
		params.SetProgressToken(token)
	}
	res, err := l.session.CallTool(ctx, params)
	if err == nil {
		return claimed(res)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok && !errors.Is(err, mcp.ErrConnectionClosed) && !l.ended() {
		return nil, &Problem{Code: Failed, Message: fmt.Sprintf("server %s refuses: %s", s.name, bounded(refusal.Message, maxMessage)), cause: err}
	}
	return nil, s.died(l, err)
}

// died ends a session that broke during a call, and says what is known of why. The call may
// have done its work: it is not made again unless the plan says so.
func (s *server) died(l *link, err error) error {
	l.broken.Store(true)
	said := l.end()
	if closed := errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed); !closed || said == "" {
		said = ": " + bounded(err.Error(), 300) + said
	}
	p := &Problem{Code: Failed, Message: fmt.Sprintf("server %s ended during the call%s", s.name, said), cause: err}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why = p
	return p
}

func (l *link) ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return l.broken.Load()
	}
}

// claimed is what a server says came out: its structured value, else its text,
// else the list of what it sent.
func claimed(res *mcp.CallToolResult) (json.RawMessage, error) {
	text, all := texts(res.Content)
	switch {
	case res.IsError:
		return nil, problem(Failed, "the tool says: %s", bounded(text, maxMessage))
	case res.StructuredContent != nil:
		return encode(res.StructuredContent)
	case all:
		return encode(text)
	}
	return encode(map[string]any{"content": res.Content})
}

// texts joins the texts of a result, and says whether there was nothing else.
func texts(list []mcp.Content) (text string, all bool) {
	var parts []string
	for _, c := range list {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n"), len(parts) == len(list)
}
