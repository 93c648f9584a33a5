package owner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
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
	// wordTime bounds one answer: programs that do not reach their model try for minutes.
	wordTime = 2 * time.Minute
)

// TryAgents gives agents a word to say, each held as it would be in a step of the workspace,
// with the same environment, home and limits. It calls tell once for each, in their order.
// Their models are asked.
func TryAgents(ctx context.Context, place api.Place, c config.Config, env []string, names []string, tell func(Tried)) error {
	temp, err := os.MkdirTemp("", "piton-try-")
	if err != nil {
		return fmt.Errorf("make a directory for the agents: %w", err)
	}
	defer proc.RemoveAll(temp)
	pool, end, err := lookPool(place, c, env, true)
	if err != nil {
		return fmt.Errorf("prepare to start processes: %w", err)
	}
	defer end()
	t := try{place: place, config: c, env: env, temp: temp, roles: agent.New(agentConfigs(c), pool)}
	answers := make([]chan Tried, len(names))
	var group sync.WaitGroup
	defer group.Wait()
	for i, name := range names {
		answers[i] = make(chan Tried, 1)
		group.Go(func() { answers[i] <- t.agent(ctx, name) })
	}
	for _, answer := range answers {
		tell(<-answer)
	}
	return ctx.Err()
}

// try is what agents are tried with.
type try struct {
	place  api.Place
	config config.Config
	env    []string
	temp   string
	roles  *agent.Roles
}

func (t *try) agent(ctx context.Context, name string) Tried {
	log := filepath.Join(t.place.State, "attempts", "try", name+".log")
	scratch := filepath.Join(t.temp, name)
	if err := errors.Join(os.Mkdir(scratch, 0o700), removed(log)); err != nil {
		return Tried{Name: name, Words: err.Error()}
	}
	r := t.roles.Run(ctx, agent.Task{
		Role: name, Run: "try", Step: name, Attempt: 1, Text: oneWord, Dir: t.place.Dir, Mode: "edit",
		Environ: t.env, Timeout: wordTime, LogPath: log, Scratch: scratch,
	})
	tried := Tried{Name: name, Took: r.Duration, Usage: r.Usage, Cause: r.Cause}
	if r.How == engine.NoStart && tried.Cause.Kind == "" {
		tried.Cause = agent.Why(program(t.config.Agents[name].Command), r)
	}
	tried.Absent = r.Absent && tried.Cause.Kind == engine.NotStarted
	if r.Size > 0 {
		tried.Log = log
	}
	tried.Words = lastLine(cmp.Or(r.Reason, r.Stdout, r.Stderr))
	tried.Works = r.How == engine.Exited && r.Exit == 0 && tried.Cause.Kind == "" && len(r.Output) > 0
	if unknown := tried.Cause.Kind == "" || tried.Cause.Kind == engine.Crashed; unknown && !tried.Works {
		tried.Old = t.old(ctx, name)
	}
	return tried
}

// old is the version of an agent's program, if it is older than what was tried.
func (t *try) old(ctx context.Context, name string) string {
	lowest := agent.ProgramOf(t.config.Agents[name].Command).Tried
	_, file := probe.Agent(probe.Env{Workspace: t.place.Dir, State: t.place.State, Environ: t.env, Config: t.config}, name)
	if lowest == "" || file == "" || proc.Within(t.place.Dir, file) {
		return ""
	}
	if is := probe.Version(ctx, t.env, file); agent.Older(is, lowest) {
		return is
	}
	return ""
}

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
