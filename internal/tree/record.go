package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/proc"
)

// An Entry is what is recorded of a run on its branch: one commit.
type Entry struct {
	Key     string   // of what is recorded; a second time it is not
	Title   string   // of the plan: the branch is named after it
	Message string   // of the commit
	Only    []string // globs of what it is about; empty for all that the worktree holds
	Except  []string // globs of what is not proven, and stays out unless Kept covers it
	Kept    []string
	Whole   bool // the branch gets this commit in the place of all those before
	Loose   bool // it is unfinished: the next one takes its place
}

// A Recorded is a commit on the branch of a run.
type Recorded struct {
	Branch string
	Commit string
	News   string // a line for the person: why the run has another branch than before
}

// ErrNobody says that git does not know who works here.
var ErrNobody = errors.New("git does not know who you are, so the run's commits have no author: run `git config user.name 'Your Name' && git config user.email you@example.org`, or write `commit: none` in the plan's header")

// Record commits what the worktree of a run holds, and no commit before has, to the branch of
// the run, in the name of the person. The branch begins at the commit that the checkout stood
// on when the run began, with what was not committed there on top. Files that git did not
// follow then are on it only once the run has changed them. Nothing is recorded where nothing
// is new. HEAD, index and other branches stay as they are, and no hook runs. A branch of the run
// that somebody else moved, or has checked out, is theirs from then on: the run gets another one,
// with all its commits. It may be repeated.
func (w *Worktree) Record(ctx context.Context, e Entry) (Recorded, error) {
	m, err := w.marks()
	if err != nil || m.Root == "" && m.Begun == "" {
		return Recorded{}, err
	}
	if e.Key != "" && slices.Contains(m.Done, e.Key) {
		return w.publish(ctx, m, m.Tip, e.Title)
	}
	is, err := w.snapshot(ctx, filepath.Join(w.dir, ".git"), w.dir)
	if err != nil {
		return Recorded{}, err
	}
	defer is.forget()
	to := is.tree
	if len(e.Only)+len(e.Except) > 0 {
		if to, err = w.only(ctx, m.Begun, is.tree, e); err != nil {
			return Recorded{}, err
		}
	}
	tip := cmp.Or(m.Tip, m.Root)
	tree, err := w.pick(ctx, tip, m.Begun, to)
	if err != nil {
		return Recorded{}, err
	}
	before, err := w.treeOf(ctx, tip)
	if err != nil {
		return Recorded{}, err
	}
	parts := false // there are commits that this one replaces
	if e.Whole && m.Tip != "" {
		parent, err := w.resolve(ctx, m.Tip+"^")
		if err != nil {
			return Recorded{}, err
		}
		parts = parent != m.Root
	}
	if e.Whole {
		tip = m.Root
	}
	commit := ""
	if e.Loose {
		if commit, err = w.again(ctx, m, tree, tip); err != nil {
			return Recorded{}, err
		}
	}
	if commit == "" && (tree != before || parts) {
		if commit, err = w.commitAs(ctx, tree, e.Message, tip); errors.Is(err, ErrNobody) && e.Loose {
			title, body, _ := strings.Cut(e.Message, "\n\n")
			commit, err = w.commit(ctx, tree, title, body, tip)
		}
		if err != nil {
			return Recorded{}, err
		}
	}
	if e.Loose {
		return w.publish(ctx, m, commit, e.Title)
	}
	if m.Begun = to; e.Key != "" {
		m.Done = append(m.Done, e.Key)
	}
	m.Tip = cmp.Or(commit, m.Tip)
	return w.publish(ctx, m, m.Tip, e.Title)
}

// again is what the branch is already, where that is this tree on top of this commit.
func (w *Worktree) again(ctx context.Context, m marks, tree, parent string) (string, error) {
	if len(m.Put) == 0 {
		return "", nil
	}
	put := m.Put[len(m.Put)-1]
	is, err := w.ask(ctx, nil, "log", "-1", "--format=%T %P", put)
	if _, gone := errors.AsType[*refused](err); gone || err == nil && is != tree+" "+parent {
		return "", nil
	}
	return put, err
}

// publish notes the marks, and lets the branch of the run be a commit.
func (w *Worktree) publish(ctx context.Context, m marks, commit, title string) (r Recorded, err error) {
	if commit == "" || slices.Equal(m.Put, []string{commit}) {
		return r, w.note(m)
	}
	is, why, err := w.theirs(ctx, m, commit)
	if err != nil {
		return r, err
	}
	was := m.Branch
	if was == "" || why != "" {
		if m.Branch, err = w.freeName(ctx, title); err != nil {
			return r, err
		}
		is = ""
	}
	if why != "" {
		r.News = fmt.Sprintf("branch %s %s, so it stays as it is: the work of run %s is on branch %s now", was, why, w.run, m.Branch)
	}
	m.Put = []string{is, commit}
	if err := w.note(m); err != nil {
		return r, err
	}
	replaced, err := w.ask(ctx, nil, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/replace")
	if err != nil {
		return r, err
	}
	if replaced != "" {
		r.News = strings.TrimPrefix(r.News+"; git shows other objects in the place of some, so a merge may bring in what was not proven: git replace -d "+strings.Join(strings.Fields(replaced), " "), "; ")
	}
	if _, err := w.ask(ctx, nil, "update-ref", "--no-deref", "refs/heads/"+m.Branch, commit, is); err != nil {
		return r, err
	}
	m.Put = []string{commit}
	r.Branch, r.Commit = m.Branch, commit
	return r, w.note(m)
}

// theirs says why the branch of the run is somebody else's, "" where it is not, and what it is,
// "" where there is none.
func (w *Worktree) theirs(ctx context.Context, m marks, commit string) (is, why string, err error) {
	if m.Branch == "" {
		return "", "", nil
	}
	ref := "refs/heads/" + m.Branch
	out, err := w.ask(ctx, nil, "for-each-ref", "--format=%(refname) %(objectname) %(worktreepath)", ref)
	rest, found := strings.CutPrefix(out, ref+" ")
	if err != nil || !found {
		return "", "", err
	}
	is, dir, _ := strings.Cut(rest, " ")
	switch {
	case is == commit:
	case !slices.Contains(m.Put, is):
		why = "was moved by somebody else"
	case dir != "":
		why = "is checked out in " + dir
	}
	return is, why, nil
}

// Branch is the branch of the run, "" while nothing was recorded.
func (w *Worktree) Branch() (string, error) {
	m, err := w.marks()
	return m.Branch, err
}

// BranchOf is the branch of a run whose worktree lies below root, "" where there is none.
func BranchOf(root, run string) string {
	m, err := marksIn(filepath.Join(root, run, Run))
	if err != nil {
		return ""
	}
	return m.Branch
}

// root is where the branch of the run begins: the commit of the checkout, and on top of it
// what was not committed, as far as git follows it.
func (w *Worktree) rootOf(ctx context.Context, head, tree string) (string, error) {
	if _, err := w.person(ctx); err != nil {
		return "", err
	}
	followed, err := w.followed(ctx, tree)
	if err != nil {
		return "", err
	}
	if head != "" {
		if was, err := w.treeOf(ctx, head); err != nil || was == followed {
			return head, err
		}
	}
	return w.commitAs(ctx, followed, "Changes that were not committed when the run began\n\nPiton-Run: "+w.run, head)
}

// followed is a tree of the checkout without what git does not follow there.
func (w *Worktree) followed(ctx context.Context, tree string) (string, error) {
	others, err := w.ask(ctx, nil, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil || others == "" {
		return tree, err
	}
	return w.reworked(ctx, tree, others, "update-index", "-z", "--force-remove", "--stdin")
}

// reworked is what becomes of a tree by a command on an index of it.
func (w *Worktree) reworked(ctx context.Context, tree, stdin string, command ...string) (string, error) {
	dir, err := w.temporary()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	mine := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	if _, err := w.git(ctx, w.gitDir, w.top, call{env: mine}, "read-tree", tree); err != nil {
		return "", err
	}
	if _, err := w.git(ctx, w.gitDir, w.top, call{env: mine, stdin: stdin}, command...); err != nil {
		return "", err
	}
	return w.git(ctx, w.gitDir, w.top, call{env: mine}, "write-tree")
}

// only is the tree from with those changes of the tree to that an entry is about.
func (w *Worktree) only(ctx context.Context, from, to string, e Entry) (string, error) {
	only, except, kept := scopeOf(e.Only), scopeOf(e.Except), scopeOf(e.Kept)
	return w.overwritten(ctx, from, from, to, func(name string) bool {
		name, inside := w.inside(name)
		switch name = wire(name); {
		case len(e.Only) > 0:
			return inside && only.covers(name)
		case !inside:
			return true
		}
		return !except.covers(name) || kept.covers(name)
	})
}

// inside is the name in the workspace of a path of the repository.
func (w *Worktree) inside(name string) (string, bool) {
	if w.sub() == "" {
		return name, true
	}
	return strings.CutPrefix(name, w.sub()+"/")
}

// overwritten is the tree base with what is another in the tree to than in from.
func (w *Worktree) overwritten(ctx context.Context, base, from, to string, which func(name string) bool) (string, error) {
	differences, err := w.diffTree(ctx, from, to)
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, d := range differences {
		if which(d.name) {
			fmt.Fprintf(&lines, "%s %s\t%s\x00", d.mode, d.object, d.name)
		}
	}
	return w.reworked(ctx, base, lines.String(), "update-index", "-z", "--index-info")
}

// pick is the tree of a commit with what changed from one tree to another. Where both
// changed the same lines, the file is that of the second tree.
func (w *Worktree) pick(ctx context.Context, onto, from, to string) (string, error) {
	onTree, err := w.treeOf(ctx, onto)
	if err != nil || from == to {
		return onTree, err
	}
	if onTree == from {
		return to, nil
	}
	origin, err := w.commit(ctx, from, "from", "")
	if err != nil {
		return "", err
	}
	ours, err := w.commit(ctx, onTree, "ours", "", origin)
	if err != nil {
		return "", err
	}
	theirs, err := w.commit(ctx, to, "theirs", "", origin)
	if err != nil {
		return "", err
	}
	tree, conflicts, err := w.threeWay(ctx, ours, theirs)
	if err == nil && len(conflicts) == 0 {
		return tree, nil
	}
	return w.overwritten(ctx, onTree, from, to, func(string) bool { return true })
}

func (w *Worktree) treeOf(ctx context.Context, commit string) (string, error) {
	if commit == "" {
		return w.git(ctx, w.gitDir, w.top, call{}, "mktree")
	}
	return w.ask(ctx, nil, "rev-parse", "--verify", commit+"^{tree}")
}

// commitAs makes a commit in the name of the person.
func (w *Worktree) commitAs(ctx context.Context, tree, message, parent string) (string, error) {
	who, err := w.person(ctx)
	if err != nil {
		return "", err
	}
	args := []string{"-c", "commit.gpgSign=false", "commit-tree", tree, "-F", "-"}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	return w.git(ctx, w.gitDir, w.top, call{env: who, stdin: strings.TrimSpace(message) + "\n"}, args...)
}

// person is who works here, as git knows them.
func (w *Worktree) person(ctx context.Context) ([]string, error) {
	name, err := w.setting(ctx, "user.name")
	if err != nil {
		return nil, err
	}
	email, err := w.setting(ctx, "user.email")
	if err != nil {
		return nil, err
	}
	if name == "" || email == "" {
		return nil, ErrNobody
	}
	return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email}, nil
}

// setting is what git has for a key, in the repository or for the person; "" for nothing.
func (w *Worktree) setting(ctx context.Context, key string) (string, error) {
	out, err := w.home.runGit(ctx, proc.Spec{Argv: []string{w.home.git, "--no-pager", "config", "--get", key}, Dir: w.top, Env: personEnv(w.gitDir, w.top)}, "config")
	if r, ok := errors.AsType[*refused](err); ok && r.status == 1 {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

// maxNumber bounds how many branches of one name there are.
const maxNumber = 10_000

// freeName is a name for the branch that no other has.
func (w *Worktree) freeName(ctx context.Context, title string) (string, error) {
	base := branches + "/" + slug(title)
	for n := 1; n <= maxNumber; n++ {
		name := base
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		refs, err := w.ask(ctx, nil, "for-each-ref", "--format=%(refname)", "refs/heads/"+name)
		if err != nil || refs == "" {
			return name, err
		}
	}
	return "", fmt.Errorf("there are %d branches %s already; delete some", maxNumber, base)
}

// maxSlug bounds the name of a branch.
const maxSlug = 50

// slug is a title as part of a branch's name.
func slug(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return name
	}
	return "run"
}
