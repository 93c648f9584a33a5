package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An edit is a path of the workspace that a merge changes.
type edit struct {
	Path string `json:"path"`
	Was  Digest `json:"was"` // what the merge was computed from
	Is   Digest `json:"is"`
}

// A pen writes the files of a merge into a workspace that people work in. What is
// in a path is first moved aside, and looked at there, where nobody else writes;
// the new file then gets a name that must be free. So nothing is written over that
// the merge was not computed from, and whoever is killed leaves either what was
// there, or what is there now, and the other one aside.
type pen struct {
	ctx    context.Context
	t      *Tree
	stage  *Tree // has the new files, by the same names
	kept   string
	edits  []edit
	during func(moment string) // for tests
}

// asideDir is where in the workspace replaced files are until a merge is written
// to its end, each by the number of its edit.
const asideDir = ".piton/merge"

func aside(n int) string { return asideDir + "/" + strconv.Itoa(n) }

// setsAside reports why the tree has no place to set aside what a merge replaces.
func (t *Tree) setsAside() error {
	for _, name := range []string{path.Dir(asideDir), asideDir} {
		if info, err := t.root.Lstat(name); err == nil && !info.IsDir() {
			return fmt.Errorf("%s must be a directory, because a merge sets replaced files aside in it: make it one, then answer retry", name)
		}
	}
	return nil
}

func (p *pen) at(moment string, e edit) {
	if p.during != nil {
		p.during(moment + " " + e.Path)
	}
}

// write does all edits or none. It fails with errMoved where a path is not what it
// was, and whatever was written by then is as it was again.
func (p *pen) write() error {
	for i, n := range p.order() {
		if err := p.edit(n); err != nil {
			return p.undo(err, p.order()[:i+1])
		}
	}
	for n, e := range p.edits {
		if late, err := p.differs(aside(n), e.Was, Absent); err != nil || late {
			return p.undo(errors.Join(movedAt(e), err), p.order())
		}
		p.at("looked once more at", e)
	}
	if err := p.sync(); err != nil {
		return p.undo(err, p.order())
	}
	return p.clear()
}

// sync makes the names of what was written durable, each directory once, so that
// what it replaced may go. The files are durable since they were prepared.
func (p *pen) sync() error {
	dirs := map[string]bool{}
	for _, e := range p.edits {
		if e.Is != e.Was {
			for _, up := range parents(e.Path) {
				dirs[up] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		if err := p.syncDir(name); err != nil {
			return err
		}
	}
	return nil
}

func (p *pen) syncDir(name string) error {
	dir, err := p.dir(join(name, "x"), false)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return nil // removed, or a file now
	}
	if err != nil {
		return err
	}
	return errors.Join(p.t.sync.dir(dir), dir.Close())
}

// settle ends what was written before, by this process or another one.
func (p *pen) settle() error {
	if err := p.sync(); err != nil {
		return err
	}
	return p.clear()
}

// order has what is removed before what is put in its place.
func (p *pen) order() []int {
	gone, rest := []int{}, []int{}
	for n, e := range p.edits {
		if e.Is == Absent {
			gone = append(gone, n)
		} else {
			rest = append(rest, n)
		}
	}
	return append(gone, rest...)
}

func movedAt(e edit) error { return fmt.Errorf("%w: %s", errMoved, e.Path) }

// differs reports whether a path is none of what it may be.
func (p *pen) differs(name string, may ...Digest) (bool, error) {
	is, err := p.t.file(p.ctx, name)
	return !slices.Contains(may, is), err
}

// file is the digest of a path as git sees it: a directory is nothing, and nothing
// lies behind a link.
func (t *Tree) file(ctx context.Context, name string) (Digest, error) {
	d, err := t.now(ctx, name)
	if d == directory || d.kind() == 'v' {
		d = Absent
	}
	return d, err
}

func (p *pen) edit(n int) error {
	e := p.edits[n]
	if e.Was == e.Is {
		return nil
	}
	if e.Is != Absent {
		if err := p.prepare(n); err != nil {
			return err
		}
	}
	p.at("prepared", e)
	if moved, err := p.differs(e.Path, e.Was); err != nil || moved {
		return errors.Join(movedAt(e), err)
	}
	p.at("looked at", e)
	if e.Was != Absent {
		if err := p.rename(e.Path, aside(n)); err != nil {
			return moved(e, err)
		}
		p.at("moved aside", e)
		if moved, err := p.differs(aside(n), e.Was); err != nil || moved {
			return errors.Join(movedAt(e), err)
		}
		p.at("looked aside at", e)
	}
	if e.Is == Absent {
		p.prune(e.Path)
		p.at("removed", e)
		return nil
	}
	err := p.put(aside(n)+".new", e)
	p.at("put", e)
	return err
}

// moved turns an error that another one in the path explains into errMoved.
func moved(e edit, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, errSwapped) {
		return movedAt(e)
	}
	return err
}

// prepare makes the new file, under another name.
func (p *pen) prepare(n int) error {
	dir, err := p.dir(aside(n), true)
	if err != nil {
		return err
	}
	defer dir.Close()
	base := strconv.Itoa(n) + ".new"
	if err := dir.RemoveAll(base); err != nil {
		return err
	}
	from := disk(p.edits[n].Path)
	info, err := p.stage.root.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := p.stage.root.Readlink(from)
		return errors.Join(err, dir.Symlink(target, base))
	}
	in, err := p.stage.root.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return p.t.sync.copyInto(dir, base, info.Mode().Perm(), in)
}

func (s *syncer) copyInto(dir *os.Root, base string, perm fs.FileMode, in io.Reader) error {
	out, err := dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = s.file(out) // what it replaces is removed
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, dir.Remove(base)) // a part of it would count as somebody's file
	}
	return nil
}

// put gives what was prepared, or moved aside, the name of its edit, which must be free.
func (p *pen) put(from string, e edit) error {
	to, err := p.dir(e.Path, true)
	if err != nil {
		return moved(e, err)
	}
	defer to.Close()
	root, err := p.t.root.OpenRoot(".")
	if err != nil {
		return err
	}
	defer root.Close()
	base := disk(baseOf(e.Path))
	info, err := root.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := root.Readlink(from)
		if err == nil {
			err = to.Symlink(target, base)
		}
		return moved(e, err)
	}
	err = root.Link(from, disk(e.Path))
	if err == nil {
		return root.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return moved(e, err)
	}
	in, err := root.Open(from) // a file system without links
	if err != nil {
		return err
	}
	defer in.Close()
	return moved(e, p.t.sync.copyInto(to, base, info.Mode().Perm(), in))
}

// dir opens the directory that holds a path, and enters no link. With make it is
// made where it is missing; something else in its place is ErrExist.
func (p *pen) dir(name string, make bool) (*os.Root, error) {
	c := p.t.cursor(p.ctx, -1)
	defer c.close()
	for _, up := range parents(name)[1:] {
		l, err := c.enter(up)
		if err == nil && l.root == nil {
			err = fs.ErrExist
		}
		if err == nil && make {
			err = l.root.Mkdir(disk(baseOf(up)), 0o777)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	l, err := c.enter(name)
	if err != nil {
		return nil, err
	}
	if l.root == nil {
		return nil, fs.ErrExist
	}
	return l.root.OpenRoot(".")
}

// rename moves what is in a path, a link too, to another one in a directory that is
// made, and writes over what is there.
func (p *pen) rename(from, to string) error {
	for _, name := range []string{from, to} {
		dir, err := p.dir(name, name == to)
		if err != nil {
			return err
		}
		_ = dir.Close() // it was only looked at
	}
	return p.t.root.Rename(disk(from), disk(to))
}

// prune removes the directories above a path that nothing is left in.
func (p *pen) prune(name string) {
	up := parents(name)[1:]
	for _, dir := range slices.Backward(up) {
		if p.t.root.Remove(disk(dir)) != nil {
			return
		}
	}
}

// undo takes back the edits of these numbers. What somebody saved since stays.
func (p *pen) undo(why error, numbers []int) error {
	if err := p.takeAllBack(numbers); err != nil {
		return fmt.Errorf("%v; %w: %w", why, errTorn, err)
	}
	return why
}

func (p *pen) takeAllBack(numbers []int) error {
	var errs []error
	for _, n := range slices.Backward(numbers) {
		errs = append(errs, p.takeBack(n))
	}
	return errors.Join(append(errs, p.clear())...)
}

// errTorn says that a part of the files of a merge is written, and the rest not.
var errTorn = errors.New("what was written of it cannot be taken back")

func (p *pen) takeBack(n int) error {
	e := p.edits[n]
	is, err := p.t.file(p.ctx, e.Path)
	if err != nil {
		return err
	}
	p.at("taking back", e)
	back, err := p.t.file(p.ctx, aside(n))
	if err != nil || back == Absent && e.Was != Absent {
		return err // it was not begun
	}
	if is == e.Is && is != Absent {
		if err := p.drop(n); err != nil {
			return err
		}
	}
	if back == Absent {
		return nil
	}
	if err := p.put(aside(n), e); err != nil && !errors.Is(err, errMoved) {
		return err
	}
	return nil
}

// drop takes the new file away again, unless somebody saved another in its place.
func (p *pen) drop(n int) error {
	e := p.edits[n]
	if err := p.t.root.RemoveAll(aside(n) + ".new"); err != nil {
		return err
	}
	if err := p.rename(e.Path, aside(n)+".new"); err != nil {
		return err
	}
	p.at("dropped", e)
	if differs, err := p.differs(aside(n)+".new", e.Is); err != nil || !differs {
		p.prune(e.Path)
		return err
	}
	return p.put(aside(n)+".new", e)
}

// finish does what of the edits somebody who was killed had not done. A path that
// anybody else has written since stays as it is.
func (p *pen) finish() error {
	for _, n := range p.order() {
		if err := p.resume(n); err != nil && !errors.Is(err, errMoved) {
			return err
		}
	}
	return p.settle()
}

// through reports whether all was written, in which somebody may have written since.
func (p *pen) through() (bool, error) {
	for _, e := range p.edits {
		is, err := p.t.file(p.ctx, e.Path)
		if err != nil || is == e.Was && e.Was != e.Is || is == Absent && e.Is != Absent {
			return false, err
		}
	}
	return true, nil
}

// written fails where a path is not what was to be written.
func (p *pen) written(e *edit) error {
	other, err := p.differs(e.Path, e.Is)
	if err == nil && other {
		err = movedAt(*e)
	}
	return err
}

func (p *pen) resume(n int) error {
	e := p.edits[n]
	is, err := p.t.file(p.ctx, e.Path)
	if err != nil {
		return err
	}
	back, err := p.t.file(p.ctx, aside(n))
	switch {
	case err != nil:
		return err
	case is == Absent && back != Absent && back != e.Was:
		return p.put(aside(n), e) // somebody wrote in it when it was moved
	case is == Absent && back != Absent && e.Is != Absent:
		if err := p.prepare(n); err != nil {
			return err
		}
		return p.put(aside(n)+".new", e)
	case is == e.Was && is != e.Is && (back == Absent || back == e.Was):
		if err := p.t.root.RemoveAll(aside(n)); err != nil { // it was put back
			return err
		}
		return p.edit(n)
	case e.Is == Absent && is == Absent:
		p.prune(e.Path)
	}
	return nil
}

// clear removes what was moved aside. What is not what the merge was computed from
// is somebody's: it goes to the quarantine.
func (p *pen) clear() error {
	dir, err := p.dir(asideDir+"/x", false)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil // there is none
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	q := &quarantined{ctx: p.ctx, dir: p.kept, sync: p.t.sync}
	defer q.close()
	for n, e := range p.edits {
		is, err := p.t.file(p.ctx, aside(n))
		if err == nil && is != Absent && is != e.Was && is != e.Is {
			err = p.save(q, dir, n, is)
		}
		if err == nil {
			err = errors.Join(dir.RemoveAll(strconv.Itoa(n)), dir.RemoveAll(strconv.Itoa(n)+".new"))
		}
		if err != nil {
			return err
		}
		p.at("cleared", e)
	}
	p.prune(asideDir + "/x")
	return nil
}

func (p *pen) save(q *quarantined, dir *os.Root, n int, is Digest) error {
	info, err := dir.Lstat(strconv.Itoa(n))
	if err != nil {
		return err
	}
	e := p.edits[n]
	return q.take(dir, info, false, entry{Path: aside(n), What: "saved in " + e.Path + " while it was merged", Was: e.Was, Is: is})
}

// staged writes the new files of a merge into a directory, as git writes them in
// the workspace, and says what there is to be done. Directories of other
// repositories are left as they are.
func (w *Worktree) staged(ctx context.Context, commit, dir string) ([]edit, error) {
	differences, err := w.diffTree(ctx, commit+"^1", commit)
	if err != nil {
		return nil, err
	}
	var edits []edit
	var written strings.Builder
	for _, d := range differences {
		if d.module {
			continue
		}
		if d.status != "D" {
			written.WriteString(d.name + "\x00")
		}
		if name, in := w.inside(d.name); in {
			edits = append(edits, edit{Path: wire(name)})
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	c := call{env: []string{"GIT_INDEX_FILE=" + dir + ".index"}, stdin: written.String()}
	if _, err := w.git(ctx, w.gitDir, dir, c, "read-tree", commit); err != nil {
		return nil, err
	}
	_, err = w.git(ctx, w.gitDir, dir, c, "checkout-index", "-z", "--stdin")
	return edits, err
}

// pen stages a merge.
func (w *Worktree) pen(ctx context.Context, commit string) (p *pen, done func(), err error) {
	dir, err := w.temporary()
	if err != nil {
		return nil, nil, err
	}
	done = func() { os.RemoveAll(dir) }
	edits, err := w.staged(ctx, commit, filepath.Join(dir, "tree"))
	if err != nil {
		done()
		return nil, nil, err
	}
	at := filepath.Join(dir, "tree", filepath.FromSlash(w.sub()))
	if err = os.MkdirAll(at, 0o700); err == nil {
		var stage *Tree
		if stage, err = Open(at, Config{}); err == nil {
			done = func() { _ = stage.Close(); os.RemoveAll(dir) } //nolint:errcheck // it was only read
			p = &pen{ctx: ctx, t: w.home, stage: stage, kept: w.saved(), edits: edits, during: w.during}
			err = p.each(func(e *edit) (err error) {
				e.Is, err = p.stage.file(p.ctx, e.Path)
				return err
			})
		}
	}
	if err != nil {
		done()
	}
	return p, done, err
}

func (p *pen) each(do func(e *edit) error) error {
	for n := range p.edits {
		if err := do(&p.edits[n]); err != nil {
			return err
		}
	}
	return nil
}

// look takes the workspace as it is, and fails with errMoved where git finds it to
// be other than in the picture that a merge was computed from.
func (p *pen) look(ctx context.Context, w *Worktree, ours picture) error {
	if err := p.t.setsAside(); err != nil {
		return err
	}
	err := p.each(func(e *edit) (err error) {
		e.Was, err = p.t.file(p.ctx, e.Path)
		return err
	})
	if err != nil {
		return err
	}
	list, err := w.ask(ctx, []string{"GIT_INDEX_FILE=" + ours.index}, "diff-files", "--name-only", "-z", "--ignore-submodules=all")
	if err != nil {
		return err
	}
	other := map[string]bool{}
	for name := range strings.SplitSeq(list, "\x00") {
		if name, in := w.inside(name); in {
			other[wire(name)] = true
		}
	}
	return p.each(func(e *edit) error {
		if other[e.Path] {
			return movedAt(*e)
		}
		return nil
	})
}

// saved is where what people saved while the worktree was merged is kept.
func (w *Worktree) saved() string {
	return path.Join(filepath.ToSlash(w.home.aside), w.run, w.step+".merge")
}
