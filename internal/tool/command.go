package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/proc"
)

// commandTime bounds run_command; a call may ask for less. The end of its tree takes
// endTime at most.
const (
	commandTime = 60 * time.Second
	endTime     = 15 * time.Second
)

// Bytes kept of each stream of a command.
const (
	keptHead = 32 << 10
	keptTail = 128 << 10
)

// runner is the tool run_command.
type runner struct {
	room    *room
	pool    *proc.Pool
	environ []string
	allow   []string
	bash    func() (string, error)
}

// bashOnce finds the shell that runs commands when one is run first: what a step puts
// before it on PATH later runs nothing.
func bashOnce(environ []string, workspace string) func() (string, error) {
	return sync.OnceValues(func() (string, error) { return proc.Bash(proc.Environ(environ, nil, nil), workspace) })
}

type commandArgs struct {
	Command string   `json:"command"`
	Args    []scalar `json:"args"`
	Timeout int      `json:"timeout"`
	Exit    int      `json:"exit_code"`
}

// scalar is an argument of a script: a text as it is, anything else as JSON.
type scalar string

// UnmarshalJSON reads any JSON value.
func (s *scalar) UnmarshalJSON(body []byte) error {
	if json.Unmarshal(body, (*string)(s)) != nil {
		*s = scalar(body)
	}
	return nil
}

func (a commandArgs) list() []string {
	list := make([]string, len(a.Args))
	for i, s := range a.Args {
		list[i] = string(s)
	}
	return list
}

type commandOutput struct {
	Exit      int    `json:"exit_code"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Truncated bool   `json:"truncated"`
	Leftover  int    `json:"leftover"`
	Isolation string `json:"isolation"`
	Network   string `json:"network"`
}

func (s runner) weigh(_ context.Context, a commandArgs) (Weight, error) {
	if strings.ContainsRune(a.Command+strings.Join(a.list(), ""), 0) {
		return Weight{}, problem(InvalidArguments, "the command has a zero byte")
	}
	return Weight{Effect: Command, Named: s.named(a)}, nil
}

// named reports whether the configuration has the very words of a command. One with
// arguments it cannot name.
func (s runner) named(a commandArgs) bool {
	return len(a.Args) == 0 && slices.Contains(s.allow, a.Command)
}

// run is for what a person was asked for, or need not be.
func (s runner) run(ctx context.Context, c *Call, a commandArgs) (commandOutput, error) {
	if _, err := s.weigh(ctx, a); err != nil {
		return commandOutput{}, err
	}
	if s.pool == nil {
		return commandOutput{}, problem(Unavailable, "commands cannot be run here")
	}
	limit := commandTime
	if a.Timeout > 0 {
		limit = time.Duration(a.Timeout) * time.Second
	}
	room := &proc.Room{Dir: s.room.dir}
	if held, ok := ctx.Value(roomKey{}).(func() (*proc.Room, error)); ok && !s.named(a) {
		var err error
		if room, err = held(); err != nil {
			return commandOutput{}, &Problem{Code: Unavailable, Message: fmt.Sprintf("the command could not be run: %v", err), cause: err}
		}
	}
	env := proc.Environ(s.environ, nil, map[string]string{"PITON_WORKSPACE": s.room.dir})
	bash, err := s.bash()
	if err != nil {
		return commandOutput{}, problem(Unavailable, "bash is not installed: it runs commands; install it, or put its directory in PATH")
	}
	exposed := s.pool.Offline()
	c.Network = proc.Reach(exposed)
	r := s.pool.Run(ctx, proc.Spec{
		Argv: append([]string{bash, "--noprofile", "--norc", "-c", a.Command, "bash"}, a.list()...), Dir: s.room.dir, Env: env,
		Timeout: limit, Output: proc.Output{Head: keptHead, Tail: keptTail}, Offline: exposed == nil || room.Fixed, Room: room,
	})
	out, err := judged(ctx, r, a.Exit, limit)
	out.Network = c.Network
	return out, err
}

type roomKey struct{}

// Within returns a context in which commands work in a room, but for those that the
// configuration names.
func Within(ctx context.Context, room func() (*proc.Room, error)) context.Context {
	return context.WithValue(ctx, roomKey{}, room)
}

// judged turns the end of a child into an output or a problem.
func judged(ctx context.Context, r proc.Result, want int, limit time.Duration) (commandOutput, error) {
	out := commandOutput{
		Exit: r.Exit, Stdout: plainText(r.Stdout), Stderr: plainText(r.Stderr), Leftover: r.Leftover,
		Truncated: r.Stdout.Dropped()+r.Stderr.Dropped() > 0, Isolation: string(r.Isolation),
	}
	last := bounded(r.Stderr.LastLines(20, 1<<10), 1<<10)
	if last == "" {
		last = bounded(r.Stdout.LastLines(20, 1<<10), 1<<10)
	}
	if last != "" {
		last = ": " + last
	}
	exit, exited := r.Exited()
	switch {
	case errors.Is(r.Err, proc.ErrNotStarted), errors.Is(r.Err, proc.ErrLost), errors.Is(r.Err, proc.ErrClosed):
		return out, &Problem{Code: Unavailable, Message: fmt.Sprintf("the command could not be run: %v", r.Err), cause: r.Err}
	case r.TimedOut:
		return out, problem(TimedOut, "the command took longer than %v and was ended%s", limit, last)
	case r.Cancelled:
		return out, &Problem{Code: Cancelled, Message: "Piton ended the command", cause: ctx.Err()}
	case !exited:
		return out, problem(Failed, "the command died of %s%s", r.Signal, last)
	case exit != want:
		return out, &Problem{Code: Failed, Message: fmt.Sprintf("the command ended with exit code %d and not %d%s", exit, want, last), Exit: exit}
	}
	return out, nil
}

// plainText is a captured stream as text that is safe to show.
func plainText(c proc.Capture) string { return proc.Plain([]byte(c.String())) }
