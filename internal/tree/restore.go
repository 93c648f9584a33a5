package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Wanted says what paths must be. What the base says of a path wins over what
// the manifest says.
type Wanted struct {
	Base  *Base             // protected files; nil if there are none
	Moved map[string]string // as in [Base.Compare]
	Tree  Manifest          // the workspace before the attempt, if it was taken
}

func (w Wanted) digest(c Change) (d Digest, known bool) {
	if d, ok := w.Moved[c.Path]; ok {
		return Digest(d), true
	}
	if w.Base != nil {
		if d, ok := w.Base.Digest(c.Path); ok {
			return d, true
		}
	}
	if d, ok := w.Tree.Files[c.Path]; ok {
		return d, true
	}
	return Absent, c.What == "added"
}

// Restored is what [Tree.Restore] did.
type Restored struct {
	Back []string     // the paths that it put back, without those that were as they must be
	Kept bool         // something stood there, and is in the quarantine
	Left []Unrestored // the paths that are still not as they must be
}

// Unrestored is a path that could not be put back.
type Unrestored struct {
	Path   string
	Reason string
}

// Restore puts changed paths back as they must be. What is there instead is
// first moved into the directory quarantine, which is made if it is missing and
// must lie outside of the workspace; its listing.jsonl says which file there was
// which path. Where a link, or a file, took the place of a directory, that is
// moved away too. It may be repeated, also after a crash: what is as it must be
// is left alone.
//
// A path is left as it is where what it held was too large to be kept, or was
// never seen. An error means that it stopped half way, and may be repeated: what
// it returns then is what it did until then. Nobody else may write in the
// workspace meanwhile.
func (t *Tree) Restore(ctx context.Context, changes []Change, w Wanted, quarantine string) (done Restored, err error) {
	r := &restorer{ctx: ctx, t: t, want: w, q: &quarantined{ctx: ctx, dir: quarantine, sync: t.sync}}
	defer r.q.close()
	defer func() { done.Kept = r.q.list != nil }()
	for _, c := range inOrder(changes, w) {
		if err := ctx.Err(); err != nil {
			return done, fmt.Errorf("restore files: %w", err)
		}
		back, err := r.restore(c)
		if reason, ok := errors.AsType[impossible](err); ok {
			done.Left = append(done.Left, Unrestored{Path: c.Path, Reason: string(reason)})
		} else if err != nil {
			return done, fmt.Errorf("restore %s: %w", c.Path, err)
		} else if back {
			done.Back = append(done.Back, c.Path)
		}
	}
	return done, nil
}

// inOrder puts links first, for other paths may lead through them, and what only
// lies behind a link last.
func inOrder(changes []Change, w Wanted) []Change {
	rank := func(c Change) int {
		d, _ := w.digest(c)
		switch d.kind() {
		case 'l':
			return 0
		case 'v':
			return 2
		}
		return 1
	}
	out := slices.Clone(changes)
	slices.SortStableFunc(out, func(a, b Change) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Path, b.Path))
	})
	return slices.CompactFunc(out, func(a, b Change) bool { return a.Path == b.Path })
}

// impossible is why a path cannot be put back, whatever is tried.
type impossible string

func (i impossible) Error() string { return string(i) }

type restorer struct {
	ctx  context.Context
	t    *Tree
	want Wanted
	q    *quarantined
}

// restore reports whether there was anything to put back.
func (r *restorer) restore(c Change) (bool, error) {
	want, known := r.want.digest(c)
	if !known {
		return false, impossible("nobody knows what it was")
	}
	if !isName(c.Path) || c.Path == "." {
		return false, impossible("not a path inside the workspace")
	}
	is, err := r.t.now(r.ctx, c.Path)
	if err != nil || is == want {
		return false, err
	}
	return true, r.back(c, want)
}

func (r *restorer) back(c Change, want Digest) error {
	switch want.kind() {
	case 'v', 'u', 'o':
		return impossible("what it was cannot be made again")
	case 'p':
		return r.part(c, want)
	}
	file, part := splitPart(c.Path)
	if part != "" && want == Absent {
		return r.part(c, want)
	}
	c.Path = file // if its text was malformed, all of it counted
	return r.whole(c, want)
}

// now is the digest of a key at this moment.
func (t *Tree) now(ctx context.Context, key string) (Digest, error) {
	c := t.cursor(ctx, -1)
	defer c.close()
	return c.digestKey(key)
}

// whole puts back a path of which all counts.
func (r *restorer) whole(c Change, want Digest) error {
	if want.isFile() {
		if done, err := r.setMode(c.Path, want); done || err != nil {
			return err
		}
	}
	content, err := r.t.Content(want)
	if err != nil {
		return err
	}
	dir, err := r.parent(c.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := r.away(dir, c.Path, c.What, want, want.isFile()); err != nil {
		return err
	}
	return put(dir, c.Path, want, content)
}

// Content returns what a path of this digest held, where that was kept.
func (t *Tree) Content(d Digest) ([]byte, error) {
	if d == Absent || d == directory {
		return nil, nil
	}
	content, err := t.keep.get(d.sum())
	if errors.Is(err, errNotKept) {
		return nil, impossible(err.Error())
	}
	return content, err
}

// setMode makes a file whose content is right executable or not. done is false
// if more than that is wrong.
func (r *restorer) setMode(name string, want Digest) (done bool, err error) {
	is, err := r.t.now(r.ctx, name)
	if err != nil || !is.isFile() || is.sum() != want.sum() {
		return false, err
	}
	c := r.t.cursor(r.ctx, -1)
	defer c.close()
	f, _, err := c.open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return true, f.Chmod(permOf(want))
}

func permOf(d Digest) fs.FileMode {
	if d.kind() == 'x' {
		return 0o755
	}
	return 0o644
}

// parent opens the directory that holds name. What is in the way of it is moved
// to quarantine, and directories that are missing are made.
func (r *restorer) parent(name string) (*os.Root, error) {
	dir, up, err := r.top(name)
	if err != nil {
		return nil, err
	}
	for _, p := range up {
		next, err := r.descend(dir, p)
		_ = dir.Close() // it was only read from
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// top opens the directory that the way to name begins in, and returns the others
// that it leads through.
func (r *restorer) top(name string) (*os.Root, []string, error) {
	t, up := r.t.ownerOf(name), parents(name)[1:]
	if t.repo == nil || len(up) == 0 || up[0] != ".git" {
		dir, err := t.root.OpenRoot(".")
		return dir, up, err
	}
	l, err := t.repo.enter(t.dir)
	if err == nil && l.root == nil {
		err = impossible("the workspace has another repository by now")
	}
	return l.root, up[1:], err
}

func (r *restorer) descend(dir *os.Root, p string) (*os.Root, error) {
	base := baseOf(p)
	info, err := lstat(dir, base)
	if err == nil && !info.IsDir() {
		if err := r.away(dir, p, "type", directory, false); err != nil {
			return nil, err
		}
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = dir.Mkdir(disk(base), 0o755); err == nil {
			info, err = lstat(dir, base)
		}
	}
	if err != nil {
		return nil, err
	}
	unlock(dir, disk(base), info)
	return openDir(dir, base, info)
}

// away moves what is at name, if anything, to quarantine. A file that will be
// replaced by a file is only copied, so that the path is never without one.
func (r *restorer) away(dir *os.Root, name, what string, want Digest, byFile bool) error {
	info, err := lstat(dir, baseOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	unlock(dir, disk(baseOf(name)), info)
	is, err := r.t.now(r.ctx, name)
	if err != nil {
		return err
	}
	e := entry{Path: name, What: what, Was: want, Is: is}
	if err := r.q.take(dir, info, byFile && info.Mode().IsRegular(), e); err != nil {
		return fmt.Errorf("move to quarantine: %w", err)
	}
	return nil
}

// unlock has a directory be one that can be read and moved; what comes next says why it cannot.
func unlock(dir *os.Root, base string, info fs.FileInfo) {
	if info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
		_ = dir.Chmod(base, info.Mode().Perm()|0o700)
	}
}

// put makes name what want says. Nothing is there, or a file where a file is wanted.
func put(dir *os.Root, name string, want Digest, content []byte) error {
	base := disk(baseOf(name))
	switch want.kind() {
	case '-':
		return nil
	case 'd':
		return dir.Mkdir(base, 0o755)
	case 'l':
		return dir.Symlink(string(content), base)
	}
	return putFile(dir, base, permOf(want), content)
}

// putFile writes a file so that it is there with all it holds or not at all.
func putFile(dir *os.Root, base string, perm fs.FileMode, content []byte) error {
	tmp := ".piton-" + string(digestOf('f', []byte(base))[2:18])
	_ = dir.RemoveAll(tmp) // of a restore that was cut short
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = dir.Rename(tmp, base)
	}
	if err != nil {
		_ = dir.Remove(tmp) // the first error says more
	}
	return err
}

// part puts back what counts of a manifest, and leaves the rest as it is now. If
// that is no manifest any more, all of it is put back.
func (r *restorer) part(c Change, want Digest) error {
	file, name := splitPart(c.Path)
	counts, err := r.t.Content(want)
	if err != nil {
		return err
	}
	text, err := r.text(file)
	if err == nil {
		text, err = formatOf(file, name).splice(text, counts, name)
	}
	if err != nil {
		if text, err = r.original(file, name, counts); err != nil {
			return err
		}
	}
	dir, err := r.parent(file)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := r.away(dir, file, c.What, want, true); err != nil {
		return err
	}
	return put(dir, file, "f", text)
}

// text reads a manifest as it is now.
func (r *restorer) text(file string) ([]byte, error) {
	c := r.t.cursor(r.ctx, -1)
	defer c.close()
	f, info, err := c.open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxManifest {
		return nil, errMalformed
	}
	return c.all(f, info.Size())
}

// original is a manifest as the base has it, with the part that counts by now.
func (r *restorer) original(file, name string, counts []byte) ([]byte, error) {
	if r.want.Base == nil {
		return nil, impossible("nobody knows what it was")
	}
	d := r.want.Base.content.Whole[file]
	if !d.isFile() {
		return nil, impossible("it was no file when the base was taken")
	}
	text, err := r.t.Content(d)
	if err != nil {
		return nil, err
	}
	if spliced, err := formatOf(file, name).splice(text, counts, name); err == nil {
		return spliced, nil
	}
	return text, nil
}
