package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/proc"
)

// ErrNoRepository says that the workspace is in no git repository, or that
// there is no git to ask.
var ErrNoRepository = errors.New("a worktree needs git, and a git repository around the workspace")

// A Worktree is a step's, or a run's, own copy of the workspace: a git worktree outside of
// it, on a branch of its own, that begins with what the workspace held, files
// that git does not follow yet included and ignored ones not. HEAD, branches,
// index and files of the checkout are only read until [Worktree.Merge].
//
// What it has come to is in its [marks], so that a process that begins after a
// crash finds what the one before it had done.
//
// Its methods must not be called at once for one workspace.
type Worktree struct {
	home   *Tree
	run    string
	step   string
	place  string              // has the marks, and the files in dir
	dir    string              // of the whole repository
	gitDir string              // of the checkout
	top    string              // of the checkout
	during func(moment string) // see [pen]
}

// Worktree describes the worktree of a step of a run below root, which must lie
// outside of the workspace. Nothing is made yet.
func (t *Tree) Worktree(root, run, step string) (*Worktree, error) {
	gitDir, top := repository(t.dir)
	if t.git == "" || t.pool == nil || gitDir == "" {
		return nil, ErrNoRepository
	}
	return &Worktree{
		home: t, run: run, step: step, place: filepath.Join(root, run, step), dir: WorktreeDir(root, run, step), gitDir: gitDir, top: top,
	}, nil
}

// root is the directory of all worktrees.
func (w *Worktree) root() string { return filepath.Dir(filepath.Dir(w.place)) }

// WorktreeDir is where below root the worktree of a step of a run has its files.
func WorktreeDir(root, run, step string) string { return filepath.Join(root, run, step, "tree") }

// Dir is where the step works: what the workspace is in the checkout.
func (w *Worktree) Dir() string {
	return filepath.Join(w.dir, filepath.FromSlash(w.sub()))
}

// Top is the directory that the paths of a conflict begin at: that of the whole repository.
func (w *Worktree) Top() string { return w.dir }

// Run is the name of the worktree that a whole run works in, in the place of a
// step's, which has no such id.
const Run = "_run"

// Open opens what the step works in, once it has begun. What is named .git there
// is that of the workspace, which must not be closed before. The caller must Close it.
func (w *Worktree) Open() (*Tree, error) {
	if err := os.MkdirAll(w.Dir(), 0o755); err != nil { // git keeps no empty directory
		return nil, fmt.Errorf("open a worktree: %w", err)
	}
	return w.home.beside(w.Dir())
}

// IsOf reports whether the whole run works in it.
func (w *Worktree) IsOf(run string) bool { return w.step == Run && w.run == run }

func (w *Worktree) what() string {
	if w.step == Run {
		return "run " + w.run
	}
	return "step " + w.step
}

// Begin makes the worktree from the workspace as it is, or brings one that is
// there to that state if renew says so. One that has begun is left alone
// otherwise. note is kept with it; see [Worktree.Note]. branch says whether what is done in
// that of a run will be recorded on a branch. It may be repeated.
func (w *Worktree) Begin(ctx context.Context, note string, renew, branch bool) error {
	if err := w.home.dropHalfMade(w.root()); err != nil {
		return err
	}
	if err := w.mend(ctx); err != nil {
		return err
	}
	m, err := w.marks()
	if err != nil {
		return err
	}
	there := w.made(m)
	switch {
	case m.Base != "" && there && !renew:
		return nil
	case m.Base != "" && w.step == Run:
		return w.gone()
	}
	if Taken(w.top) {
		return fmt.Errorf("the repository has a branch %s, so git cannot make %s/NAME: rename it, `git branch -m %s other`, then answer retry", branches, branches, branches)
	}
	if err := w.home.setsAside(); err != nil {
		return err
	}
	if err := w.note(marks{Ready: m.Ready && there}); err != nil {
		return err
	}
	state, err := w.snapshot(ctx, w.gitDir, w.top)
	if err != nil {
		return err
	}
	defer state.forget()
	head, err := w.resolve(ctx, "HEAD")
	if err != nil {
		return err
	}
	commit, err := w.commit(ctx, state.tree, "The workspace before "+w.what(), note, head)
	if err != nil {
		return err
	}
	kept, err := w.fill(ctx, commit)
	if err != nil {
		return err
	}
	m = marks{Base: commit, Ready: m.Ready && kept}
	if w.step == Run {
		m.Begun, m.Root = state.tree, head
		if branch {
			if m.Root, err = w.rootOf(ctx, head, state.tree); err != nil {
				return err
			}
		}
		if m.Lacks, err = w.bringIgnored(ctx); err != nil {
			return fmt.Errorf("copy what git ignores: %w", err)
		}
	}
	return w.note(m)
}

// ErrGone says that somebody removed the worktree of a run, and work that is nowhere else.
var ErrGone = errors.New("is gone, with work that is on no branch")

func (w *Worktree) gone() error {
	return fmt.Errorf("the worktree of run %[1]s %[2]w: %[3]s; put it back and answer retry, or give the run up: `piton cancel %[1]s`, then run the plan again",
		w.run, ErrGone, w.dir)
}

// Exists reports whether the worktree is there.
func (w *Worktree) Exists() bool {
	m, err := w.marks()
	return err == nil && w.made(m)
}

// made is Exists, given the marks.
func (w *Worktree) made(m marks) bool {
	_, err := os.Lstat(filepath.Join(w.dir, ".git"))
	return err == nil && !m.Anew
}

// Regain makes the worktree of a run anew that has begun and that somebody removed: as it was
// when the newest commit of its branch was made, or, before the first, as it began. Where it
// held work that is not there, as loose says, it fails with [ErrGone]. It reports whether it
// made any.
func (w *Worktree) Regain(ctx context.Context, loose bool) (bool, error) {
	m, err := w.marks()
	if err != nil || w.made(m) {
		return false, err
	}
	if loose || m.Base == "" || m.Begun == "" {
		return false, w.gone()
	}
	m.Ready, m.Anew = false, true
	if err := errors.Join(w.note(m), w.remove()); err != nil {
		return false, err
	}
	if _, err = w.ask(ctx, nil, "worktree", "add", "--quiet", "--force", "--detach", w.dir, m.Base); err != nil {
		return false, err
	}
	if err = w.reindex(ctx, []string{"read-tree", m.Base}, []string{"read-tree", "--reset", "-u", m.Begun}, []string{"read-tree", m.Base}); err != nil {
		return false, err
	}
	if m.Lacks, err = w.bringIgnored(ctx); err != nil {
		return false, fmt.Errorf("copy what git ignores: %w", err)
	}
	m.Anew = false
	return true, w.note(m)
}

// Lacks names what git ignores in the checkout and the worktree did not begin with.
func (w *Worktree) Lacks() ([]string, error) {
	m, err := w.marks()
	return m.Lacks, err
}

// fill makes the files of the worktree those of the commit. It reports whether
// those that git ignores are kept.
func (w *Worktree) fill(ctx context.Context, commit string) (kept bool, err error) {
	if _, err := os.Lstat(filepath.Join(w.dir, ".git")); err == nil {
		if _, err := w.aside(ctx, "checkout", "--quiet", "--force", "--detach", commit); err == nil {
			_, err = w.aside(ctx, "clean", "-fdq")
			return true, err
		}
	}
	if err := w.remove(); err != nil {
		return false, err
	}
	_, err = w.ask(ctx, nil, "worktree", "add", "--quiet", "--force", "--detach", w.dir, commit)
	return false, err
}

// Ready reports whether the worktree was prepared; Prepared says that it is.
func (w *Worktree) Ready() (bool, error) {
	m, err := w.marks()
	return m.Ready, err
}

// Prepared notes that the worktree was prepared.
func (w *Worktree) Prepared() error {
	m, err := w.marks()
	if err == nil {
		m.Ready = true
		err = w.note(m)
	}
	return err
}

// Note returns what was to be kept with what the worktree began with.
func (w *Worktree) Note(ctx context.Context) (string, error) {
	m, err := w.marks()
	if err != nil || m.Base == "" {
		return "", err
	}
	body, err := w.ask(ctx, nil, "log", "-1", "--format=%b", m.Base)
	return strings.TrimSpace(body), err
}

// Keep records what a run left unfinished in its worktree on its branch, if that is anything
// new: a person may want it after the run. It may be repeated.
func (w *Worktree) Keep(ctx context.Context, title string) (Recorded, error) {
	if !w.Exists() {
		return Recorded{}, nil
	}
	return w.Record(ctx, Entry{
		Title: title, Loose: true,
		Message: "Unfinished: " + title + "\n\nThe run ended before this was proven.\n\nPiton-Run: " + w.run,
	})
}

// Discard removes the worktree and all that is kept for it, save the branch of a run, which
// is the person's. It may be repeated.
func (w *Worktree) Discard(ctx context.Context) error {
	if err := w.remove(); err != nil {
		return err
	}
	refs, err := w.ask(ctx, nil, "for-each-ref", "--format=%(refname)", w.held())
	if err != nil {
		return err
	}
	for ref := range strings.FieldsSeq(refs) {
		if _, err := w.ask(ctx, nil, "update-ref", "--no-deref", "-d", ref); err != nil {
			return err
		}
	}
	return os.RemoveAll(w.place)
}

// remove takes the worktree's directory away, and git's record of it.
func (w *Worktree) remove() error {
	place := w.place // as git writes it
	if real, err := filepath.EvalSymlinks(place); err == nil {
		place = real
	}
	err := os.RemoveAll(w.dir)
	if err == nil {
		err = dropRecords(commonDir(w.gitDir), func(r record) bool { return filepath.Dir(r.tree) == place })
	}
	if err != nil {
		err = fmt.Errorf("remove a worktree: %w", err)
	}
	return err
}

// picture is the files of a checkout as git has them, with the index that says so.
type picture struct {
	tree  string
	index string // a file
}

func (p picture) forget() { os.RemoveAll(filepath.Dir(p.index)) }

// temporary makes a directory that goes with the worktree, if nobody removes it
// before.
func (w *Worktree) temporary() (string, error) {
	if err := os.MkdirAll(w.place, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(w.place, ".git-")
}

// snapshot takes what a checkout holds, without touching its index.
func (w *Worktree) snapshot(ctx context.Context, gitDir, top string) (picture, error) {
	dir, err := w.temporary()
	if err != nil {
		return picture{}, fmt.Errorf("take a snapshot: %w", err)
	}
	p := picture{index: filepath.Join(dir, "index")}
	if p.tree, err = w.fillIndex(ctx, gitDir, top, p.index); err != nil {
		p.forget()
	}
	return p, err
}

// fillIndex makes an index of what git follows there and of all that it does not
// ignore. Of the checkout's own index only the names count: whoever works there
// writes it, and it may call files unchanged that are not. What Piton itself prints
// to is as git has it there, or left out.
func (w *Worktree) fillIndex(ctx context.Context, gitDir, top, index string) (string, error) {
	names, err := w.git(ctx, gitDir, top, call{}, "ls-files", "--stage", "-z")
	if err != nil {
		return "", err
	}
	mine := []string{"GIT_INDEX_FILE=" + index}
	if _, err := w.git(ctx, gitDir, top, call{env: mine, stdin: names}, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	add, as := []string{"add", "--all"}, call{env: mine}
	if top == w.top {
		add = append(add, w.withoutOutput()...)
		as.ignores = index + ".ignores"
		if err := w.ignores(as.ignores); err != nil {
			return "", err
		}
	}
	others, err := w.git(ctx, gitDir, top, as, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return "", err
	}
	if err := readable(top, names, others); err != nil {
		return "", err
	}
	if _, err := w.git(ctx, gitDir, top, as, add...); err != nil {
		return "", err
	}
	return w.git(ctx, gitDir, top, call{env: mine}, "write-tree")
}

// maxHoles is how much of nothing git may read of one file: it knows no holes.
const maxHoles = 4 << 30

// readable reports a file that git would read for hours, though next to nothing is on
// the disk. The names are those that git follows, with what it says of them in front,
// and the others, with a NUL behind each.
func readable(top string, followed, others string) error {
	for name := range strings.SplitSeq(followed+others, "\x00") {
		if _, file, staged := strings.Cut(name, "\t"); staged && len(name) > len(file)+40 {
			name = file
		}
		info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(name)))
		if err == nil && holes(info) > maxHoles {
			return fmt.Errorf("%s reads as %d GiB, and next to nothing of it is on the disk: git would read it all; make it smaller, remove it, or have git ignore it", name, info.Size()>>30)
		}
	}
	return nil
}

// projections are the files that show runs, and the names that they have while they are
// written: those come and go while git looks.
var projections = []string{".piton/current-task.yaml", ".piton/plans/*.yaml", ".piton/.*.new", ".piton/plans/.*.new"}

// ignores has git ignore the projections of the workspace: a file of patterns, which
// stand behind all that the repository says itself.
func (w *Worktree) ignores(file string) error {
	var text strings.Builder
	for _, name := range projections {
		text.WriteString("/" + path.Join(literal.Replace(disk(w.sub())), name) + "\n")
	}
	return os.WriteFile(file, []byte(text.String()), 0o600)
}

// literal makes a pattern that matches a path and nothing else.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// withoutOutput has git pass over what Piton itself prints to in the checkout.
func (w *Worktree) withoutOutput() (args []string) {
	for _, name := range w.home.outputs() {
		args = append(args, ":(top,exclude,literal)"+disk(path.Join(w.sub(), name)))
	}
	if args != nil {
		args = append([]string{"--", ":(top)"}, args...)
	}
	return args
}

// commit makes a commit of a tree. Empty parents are left out.
func (w *Worktree) commit(ctx context.Context, tree, title, body string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree, "-m", title}
	if body != "" {
		args = append(args, "-m", body)
	}
	for _, p := range parents {
		if p != "" {
			args = append(args, "-p", p)
		}
	}
	return w.ask(ctx, []string{
		"GIT_AUTHOR_NAME=Piton", "GIT_AUTHOR_EMAIL=piton@localhost", "GIT_COMMITTER_NAME=Piton", "GIT_COMMITTER_EMAIL=piton@localhost",
	}, args...)
}

// resolve returns the commit that a name stands for, "" if there is none.
func (w *Worktree) resolve(ctx context.Context, name string) (string, error) {
	out, err := w.ask(ctx, nil, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if status, ok := errors.AsType[*refused](err); ok && status.status == 1 {
		return "", nil
	}
	return out, err
}

// ask runs git on the checkout.
func (w *Worktree) ask(ctx context.Context, env []string, args ...string) (string, error) {
	return w.git(ctx, w.gitDir, w.top, call{env: env}, args...)
}

// aside runs git on the worktree.
func (w *Worktree) aside(ctx context.Context, args ...string) (string, error) {
	return w.git(ctx, filepath.Join(w.dir, ".git"), w.dir, call{}, args...)
}

// A call is what git is given beside its arguments.
type call struct {
	env   []string
	stdin string

	ignores string // file of patterns that git ignores too; "" for none
}

// git runs git without hooks and without anybody's own settings, and returns
// what it printed, less the end of the line. A ref of this worktree may still be
// locked by a git that was killed: it is opened, and git asked again.
func (w *Worktree) git(ctx context.Context, gitDir, top string, c call, args ...string) (string, error) {
	out, err := w.gitOnce(ctx, gitDir, top, c, args...)
	for range maxLocks {
		lock := w.lockOf(err)
		if lock == "" || os.Remove(lock) != nil {
			break
		}
		out, err = w.gitOnce(ctx, gitDir, top, c, args...)
	}
	return out, err
}

func (w *Worktree) gitOnce(ctx context.Context, gitDir, top string, c call, args ...string) (string, error) {
	if err := belongs(gitDir, w.gitDir); err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	argv := slices.Concat([]string{w.home.git}, safely, []string{
		"-c", "advice.addEmbeddedRepo=false", "-c", "advice.graftFileDeprecated=false", "-c", "gc.auto=0",
		"-c", "core.sparseCheckout=false", "-c", fmt.Sprintf("core.filesRefLockTimeout=%d", lockWait.Milliseconds()),
	})
	if c.ignores != "" {
		argv = append(argv, "-c", "core.excludesFile="+c.ignores)
	}
	argv = append(argv, args...)
	out, err := w.home.runGit(ctx, proc.Spec{Argv: argv, Dir: top, Env: append(gitEnv(gitDir, top), c.env...), Stdin: []byte(c.stdin)}, args[0])
	return strings.TrimSuffix(out, "\n"), err
}

// A difference is a path that is not the same in two trees of git.
type difference struct {
	name   string
	status string // A, D, M or T
	module bool   // a repository in the repository, on either side

	mode, object string // in the second tree
}

// diffTree lists the differences from one commit, or tree, to another.
func (w *Worktree) diffTree(ctx context.Context, from, to string) ([]difference, error) {
	list, err := w.ask(ctx, nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to)
	var all []difference
	for pair := range slices.Chunk(strings.Split(list, "\x00"), 2) {
		if fields := strings.Fields(pair[0]); len(pair) == 2 && len(fields) == 5 {
			all = append(all, difference{pair[1], fields[4], strings.Contains(fields[0]+fields[1], "160000"), fields[1], fields[3]})
		}
	}
	return all, err
}
