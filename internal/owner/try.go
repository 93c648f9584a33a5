package owner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/proc"
)

// Tried is how an agent did when it was tried.
type Tried struct {
	Name   string
	Works  bool
	Cause  engine.Cause // why it does not work
	Took   time.Duration
	Usage  engine.Usage
	Words  string // the last that it said, or else the end of what it printed
	Log    string // the file with all that it printed; "" where it printed nothing
	Absent bool   // its program is not there
	Old    string // its version, where it failed and is older than what was tried
}

const (
	// oneWord is what an agent is asked. It is the least that its model can answer.
	oneWord = "Answer with one word: ready. Read nothing, change nothing, and run no command.\n"
	// wordTime bounds one answer: programs that do not reach their model try for minutes. Once
	// one has told why it does not, it gets no more than outageTime.
	wordTime   = 2 * time.Minute
	outageTime = 30 * time.Second
)

// TryAgents gives agents a word to say, each held as it would be in a step of the workspace,
// with the same environment, home and limits. It calls tell once for each, in their order, and
// hear, one call at a time, with what keeps one from its model as soon as that is told. Their
// models are asked. piton is the path of this
// program, which they report with.
func TryAgents(ctx context.Context, place api.Place, c config.Config, env []string, piton string, names []string, hear func(name string, why engine.Cause), tell func(Tried)) error {
	temp, err := os.MkdirTemp("", "piton-try-")
	if err != nil {
		return fmt.Errorf("make a directory for the agents: %w", err)
	}
	defer proc.RemoveAll(temp)
	pool, end, err := lookPool(place, c, env, piton, true)
	if err != nil {
		return fmt.Errorf("prepare to start processes: %w", err)
	}
	defer end()
	t := try{place: place, config: c, env: env, temp: temp, pool: pool, hear: hear, roles: agent.New(agentConfigs(c, piton), pool)}
	answers := make([]chan Tried, len(names))
	var group sync.WaitGroup
	defer group.Wait()
	for i, name := range names {
		answers[i] = make(chan Tried, 1)
		group.Go(func() { answers[i] <- t.agent(ctx, name) })
	}
	for _, answer := range answers {
		a := <-answer
		t.mu.Lock()
		tell(a)
		t.mu.Unlock()
	}
	return ctx.Err()
}

var errOutage = errors.New("it does not reach its model")

// try is what agents are tried with.
type try struct {
	place  api.Place
	config config.Config
	env    []string
	temp   string
	pool   *proc.Pool
	roles  *agent.Roles
	mu     sync.Mutex
	hear   func(name string, why engine.Cause)
}

// listen hands on what the agent tells of an outage, and calls giveUp some
// time after the first, unless it works by then.
func (t *try) listen(name string, giveUp func()) (took func(agent.Deed), end func()) {
	var last engine.Cause
	patience := time.AfterFunc(outageTime, giveUp)
	patience.Stop()
	a := t.config.Agents[name]
	keys := agent.KeysSet(a.EnvPass, t.env)
	return func(d agent.Deed) {
		switch why := agent.Outage(program(a.Command), d, keys); {
		case why == (engine.Cause{}):
			if d.Type == agent.SaidIt || d.Type == agent.Called {
				patience.Stop()
			}
		case why.Kind != last.Kind:
			if last == (engine.Cause{}) {
				patience.Reset(outageTime)
			}
			last = why
			t.mu.Lock()
			defer t.mu.Unlock()
			t.hear(name, why)
		}
	}, func() { patience.Stop() }
}

func (t *try) agent(ctx context.Context, name string) Tried {
	log := filepath.Join(t.place.State, "attempts", "try", name+".log")
	scratch := filepath.Join(t.temp, name)
	if err := errors.Join(os.Mkdir(scratch, 0o700), removed(log)); err != nil {
		return Tried{Name: name, Words: err.Error()}
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	took, end := t.listen(name, func() { cancel(errOutage) })
	r := t.roles.Run(within, agent.Task{
		Role: name, Run: "try", Step: name, Attempt: 1, Text: oneWord, Dir: t.place.Dir, Mode: "edit",
		Environ: t.env, Timeout: wordTime, LogPath: log, Scratch: scratch, OnDeed: took,
	})
	end()
	if r.How == engine.Stopped && errors.Is(context.Cause(within), errOutage) {
		r.How = engine.TimedOut
		r.Cause = agent.Why(program(t.config.Agents[name].Command), r)
	}
	tried := Tried{Name: name, Took: r.Duration, Usage: r.Usage, Cause: r.Cause}
	if r.How == engine.NoStart && tried.Cause.Kind == "" {
		tried.Cause = agent.Why(program(t.config.Agents[name].Command), r)
	}
	tried.Absent = r.Absent && tried.Cause.Kind == engine.NotStarted && r.Exit < 0 && t.file(name) == "" // else its seal hides it
	if r.Size > 0 {
		tried.Log = log
	}
	tried.Words = lastLine(cmp.Or(r.Cause.Text, r.Reason, r.Stdout, r.Stderr))
	tried.Works = r.How == engine.Exited && r.Exit == 0 && tried.Cause.Kind == "" && len(r.Output) > 0
	if form := t.config.Agents[name].Parse; tried.Works && !r.Formed && form != "" && form != string(agent.NoPreset) {
		tried.Works, tried.Words = false, "its output is not what "+form+" writes: correct `parse:` or `command:`"
	}
	if unknown := slices.Contains([]engine.CauseKind{"", engine.Crashed, engine.NotStarted}, tried.Cause.Kind); unknown && !tried.Works && !tried.Absent {
		if tried.Old = r.Old; tried.Old == "" {
			if why := t.unseen(ctx, name); why != (engine.Cause{}) {
				tried.Cause = why
			}
		}
	}
	return tried
}

// Unseen finds the agents whose programs tell their version, and not where they are held as in
// a step, and calls tell with why. No model is asked.
func Unseen(ctx context.Context, place api.Place, c config.Config, env []string, names []string, tell func(name string, why engine.Cause)) error {
	pool, end, err := lookPool(place, c, env, "", true)
	if err != nil {
		return fmt.Errorf("prepare to start processes: %w", err)
	}
	defer end()
	t := try{place: place, config: c, env: env, pool: pool}
	whys := make([]engine.Cause, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() { whys[i] = t.unseen(ctx, name) })
	}
	group.Wait()
	for i, why := range whys {
		if why != (engine.Cause{}) {
			tell(names[i], why)
		}
	}
	return ctx.Err()
}

// versionTime is how long a program may take to tell its version.
const versionTime = 10 * time.Second

// unseen is why the program of an agent starts outside of its seal, and not inside.
func (t *try) unseen(ctx context.Context, name string) (c engine.Cause) {
	a, file := t.config.Agents[name], t.file(name)
	if t.pool.Isolation() != proc.LevelSealed || file == "" || proc.Within(t.place.Dir, file) {
		return c
	}
	dir, err := os.MkdirTemp("", "piton-look-") // what it leaves in its directory is of no use
	if err != nil {
		return c
	}
	defer proc.RemoveAll(dir)
	room := &proc.Room{Dir: dir, Login: agent.LoginOf(a.Command, a.Login), Obeyed: agent.ObeyedOf(a.Command, a.Login)}
	s := proc.Spec{
		Argv: []string{file, "--version"}, Dir: dir, Env: proc.Environ(t.env, a.EnvPass, a.Env), Timeout: versionTime,
		Room: room,
	}
	inside := t.pool.Run(ctx, s)
	if inside.Exit == 0 || inside.TimedOut || ctx.Err() != nil {
		return c
	}
	s.Room = nil
	if outside := t.pool.Run(ctx, s); outside.Exit != 0 {
		return c
	}
	c = engine.Cause{Kind: engine.NotStarted, Text: "works outside of the seal", Next: "name what it lacks there under `visible:` of `sandbox:` in .piton/config.yaml"}
	s.Room = room
	for _, word := range append(leadsTo(file), path().FindAllString(inside.Stderr.LastLines(50, 4<<10)+inside.Stdout.LastLines(50, 4<<10), maxWords)...) {
		if _, err := os.Stat(word); err != nil || word == file {
			continue
		}
		if s.Argv = []string{"/bin/sh", "-c", `test -e "$0"`, word}; t.pool.Run(ctx, s).Exit == 1 {
			c.Text, c.Next = c.Text+"; "+word+" is not visible inside", "`sandbox: {visible: ["+place(word, proc.Variable(t.env, "HOME"))+"]}` in .piton/config.yaml"
			break
		}
	}
	return c
}

// maxWords is how many files that a program names are looked for inside of its seal.
const maxWords = 20

// leadsTo is the file that a link leads to in the end; none of what is no link.
func leadsTo(file string) []string {
	if to, err := filepath.EvalSymlinks(file); err == nil && to != file {
		return []string{to}
	}
	return nil
}

// place is what a configuration names so that a file is visible with what it was installed with:
// no directory at the top of the machine, which has too much.
func place(file, home string) string {
	if rest, ok := strings.CutPrefix(proc.Installation(file, home), home+"/"); ok && home != "" {
		return "~/" + rest
	}
	if dir := proc.Installation(file, "/"); filepath.Dir(dir) != "/" {
		return dir
	}
	return file
}

// file is where the program of an agent is, "" for nowhere.
func (t *try) file(name string) string {
	_, file := probe.Agent(probe.Env{Workspace: t.place.Dir, State: t.place.State, Environ: t.env, Config: t.config}, name)
	return file
}

// path is how programs name files.
var path = lazy.Regexp(`/[^\s'":,;()]+`)

func program(command []string) string {
	if len(command) == 0 {
		return ""
	}
	return filepath.Base(command[0])
}

func removed(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// lastLine is the last line of a text that says something.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
