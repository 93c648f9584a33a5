package effect

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/notes"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/tree"
)

// maxChanged bounds the list of changed files in a record.
const maxChanged = 1000

// prepare puts the protected files back, asks the checks before the work, looks
// at the tree and writes the prompt.
func (w *World) prepare(ctx context.Context, e engine.Effect) Result {
	in := engine.Prepared{Key: e.Key}
	bodies, err := w.ready(ctx, e, &in)
	if stopped(ctx, err) {
		return Result{}
	}
	if err != nil {
		in.Err, in.Absent = err.Error(), lasts(err)
	}
	return Result{Input: in, Bodies: bodies}
}

func (w *World) ready(ctx context.Context, e engine.Effect, in *engine.Prepared) (bodies [][]byte, err error) {
	if in.Dispatch.Undone, err = w.restore(ctx, e); err != nil {
		return nil, err
	}
	if e.Baseline {
		if in.Checks, err = w.checks(ctx, e, engine.Baseline); err != nil {
			return nil, err
		}
		if found := w.appeared(e); len(in.Checks) > 0 && len(found) > 0 {
			in.Checks[0].Executables = found
		}
		if err := w.scope(ctx, e, in.Checks); err != nil {
			return nil, err
		}
	}
	if len(e.Step.Writes) > 0 {
		body, err := w.look(ctx, e, in)
		if err != nil {
			return nil, err
		}
		bodies, in.Dispatch.Tree = append(bodies, body), digest(body)
	}
	if e.Step.Kind == engine.Delegate {
		more, err := w.opening(ctx, e, in)
		return append(bodies, more...), err
	}
	if e.Step.Kind == engine.Tool {
		p, args, err := w.preview(ctx, e)
		in.Preview = &p
		return append(bodies, args), err
	}
	text := e.Step.Task
	if e.Step.Kind == engine.Agent {
		if text, in.Dispatch.Injected, err = w.prompt(e); err != nil {
			return nil, err
		}
	}
	in.Dispatch.Prompt = digest([]byte(text))
	w.texts.put(in.Dispatch.Prompt, text)
	return append(bodies, []byte(text)), nil
}

// restore puts back what the last attempt changed against the rules, and any
// protected file that differs for whatever other reason. What stood there goes
// to quarantine.
func (w *World) restore(ctx context.Context, e engine.Effect) (engine.Undone, error) {
	if err := w.unswapped(e); err != nil {
		return engine.Undone{}, err
	}
	_, beyond, err := w.beyond(ctx, e.Key)
	if err != nil {
		return beyond, err
	}
	undone, err := w.restoreInside(ctx, e)
	return joined(beyond, undone), err
}

func (w *World) restoreInside(ctx context.Context, e engine.Effect) (engine.Undone, error) {
	b, err := w.base(e.Base)
	if err != nil {
		return engine.Undone{}, err
	}
	changed, err := w.tampered(ctx, e)
	if err != nil {
		return engine.Undone{}, err
	}
	seen := map[string]bool{}
	for _, c := range changed {
		seen[c.Path] = true
	}
	for _, c := range e.Restore {
		if !seen[c.Path] && filepath.IsLocal(c.Path) { // the others are as they were again
			changed = append(changed, c)
		}
	}
	if len(changed) == 0 {
		return engine.Undone{}, nil
	}
	want := tree.Wanted{Base: b, Moved: e.Moved}
	if e.Tree != "" {
		if want.Tree, err = w.before(e.Tree); err != nil {
			return engine.Undone{}, err
		}
	}
	undone, left, err := w.putBack(ctx, e.Key, changed, want)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%s cannot be put back: %s", left[0].Path, left[0].Reason)
	}
	return undone, err
}

// putBack restores paths. What stood there goes to the quarantine of the attempt.
func (w *World) putBack(ctx context.Context, k engine.Key, changed []engine.Change, want tree.Wanted) (engine.Undone, []tree.Unrestored, error) {
	quarantine := w.quarantine(k)
	done, err := w.Tree.Restore(ctx, changed, want, quarantine)
	undone := engine.Undone{Restored: done.Back}
	if done.Kept {
		undone.Quarantine = quarantine
	}
	return undone, done.Left, err
}

func (w *World) before(hash string) (tree.Manifest, error) {
	body, err := w.Object(hash)
	if err != nil {
		return tree.Manifest{}, fmt.Errorf("read the state of the workspace: %w", err)
	}
	return tree.DecodeManifest(body)
}

// look takes the workspace as it is before the work. What a start that was cut
// off, or anybody since, changed outside the step's scope is for a person, save
// what lies in the scope of a step that was at work meanwhile.
func (w *World) look(ctx context.Context, e engine.Effect, in *engine.Prepared) ([]byte, error) {
	w.watch(e)
	if !e.Cut || e.Tree == "" {
		m, err := w.Tree.Scan(ctx, tree.ScanOptions{})
		return m.Encode(), err
	}
	before, err := w.before(e.Tree)
	if err != nil {
		return nil, err
	}
	m, err := w.Tree.Scan(ctx, tree.ScanOptions{Since: &before})
	in.Strays = outside(tree.Diff(before, m), e, slices.Concat(e.Beside, w.met(e)))
	return m.Encode(), err
}

// met lists the scopes of those who were at work since the step is watched.
func (w *World) met(e engine.Effect) [][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.watching[watcher{e.Key.Run, e.Key.Step}].met)
}

// lasts reports an error that trying again does not take away.
func lasts(err error) bool {
	_, ok := errors.AsType[misfit](err)
	return ok || errors.Is(err, proc.ErrNoProgram)
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// prompt writes the finished text for an agent.
func (w *World) prompt(e engine.Effect) (string, []engine.Injected, error) {
	contents, err := notes.Read(w.Dir, e.Step.Subscriptions, notes.Sources{Output: func(id string) ([]byte, error) {
		body, _, err := w.output(e, id)
		return body, err
	}})
	if err != nil {
		return "", nil, err
	}
	in := prompt.Input{Step: e.Step, Context: e.Context, Constraints: e.Constraints, Protects: e.Protects, Feedback: e.Feedback, Note: e.Note}
	var injected []engine.Injected
	for _, c := range contents {
		in.Contents = append(in.Contents, prompt.Content(c))
		injected = append(injected, engine.Injected{Ref: c.Ref, Hash: c.Hash})
	}
	return prompt.Agent(in), injected, nil
}

// work runs the agent or script, or calls the tool, and looks at what it did to the tree once
// nothing of it lives.
func (w *World) work(ctx context.Context, e engine.Effect) Result {
	leave := w.enter(e)
	ended := engine.Ended{Key: e.Key}
	do := w.attempt
	if e.Step.Kind == engine.Tool {
		do = w.call
	}
	output, err := do(ctx, e, &ended.WorkEnded)
	me := leave()
	if err == nil {
		err = w.judge(context.WithoutCancel(ctx), e, &ended.WorkEnded, me)
	}
	if err != nil {
		ended.How, ended.Reason, ended.Absent = engine.NoStart, err.Error(), lasts(err)
	}
	var bodies [][]byte
	if len(output) > 0 {
		bodies, ended.Output = [][]byte{output}, digest(output)
	}
	if ended.How == engine.Exited && !ended.Failed {
		ended.Unfit = e.Step.Unfit(output)
	}
	if v, err := engine.ValueOf(output); e.Value && err == nil {
		if ended.Value, err = engine.EncodeValue(v); err != nil {
			ended.Value = nil
		}
	}
	return Result{Input: ended, Bodies: bodies}
}

// judge compares what is there after the work, unless it was stopped, and puts
// protected files back.
func (w *World) judge(ctx context.Context, e engine.Effect, end *engine.WorkEnded, me *presence) error {
	changed, err := w.tampered(ctx, e)
	if err == nil && end.How != engine.Stopped {
		end.Tampered = slices.Concat(changed, w.swapped(e))
		err = w.compare(ctx, e, end, me)
	}
	if err != nil {
		return fmt.Errorf("what it changed cannot be compared: %w", err)
	}
	strays, beyond, err := w.beyond(ctx, e.Key)
	if err != nil {
		return err
	}
	if end.How != engine.Stopped {
		end.OutOfScope = append(end.OutOfScope, strays...)
	}
	undone, err := w.undo(ctx, e, changed)
	end.Undone = joined(beyond, undone)
	return err
}

// beyond puts back what was changed in a worktree outside of the workspace, whoever
// did that: it is in nobody's scope, and never merged.
func (w *World) beyond(ctx context.Context, k engine.Key) ([]engine.Change, engine.Undone, error) {
	if w.place == nil {
		return nil, engine.Undone{}, nil
	}
	git := w.git()
	git.Lock()
	defer git.Unlock()
	changed, err := w.place.Beyond(ctx, w.quarantine(k))
	if err != nil || len(changed) == 0 {
		return nil, engine.Undone{}, err
	}
	undone := engine.Undone{Quarantine: w.quarantine(k)}
	for _, c := range changed {
		undone.Restored = append(undone.Restored, c.Path)
	}
	return changed[:min(len(changed), maxChanged)], undone, nil
}

// joined is what was put back by both.
func joined(a, b engine.Undone) engine.Undone {
	return engine.Undone{Restored: slices.Concat(a.Restored, b.Restored), Quarantine: cmp.Or(a.Quarantine, b.Quarantine)}
}

// undo puts protected files back as soon as they are found changed, and not only
// before the next attempt: there may be none, and nobody else may find a changed
// check in the tree and prove with it. What a step at work may change, and what
// cannot be put back, is left to whatever starts next.
func (w *World) undo(ctx context.Context, e engine.Effect, changed []engine.Change) (engine.Undone, error) {
	if scopes := w.scopes(); len(scopes) > 0 {
		changed = tree.OutOfScope(changed, scopes)
	}
	if len(changed) == 0 {
		return engine.Undone{}, nil
	}
	b, err := w.base(e.Base)
	if err != nil {
		return engine.Undone{}, err
	}
	undone, _, err := w.putBack(ctx, e.Key, changed, tree.Wanted{Base: b, Moved: e.Moved})
	return undone, err
}

// scopes are those of the steps at work.
func (w *World) scopes() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.live {
		all = append(all, p.writes...)
	}
	return all
}

// attempt runs the work in directories of its own, out of sight of the journal.
func (w *World) attempt(ctx context.Context, e engine.Effect, end *engine.WorkEnded) ([]byte, error) {
	text, err := w.text(e.Prompt)
	if err != nil {
		return nil, err
	}
	values, offline := item, false
	if e.Step.Kind == engine.Script {
		values = w.values
		offline, end.Network = w.network(e)
	}
	set, err := values(e)
	if err != nil {
		return nil, err
	}
	free := w.scratches()
	scratch, err := free.take(w.State)
	if err != nil {
		return nil, err
	}
	defer free.give(scratch)
	log := filepath.Join("attempts", e.Key.Run, fmt.Sprintf("%s.%d.%d.log", e.Key.Step, e.Key.Attempt, e.Key.N))
	said := w.saying(e.Key)
	defer said.close()
	r := w.Agents.Run(ctx, agent.Task{
		Role: e.Step.Role, Step: e.Key.Step, Run: e.Key.Run, Attempt: e.Key.Attempt, Text: text,
		Dir: w.Dir, Mode: e.Step.Mode, Bash: w.shellPath(), Environ: w.Environ, Pass: e.Step.Env, Timeout: e.Step.Timeout,
		LogPath: filepath.Join(w.State, log), Scratch: scratch, Values: set, Offline: offline, OnReport: said.report,
	})
	if r.Size > 0 {
		end.Log = log
	}
	end.How, end.Exit, end.Signal, end.Reason, end.Absent = r.How, r.Exit, r.Signal, r.Reason, r.Absent
	end.Ms, end.Usage, end.Size = r.Duration.Milliseconds(), r.Usage, r.Size
	end.Claims, end.Notes = r.Claims.Claims, r.Notes
	end.Leftover, end.Isolation = r.Leftover, string(r.Level)
	return r.Output, nil
}

// text is a prompt that was written here, or by an owner before.
func (w *World) text(hash string) (string, error) {
	if text, ok := w.texts.take(hash); ok {
		return text, nil
	}
	body, err := w.Object(hash)
	if err != nil {
		return "", fmt.Errorf("read the prompt: %w", err)
	}
	return string(body), nil
}

// compare fills in what the attempt changed, and what of it against the rules.
func (w *World) compare(ctx context.Context, e engine.Effect, end *engine.WorkEnded, me *presence) error {
	if e.Tree == "" {
		return nil
	}
	before, err := w.before(e.Tree)
	if err != nil {
		return err
	}
	after, err := w.Tree.Scan(ctx, tree.ScanOptions{Since: &before})
	if err != nil {
		return err
	}
	changes := tree.Diff(before, after)
	end.Changed = nil
	for _, c := range changes[:min(len(changes), maxChanged)] {
		end.Changed = append(end.Changed, c.Path)
	}
	end.OutOfScope = w.blame(e, outside(changes, e, me.met), me)
	return nil
}

// outside leaves out what a neighbour's scope covers: such a change is its own.
// A neighbour without a scope may have changed anything.
func outside(changes []engine.Change, e engine.Effect, others [][]string) []engine.Change {
	allowed := e.Step.Writes
	for _, o := range others {
		if len(o) == 0 {
			return nil
		}
		allowed = append(allowed[:len(allowed):len(allowed)], o...)
	}
	changes = slices.DeleteFunc(slices.Clone(changes), func(c engine.Change) bool { return c.Path == e.Document })
	return tree.OutOfScope(changes, allowed)
}

// blame shares what lies outside of all scopes with everybody who is at work:
// nobody can tell whose doing it is, and whoever ends first has it taken away. It
// returns what is the blame of this one.
func (w *World) blame(e engine.Effect, strays []engine.Change, me *presence) []engine.Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, other := range w.live {
		other.strays = append(other.strays, strays...)
	}
	for _, c := range outside(me.strays, e, nil) {
		if !slices.ContainsFunc(strays, func(s engine.Change) bool { return s.Path == c.Path }) {
			strays = append(strays, c)
		}
	}
	return strays
}

// watch notes who is at work from the moment a step's workspace is looked at:
// what they change until the step's own work begins is theirs too.
func (w *World) watch(e engine.Effect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watching == nil {
		w.watching = map[watcher]*presence{}
	}
	me := &presence{writes: e.Step.Writes}
	for _, other := range w.live {
		me.met = append(me.met, other.writes)
	}
	w.watching[watcher{e.Key.Run, e.Key.Step}] = me
}

// enter notes that the work is under way. The function it returns ends that,
// and says who else was at work since the workspace was looked at.
func (w *World) enter(e engine.Effect) (leave func() *presence) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live == nil {
		w.live = map[engine.Key]*presence{}
	}
	who := watcher{e.Key.Run, e.Key.Step}
	me := &presence{writes: e.Step.Writes}
	if seen := w.watching[who]; seen != nil {
		me.met = seen.met
		delete(w.watching, who)
	}
	for _, other := range w.live {
		me.met = append(me.met, other.writes)
		other.met = append(other.met, me.writes)
	}
	for _, other := range w.watching {
		other.met = append(other.met, me.writes)
	}
	w.live[e.Key] = me
	return func() *presence {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.live, e.Key)
		return me
	}
}

// watcher is a step that was prepared and has not begun.
type watcher struct{ run, step string }

// presence is one step's work under way, the scopes it met, and what others found
// meanwhile that lies outside of all.
type presence struct {
	writes []string
	met    [][]string
	strays []engine.Change
}
