package check

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// A Job is one round of one step's checks.
type Job struct {
	Step      *engine.Step
	Phase     engine.Phase // Baseline, Verifying or Ratchet
	Round     int          // of a ratchet; 0 otherwise
	Run       string
	Attempt   int
	Workspace string            // absolute; the working directory of every check
	Environ   []string          // of the harness, of which an allow-list is passed on
	Values    map[string]string // set besides: what the checks get of other steps
	Bash      string            // absolute path; "" is the one in the PATH of Environ
	Pool      *proc.Pool
	Room      *proc.Room // what they work in; nil: the workspace, which they may change
	Early     bool       // nobody has worked in the run yet
	Gate      Gate       // what each reaches of the network; nil: all
	Unsealed  bool       // somebody allowed what this machine cannot keep from the network
	// Around runs a check by calling run once, and adds to the answer what was seen
	// meanwhile; nil sees nothing.
	Around func(a *engine.CheckEnded, run func())
}

// A Gate makes the gate of one check, nil where it reaches all of the network: what one
// asked for in vain is said of that one.
type Gate func() (proc.Gate, error)

func (g Gate) open() (proc.Gate, error) {
	if g == nil {
		return nil, nil
	}
	return g()
}

// patience is how many times its timeout a check gets before the work, once it ran out of time
// over empty caches. What it makes there is made only once.
const patience = 10

// Bytes of output: what is kept in memory of each stream to be judged, and what
// a record gets of a check that did not pass.
const (
	keptHead     = 32 << 10
	keptTail     = 128 << 10
	tailLines    = 100
	tailBytes    = 8 << 10
	baselineTail = 1 << 10
)

// Run runs every check of the step, in their order and one at a time, and
// returns an answer for each. All run, whatever the ones before them said, so
// that the next attempt hears of everything that is wrong. What is not known
// here is left empty: trees, and what was tampered with.
//
// When ctx ends the rest is not run. The answers that are missing then are
// Infra, and the caller should drop them all.
func Run(ctx context.Context, j Job) []engine.CheckEnded {
	env, room := j.env(), *cmp.Or(j.Room, &proc.Room{Dir: j.Workspace})
	room.Checks, room.Early = true, j.Early
	bash, err := j.bash()
	answers := make([]engine.CheckEnded, 0, len(j.Step.Checks))
	for _, c := range j.Step.Checks {
		if c.Question != "" {
			continue // a model's answer is no command's
		}
		a := j.answer(c, bash, env)
		switch {
		case err != nil:
			a.Verdict, a.Exit, a.Reason = engine.Infra, -1, err.Error()
		case ctx.Err() != nil:
			a.Verdict, a.Exit, a.Reason = engine.Infra, -1, "stopped by Piton"
		default:
			j.around(&a, func() {
				gate, err := j.Gate.open()
				if err != nil {
					a.Verdict, a.Exit, a.Reason = engine.Infra, -1, err.Error()
					return
				}
				spec := proc.Spec{
					Argv:    argv(bash, c.Command),
					Dir:     j.Workspace,
					Env:     env,
					Timeout: j.Step.CheckTimeout,
					Output:  proc.Output{Head: keptHead, Tail: keptTail},
					Room:    &room,
				}
				reach := j.Pool.Bind(&spec, gate, j.Unsealed)
				r := j.Pool.Run(ctx, spec)
				if j.Phase == engine.Baseline && j.Early && r.TimedOut && len(r.Cold) > 0 {
					cold := r.Cold
					spec.Timeout *= patience // with what was made by then
					r = j.Pool.Run(ctx, spec)
					r.Cold = cold
				}
				j.fill(&a, c, r)
				a.Network = proc.Asked(reach, gate)
				a.Reason = cmp.Or(a.Reason, cutOff(&a))
			})
		}
		answers = append(answers, a)
	}
	return answers
}

func (j Job) around(a *engine.CheckEnded, run func()) {
	if j.Around == nil {
		run()
		return
	}
	j.Around(a, run)
}

func argv(bash, script string) []string {
	return []string{bash, "--noprofile", "--norc", "-c", script}
}

// answer has what is known of a check before it runs.
func (j Job) answer(c engine.Check, bash string, env []string) engine.CheckEnded {
	return engine.CheckEnded{
		Step: j.Step.ID, Attempt: j.Attempt, Phase: j.Phase, Round: j.Round,
		Check: c.Name, Required: c.Required, Want: c.Exit,
		Command: hashOf(argv(bash, c.Command)), Env: hashOf(env), Dir: j.Workspace,
		Isolation: string(j.Pool.Isolation()),
	}
}

// fill adds how it ended.
func (j Job) fill(a *engine.CheckEnded, c engine.Check, r proc.Result) {
	a.Verdict, a.Reason = Classify(c, r)
	a.Absent = a.Verdict == engine.Infra && r.TimedOut // the cache is as empty the next time
	a.Tests, _ = tested(c.Command, r)
	a.Exit, a.Signal, a.Ms = r.Exit, r.Signal, r.Duration.Milliseconds()
	a.Output = hashOf([]string{r.Stdout.SHA256, r.Stderr.SHA256})
	a.Size = r.Stdout.Total + r.Stderr.Total
	if r.Isolation != "" {
		a.Isolation = string(r.Isolation)
	}
	if a.Verdict == engine.Pass {
		return
	}
	most := tailBytes
	if j.Phase == engine.Baseline {
		most = baselineTail
	}
	a.Stdout = r.Stdout.LastLines(tailLines, most)
	a.Stderr = r.Stderr.LastLines(tailLines, most)
}

// hashOf is a SHA-256 over some texts, in hex.
func hashOf(texts []string) string {
	sum := sha256.New()
	for _, s := range texts {
		fmt.Fprintf(sum, "%d:%s\n", len(s), s)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// env is the whole environment of the checks.
func (j Job) env() []string {
	set := map[string]string{
		"PITON_RUN":       j.Run,
		"PITON_STEP":      j.Step.ID,
		"PITON_ATTEMPT":   strconv.Itoa(j.Attempt),
		"PITON_WORKSPACE": j.Workspace,
	}
	maps.Copy(set, j.Values)
	return proc.Environ(j.Environ, j.Step.Env, set)
}

var errNoBash = errors.New("bash is not installed: it runs contracts and checks; install it, or put its directory in PATH")

// bash is the shell's absolute path: never one that the workspace provides.
func (j Job) bash() (string, error) {
	if j.Bash != "" {
		return j.Bash, nil
	}
	bash, err := proc.Bash(j.Environ, j.Workspace)
	if err != nil {
		return "", errNoBash
	}
	return bash, nil
}
