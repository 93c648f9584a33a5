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
	"strings"
	"time"
	"unicode/utf8"

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
func (w *World) prepare(ctx context.Context, e engine.Effect, r Reporter) Result {
	in := engine.Prepared{Key: e.Key}
	bodies, err := w.ready(ctx, e, r, &in)
	if stopped(ctx, err) {
		return Result{}
	}
	if err != nil {
		in.Err, in.Absent = err.Error(), lasts(err)
	}
	return Result{Input: in, Bodies: bodies}
}

func (w *World) ready(ctx context.Context, e engine.Effect, r Reporter, in *engine.Prepared) (bodies [][]byte, err error) {
	if in.Dispatch.CaughtUp, err = w.catchUp(ctx, e); err != nil {
		return nil, err
	}
	if in.Dispatch.Undone, err = w.restore(ctx, e, r); err != nil {
		return nil, err
	}
	if e.Baseline {
		if in.Checks, bodies, err = w.checks(ctx, e, r, engine.Baseline); err != nil {
			return nil, err
		}
	}
	if len(e.Finished) > 0 && e.Landing != nil {
		if in.Dispatch.Commits, err = w.recordFinished(ctx, e); err != nil {
			return nil, err
		}
	}
	if e.Early {
		if in.Dispatch.Lacks, err = w.lacks(e); err != nil {
			return nil, err
		}
	}
	in.Dispatch.Since = stampClock()
	if e.Step.Kind == engine.Agent || len(e.Step.Writes) > 0 || e.Step.Strong > 0 {
		body, err := w.look(ctx, e, r, in)
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
		if text, in.Dispatch.Injected, err = w.prompt(ctx, e); err != nil {
			return nil, err
		}
		in.Dispatch.Frames = engine.FrameIDs(e.Frames)
	}
	in.Dispatch.Prompt = digest([]byte(text))
	return append(bodies, []byte(text)), nil
}

// restore puts back what the last attempt changed against the rules, and any
// protected file that differs for whatever other reason. What stood there goes
// to quarantine.
func (w *World) restore(ctx context.Context, e engine.Effect, r Reporter) (engine.Undone, error) {
	_, beyond, err := w.beyond(ctx, e.Key)
	if err != nil {
		return beyond, err
	}
	undone, err := w.restoreInside(ctx, e, r)
	return joined(beyond, undone), err
}

// restoreInside leaves alone what may be the doing of others: protected files in
// the scope of a step at work, and any other file in the scope of one that was
// since the last attempt began.
func (w *World) restoreInside(ctx context.Context, e engine.Effect, r Reporter) (engine.Undone, error) {
	b, err := w.base(e.Base)
	if err != nil {
		return engine.Undone{}, err
	}
	changed, err := w.tampered(ctx, e)
	if err != nil || len(changed)+len(e.Restore) == 0 {
		return engine.Undone{}, err
	}
	w.restoring.Lock()
	defer w.restoring.Unlock()
	beside := r.Beside()
	seen := map[string]bool{}
	for _, c := range changed {
		seen[c.Path] = true
	}
	changed = beyondScopes(changed, live(beside))
	for _, c := range beyondScopes(e.Restore, beside) {
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
func (w *World) look(ctx context.Context, e engine.Effect, r Reporter, in *engine.Prepared) ([]byte, error) {
	if !e.Cut || e.Tree == "" {
		m, err := w.Tree.Scan(ctx, nil)
		return m.Encode(), err
	}
	before, err := w.before(e.Tree)
	if err != nil {
		return nil, err
	}
	m, err := w.Tree.Scan(ctx, &before)
	if err == nil {
		in.Strays = slices.DeleteFunc(w.strays(ctx, before, m, e, r.Beside()), func(c engine.Change) bool {
			return slices.Contains(in.Dispatch.Brought, c.Path)
		})
	}
	return m.Encode(), err
}

// lasts reports an error that trying again does not take away.
func lasts(err error) bool {
	_, ok := errors.AsType[misfit](err)
	return ok || errors.Is(err, proc.ErrNoProgram) || errors.Is(err, tree.ErrNobody) || errors.Is(err, tree.ErrGone)
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// MaxFound bounds what a glob of a subscription may match.
const MaxFound = 10_000

// maxMapped bounds the files of which a map is made.
const maxMapped = 100_000

// home is the workspace of the person: a worktree has no topics and memories of
// its own.
func (w *World) home() string {
	for w.outer != nil {
		w = w.outer
	}
	return w.Dir
}

// aboutOf is what topics and memories are matched with.
func aboutOf(e engine.Effect) notes.About {
	a := notes.About{Title: e.Step.Title, Text: e.Step.Task, Tags: e.Tags, Files: slices.Clone(e.Step.Writes)}
	for _, s := range e.Step.Subscriptions {
		if s.Kind == "file" {
			a.Files = append(a.Files, s.Ref)
		}
	}
	return a
}

// prompt writes the finished text for an agent.
func (w *World) prompt(ctx context.Context, e engine.Effect) (string, []engine.Injected, error) {
	from := notes.Sources{
		Output: func(id string) ([]byte, error) {
			body, _, err := w.output(e, id)
			return body, err
		},
		Find: func(glob string) ([]string, error) { return w.Tree.Find(ctx, glob, MaxFound) },
		Below: func(dir string) ([]string, int, error) {
			return w.Tree.Below(ctx, dir, maxMapped)
		},
		Home: w.home(), Now: time.Now(), Known: &w.known,
	}
	contents, err := notes.Read(w.Dir, e.Step.Subscriptions, from)
	if err != nil {
		return "", nil, err
	}
	offered, err := notes.Offered(w.Dir, e.Step.Subscriptions, aboutOf(e), from)
	if err != nil {
		return "", nil, err
	}
	contents = append(contents, offered...)
	in := prompt.Input{Step: e.Step, Title: e.Title, Context: e.Context, Constraints: e.Constraints, Protects: e.Protects, Frames: e.Frames, Feedback: e.Feedback, Note: e.Note}
	if e.Iteration > 1 {
		in.Iteration, in.Heard = e.Iteration, e.Heard
		if e.Last != "" {
			if in.Last, err = w.Object(e.Last); err != nil {
				return "", nil, fmt.Errorf("read what the last iteration said: %w", err)
			}
		}
	}
	var injected []engine.Injected
	for _, c := range contents {
		in.Contents = append(in.Contents, prompt.Content(c))
		injected = append(injected, engine.Injected{Ref: c.Ref, Hash: c.Hash})
	}
	return prompt.Agent(in), injected, nil
}

// work runs the agent or script, or calls the tool, and looks at what it did to the tree once
// nothing of it lives.
func (w *World) work(ctx context.Context, e engine.Effect, r Reporter) Result {
	w.begins()
	ended := engine.Ended{Key: e.Key}
	do := w.attempt
	if e.Step.Kind == engine.Tool {
		do = w.call
	}
	output, err := do(ctx, e, r, &ended.WorkEnded)
	var bodies [][]byte
	if err == nil {
		bodies, err = w.judge(context.WithoutCancel(ctx), e, r, &ended.WorkEnded)
	}
	if err != nil {
		ended.How, ended.Reason, ended.Absent = engine.NoStart, err.Error(), lasts(err)
	}
	if len(output) > 0 {
		bodies, ended.Output = append(bodies, output), digest(output)
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
// protected files back. The bodies are the differences that the end names.
func (w *World) judge(ctx context.Context, e engine.Effect, r Reporter, end *engine.WorkEnded) (bodies [][]byte, err error) {
	changed, err := w.tampered(ctx, e)
	if err == nil && end.How != engine.Stopped {
		end.Tampered = changed
		bodies, err = w.compare(ctx, e, r, end)
	}
	if err != nil {
		return nil, fmt.Errorf("what it changed cannot be compared: %w", err)
	}
	strays, beyond, err := w.beyond(ctx, e.Key)
	if err != nil {
		return nil, err
	}
	if end.How != engine.Stopped {
		end.OutOfScope = append(end.OutOfScope, strays...)
	}
	undone, err := w.undo(ctx, e, r, changed, tree.Manifest{})
	end.Undone = joined(joined(beyond, end.Undone), undone)
	return bodies, err
}

// beyond puts back what was changed in a worktree outside of the workspace, whoever
// did that: it is in nobody's scope, and never merged.
func (w *World) beyond(ctx context.Context, k engine.Key) ([]engine.Change, engine.Undone, error) {
	if w.worktree == nil {
		return nil, engine.Undone{}, nil
	}
	w.git.Lock()
	defer w.git.Unlock()
	changed, err := w.worktree.Beyond(ctx, w.quarantine(k))
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
func (w *World) undo(ctx context.Context, e engine.Effect, r Reporter, changed []engine.Change, before tree.Manifest) (engine.Undone, error) {
	if len(changed) == 0 {
		return engine.Undone{}, nil
	}
	w.restoring.Lock()
	defer w.restoring.Unlock()
	if changed = beyondScopes(changed, live(r.Beside())); len(changed) == 0 {
		return engine.Undone{}, nil
	}
	b, err := w.base(e.Base)
	if err != nil {
		return engine.Undone{}, err
	}
	undone, _, err := w.putBack(ctx, e.Key, changed, tree.Wanted{Base: b, Moved: e.Moved, Tree: before})
	return undone, err
}

// begins waits until nobody puts anything back: whoever does so later finds the
// work under way.
func (w *World) begins() {
	w.restoring.RLock()
	defer w.restoring.RUnlock()
}

// live leaves those who are at work now.
func live(beside []engine.Neighbour) []engine.Neighbour {
	return slices.DeleteFunc(slices.Clone(beside), func(n engine.Neighbour) bool { return !n.Live })
}

// beyondScopes leaves out the changes that lie in somebody's scope.
func beyondScopes(changes []engine.Change, of []engine.Neighbour) []engine.Change {
	var writes []string
	for _, n := range of {
		writes = append(writes, n.Writes...)
	}
	if len(writes) == 0 {
		return changes
	}
	return tree.OutOfScope(changes, writes)
}

// attempt runs the work in directories of its own, out of sight of the journal.
func (w *World) attempt(ctx context.Context, e engine.Effect, report Reporter, end *engine.WorkEnded) ([]byte, error) {
	text, err := w.Object(e.Prompt)
	if err != nil {
		return nil, fmt.Errorf("read the prompt: %w", err)
	}
	values := item
	if e.Step.Kind == engine.Script {
		values = w.values
	}
	set, err := values(e)
	if err != nil {
		return nil, err
	}
	free := &w.scratch
	scratch, err := free.take(w.State)
	if err != nil {
		return nil, err
	}
	defer free.give(scratch)
	var room *proc.Room
	if e.Step.Kind == engine.Script {
		if room, err = w.held(e); err != nil {
			return nil, err
		}
	}
	log := LogFile(e.Key.Run, e.Key.Step, e.Key.Attempt, e.Key.N)
	said := w.saying(e.Key, report.Said)
	defer said.close()
	r := w.Agents.Run(ctx, agent.Task{
		Role: e.Role, Step: e.Key.Step, Run: e.Key.Run, Attempt: e.Key.Attempt, Text: string(text),
		Dir: w.Dir, Mode: e.Step.Mode, Bash: w.shellPath(), Environ: environ(ctx), Pass: e.Step.Env, Timeout: e.Step.Timeout,
		LogPath: filepath.Join(w.State, log), Scratch: scratch, Values: set, Network: e.Step.Network, Unsealed: e.Unsealed, Room: room, OnReport: said.report,
		Permissions: e.Permissions, Ask: asking(report),
		OnClaims: func(c agent.Claims) { report.Report(c.Usage, c.Claims) },
	})
	if r.Size > 0 {
		end.Log = log
	}
	end.How, end.Exit, end.Signal, end.Reason, end.Absent = r.How, r.Exit, r.Signal, r.Reason, r.Absent
	end.Ms, end.Usage, end.Size = r.Duration.Milliseconds(), r.Usage, r.Size
	if r.Cause != (engine.Cause{}) {
		end.Cause = &r.Cause
	}
	end.Claims, end.Notes, end.Stdout, end.Stderr = r.Claims.Claims, r.Notes, r.Stdout, r.Stderr
	if e.Step.Kind == engine.Agent {
		end.Words = words(r.Output)
	}
	end.Leftover, end.Isolation, end.Network = r.Leftover, string(r.Isolation), r.Network
	return r.Output, nil
}

// asking puts what an agent asks for to people.
func asking(report Reporter) func(context.Context, agent.Permission) (agent.Permit, error) {
	return func(ctx context.Context, p agent.Permission) (agent.Permit, error) {
		w := engine.Wanted{Kind: p.Kind, Title: p.Title, Command: p.Command, Paths: p.Paths, Pattern: p.Pattern}
		a, err := report.Ask(ctx, w, p.About())
		if err != nil {
			return agent.Permit{}, err
		}
		once := a.Choice == engine.ChooseAllow
		permit := agent.Permit{Allowed: once || a.Choice == engine.ChooseAllowRun, Once: once}
		switch {
		case permit.Allowed:
		case a.By == engine.Harness:
			permit.Why = a.Text
		default:
			permit.Why = strings.TrimSuffix("by "+a.By+": "+a.Text, ": ")
		}
		return permit, nil
	}
}

// maxWords is how many bytes of what an agent said last are kept in the journal.
const maxWords = 400

// words are the beginning of what an agent said last; nothing where that is no text.
func words(output []byte) string {
	s := strings.TrimSpace(proc.Plain(output[:min(len(output), 4*maxWords)]))
	if len(s) <= maxWords || !utf8.ValidString(s) {
		return strings.ToValidUTF8(s, "")
	}
	cut := maxWords
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// compare fills in what the attempt changed, and what of it against the rules. A
// change in the scope of a neighbour is that one's. One outside of all scopes may
// be anybody's who was at work meanwhile, and who ends first has it taken away:
// so all of them are blamed. Ignore rules that hide anything are put back
// first: what they hid is a change like any other.
func (w *World) compare(ctx context.Context, e engine.Effect, r Reporter, end *engine.WorkEnded) ([][]byte, error) {
	if e.Tree == "" {
		return nil, nil
	}
	before, err := w.before(e.Tree)
	if err != nil {
		return nil, err
	}
	after, err := w.Tree.Scan(ctx, &before)
	if err != nil {
		return nil, err
	}
	beside := r.Beside()
	changes, strays := tree.Diff(before, after), w.strays(ctx, before, after, e, beside)
	if rules := tree.IgnoreRules(strays); len(rules) > 0 && after.Hides(before) {
		if end.Undone, err = w.undo(ctx, e, r, rules, before); err != nil {
			return nil, err
		}
		if after, err = w.Tree.Scan(ctx, &before); err != nil {
			return nil, err
		}
		beside = r.Beside()
		changes = append(changes, without(tree.Diff(before, after), changes)...)
		strays = append(strays, without(w.strays(ctx, before, after, e, beside), strays)...)
	}
	if len(e.Step.Writes) == 0 {
		changes = beyondScopes(changes, beside)
	}
	mine := without(changes, without(tree.OutOfScope(changes, e.Step.Writes), strays))
	if len(e.Step.Writes) == 0 && slices.ContainsFunc(beside, func(n engine.Neighbour) bool { return len(n.Writes) == 0 }) {
		mine = nil // nobody can tell whose doing they are
	}
	end.Changed = nil
	for _, c := range mine {
		end.Changed = append(end.Changed, c.Path)
	}
	end.Changed = collapsed(end.Changed)
	end.Changed = end.Changed[:min(len(end.Changed), maxChanged)]
	for _, n := range beside {
		strays = append(strays, without(outside(n.Strays, e, nil), strays)...)
	}
	end.OutOfScope = strays
	return w.differences(ctx, e, r, end, mine, before, after)
}

// differences writes what the attempt changed, and what the step did since before its
// first one.
func (w *World) differences(ctx context.Context, e engine.Effect, r Reporter, end *engine.WorkEnded, mine []engine.Change, before, after tree.Manifest) (bodies [][]byte, err error) {
	write := func(name *string, before tree.Manifest, changes []engine.Change) error {
		text, err := w.Tree.Patch(ctx, before, after, w.theirs(e, changes))
		if err == nil && len(text) > 0 {
			bodies, *name = append(bodies, text), digest(text)
		}
		return err
	}
	if err := write(&end.Diff, before, mine); err != nil || e.First == "" || e.First == e.Tree {
		return bodies, err
	}
	first, err := w.before(e.First)
	if err != nil {
		return nil, err
	}
	return bodies, write(&end.Whole, first, w.own(e, r, tree.Diff(first, after)))
}

// outside lists the changes that lie neither in the scope of the effect's step nor
// in that of a neighbour. A neighbour without a scope may have changed anything.
func outside(changes []engine.Change, e engine.Effect, beside []engine.Neighbour) []engine.Change {
	if len(e.Step.Writes) == 0 {
		return nil // of a loop, whose changes are looked at whatever it may write
	}
	allowed := slices.Clone(e.Step.Writes)
	for _, n := range beside {
		if len(n.Writes) == 0 {
			return nil
		}
		allowed = append(allowed, n.Writes...)
	}
	return tree.OutOfScope(changes, allowed)
}

// strays are the changes outside of all scopes that somebody is to blame for: not
// the owner's marks in plan documents, and not what another owner's runs did.
func (w *World) strays(ctx context.Context, before, after tree.Manifest, e engine.Effect, beside []engine.Neighbour) []engine.Change {
	elsewhere := func(string) bool { return false }
	if w.ElsewhereOwned != nil {
		elsewhere = w.ElsewhereOwned(e.Began.At)
	}
	return slices.DeleteFunc(outside(tree.Diff(before, after), e, beside), func(c engine.Change) bool {
		if elsewhere(c.Path) {
			return true
		}
		if w.Marked == nil || c.What != "changed" {
			return false
		}
		was, err := w.Tree.Content(before.Files[c.Path])
		if err != nil {
			return false
		}
		is, err := w.Tree.Content(after.Files[c.Path])
		return err == nil && w.Marked(ctx, c.Path, was, is)
	})
}

// without leaves out the changes of paths that others name.
func without(changes, others []engine.Change) (rest []engine.Change) {
	if len(others) == 0 {
		return changes
	}
	named := map[string]bool{}
	for _, c := range others {
		named[c.Path] = true
	}
	for _, c := range changes {
		if !named[c.Path] {
			rest = append(rest, c)
		}
	}
	return rest
}
