package effect

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tool"
	"github.com/piton-dev/piton/internal/tree"
)

// World is everything effects act on. It is safe for concurrent use. Close it
// when no effect is under way.
type World struct {
	Dir     string   // the workspace
	State   string   // the state directory, which no effect tells a child of
	Environ []string // of the harness; children get what the allow-list lets through
	Pool    *proc.Pool
	Tree    *tree.Tree
	Agents  *agent.Roles
	Tools   *tool.Registry
	Object  func(hash string) ([]byte, error) // content the journal names
	// Said, if set, is called when an attempt has said something of itself
	// ([SaidFile]), from any goroutine. It must return soon.
	Said func()

	// Of steps that are delegated to plans: a new run's id, and a plan that was
	// made during a run.
	NewRun      func(ctx context.Context) (string, error)
	Executables func(p *engine.Program) map[string]string                            // the commands of its checks, as they are
	Made        func(ctx context.Context, dir string, e engine.Effect) (Made, error) // from the files in dir

	Worktrees string                                   // where worktrees are made, outside of workspace and state
	OpenTools func(dir string) (*tool.Registry, error) // opens the tools of a run's worktree
	place     *tree.Worktree                           // of a world in a worktree: that
	outer     *World                                   // of a world in a worktree: what that was made from

	scratch scratch
	texts   texts

	search      sync.Once
	executables *tree.Executables // what commands of checks are searched in

	shell sync.Once
	bash  string // runs contracts and scripts: the one that was there first; "" if there was none

	merging sync.Mutex // git changes the workspace, or takes it as a worktree's beginning

	mu       sync.Mutex
	asides   map[string]*aside // by directory
	wholes   map[string]*whole // by run
	bases    map[string]*tree.Base
	live     map[engine.Key]*presence // the work under way
	watching map[watcher]*presence    // steps that were looked at and have not begun
	torn     map[string]error         // runs whose merges are not finished, and why
}

// Result is an effect's answer with the contents it names by hash.
type Result struct {
	Input  engine.Input
	Bodies [][]byte
}

// shellPath is the bash of this world and of those in its worktrees, looked for
// once: whatever a step puts before it on PATH runs nothing.
func (w *World) shellPath() string {
	if w.outer != nil {
		return w.outer.shellPath()
	}
	w.shell.Do(func() {
		if bash, err := proc.Bash(w.Environ, w.Dir); err == nil {
			w.bash = bash
		}
	})
	return w.bash
}

// scratches has the directories of attempts, of this world and of those in its
// worktrees.
func (w *World) scratches() *scratch {
	if w.outer != nil {
		return w.outer.scratches()
	}
	return &w.scratch
}

// Do carries e out. When ctx ends everything it started is stopped, and it
// returns: work with its end, an inquiry with nothing.
func (w *World) Do(ctx context.Context, e engine.Effect) Result {
	if err := w.mended(ctx, append(slices.Clone(e.Within), e.Key.Run)); err != nil {
		return refusal(ctx, e, err)
	}
	runs := e.Within
	if e.Step.Kind == engine.Landing {
		runs = runs[:len(runs)-1]
	}
	in, err := w.within(ctx, e, runs)
	if err != nil {
		return refusal(ctx, e, err)
	}
	return in.act(ctx, e)
}

func (w *World) act(ctx context.Context, e engine.Effect) Result {
	switch {
	case e.Key.Kind == engine.Expand:
		return w.expand(ctx, e)
	case e.Worktree:
		return w.beside(ctx, e)
	case e.Key.Kind == engine.Merge:
		return w.merge(ctx, e)
	}
	return w.do(ctx, e)
}

func (w *World) do(ctx context.Context, e engine.Effect) Result {
	switch e.Key.Kind {
	case engine.Prepare:
		return w.prepare(ctx, e)
	case engine.Work:
		return w.work(ctx, e)
	default:
		return w.prove(ctx, e)
	}
}

// Close removes what attempts were given to write in.
func (w *World) Close() error {
	err := w.scratch.close()
	for _, a := range w.asides {
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

// tampered lists the step's protected files that are not as they must be.
func (w *World) tampered(ctx context.Context, e engine.Effect) ([]engine.Change, error) {
	b, err := w.base(e.Base)
	if err != nil {
		return nil, err
	}
	return b.Tampered(ctx, w.Tree, e.Step.Guards, scopesOf(e), e.Moved)
}

func scopesOf(e engine.Effect) tree.Scopes {
	return tree.Scopes{Writes: e.Step.Writes, Opens: e.Step.Opens(), Never: e.Protects}
}

// quarantine is where what an attempt changed against the rules is kept.
func (w *World) quarantine(k engine.Key) string {
	return filepath.Join(w.State, "quarantine", k.Run, fmt.Sprintf("%s.%d", k.Step, k.Attempt))
}

// checks runs the step's checks and looks at the protected files afterwards.
func (w *World) checks(ctx context.Context, e engine.Effect, phase engine.Phase) ([]engine.CheckEnded, error) {
	values, err := w.values(e)
	if err != nil {
		return nil, err
	}
	offline, reach := w.network(e)
	results := check.Run(ctx, check.Job{
		Step: e.Step, Phase: phase, Run: e.Key.Run, Attempt: e.Key.Attempt,
		Workspace: w.Dir, Environ: w.Environ, Pool: w.Pool, Bash: w.shellPath(), Values: values,
		Offline: offline, Network: reach,
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	changed, err := w.tampered(ctx, e)
	if err != nil {
		return nil, err
	}
	for i := range results {
		results[i].Shared = e.Shared
	}
	undone, err := w.undo(ctx, e, changed)
	if all := slices.Concat(changed, w.swapped(e)); len(all) > 0 && len(results) > 0 {
		last := &results[len(results)-1]
		last.Tampered, last.Undone, last.Verdict = all, undone, engine.Tampered
	}
	return results, err
}

// network says whether the step's scripts are to be kept from the network, and
// what they reach of it, in the words of the journal. What cannot be kept from it
// is not started, unless somebody allowed that.
func (w *World) network(e engine.Effect) (offline bool, reach string) {
	if !e.Step.Offline() {
		return false, ""
	}
	exposed := w.Pool.Offline()
	if exposed != nil && !e.Unsealed {
		return true, ""
	}
	return exposed == nil, proc.Reach(exposed)
}

// prove answers Verify, Again and Prove.
func (w *World) prove(ctx context.Context, e engine.Effect) Result {
	results, err := w.checks(ctx, e, phases[e.Key.Kind])
	switch {
	case err == nil:
		if err = w.scope(ctx, e, results); err == nil {
			err = w.moved(ctx, e, results)
		}
	case ctx.Err() != nil && e.Work == engine.ContractWork:
		return Result{Input: engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Stopped, Reason: "stopped by the harness"}}}
	}
	if ctx.Err() != nil {
		return Result{}
	}
	if err != nil {
		results = faulty(e.Step, err)
	}
	return Result{Input: engine.Checked{Key: e.Key, Checks: results}}
}

var phases = map[engine.EffectKind]engine.Phase{
	engine.Verify: engine.Verifying, engine.Again: engine.Flaky, engine.Prove: engine.Ratchet,
}

// scope adds, for a step with a scope, the hash of the tree that was judged.
func (w *World) scope(ctx context.Context, e engine.Effect, results []engine.CheckEnded) error {
	if len(e.Step.Writes) == 0 || len(results) == 0 {
		return nil
	}
	b, err := w.base(e.Base)
	if err != nil {
		return err
	}
	hash, err := w.Tree.ScopeHash(ctx, b, e.Step.Guards, e.Step.Writes, e.Moved)
	for i := range results {
		results[i].Tree = hash
	}
	return err
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

// faulty answers every check with this machine's fault.
func faulty(s *engine.Step, err error) []engine.CheckEnded {
	results := make([]engine.CheckEnded, len(s.Checks))
	for i, c := range s.Checks {
		results[i] = engine.CheckEnded{Check: c.Name, Verdict: engine.Infra, Exit: -1, Reason: err.Error()}
	}
	return results
}

// stopped reports whether err is only that the effect is not wanted any more.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err()))
}
