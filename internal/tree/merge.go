package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/durable"
)

// Merge is what came of bringing a worktree's changes into the workspace.
type Merge struct {
	Commit    string   // what was merged; "" if it was not
	Changed   []string // paths of the repository that the workspace did not have so
	Conflicts []Change // both sides are in the worktree
	Behind    bool     // of a run's worktree: it has to be proved first; Changed is what it got from the workspace
}

// trailer marks the commit of a merge with the effect that it was for.
const trailer = "Piton-Effect: "

// rounds counts the conflicts of a worktree.
const rounds = "Piton-Round: "

// maxMergeTries bounds how often a merge begins again because somebody wrote in
// the workspace meanwhile.
const maxMergeTries = 3

// Merge brings what changed in the worktree into the workspace, by three sides:
// what the worktree began with, the workspace as it is now, and the worktree.
// Index and HEAD of the checkout stay as they are, and only files that the merge
// changes are written.
//
// effect names the merge for ever. One that was done before a crash is found by
// its commit and not done again; one that was cut off half way is finished. On
// a conflict the workspace stays as it is and the worktree gets the merged files
// with both sides in them; a person resolves them there, and the next Merge
// brings in what they made of it. round is how many conflicts the caller knows
// of: another one is answered again. held are those of the last one: while a
// file still has the marks of one, that is the answer again.
//
// What the worktree of a run holds is merged only where the workspace has nothing
// that was not proved with it. Else the worktree gets that, as it gets both sides
// of a conflict, and the answer is that it is behind; so it is after a conflict,
// which a person resolved. It is an error where the files of the workspace are
// not those of the worktree once it is merged, and a merge that is found and
// left no such files counts for nothing.
func (w *Worktree) Merge(ctx context.Context, effect, note string, round int, held []Change) (Merge, error) {
	if done, err := w.done(ctx, effect); err != nil || done.Commit != "" && w.landed(ctx) == nil {
		return done, err
	}
	if err := w.mend(ctx); err != nil {
		return Merge{}, err
	}
	if cut, err := w.conflict(ctx, round); err != nil || cut != "" {
		return w.finish(ctx, cut, err)
	}
	if left := w.marked(held); len(left) > 0 {
		return Merge{Conflicts: left}, nil
	}
	var err error
	for range maxMergeTries {
		var m Merge
		if m, err = w.merge(ctx, effect, note, round, len(held) > 0); err == nil || !errors.Is(err, errMoved) {
			return m, err
		}
	}
	return Merge{}, err
}

// errMoved says that the workspace changed while it was merged into.
var errMoved = errors.New("the workspace was written to meanwhile")

// done finds the merge that was for the effect.
func (w *Worktree) done(ctx context.Context, effect string) (Merge, error) {
	m, err := w.marks()
	if err != nil || m.Merged == "" {
		return Merge{}, err
	}
	body, err := w.ask(ctx, nil, "log", "-1", "--format=%B", m.Merged)
	if err != nil || !slices.Contains(strings.Split(body, "\n"), trailer+effect) {
		return Merge{}, err
	}
	changed, err := w.differing(ctx, m.Merged+"^1", m.Merged)
	return Merge{Commit: m.Merged, Changed: changed}, err
}

// conflict finds the conflict that the caller does not know of yet: a process
// found it and ended before it could say so.
func (w *Worktree) conflict(ctx context.Context, known int) (string, error) {
	m, err := w.marks()
	if err != nil || m.Conflict == "" {
		return "", err
	}
	body, err := w.ask(ctx, nil, "log", "-1", "--format=%b", m.Conflict)
	if err != nil || strings.TrimSpace(body) != fmt.Sprintf("%s%d", rounds, known+1) {
		return "", err
	}
	return m.Conflict, nil
}

func (w *Worktree) merge(ctx context.Context, effect, note string, round int, resolved bool) (Merge, error) {
	m, err := w.meet(ctx, note)
	if err != nil {
		return Merge{}, err
	}
	defer m.forget()
	if len(m.conflicts) > 0 || w.step == Run && (resolved || m.tree != m.mine) {
		err = w.mingle(ctx, m, fmt.Sprintf("%s%d", rounds, round+1))
		return w.finish(ctx, m.Conflict, err)
	}
	commit, err := w.both(ctx, m.tree, trailer+effect, m.now, m.work)
	if err == nil {
		err = w.free(ctx, commit)
	}
	if err == nil {
		err = w.write(ctx, m.marks, m.ours, commit)
	}
	if err != nil {
		return Merge{}, err
	}
	changed, err := w.differing(ctx, m.now, commit)
	return Merge{Commit: commit, Changed: changed}, err
}

// CatchUp brings what is new in the workspace into the worktree of a run, and returns its
// paths. Where both sides do not fit it brings nothing: the merge at the end of the run
// asks. Nothing may be at work in the worktree. It may be repeated.
func (w *Worktree) CatchUp(ctx context.Context) ([]string, error) {
	if err := w.mend(ctx); err != nil {
		return nil, err
	}
	m, err := w.meet(ctx, "")
	if err != nil {
		return nil, err
	}
	defer m.forget()
	if len(m.conflicts) > 0 || m.tree == m.mine {
		return nil, nil
	}
	base, err := w.treeOf(ctx, m.Base)
	if err != nil {
		return nil, err
	}
	// What the run did and has not recorded stays its own doing.
	begun, err := w.pick(ctx, m.Begun, base, m.ours.tree)
	if err != nil {
		return nil, err
	}
	if err := w.mingle(ctx, m, "What was new in the workspace"); err != nil {
		return nil, err
	}
	if err := w.put(ctx, m.Conflict, begun); err != nil {
		return nil, err
	}
	names, err := w.differing(ctx, m.Conflict+"^2", m.Conflict)
	return w.ofWorkspace(names), err
}

// ofWorkspace are those of some paths of the repository that lie in the workspace, from there.
func (w *Worktree) ofWorkspace(names []string) (inside []string) {
	for _, name := range names {
		if name, in := w.inside(name); in {
			inside = append(inside, name)
		}
	}
	return inside
}

// A meeting is both sides of a merge, and what comes of them. Nothing is written yet.
type meeting struct {
	marks
	ours, theirs picture // of the workspace, and of the worktree
	mine         string  // git's tree of what the worktree brings
	now, work    string  // the commits of both sides
	tree         string  // of what comes of them
	conflicts    []Change
}

func (m *meeting) forget() {
	m.theirs.forget()
	m.ours.forget()
}

func (w *Worktree) meet(ctx context.Context, note string) (m *meeting, err error) {
	m = &meeting{}
	if m.theirs, err = w.snapshot(ctx, filepath.Join(w.dir, ".git"), w.dir); err != nil {
		return nil, err
	}
	if m.ours, err = w.snapshot(ctx, w.gitDir, w.top); err != nil {
		m.theirs.forget()
		return nil, err
	}
	if m.marks, err = w.marks(); err == nil {
		m.mine, err = w.within(ctx, m.marks, m.theirs.tree)
	}
	if err == nil {
		m.now, m.work, err = w.commitBoth(ctx, m.marks, m.ours.tree, m.mine, note)
	}
	if err == nil {
		m.tree, m.conflicts, err = w.threeWay(ctx, m.now, m.work)
	}
	if err != nil {
		m.forget()
		return nil, err
	}
	return m, nil
}

// mingle commits both sides of a meeting, and notes it for [Worktree.put].
func (w *Worktree) mingle(ctx context.Context, m *meeting, about string) (err error) {
	if m.Conflict, err = w.both(ctx, m.tree, about, m.now, m.work); err != nil {
		return err
	}
	return w.note(m.marks)
}

// write makes the files of the workspace those of a merge, and notes it. Where it
// did not get through, what is left of it is for [Worktree.mend].
func (w *Worktree) write(ctx context.Context, m marks, ours picture, commit string) error {
	ctx = context.WithoutCancel(ctx) // half of it helps nobody
	p, done, err := w.pen(ctx, commit)
	if err == nil {
		defer done()
		err = p.look(ctx, w, ours)
	}
	if err == nil {
		m.Writing, m.Edits, m.Into = commit, p.edits, w.home.dir
		err = w.note(m)
	}
	if err == nil {
		err = p.write()
	}
	if err != nil && (m.Writing == "" || errors.Is(err, errTorn)) {
		return fmt.Errorf("write what was merged: %w", err)
	}
	if err == nil {
		err = w.landed(ctx)
	}
	if err == nil {
		m.Merged = commit
	}
	return errors.Join(err, w.note(m.written()))
}

// commitBoth commits both sides, each on top of what it came from.
func (w *Worktree) commitBoth(ctx context.Context, m marks, ours, theirs, note string) (now, work string, err error) {
	before, err := w.behind(m)
	if err == nil {
		work, err = w.commit(ctx, theirs, "The work of "+w.what(), "", before.work)
	}
	if err == nil {
		now, err = w.commit(ctx, ours, "The workspace when "+w.what()+" was merged", note, before.now)
	}
	return now, work, err
}

// both commits what comes of both sides, and holds it.
func (w *Worktree) both(ctx context.Context, tree, about, now, work string) (string, error) {
	commit, err := w.commit(ctx, tree, "Both sides of "+w.what(), about, now, work)
	if err == nil {
		err = w.hold(ctx, commit)
	}
	return commit, err
}

// origin is what both sides of a merge came from: the commits behind them.
type origin struct{ work, now string }

// behind finds the origin of the next merge: what the worktree began with, or
// the merge before, of which the workspace has everything already.
func (w *Worktree) behind(m marks) (origin, error) {
	switch {
	case m.Merged != "":
		return origin{work: m.Merged + "^2", now: m.Merged}, nil
	case m.Base == "":
		return origin{}, fmt.Errorf("merge %s: what its worktree began with is gone", w.what())
	}
	return origin{work: m.Base, now: m.Base}, nil
}

// threeWay merges the two sides in git's store and touches no file.
func (w *Worktree) threeWay(ctx context.Context, now, work string) (tree string, conflicts []Change, err error) {
	out, err := w.ask(ctx, nil, "merge-tree", "--write-tree", "-z", "--no-messages", now, work)
	if r, ok := errors.AsType[*refused](err); ok && r.status == 1 && r.out != "" {
		out, err = r.out, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("%w (git 2.38 or newer is needed)", err)
	}
	tree, rest, _ := strings.Cut(out, "\x00")
	return tree, sides(rest), nil
}

// sides reads the conflicted paths, each with its stages: 1 the beginning, 2 the
// workspace, 3 the step.
func sides(list string) []Change {
	stages := map[string]int{}
	for line := range strings.SplitSeq(list, "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 3 {
			continue
		}
		stages[name] |= 1 << (fields[2][0] - '0')
	}
	var all []Change
	for name, has := range stages {
		what := "changed in the workspace and by the step"
		switch has {
		case 1<<2 | 1<<3:
			what = "added in the workspace and by the step"
		case 1<<1 | 1<<2:
			what = "changed in the workspace, removed by the step"
		case 1<<1 | 1<<3:
			what = "removed in the workspace, changed by the step"
		case 1 << 2:
			what = "in the way: of the workspace"
		case 1 << 3:
			what = "in the way: of the step"
		}
		all = append(all, Change{Path: wire(name), What: what})
	}
	return sortedByPath(all)
}

// finish puts a conflict into the worktree: its files with both sides in them,
// on top of what the workspace holds. So it does with what a run's worktree was
// behind, where both sides fit. It may be repeated until it is through.
func (w *Worktree) finish(ctx context.Context, conflict string, err error) (Merge, error) {
	if err != nil {
		return Merge{}, err
	}
	begun, err := w.treeOf(ctx, conflict) // all that the run did is recorded
	if err == nil {
		err = w.put(ctx, conflict, begun)
	}
	if err != nil {
		return Merge{}, err
	}
	_, conflicts, err := w.threeWay(ctx, conflict+"^1", conflict+"^2")
	if err != nil {
		return Merge{}, err
	}
	if len(conflicts) > 0 {
		return Merge{Conflicts: conflicts}, nil
	}
	changed, err := w.differing(ctx, conflict+"^2", conflict)
	return Merge{Behind: true, Changed: changed}, err
}

// put lets the worktree begin anew, behind the workspace as it was merged, with
// the files of the merge. Once it is through it does nothing: somebody may have
// worked there since.
func (w *Worktree) put(ctx context.Context, conflict, begun string) error {
	now, err := w.resolve(ctx, conflict+"^1")
	if err != nil {
		return err
	}
	m, err := w.marks()
	if err != nil || m.Base == now {
		return err
	}
	err = w.reindex(ctx,
		[]string{"read-tree", conflict + "^2"},
		[]string{"read-tree", "--reset", "-u", conflict},
		[]string{"update-ref", "--no-deref", "HEAD", now},
		[]string{"read-tree", now})
	if err != nil {
		return err
	}
	m.Base, m.Merged, m.Begun = now, "", begun
	return w.note(m)
}

// marked returns those of the conflicts whose file still has both sides in it.
func (w *Worktree) marked(conflicts []Change) []Change {
	var left []Change
	for _, c := range conflicts {
		body, err := durable.ReadFile(filepath.Join(w.dir, disk(c.Path)), maxText)
		if err == nil && hasLine(body, "<<<<<<< ") && hasLine(body, ">>>>>>> ") {
			left = append(left, Change{Path: c.Path, What: "still has the marks of both sides"})
		}
	}
	return left
}

// maxText is how much of a file is looked into.
const maxText = 64 << 20

func hasLine(body []byte, prefix string) bool {
	return bytes.HasPrefix(body, []byte(prefix)) || bytes.Contains(body, []byte("\n"+prefix))
}

// differing lists the paths that differ between two commits.
func (w *Worktree) differing(ctx context.Context, a, b string) ([]string, error) {
	differences, err := w.diffTree(ctx, a, b)
	var names []string
	for _, d := range differences {
		names = append(names, wire(d.name))
	}
	return names, err
}
