package tool

import (
	"context"
	_ "embed" // for the definitions of the built-in tools
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/egress"
	"github.com/piton-dev/piton/internal/proc"
)

// Config says what a registry is made of. Workspace is required.
type Config struct {
	Workspace string     // absolute
	Environ   []string   // of the harness, of which an allow-list is passed on
	Pool      *proc.Pool // runs commands and servers; nil: both are unavailable
	Allow     []string   // commands, word by word, that nobody is asked for
	Hosts     []string   // what web_fetch may ask; see [Allow]
	Servers   map[string]Server
}

// A Registry knows tools by name. It is safe for concurrent use. Close it.
type Registry struct {
	room    *room
	servers map[string]*server
	stop    context.CancelFunc

	mu    sync.Mutex
	tools map[string]*entry
}

// entry is a tool that is ready to be called.
type entry struct {
	Tool
	input, output *schema
}

// Open makes a registry of the built-in tools. Servers are not started before
// one of their tools is asked for. Its error says which of the configuration is
// wrong, or that the workspace cannot be opened.
func Open(c Config) (*Registry, error) {
	root, err := os.OpenRoot(c.Workspace)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Registry{room: &room{root: root, dir: c.Workspace}, stop: stop, tools: map[string]*entry{}, servers: map[string]*server{}}
	if err := r.fill(ctx, c); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Registry) fill(ctx context.Context, c Config) error {
	hosts, err := egress.Parse(c.Hosts)
	if slices.Contains(c.Hosts, "*") {
		err = errors.New("* is no host; write example.org, *.example.org, example.org:8443, an address or a range")
	}
	if err != nil {
		return fmt.Errorf("web_fetch.allow: %w", err)
	}
	if err := r.builtin(c, newFetcher(hosts)); err != nil {
		return err
	}
	for name, s := range c.Servers {
		r.servers[name] = newServer(ctx, name, s, c)
	}
	return nil
}

// definitions are those of the built-in tools.
//
//go:embed builtin.json
var definitions []byte

// builtin registers the built-in tools.
func (r *Registry) builtin(c Config, f *fetcher) error {
	room := r.room
	run := runner{room: room, pool: c.Pool, environ: c.Environ, allow: c.Allow, bash: bashOnce(c.Environ, room.dir)}
	tools := map[string]Tool{
		"list_directory": {Call: with(room.list), Weigh: looking(func(a listArgs) string { return orHere(a.Path) })},
		"read_file":      {Call: with(room.read), Weigh: looking(func(a readArgs) string { return a.Path })},
		"read_data":      {Call: with(room.readData), Weigh: looking(func(a dataArgs) string { return a.Path })},
		"search":         {Call: with(room.search), Weigh: looking(func(a searchArgs) string { return orHere(a.Path) })},
		"write_file":     {Call: with(room.write), Weigh: weighing(room.weighWrite)},
		"move_file":      {Call: with(room.move), Weigh: weighing(room.weighMove)},
		"delete_file":    {Call: with(room.remove), Weigh: weighing(room.weighRemove)},
		"web_fetch":      {Call: with(f.fetch), Weigh: weighing(f.weigh), Timeout: fetchTime},
		"run_command":    {Call: with(run.run), Weigh: weighing(run.weigh), Timeout: commandTime + endTime},
	}
	var list []Definition
	if err := json.Unmarshal(definitions, &list); err != nil {
		return fmt.Errorf("read the built-in tools: %w", err)
	}
	for _, d := range list {
		t := tools[d.Name]
		t.Definition = d
		if err := r.Register(t); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the servers, and returns when nothing of them lives.
func (r *Registry) Close() {
	r.stop()
	for _, s := range r.servers {
		s.close()
	}
	r.room.root.Close()
}

// Register adds a tool. Its name has letters, digits, - and _ only, and none that
// is taken; names with a dot belong to servers.
func (r *Registry) Register(t Tool) error {
	if !isName(t.Name) {
		return fmt.Errorf("a tool cannot be called %q: its name has letters, digits, - and _, at most 64", t.Name)
	}
	if t.Call == nil {
		return fmt.Errorf("tool %s has no function to call", t.Name)
	}
	e, err := ready(t)
	if err != nil {
		return fmt.Errorf("tool %s: %w", t.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tools[t.Name] != nil {
		return fmt.Errorf("there is a tool %s already", t.Name)
	}
	r.tools[t.Name] = e
	return nil
}

func ready(t Tool) (*entry, error) {
	e := &entry{Tool: t}
	var err error
	if len(t.Input) == 0 {
		return nil, errors.New("there is no input schema")
	}
	if e.input, err = compile(t.Input); err != nil {
		return nil, err
	}
	e.output, err = compile(t.Output)
	return e, err
}

func isName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// Get finds a tool by name. The first question about a server starts it.
func (r *Registry) Get(ctx context.Context, name string) (Definition, error) {
	e, err := r.find(ctx, name)
	if err != nil {
		return Definition{}, err
	}
	return e.Definition, nil
}

func (r *Registry) find(ctx context.Context, name string) (*entry, error) {
	r.mu.Lock()
	e := r.tools[name]
	r.mu.Unlock()
	if e != nil {
		return e, nil
	}
	if server, own, ok := strings.Cut(name, "."); ok {
		if s := r.servers[server]; s != nil {
			return s.find(ctx, own)
		}
		return nil, problem(NotFound, "there is no tool %q, since no server %q is configured", cut(name, 100), cut(server, 100))
	}
	return nil, problem(NotFound, "there is no tool %q; there are: %s", cut(name, 100), strings.Join(r.names(), ", "))
}

func (r *Registry) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.tools))
}

// Builtin lists the tools that need no server, by name.
func (r *Registry) Builtin() []Definition {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Definition
	for _, name := range slices.Sorted(maps.Keys(r.tools)) {
		list = append(list, r.tools[name].Definition)
	}
	return list
}

// List lists all tools, those of servers last. It starts every server; the error
// joins what is wrong with those that do not answer, whose tools are left out.
func (r *Registry) List(ctx context.Context) ([]Definition, error) {
	list := r.Builtin()
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(r.servers)) {
		tools, err := r.servers[name].list(ctx)
		if err != nil {
			faults = append(faults, err)
		}
		list = append(list, tools...)
	}
	return list, errors.Join(faults...)
}

// Check says whether arguments fit a tool's input schema, and nothing else. It
// returns them as the tool would get them. An error is a *[Problem].
func (r *Registry) Check(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	e, err := r.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return e.accept(ctx, args)
}

func (e *entry) accept(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
	if len(args) > maxArgs {
		return nil, problem(TooLarge, "arguments of %d bytes, and %d are the most", len(args), maxArgs)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	value, canonical, err := decode(args)
	if err != nil {
		return nil, problem(InvalidArguments, "the arguments are no JSON: %v", err)
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, problem(InvalidArguments, "the arguments of a tool are a JSON object")
	}
	if err := e.input.check(ctx, value); err != nil {
		return nil, problem(InvalidArguments, "arguments of %s: %v", e.Name, err)
	}
	return canonical, nil
}

// Call calls a tool. shown is what [Registry.Weigh] found and a person was shown:
// if anything else is there now, nothing is done and the code is Changed. Nil
// binds the call to nothing. Whatever happens, the answer is an Observation.
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage, shown []Target) Observation {
	began := time.Now()
	var o Observation
	e, err := r.find(ctx, name)
	if err == nil {
		err = e.call(ctx, args, shown, &o)
	}
	o.Duration = time.Since(began)
	if err != nil {
		o.Problem = asProblem(err)
		return o
	}
	o.OK = true
	return o
}

func (e *entry) call(ctx context.Context, args json.RawMessage, shown []Target, o *Observation) error {
	args, err := e.accept(ctx, args)
	if err != nil {
		return err
	}
	limit := e.Timeout
	if limit == 0 {
		limit = defaultTimeout
	}
	bound, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := &Call{Args: args, Shown: shown}
	out, err := e.Tool.Call(bound, c)
	o.Changes, o.Network = c.Changes, c.Network
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return problem(TimedOut, "%s took longer than %v", e.Name, limit)
	default:
		return err
	}
	o.Output, err = e.deliver(ctx, out)
	return err
}

// deliver checks what a tool returned.
func (e *entry) deliver(ctx context.Context, out json.RawMessage) (json.RawMessage, error) {
	value, canonical, err := decode(out)
	if err != nil {
		return nil, problem(InvalidOutput, "%s returned no JSON: %v", e.Name, err)
	}
	if len(canonical) > maxOutput {
		return nil, problem(TooLarge, "%s returned %d bytes, and %d are the most", e.Name, len(canonical), maxOutput)
	}
	if err := e.output.check(ctx, value); err != nil {
		return nil, problem(InvalidOutput, "output of %s: %v", e.Name, err)
	}
	return canonical, nil
}
