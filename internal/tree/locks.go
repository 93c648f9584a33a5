package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/lazy"
)

// A git that is killed leaves its locks. They are alike for the living and the
// dead, and a commit holds that of the index for as long as somebody writes the
// message. So Piton takes away only those that nobody holds for long, once git has
// waited for them, and never lets git lock the index of a worktree: it makes another
// one, and takes the lock itself, with a file that it knows again.

// lockWait is how long git waits for the lock of a ref. Whoever lives holds one for
// as long as it takes to write a line.
const lockWait = 500 * time.Millisecond

// maxLocks bounds the locks that one call of git finds one after the other.
const maxLocks = 4

// lockIn is what git says of a lock that is there.
var lockIn = lazy.Regexp(`Unable to create '(.+\.lock)': File exists`)

// lockOf returns the lock that was in git's way, if it is one of a ref of this
// worktree, or of its HEAD, that is older than git has waited.
func (w *Worktree) lockOf(err error) string {
	r, ok := errors.AsType[*refused](err)
	if !ok {
		return ""
	}
	found := lockIn().FindStringSubmatch(r.says)
	if found == nil || !w.isRefLock(filepath.ToSlash(found[1])) {
		return ""
	}
	if info, err := os.Lstat(found[1]); err != nil || time.Since(info.ModTime()) < lockWait {
		return ""
	}
	return found[1]
}

func (w *Worktree) isRefLock(name string) bool {
	if strings.HasSuffix(name, "/"+w.held()+".lock") {
		return true
	}
	if m, err := w.marks(); err == nil && m.Branch != "" && strings.HasSuffix(name, "/refs/heads/"+m.Branch+".lock") {
		return true
	}
	own, err := w.own()
	return err == nil && name == path.Join(filepath.ToSlash(own), "HEAD.lock") && strings.Contains(name, "/worktrees/")
}

// own is the directory that git keeps for the worktree alone.
func (w *Worktree) own() (string, error) {
	return named(filepath.Join(w.dir, ".git"), "gitdir: ", w.dir)
}

// reindex runs git on the worktree with a new index, which then is that of the
// worktree. It fails, before anything is done, where somebody has that locked.
func (w *Worktree) reindex(ctx context.Context, steps ...[]string) error {
	own, err := w.own()
	if err != nil {
		return err
	}
	mine, lock := filepath.Join(own, "piton-index"), filepath.Join(own, "index.lock")
	if err := unlocked(mine, lock); err != nil {
		return err
	}
	for _, left := range []string{mine, mine + ".lock"} {
		if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	c := call{env: []string{"GIT_INDEX_FILE=" + mine}}
	for _, args := range steps {
		if _, err := w.git(ctx, filepath.Join(w.dir, ".git"), w.dir, c, args...); err != nil {
			return err
		}
	}
	return install(mine, lock, filepath.Join(own, "index"))
}

// unlocked fails where there is a lock, save one that a process that was killed
// took with the index it had made.
func unlocked(mine, lock string) error {
	there, err := os.Lstat(lock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if made, ours := os.Lstat(mine); err == nil && ours == nil && os.SameFile(there, made) {
		return os.Remove(lock)
	}
	if err != nil {
		return err
	}
	return locked(lock)
}

func locked(lock string) error {
	return fmt.Errorf("another git works in the worktree: %s exists; wait for it, or remove that file if no git runs, then answer retry", lock)
}

// install makes an index that of the worktree, under its lock.
func install(mine, lock, index string) error {
	err := os.Link(mine, lock)
	switch {
	case errors.Is(err, fs.ErrExist):
		return locked(lock)
	case err != nil: // a file system without links
		return os.Rename(mine, index)
	}
	if err := os.Rename(lock, index); err != nil {
		return err
	}
	return os.Remove(mine)
}
