package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A cursor takes digests without ever following a link: it enters one directory
// after the other, having looked at each, and keeps them open, so that paths
// asked for in sorted order cost one look each. It is for one goroutine.
type cursor struct {
	ctx   context.Context
	t     *Tree
	stack []level
	keep  int64 // contents up to this size are kept
	buf   []byte
}

type level struct {
	name  string   // path of the directory
	root  *os.Root // nil if it cannot be entered
	block Digest   // then: what that makes of every path below

	link, target string // the link, or the .git file, that is why
}

func (t *Tree) cursor(ctx context.Context, keep int64) *cursor {
	if t.keep == nil {
		keep = -1
	}
	return &cursor{ctx: ctx, t: t, keep: keep, stack: []level{{name: ".", root: t.root}}}
}

// close closes what is open; the cursor may be used again.
func (c *cursor) close() {
	for len(c.stack) > 1 {
		c.pop()
	}
}

func (c *cursor) pop() {
	if top := c.stack[len(c.stack)-1]; top.root != nil {
		_ = top.root.Close() // it was only read from
	}
	c.stack = c.stack[:len(c.stack)-1]
}

// enter goes to the directory that holds name. The level's root is nil if that
// directory cannot be entered.
func (c *cursor) enter(name string) (level, error) {
	dir := "."
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir = name[:i]
	} else if name == ".git" {
		return level{name: dir, root: c.t.origin().root}, nil
	}
	for !below(dir, c.stack[len(c.stack)-1].name) {
		c.pop()
	}
	for {
		top := c.stack[len(c.stack)-1]
		if top.root == nil || top.name == dir {
			return top, nil
		}
		rest := dir
		if top.name != "." {
			rest = dir[len(top.name)+1:]
		}
		first, _, _ := strings.Cut(rest, "/")
		next, err := c.descend(top, first)
		if err != nil {
			return level{}, err
		}
		c.stack = append(c.stack, next)
	}
}

func (c *cursor) descend(top level, base string) (level, error) {
	next := level{name: join(top.name, base)}
	if next.name == ".git" {
		t := c.t.origin()
		if t.repo != nil {
			return t.repo.enter(t.dir)
		}
		top.root = t.root
	}
	info, err := lstat(top.root, base)
	switch {
	case err != nil:
		next.block, err = unreachable(next.name, err)
		return next, err
	case info.Mode().Type() == fs.ModeSymlink:
		next.link = next.name
		next.target, err = top.root.Readlink(disk(base))
		next.block = digestOf('v', []byte(next.name+"\x00"+next.target))
		return next, err
	case !info.IsDir():
		next.block = Absent
		if base == ".git" { // names the repository that would be used instead
			d, err := c.file(top.root, base, next.name, info)
			next.link, next.block = next.name, digestOf('v', []byte(next.name+"\x00"+string(d)))
			return next, err
		}
		return next, nil
	}
	if next.root, err = openDir(top.root, base, info); err != nil {
		next.block, err = unreachable(next.name, err)
	}
	return next, err
}

func baseOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func lstat(root *os.Root, base string) (fs.FileInfo, error) { return root.Lstat(disk(base)) }

// openDir opens the directory that info describes, and nothing that took its place.
func openDir(parent *os.Root, base string, info fs.FileInfo) (*os.Root, error) {
	root, err := parent.OpenRoot(disk(base))
	if err != nil {
		return nil, err
	}
	if now, err := root.Stat("."); err != nil || !os.SameFile(info, now) {
		_ = root.Close()
		return nil, errors.Join(err, errSwapped)
	}
	return root, nil
}

var errSwapped = errors.New("replaced while it was looked at")

// unreachable turns an error about a path into a digest, if the path itself is
// the reason for it.
func unreachable(name string, err error) (Digest, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		return Absent, nil
	case errors.Is(err, fs.ErrPermission):
		return unreadable, nil
	}
	return "", fmt.Errorf("look at %s: %w", name, err)
}

// digest returns the digest of one path.
func (c *cursor) digest(name string) (d Digest, err error) {
	for range 4 { // editors replace files while they are looked at
		d, err = c.look(name)
		if !errors.Is(err, errSwapped) {
			break
		}
		c.close()
	}
	return d, err
}

func (c *cursor) look(name string) (Digest, error) {
	if name == "." {
		return directory, nil
	}
	dir, err := c.enter(name)
	if err != nil {
		return "", err
	}
	if dir.root == nil {
		return dir.block, nil
	}
	base := baseOf(name)
	info, err := lstat(dir.root, base)
	if err != nil {
		return unreachable(name, err)
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return c.file(dir.root, base, name, info)
	case mode.IsDir():
		return directory, nil
	case mode.Type() == fs.ModeSymlink:
		return c.link(dir.root, base, name)
	default:
		return "o:" + Digest(mode.Type().String()[:1]), nil
	}
}

// sight is what a finder needs to know of a path.
type sight struct {
	dir          bool
	link, target string // the first link on the way, the path itself included; a .git file has no target
}

// trace looks at a path and stops at the first link.
func (c *cursor) trace(name string) (sight, error) {
	if name == "." {
		return sight{dir: true}, nil
	}
	dir, err := c.enter(name)
	if err != nil || dir.root == nil {
		return sight{link: dir.link, target: dir.target}, err
	}
	base := baseOf(name)
	info, err := lstat(dir.root, base)
	if err != nil {
		_, err = unreachable(name, err)
		return sight{}, err
	}
	s := sight{dir: info.IsDir()}
	if info.Mode().Type() == fs.ModeSymlink {
		s.link = name
		s.target, err = dir.root.Readlink(disk(base))
	}
	return s, err
}

func (c *cursor) link(dir *os.Root, base, name string) (Digest, error) {
	target, err := dir.Readlink(disk(base))
	if err != nil {
		return unreachable(name, err)
	}
	d := digestOf('l', []byte(target))
	if c.keep >= 0 {
		err = c.t.keep.put(d.sum(), []byte(target))
	}
	return d, err
}

// lookTimeout is how long it may take to read what is to be compared.
const lookTimeout = 20 * time.Minute

var errLook = fmt.Errorf("the files take longer than %s to read", lookTimeout)

// each calls look for every index below n, from a few goroutines which each get
// a cursor and a run of neighbours; few are looked at here and now. The first
// error ends all, and so does it if all of them take too long.
func (t *Tree) each(ctx context.Context, n int, keep int64, look func(c *cursor, i int) error) error {
	ctx, done := context.WithTimeoutCause(ctx, lookTimeout, errLook)
	defer done()
	workers := min(t.workers, (n+63)/64)
	if workers <= 1 {
		return t.some(ctx, 0, n, keep, look)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			if err := t.some(ctx, w*n/workers, (w+1)*n/workers, keep, look); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// some does it for those from one index up to another.
func (t *Tree) some(ctx context.Context, from, to int, keep int64, look func(c *cursor, i int) error) error {
	c := t.cursor(ctx, keep)
	defer c.close()
	for i := from; i < to && ctx.Err() == nil; i++ {
		if err := look(c, i); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}
