package model

import (
	"context"
	"fmt"
	"time"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/engine"
)

// Agent asks through the configured agent of a role, in the mode that reads.
type Agent struct {
	Roles   *agent.Roles
	Role    string
	Environ []string // of the harness; the agent gets what its configuration lets through
	Time    time.Duration
	// Scratch gives the agent an empty directory, which done takes back.
	Scratch func() (dir string, done func(), err error)
}

// Ask starts the agent with the question as its prompt. Its last words are the
// answer, or what it wrote to its output file.
func (a Agent) Ask(ctx context.Context, q Question) (Answer, error) {
	who := fmt.Sprintf("agent %q", a.Role)
	scratch, done, err := a.Scratch()
	if err != nil {
		return Answer{}, failure(engine.NoStart, "%s was not asked: %v", who, err)
	}
	defer done()
	text := q.Prompt
	if len(q.Schema) > 0 {
		text += "\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing else:\n\n" + string(q.Schema) + "\n"
	}
	keep(q.Log, "question", text)
	r := a.Roles.Run(ctx, agent.Task{
		Role: a.Role, Run: "question", Step: a.Role, Attempt: 1, Text: text, Dir: q.Dir, Mode: "read",
		Environ: a.Environ, Timeout: a.Time, LogPath: q.Log, Scratch: scratch,
	})
	said := words(string(r.Output))
	if r.Blocked != "" {
		said = words(r.Blocked)
	}
	switch {
	case r.How == engine.TimedOut:
		return Answer{Usage: r.Usage}, failure(r.How, "%s gave no answer: %s", who, r.Reason)
	case r.How != engine.Exited:
		return Answer{Usage: r.Usage}, failure(r.How, "%s", r.Reason)
	case r.Exit != 0 && said != "":
		return Answer{Usage: r.Usage}, failure(engine.Exited, "%s ended with exit code %d: %s", who, r.Exit, said)
	case r.Exit != 0:
		return Answer{Usage: r.Usage}, failure(engine.Exited, "%s ended with exit code %d", who, r.Exit)
	case len(r.Output) >= agent.MaxOutput: // what is beyond was cut off
		return Answer{Usage: r.Usage}, tooLong(who)
	}
	return taken(who, string(r.Output), r.Usage)
}
