package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What a copy may hold.
const (
	copyBytes = 4 << 30
	copyFiles = 500_000
	copyPiece = 64 << 20 // after which it looks whether to go on
)

// ErrTooLarge says that a workspace is larger than what is copied.
var ErrTooLarge = fmt.Errorf("it holds more than %d GiB or %d files", copyBytes>>30, copyFiles)

// A Copy is a copy of a workspace with all that lies in it, ignored files too, and with a
// repository of its own where the workspace is in one. What happens there changes nothing
// of the workspace. It is not safe for concurrent use.
type Copy struct {
	Dir string // the workspace in it

	from  *Tree
	root  *os.Root
	stamp time.Time         // of what was put there last; see put
	held  map[string]stands // what was put there, by path

	ctx   context.Context // of the copying
	files int
	bytes int64
}

// Copy copies the workspace to a directory that does not exist. Files keep their times, so
// that what was built of them counts as built, and their modes; of a directory the owner may
// write in it, for what changed there is taken back. A link that names a place in the
// workspace by its whole path leads into the copy. What may not be read, sockets and devices
// are left out. The caller must Close it, and remove the directory.
func (t *Tree) Copy(ctx context.Context, to string) (*Copy, error) {
	c := &Copy{from: t, held: map[string]stands{}, ctx: ctx}
	if err := c.fill(to); err != nil {
		c.Close()
		return nil, fmt.Errorf("copy the workspace: %w", err)
	}
	return c, nil
}

func (c *Copy) fill(to string) error {
	if err := c.from.stands(); err != nil {
		return err
	}
	_, top := repository(c.from.dir)
	rel, err := filepath.Rel(top, c.from.dir)
	if top == "" || err != nil {
		rel = "."
	}
	c.Dir = filepath.Join(to, rel)
	if err = os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	if c.root, err = os.OpenRoot(c.Dir); err != nil {
		return err
	}
	own := c.from.repo
	if err = c.dir(c.from.root, c.root, ".", func(name string) bool { return own != nil && name == ".git" }); err != nil || own == nil {
		return err
	}
	return c.repository(own.at, filepath.Join(to, ".git"))
}

// repository makes of a repository that lies elsewhere one of the copy's own.
func (c *Copy) repository(at located, to string) error {
	if err := c.other(at.common, to, "worktrees"); err != nil || at.own == at.common {
		return err
	}
	return c.other(at.own, to, "commondir", "gitdir")
}

// other copies a directory over another one, without what has one of these names there.
func (c *Copy) other(from, to string, without ...string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	in, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer out.Close()
	return c.dir(in, out, ".", func(name string) bool {
		return slices.Contains(without, name)
	})
}

// dir copies what is in a directory, of these two, without what is to be left out.
func (c *Copy) dir(in, out *os.Root, dir string, without func(name string) bool) error {
	f, err := in.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if without(name) {
			continue
		}
		if err == nil {
			err = c.ctx.Err()
		}
		if err != nil {
			return err
		}
		var info fs.FileInfo
		if info, err = in.Lstat(name); err == nil {
			err = c.entry(in, out, name, info, without)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, errSwapped) {
			err = nil // it is gone, or another one, or nobody may read it
		}
	}
	return err
}

// entry copies the file, link or directory that info describes. A socket or a device is left
// out.
func (c *Copy) entry(in, out *os.Root, name string, info fs.FileInfo, without func(name string) bool) error {
	switch {
	case info.IsDir():
		if err := out.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return errors.Join(c.dir(in, out, name, without), out.Chmod(name, info.Mode().Perm()|0o700))
	case info.Mode().Type() == fs.ModeSymlink:
		return c.link(in, out, name)
	case info.Mode().IsRegular():
		c.files++
		if c.bytes += info.Size(); c.files > copyFiles || c.bytes > copyBytes {
			return ErrTooLarge
		}
		return c.file(in, out, name, info)
	}
	return nil
}

func (c *Copy) link(in, out *os.Root, name string) error {
	target, err := in.Readlink(name)
	if err != nil {
		return err
	}
	_ = out.Remove(name)
	return out.Symlink(c.leads(target), name)
}

// leads is where a link leads in the copy.
func (c *Copy) leads(target string) string {
	rest, inside := strings.CutPrefix(target, c.from.dir)
	if inside && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(c.Dir, rest)
	}
	return target
}

// file copies the regular file that info describes, and not what it has grown by since. The
// system shares what it holds where it can.
func (c *Copy) file(in, out *os.Root, name string, info fs.FileInfo) error {
	from, err := openFile(in, wire(name), info)
	if err != nil {
		return err
	}
	defer from.Close()
	_ = out.Remove(name)
	to, err := out.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for left := info.Size(); left > 0 && err == nil; left -= copyPiece {
		if err = c.ctx.Err(); err == nil {
			_, err = io.CopyN(to, from, min(left, copyPiece))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil // it was cut meanwhile
	}
	if err = errors.Join(err, to.Chmod(info.Mode().Perm()), to.Close()); err != nil {
		return err
	}
	return out.Chtimes(name, info.ModTime(), info.ModTime())
}

// Close ends the use of the copy.
func (c *Copy) Close() {
	if c.root != nil {
		c.root.Close()
	}
}
