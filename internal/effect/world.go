package effect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/egress"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/notes"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tool"
	"github.com/piton-dev/piton/internal/tree"
)

// World is everything effects act on: a workspace, or a worktree of a run or of a step. It is
// safe for concurrent use. Close it when no effect is under way.
type World struct {
	*Common
	Dir   string // the workspace, or the worktree
	Tree  *tree.Tree
	Tools *tool.Registry

	// Marked reports whether a plan document differs only in the marks that the owner
	// makes, or has the text that a person has approved since. nil marks none.
	Marked func(ctx context.Context, path string, was, is []byte) bool

	// ElsewhereOwned makes what reports whether a path lies in a workspace inside this
	// one, whose own owner is at work or was since. nil knows none.
	ElsewhereOwned func(since time.Time) func(path string) bool

	worktree *tree.Worktree // of a world in a worktree: that
	outer    *World         // of a world in a worktree: what that was made from

	watching watching

	// restoring is held while paths are put back of which nobody at work may have
	// one in its scope. Work that begins waits for it.
	restoring sync.RWMutex

	mu      sync.Mutex
	asides  map[string]*aside // by directory
	gone    []*aside          // those of worktrees that somebody removed
	wholes  map[string]*whole // by run
	bases   map[string]*tree.Base
	judgers map[string][]string // lists of what judges, by object
	torn    map[string]error    // runs whose merges are not finished, and why
}

// Common is what a workspace shares with the worktrees that are made of it.
type Common struct {
	State   string                     // the state directory, which no effect tells a child of
	Environ func(task string) []string // of who carries its run on; children get what the allow-list lets through
	Pool    *proc.Pool
	Agents  *agent.Roles
	Network []string                          // hosts beyond which no step may ask for any; none: no bound
	Object  func(hash string) ([]byte, error) // content the journal names

	// Of steps that are delegated to plans: a new run's id, and a plan that was
	// made during a run.
	NewRun func(ctx context.Context) (string, error)
	Made   func(ctx context.Context, dir string, e engine.Effect) (Made, error) // from the files in dir

	// Adopted reports whether a memory has a text that the owner wrote there, because a
	// person adopted it: that is no step's doing.
	Adopted func(text []byte) bool
	// Say tells whoever follows the runs of the workspace, where there is anything to tell. nil tells nobody.
	Say func(text string)
	// Draw makes a plan of a request, or a revision of one.
	Draw func(ctx context.Context, e engine.Effect, r Reporter) Result

	// Judge is the model that judges, for who has this environment.
	Judge func(environ []string) (model.Asker, error)
	// Judging tells that model from any other. Votes count for the one that gave them.
	Judging string

	// Arbiter is the model that says what follows an attempt, in the same way.
	Arbiter func(environ []string) (model.Asker, error)

	Worktrees string                                   // where worktrees are made, outside of workspace and state
	OpenTools func(dir string) (*tool.Registry, error) // opens the tools of a run's worktree

	scratch scratch
	known   notes.Known // memories and topics that were read

	shell sync.Once
	bash  string // runs contracts and scripts: the one that was there first; "" if there was none

	git sync.Mutex // held by whoever lets git change the workspace or anything of its repository
}

// A Reporter is how an effect under way speaks with the owner.
type Reporter interface {
	// Beside lists who is at work in the effect's tree, and who was since its
	// work began, or since the start that was cut off.
	Beside() []engine.Neighbour
	// Said says that the attempt has said something of itself ([SaidFile]).
	Said()
	// Report says what the work used so far, and claims.
	Report(engine.Usage, engine.Claims)
	// Ask puts to people what the work asks for, and returns their answer. It fails where
	// there will be none.
	Ask(ctx context.Context, w engine.Wanted, about string) (engine.ItemAnswered, error)
	// Heard keeps an answer that the work got, before it asks again.
	Heard(ctx context.Context, round int, answer []byte, usage engine.Usage) error
	// Voted keeps an answer of a judge, in the same way.
	Voted(ctx context.Context, v engine.JudgeVoted) error
	// Tried keeps what the checks said without a part of the change, in the same way.
	Tried(ctx context.Context, p engine.PartTried) error
}

// Result is an effect's answer with the contents it names by hash.
type Result struct {
	Input  engine.Input
	Bodies [][]byte
	Err    error // there is no such effect
}

type environKey struct{}

// environ is the environment of who carried the run on when the effect began. Who
// does so meanwhile may search commands in other places: that is no change of the step.
func environ(ctx context.Context) []string {
	env, _ := ctx.Value(environKey{}).([]string)
	return env
}

// shellPath is the bash of the workspace and its worktrees, looked for once: whatever a
// step puts before it on PATH runs nothing.
func (w *World) shellPath() string {
	w.shell.Do(func() {
		if bash, err := proc.Bash(w.Environ(""), w.home()); err == nil {
			w.bash = bash
		}
	})
	return w.bash
}

// Do carries e out. When ctx ends everything it started is stopped, and it
// returns: work with its end, an inquiry with nothing.
func (w *World) Do(ctx context.Context, e engine.Effect, r Reporter) Result {
	act := acts[e.Key.Kind]
	if act == nil {
		return Result{Err: fmt.Errorf("nothing here carries out effects of the kind %q", e.Key.Kind)}
	}
	ctx = context.WithValue(ctx, environKey{}, w.Environ(e.Key.Task))
	in, err := w.place(ctx, &e)
	if err != nil {
		return refusal(ctx, e, err)
	}
	return act(in, ctx, e, r)
}

// acts are the kinds of effects that happen in a tree.
var acts = map[engine.EffectKind]func(w *World, ctx context.Context, e engine.Effect, r Reporter) Result{
	engine.Expand:  (*World).expand,
	engine.Prepare: (*World).prepare,
	engine.Work:    (*World).work,
	engine.Verify:  (*World).prove,
	engine.Prove:   (*World).prove,
	engine.Survey:  (*World).survey,
	engine.Consult: (*World).consult,
	engine.Revert:  (*World).revert,
	engine.Merge:   (*World).merge,
	engine.Draw:    func(w *World, ctx context.Context, e engine.Effect, r Reporter) Result { return w.Draw(ctx, e, r) },
}

// place finds the world that an effect acts in, and makes it one of that world.
func (w *World) place(ctx context.Context, e *engine.Effect) (*World, error) {
	if e.Step == nil {
		return w, nil // it is the workspace's own
	}
	if err := w.mended(ctx, append(slices.Clone(e.Within), e.Key.Run)); err != nil {
		return nil, err
	}
	runs := e.Within
	if e.Step.Kind == engine.Landing {
		runs = runs[:len(runs)-1]
	}
	in, err := w.within(ctx, *e, runs)
	if err != nil || !e.Apart() {
		return in, err
	}
	return in.apart(ctx, e)
}

// Close removes what attempts were given to write in.
func (w *World) Close() error {
	err := w.watching.close()
	if w.outer == nil {
		err = errors.Join(err, w.scratch.close())
	}
	for _, a := range slices.AppendSeq(w.gone, maps.Values(w.asides)) {
		err = errors.Join(err, a.world.Close(), a.world.Tree.Close())
		if a.world.Tools != nil {
			a.world.Tools.Close()
		}
	}
	return err
}

// base returns the protected files as they were when the run opened.
func (w *World) base(hash string) (*tree.Base, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b := w.bases[hash]; b != nil {
		return b, nil
	}
	body, err := w.Object(hash)
	if err != nil {
		return nil, fmt.Errorf("read the state of the protected files: %w", err)
	}
	b, err := tree.DecodeBase(body)
	if err != nil {
		return nil, err
	}
	if w.bases == nil {
		w.bases = map[string]*tree.Base{}
	}
	w.bases[hash] = b
	return b, nil
}

// tampered lists the step's protected files, and those that judge, that are not as they
// must be.
func (w *World) tampered(ctx context.Context, e engine.Effect) ([]engine.Change, error) {
	known, err := w.judges(e)
	if err != nil {
		return nil, err
	}
	return w.changed(ctx, e, known)
}

// changed is the same where it is known what judges.
func (w *World) changed(ctx context.Context, e engine.Effect, judges map[string]bool) ([]engine.Change, error) {
	b, err := w.base(e.Base)
	if err != nil {
		return nil, err
	}
	changes, err := b.Tampered(ctx, w.Tree, guards(e, judges), scopesOf(e), e.Moved)
	changes = slices.DeleteFunc(changes, w.adopted)
	for i, c := range changes {
		changes[i].Rule = ruleOf(b, judges, e.Step, c.Path)
	}
	return changes, err
}

// adopted reports whether a change is the owner's writing of an adopted memory.
func (w *World) adopted(c engine.Change) bool {
	if w.Adopted == nil || path.Dir(c.Path) != notes.MemoryDir || c.What != "added" {
		return false
	}
	file := filepath.Join(w.home(), filepath.FromSlash(c.Path))
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > notes.MaxNote {
		return false
	}
	text, err := os.ReadFile(file)
	return err == nil && w.Adopted(text)
}

func scopesOf(e engine.Effect) tree.Scopes {
	return tree.Scopes{Writes: e.Step.Writes, Opens: e.Step.Opens(), Never: e.Protects}
}

// quarantine is where what an attempt changed against the rules is kept.
func (w *World) quarantine(k engine.Key) string {
	return filepath.Join(w.State, "quarantine", k.Run, fmt.Sprintf("%s.%d", k.Step, k.Attempt))
}

// checks runs the step's checks and looks at the protected files afterwards. The answers
// name the bodies.
func (w *World) checks(ctx context.Context, e engine.Effect, r Reporter, phase engine.Phase) (results []engine.CheckEnded, bodies [][]byte, err error) {
	seen := watcher{World: w, e: e, beside: r.Beside}
	if seen.known, err = w.judges(e); err != nil {
		return nil, nil, err
	}
	if seen.base, err = w.base(e.Base); err != nil {
		return nil, nil, err
	}
	if w.worktree != nil {
		defer w.watching.close() // there may be many, and a system watches for few at a time
	}
	job, err := w.job(ctx, e, phase)
	if err != nil {
		return nil, nil, err
	}
	results, undone, err := w.rounds(ctx, e, r, job, &seen)
	if err != nil {
		return nil, nil, err
	}
	if results, err = w.again(ctx, e, job, results, &seen); err != nil {
		return nil, nil, err
	}
	seen.tells(results)
	if _, judged := e.Step.Judge(); judged && phase == engine.Verifying {
		results = append(results, w.judgement(ctx, e, r, results))
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	changed, err := w.changed(ctx, e, seen.known)
	if err != nil {
		return nil, nil, err
	}
	changed = append(changed, seen.strays...)
	for i := range results {
		results[i].Shared = e.Shared
	}
	back, err := w.undo(ctx, e, r, changed, tree.Manifest{})
	if undone = joined(undone, back); len(results) > 0 {
		last := &results[len(results)-1]
		last.Undone = undone
		if len(changed) > 0 {
			last.Tampered, last.Verdict = changed, engine.Tampered
		}
	}
	return results, seen.bodies, err
}

// job is how the step's checks are run.
func (w *World) job(ctx context.Context, e engine.Effect, phase engine.Phase) (check.Job, error) {
	values, err := w.values(e)
	room, held := w.held(e)
	return check.Job{
		Step: e.Step, Phase: phase, Run: e.Key.Run, Attempt: e.Key.Attempt,
		Workspace: w.Dir, Environ: environ(ctx), Pool: w.Pool, Bash: w.shellPath(), Values: values,
		Early: e.Early, Gate: w.gate(e, true), Unsealed: e.Unsealed, Room: room,
	}, cmp.Or(err, held)
}

// rounds asks the checks, and once more with what judges as it was where they were the
// first to open what somebody had changed before this step's work.
func (w *World) rounds(ctx context.Context, e engine.Effect, r Reporter, job check.Job, seen *watcher) (results []engine.CheckEnded, undone engine.Undone, err error) {
	job.Around = func(a *engine.CheckEnded, run func()) { seen.around(ctx, a, run) }
	for range maxRounds {
		seen.n, seen.strays, seen.files, seen.began = 0, nil, nil, time.Now()
		results = check.Run(ctx, job)
		if ctx.Err() != nil || !e.Step.Rerunnable {
			return results, undone, ctx.Err()
		}
		changed, err := w.changed(ctx, e, seen.known)
		if err != nil {
			return nil, undone, err
		}
		back, err := w.undo(ctx, e, r, seen.earlier(changed), tree.Manifest{})
		if err != nil || len(back.Restored) == 0 {
			return results, undone, err
		}
		undone = joined(undone, back)
	}
	return results, undone, nil
}

// maxRounds is how often checks are asked because what judges was put back.
const maxRounds = 4

// gate is what the setup of a step, or its checks, reach of the network; nil is all of it.
// Where processes are sealed checks reach their own loopback only, unless the step says more.
func (w *World) gate(e engine.Effect, checks bool) check.Gate {
	rules := egress.Rules{Most: w.Network, Step: e.Step.Network}
	if checks && !e.Step.ChecksReach() && w.Pool.Holds() == nil {
		rules.Step = "no"
	}
	return func() (proc.Gate, error) {
		g, err := egress.For(rules)
		if g == nil || err != nil {
			return nil, err
		}
		return g, nil
	}
}

// prove answers Verify and Prove.
func (w *World) prove(ctx context.Context, e engine.Effect, r Reporter) Result {
	before, err := w.Tree.Digests(ctx, e.Watch, e.Document)
	if err != nil {
		return refusal(ctx, e, err)
	}
	results, bodies, err := w.checks(ctx, e, r, e.Key.Kind.Phase())
	if err == nil {
		err = w.altered(ctx, e, before, results)
	}
	if err == nil {
		err = w.moved(ctx, e, results)
	}
	if err != nil || ctx.Err() != nil {
		return refusal(ctx, e, err)
	}
	return Result{Input: engine.Checked{Key: e.Key, Checks: results}, Bodies: bodies}
}

// moved notes the protected files that the step was allowed to change: from now
// on they are protected as they are.
func (w *World) moved(ctx context.Context, e engine.Effect, results []engine.CheckEnded) error {
	if len(e.Step.Writes) == 0 || len(results) == 0 || e.Key.Kind == engine.Prove {
		return nil
	}
	b, err := w.base(e.Base)
	if err != nil {
		return err
	}
	results[0].Moved, err = b.Moved(ctx, w.Tree, e.Guards, scopesOf(e), e.Moved)
	return err
}

// refusal answers an effect that was not carried out: because of err, or because
// it was told to stop.
func refusal(ctx context.Context, e engine.Effect, err error) Result {
	switch {
	case ctx.Err() == nil:
		in := e.Fails(engine.NoStart, err.Error())
		switch is := in.(type) {
		case engine.Prepared:
			is.Absent = lasts(err)
			in = is
		case engine.Checked:
			for n := range is.Checks {
				is.Checks[n].Absent = lasts(err)
			}
		case engine.Ended:
			is.Absent = lasts(err)
			in = is
		}
		return Result{Input: in}
	case e.Repeats():
		return Result{}
	}
	return Result{Input: e.Fails(engine.Stopped, "stopped by Piton")}
}

// stopped reports whether err is only that the effect is not wanted any more.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err()))
}
