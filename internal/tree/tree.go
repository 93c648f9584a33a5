package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/piton-dev/piton/internal/proc"
)

// Config says where a Tree keeps contents and how it asks git.
type Config struct {
	// Keep is a directory for contents, outside of the workspace and out of
	// sight of agents; it is made if it is missing. "" keeps nothing, so that
	// nothing can be restored. Contents are never removed by this package.
	Keep string
	// Quarantine is a directory for what people saved in a path that a merge wrote;
	// it is made when it is needed.
	Quarantine string
	// Git is the absolute path of git, and Pool runs it. Without either a
	// workspace is walked file by file, ignored ones included.
	Git  string
	Pool *proc.Pool
}

// A Tree is one workspace. It is safe for concurrent use; two calls that run
// while somebody writes may see different states.
type Tree struct {
	dir     string
	root    *os.Root
	home    *Tree      // of a worktree: what it was made from, which has its .git
	repo    *elsewhere // nil where .git is a path like any other
	keep    *keep
	sync    *syncer
	cache   *cache
	aside   string // Config.Quarantine
	git     string
	pool    *proc.Pool
	workers int
	prints  outputs
}

// Open opens the workspace in dir. The caller must Close it.
func Open(dir string, c Config) (*Tree, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	s := newSyncer()
	k, err := openKeep(c.Keep, s)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	repo, err := openElsewhere(dir)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Tree{
		dir: dir, root: root, repo: repo, keep: k, sync: s, cache: newCache(), aside: c.Quarantine, git: c.Git, pool: c.Pool,
		workers: min(runtime.GOMAXPROCS(0), 8),
	}, nil
}

// beside opens another directory in the same way, a worktree, whose .git is that of
// this Tree. It must be closed before this one.
func (t *Tree) beside(dir string) (*Tree, error) {
	c := Config{Quarantine: t.aside, Git: t.git, Pool: t.pool}
	if t.keep != nil {
		c.Keep = t.keep.dir
	}
	other, err := Open(dir, c)
	if err == nil {
		other.home = t
	}
	return other, err
}

// Close ends the use of the workspace; nothing may be asked afterwards.
func (t *Tree) Close() error { return errors.Join(t.keep.close(), t.repo.close(), t.root.Close()) }

// stands reports an error where the path of the workspace leads to another
// directory than the one that was opened: what runs in that path would not be
// what is looked at here.
func (t *Tree) stands() error {
	opened, err := t.root.Stat(".")
	if err != nil {
		return fmt.Errorf("look at the workspace: %w", err)
	}
	now, err := os.Lstat(t.dir)
	if err == nil && os.SameFile(opened, now) {
		return nil
	}
	return fmt.Errorf("the workspace %s was moved or replaced while it was in use: put it back as it was", t.dir)
}

// digests returns the digest of each key, which should be sorted. Contents of up
// to keep bytes are kept.
func (t *Tree) digests(ctx context.Context, keys []string, keep int64) ([]Digest, error) {
	if err := t.stands(); err != nil {
		return nil, err
	}
	ds := make([]Digest, len(keys))
	err := t.each(ctx, len(keys), keep, func(c *cursor, i int) (err error) {
		ds[i], err = c.digestKey(keys[i])
		return err
	})
	if err == nil && keep >= 0 {
		err = t.keep.flush()
	}
	if err != nil {
		return nil, err
	}
	return ds, nil
}
