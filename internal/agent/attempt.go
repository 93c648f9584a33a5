package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/egress"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// Why an attempt's context ends: its agent shows no life, or tells of nothing but an outage, or
// that its model refuses it.
var (
	errIdle    = errors.New("idle")
	errOutage  = errors.New("outage")
	errRefused = errors.New("refused")
)

// attempt is one task under way.
type attempt struct {
	task Task
	cfg  Config
	spec proc.Spec
	gate *egress.Gate // nil where nothing bounds what it reaches
	desk desk
	were map[string]string // the settings that its program obeys, before the work
	log  *logFile
	text *transcript // nil if it prints text

	rulings []ruling // of an agent that may ask
}

// prepare makes everything that the agent's process needs. Nothing of the agent
// runs yet.
func (a *attempt) prepare() (err error) {
	if a.desk, err = newDesk(a.task.Scratch); err != nil {
		return err
	}
	argv, stdin, err := a.command()
	if err != nil {
		return err
	}
	env, err := a.environ()
	if err != nil {
		return err
	}
	a.spec = proc.Spec{
		Argv: argv, Stdin: stdin, Env: env, Dir: a.task.Dir,
		Timeout: a.limit(), Grace: a.cfg.Grace,
		Output: proc.Output{Head: -1, Tail: MaxOutput},
		Room:   &proc.Room{Dir: a.task.Dir, Writable: []string{a.task.Scratch}, Login: a.cfg.Login, Obeyed: a.cfg.Obeyed},
	}
	if r := a.task.Room; r != nil {
		scratch, err := filepath.EvalSymlinks(a.task.Scratch)
		if err != nil {
			return err
		}
		a.spec.Room = &proc.Room{Dir: r.Dir, Writable: append(slices.Clip(r.Writable), scratch), Fixed: r.Fixed}
	}
	if err := a.listens(); err != nil {
		return err
	}
	a.were = a.obeyed()
	a.log = newLog(a.task.LogPath)
	a.gate, err = egress.For(egress.Rules{
		Own: a.cfg.Network, Else: a.cfg.Known, Most: a.cfg.Most, Step: a.task.Network,
		Tell: func(at string) {
			a.log.write([]byte("piton: it asks for " + at + ", which `network:` does not list\n"))
		},
	})
	return err
}

// listens makes ready what understands the agent.
func (a *attempt) listens() (err error) {
	if a.cfg.Kind == ACP {
		a.cfg.Time, a.cfg.Idle = cmp.Or(a.cfg.Time, acpTime), cmp.Or(a.cfg.Idle, acpIdle)
		if a.rulings, err = readRules(append(slices.Clip(a.cfg.Permissions), Rules{"the plan", a.task.Permissions})); err != nil {
			return err
		}
	}
	a.text, err = newTranscript(FormOf(a.cfg.Kind, a.cfg.Parse))
	return err
}

// hear hands on what the agent does, and ends the attempt where it tells of nothing but
// that it does not reach its model.
func (a *attempt) hear(end context.CancelCauseFunc) {
	if a.text == nil {
		return
	}
	o := outage{program: a.spec.Argv[0]}
	a.text.said.tell = func(d Deed) {
		if a.task.OnDeed != nil {
			a.task.OnDeed(d)
		}
		if why := o.lasts(d); why != nil {
			end(why)
		}
	}
}

// bind keeps the attempt to its gate.
func (a *attempt) bind(pool *proc.Pool) (reach string) {
	if a.gate == nil {
		return ""
	}
	return pool.Bind(&a.spec, a.gate, a.task.Unsealed)
}

// clean gives back what prepare took.
func (a *attempt) clean() {
	a.log.close()
	a.desk.clean()
}

// limit is the smaller of the task's and the role's bound.
func (a *attempt) limit() time.Duration {
	t, c := a.task.Timeout, a.cfg.Time
	if t > 0 && c > 0 {
		return min(t, c)
	}
	return max(t, c)
}

func (a *attempt) run(ctx context.Context, pool *proc.Pool) Result {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pulse := newPulse(a.cfg.Idle, func() { cancel(errIdle) })
	defer pulse.stop()
	a.hear(cancel)
	a.spec.Tee = teeTo{a.log, pulse, a.text}
	watch := startWatch(&watch{path: a.desk.report, tell: a.task.OnReport, claim: a.task.OnClaims, text: a.text, pulse: pulse})
	reach := a.bind(pool)
	p := pool.Run(ctx, a.spec)
	claims, notes := watch.finish()
	r := a.result(p, context.Cause(ctx))
	if r.Network = reach; a.gate != nil {
		r.Network = proc.Asked(reach, a.gate)
	}
	if r.How == engine.NoStart && p.Err != nil {
		return r
	}
	r.Claims, r.Notes = claims, notes
	a.words(&r, p)
	return r
}

// obeyed says what is at each of the settings that the program obeys, as far as they are there.
func (a *attempt) obeyed() map[string]string {
	there := map[string]string{}
	home := proc.Variable(a.spec.Env, "HOME")
	for _, name := range a.cfg.Obeyed {
		path := filepath.Join(home, name)
		info, err := os.Lstat(path)
		if strings.Contains(name, "#") || home == "" || err != nil {
			continue
		}
		to, _ := os.Readlink(path) // else it is no link
		there[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime(), to)
	}
	return there
}

// beginning is the time in which a program finds out that it cannot work as it was called. One
// that ends badly within it, and has printed nothing of its form, did not start.
const beginning = 5 * time.Second

// why finds out what kept an agent from its work. One whose output tells of no call did
// nothing at all: it could not be run.
func (a *attempt) why(r *Result) {
	if a.cfg.Kind == Shell {
		return
	}
	r.Keys = KeysSet(a.cfg.EnvPass, a.task.Environ)
	r.Cause = Why(a.spec.Argv[0], *r)
	if a.text != nil && !r.Formed && r.How == engine.Exited && r.Cause.Kind == engine.Crashed && r.Duration < beginning {
		r.How, r.Reason, r.Absent = engine.NoStart, r.Cause.Text, true
		r.Cause.Kind, r.Cause.Lasts = engine.NotStarted, true
	}
	if a.text != nil && r.Calls == 0 && r.How != engine.NoStart && r.Cause.Outside() {
		r.How, r.Reason, r.Absent = engine.NoStart, r.Cause.String(), r.Cause.Lasts
	}
	if program := unseen(r.Reason + "\n" + r.Stderr); program != "" && r.Calls == 0 && (r.How == engine.NoStart || r.How == engine.Exited && r.Exit != 0) {
		r.How, r.Absent = engine.NoStart, true
		r.Cause = engine.Cause{Kind: engine.NotStarted, Lasts: true, Text: program + " is there, and not visible inside its seal", Next: "piton agents test says which line of the configuration shows it"}
		r.Reason = r.Cause.Text + ": " + r.Cause.Next
	}
}

// unseen is the program that a holder did not find, and that is there outside of the seal.
func unseen(said string) string {
	_, rest, _ := strings.Cut(said, "piton: run ")
	program, _, is := strings.Cut(rest, ": no such file or directory")
	if !is || !filepath.IsAbs(program) {
		return ""
	}
	if _, err := os.Stat(program); err != nil {
		return ""
	}
	return program
}

// age asks a program that failed for its version: one that is too old may not know what it is
// called with.
func (a *attempt) age(ctx context.Context, pool *proc.Pool, r *Result) {
	lowest := ProgramOf(a.cfg.Command).Tried
	if a.cfg.Kind == Shell || lowest == "" || r.Exit <= 0 || r.Cause.Kind != engine.Crashed && r.Cause.Kind != engine.NotStarted {
		return
	}
	s := a.spec
	s.Argv, s.Stdin, s.Tee, s.Timeout = []string{s.Argv[0], "--version"}, nil, nil, beginning
	p := pool.Run(ctx, s)
	if is := oneLine(proc.Plain(p.Stdout.Tail)); p.Exit == 0 && Older(is, lowest) {
		r.Old, r.Cause.Next = short(is, maxWhy), Newer(lowest)
		if r.How == engine.NoStart {
			r.Reason += fmt.Sprintf("; %s (%s) is too old: %s", r.Old, s.Argv[0], r.Cause.Next)
		}
	}
}

// result is what the harness saw.
func (a *attempt) result(p proc.Result, cause error) Result {
	r := Result{
		Exit: p.Exit, Signal: p.Signal, Duration: p.Duration, Isolation: p.Isolation,
		Leftover: p.Leftover, Size: p.Stdout.Total + p.Stderr.Total,
	}
	r.How, r.Reason = a.end(p, cause)
	if r.How == engine.NoStart && p.Err != nil {
		r.Absent = errors.Is(p.Err, proc.ErrNoProgram)
	}
	return r
}

// words adds what the agent said, beside its report.
func (a *attempt) words(r *Result, p proc.Result) {
	s, notes := a.text.finish(p.Stdout)
	r.Notes = append(r.Notes, notes...)
	now := a.obeyed()
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if now[path] != a.were[path] {
			r.Notes = append(r.Notes, path+" was made or changed during the work, and "+filepath.Base(a.spec.Argv[0])+" will obey it when you start it: read it")
		}
	}
	r.Usage = a.cfg.Price.Charge(most(r.Usage, s.usage))
	r.Fault, r.No, r.Calls, r.Formed = s.fault, s.no, s.made, s.events > 0
	said := s.text
	if a.text == nil {
		said = p.Stdout.Tail
	}
	r.Stdout, r.Stderr = lastLines(said), lastLines(p.Stderr.Tail)
	if r.Complaint = complaint(proc.Plain(p.Stderr.Tail)); r.Complaint == "" && !r.Formed {
		r.Complaint = complaint(proc.Plain(p.Stdout.Tail))
	}
	body, note := a.desk.readOutput()
	switch {
	case body != nil:
		r.Output = body
	case len(s.text) > 0:
		r.Output = s.text
	default:
		r.Output = p.Stdout.Tail
	}
	for _, n := range []string{note, a.log.note()} {
		if n != "" {
			r.Notes = append(r.Notes, n)
		}
	}
}

// What is kept of each stream to be read by people: lines and bytes.
const (
	keptLines = 50
	keptBytes = 2 << 10
)

// lastLines are the last lines of a stream that ends in tail. Controls and colours take
// room in it that they do not take in a text.
func lastLines(tail []byte) string {
	tail = tail[max(0, len(tail)-4*keptBytes):]
	return proc.Capture{Tail: tail, Total: int64(len(tail))}.LastLines(keptLines, keptBytes)
}

// end says how the process ended. An exit code, whichever, is an end like any
// other; what a signal from outside cut short says nothing about the work.
func (a *attempt) end(p proc.Result, cause error) (how engine.How, reason string) {
	switch {
	case p.Cancelled && errors.Is(cause, errIdle):
		return engine.TimedOut, fmt.Sprintf("it neither printed nor reported anything for %s", a.cfg.Idle)
	case p.Cancelled && errors.Is(cause, errOutage):
		return engine.TimedOut, fmt.Sprintf("it did not reach its model for %s", maxOutage)
	case p.Cancelled && errors.Is(cause, errRefused):
		return engine.TimedOut, fmt.Sprintf("its model refused it %d times in a row", maxRefused)
	case p.Cancelled, errors.Is(p.Err, proc.ErrClosed):
		return engine.Stopped, "stopped by Piton"
	case p.TimedOut:
		return engine.TimedOut, fmt.Sprintf("it did not end within %s", a.limit())
	case p.Err != nil:
		return engine.NoStart, a.whyNot(p.Err)
	case p.Signal != "":
		return engine.NoStart, fmt.Sprintf("it was ended by %s, which Piton did not send", p.Signal)
	}
	return engine.Exited, ""
}

// maxArgument is what one argument may surely have, in bytes, on the systems
// that allow the least: 128 KiB on Linux, 32 Ki characters in all on Windows.
const maxArgument = 32 << 10

func (a *attempt) whyNot(err error) string {
	if errors.Is(err, proc.ErrNoProgram) {
		return fmt.Sprintf("agent %q: there is no program %s; piton doctor looks for all of them", a.task.Role, a.spec.Argv[0])
	}
	hint := ""
	if n := len(a.task.Text); n >= maxArgument && (a.cfg.Prompt == Arg || a.cfg.Kind == Shell) {
		hint = fmt.Sprintf("; its text has %d bytes, which may be too many for an argument: a prompt can be given on stdin or as a file", n)
	}
	return fmt.Sprintf("agent %q: %v%s", a.task.Role, err, hint)
}

func (a *attempt) mode() string {
	mode := cmp.Or(a.task.Mode, "edit")
	return cmp.Or(a.cfg.Modes[mode], a.cfg.Mode, mode)
}
