// Package agent runs the agents that do the work of a step: a command that is given a
// prompt, or a shell that is given a script.
//
// An agent is a process, and what it says about its work is a claim. Its exit code, its
// last words and the lines of its report are recorded and decide nothing. What is known
// for sure is whether the process ran, how it ended, and that nothing of it lives when
// Run returns.
//
// It must never decide whether a step is done, never wait for anything that an agent
// can hold back (a pipe instead of its report, an endless line), and never give an
// agent one of Piton's own variables.
package agent

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// Kind says how an agent is driven.
type Kind string

const (
	Exec  Kind = "exec"  // any command that takes a prompt and ends
	ACP   Kind = "acp"   // a command that speaks the Agent Client Protocol on its standard streams
	Shell Kind = "shell" // no model: the text is the script, for bash --noprofile --norc -c
)

// Delivery says how an exec agent gets its prompt.
type Delivery string

const (
	Stdin Delivery = "stdin" // the default
	Arg   Delivery = "arg"   // in place of {prompt}, or as the last argument
	File  Delivery = "file"  // its path in place of {prompt_file}, or as the last argument
)

// Home says which HOME an agent has.
type Home string

const (
	Inherit  Home = "inherit"  // the harness's, with the agent's login and settings; the default
	Isolated Home = "isolated" // an empty one for each attempt, removed afterwards
)

// Config is how the agent of one role is driven.
type Config struct {
	Kind Kind
	// Command is the argv of an exec agent. In its arguments {prompt},
	// {prompt_file}, {workdir}, {scratch}, {mode}, {model} and {tools} are replaced, once.
	Command []string
	Prompt  Delivery
	// Parse is the form of what the agent prints: a [Preset]; empty = none.
	Parse string
	Modes map[string]string // the agent's own word for a step's mode: read, edit, full
	Mode  string            // its word where Modes has none; empty = the step's word
	Model string
	Tools []string // that it may use, in its own words; {tools} has them with commas between
	// Instructions go before every text that an exec agent is given.
	Instructions string
	Env          map[string]string // set for the agent
	EnvPass      []string          // names passed on from the harness
	Home         Home
	Login        []string // what it may change in its home, by name there
	Obeyed       []string // and what it can read there at most, as [Program.Obeyed]
	Network      []string // hosts that it may ask for itself; none: as the step says
	Known        []string // hosts that its program is known to need, where anything bounds it
	Most         []string // hosts beyond which its work may ask nothing; none: no bound
	// Price, if known, gives an attempt a cost whose agent tells its tokens only.
	Price *Price
	// Time and Idle bound one attempt: its whole life, and the time in which
	// it neither prints nor reports anything. 0 is no bound.
	Time, Idle time.Duration
	// Grace is the time between asking an agent to end and killing all of it; Term of
	// that is the time after the signal, where it can be asked otherwise before.
	Grace, Term time.Duration
	// Server is the argv of an MCP server that an agent of the kind acp gets for its session.
	// Its environment names the report. None: it gets no server.
	Server []string
	// Permissions say what follows when an agent asks whether it may do something. The
	// strictest that says anything holds.
	Permissions []Rules
}

// Roles are the configured agents by role. They are safe for concurrent use.
type Roles struct {
	cfg  map[string]Config
	pool *proc.Pool
}

// New returns the agents of a configuration. What is wrong with one of them is
// said when it is asked to work.
func New(cfg map[string]Config, pool *proc.Pool) *Roles {
	return &Roles{cfg: maps.Clone(cfg), pool: pool}
}

// Task is one attempt's work.
type Task struct {
	Role    string
	Run     string
	Step    string
	Attempt int
	Text    string   // the finished prompt, or the script
	Dir     string   // the workspace, absolute
	Mode    string   // read, edit, full; empty = edit
	Bash    string   // absolute path of what runs scripts; "" is the one in the PATH of Environ
	Environ []string // of the harness, in the form of os.Environ; an allow-list is taken from it
	Pass    []string // names that the step gets from it besides the role's
	// Values are set besides, whatever they are called: the item, and what a
	// script gets of the steps before it.
	Values map[string]string
	// Network is what the step says of it, see [egress.Rules]; "" is yes. Unsealed: somebody
	// allowed what this machine cannot keep from the network.
	Network  string
	Unsealed bool
	// Room is what the attempt works in; nil: Dir, which it may change.
	Room *proc.Room
	// Timeout bounds the attempt together with [Config.Time]; 0 is no bound.
	Timeout time.Duration
	// LogPath is the attempt's output file. It is appended to, and made with
	// mode 0600 if need be.
	LogPath string
	// Scratch is an empty directory of this attempt alone, absolute, outside of
	// the workspace. The caller removes it after Run. Some agents refuse a HOME
	// below the directory for temporary files.
	Scratch string
	// Permissions are the plan's, beside those of the role. Ask puts what they leave to a
	// person to one; nil: nobody can be asked. It fails once nobody waits for the answer.
	Permissions string
	Ask         func(context.Context, Permission) (Permit, error)
	// OnReport, if set, gets the agent's reports while it works, one call at a
	// time and none after Run has returned. It must return soon. An agent that
	// writes its report anew is heard anew.
	OnReport func(Report)
	// OnDeed, if set, gets each deed that the agent prints, as it comes and one at a time. It
	// must return soon.
	OnDeed func(Deed)
	// OnClaims, if set, gets what the agent claims so far, by its report and what it
	// prints, now and then when that has changed; else as OnReport.
	OnClaims func(Claims)
}

// Result says how an attempt ended, and what the agent claimed.
type Result struct {
	How       engine.How
	Exit      int    // -1 if it did not exit by itself
	Signal    string // that ended it: "SIGKILL"
	Reason    string // why it did not start, or was stopped
	Absent    bool   // it did not start because its program is not there
	Duration  time.Duration
	Isolation proc.Isolation // what kept it from the rest of the machine
	Network   string         // what it reached; "" where nothing kept it from the network
	Leftover  int            // processes that were still there and had to be killed
	Size      int64          // bytes it printed

	// Output is what the agent wrote to its output file, else its last words
	// if [Config.Parse] names a form that has them, else the end of what it
	// printed on standard output; at most [MaxOutput] bytes.
	Output []byte
	// Stdout and Stderr are the last lines of what it printed, as plain text: of standard
	// output its last words, if [Config.Parse] names a form that has them.
	Stdout, Stderr string
	// Complaint is the line that tells why it ended, of its standard error, or of an output
	// without form.
	Complaint string
	// Fault is the error that the agent told of itself and that was not over when it ended.
	Fault Fault
	Cause engine.Cause // why it ended so: see [Why]
	No    Deed         // the last call that it was not allowed to make; no type where there is none
	// Forbidden: it was not the agent's own settings that refused No, but what people or the
	// rules for this attempt said.
	Forbidden bool
	Calls     int // of tools that it told of
	// Formed: what it printed has the form that [Config.Parse] names.
	Formed bool
	// Claims are the agent's, from its report as it was at the end. Usage that
	// the report does not tell is from what it printed.
	Claims
	// Keys are the variables with a key or a token in their name that were passed on to it.
	Keys []string
	// Old is the version of its program, where that failed and is older than what was tried.
	Old string
	// Notes say for people what could not be kept or read.
	Notes []string
}

// Run works on a task until its process has ended and nothing of it lives. When
// ctx ends the agent is stopped. Run never fails: an agent that could not be
// started gives a Result that says so, with [engine.NoStart].
func (r *Roles) Run(ctx context.Context, t Task) Result {
	cfg, ok := r.cfg[t.Role]
	if !ok {
		return notStarted(fmt.Errorf("no agent is configured for the role %q", t.Role))
	}
	if cfg.Kind != Shell && cfg.Instructions != "" {
		t.Text = strings.TrimRight(cfg.Instructions, "\n") + "\n\n" + t.Text
	}
	a := attempt{task: t, cfg: cfg}
	if err := a.prepare(); err != nil {
		return notStarted(fmt.Errorf("agent %q: %w", t.Role, err))
	}
	defer a.clean()
	work := a.run
	if cfg.Kind == ACP {
		work = a.converse
	}
	result := work(ctx, r.pool)
	a.why(&result)
	a.age(ctx, r.pool, &result)
	return result
}

func notStarted(err error) Result {
	return Result{How: engine.NoStart, Exit: -1, Reason: err.Error()}
}
