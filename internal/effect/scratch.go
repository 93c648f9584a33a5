package effect

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// scratch gives every attempt an empty directory of its own. One that is still
// empty afterwards, as after most scripts, is given out again: to make and
// remove a directory costs a file system more than all else an attempt asks of
// it.
//
// They lie in the system's directory for temporary files: there paths are short
// enough for sockets, and nothing leads to the state. A link in the state
// directory, which is there before they are, leads whoever owns the workspace
// next to what a process that was killed has left.
type scratch struct {
	mu    sync.Mutex
	link  string
	root  string
	empty []string
}

const (
	scratchLink   = "scratch"
	scratchPrefix = "piton-"
	attemptPrefix = "attempt-"
)

// take gives a directory, in one that the state directory has the link to.
func (s *scratch) take(state string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.empty); n > 0 {
		dir := s.empty[n-1]
		s.empty = s.empty[:n-1]
		return dir, nil
	}
	if s.root == "" {
		if err := s.begin(filepath.Join(state, scratchLink)); err != nil {
			return "", fmt.Errorf("make a directory for attempts: %w", err)
		}
	}
	dir, err := os.MkdirTemp(s.root, attemptPrefix)
	if err != nil {
		return "", fmt.Errorf("make a directory for the attempt: %w", err)
	}
	return dir, nil
}

func (s *scratch) begin(link string) error {
	var name [8]byte
	_, _ = rand.Read(name[:]) // it never fails
	root := filepath.Join(os.TempDir(), scratchPrefix+hex.EncodeToString(name[:]))
	err := os.Symlink(root, link)
	if errors.Is(err, fs.ErrExist) {
		if err = sweepScratch(link); err == nil {
			err = os.Symlink(root, link)
		}
	}
	if err == nil {
		err = os.Mkdir(root, 0o700)
	}
	if err == nil {
		s.link, s.root = link, root
	}
	return err
}

// Sweep removes what an owner of the workspace that was killed has left of its
// attempts. To be called by the owner alone, before the first effect.
func (w *World) Sweep() error { return sweepScratch(filepath.Join(w.State, scratchLink)) }

// sweepScratch removes what a link leads to, and the link, if that looks like
// what is made here: agents can write links, too.
func sweepScratch(link string) error {
	root, err := os.Readlink(link)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && isScratch(root) {
		err = os.RemoveAll(root)
	}
	return errors.Join(err, os.RemoveAll(link))
}

func isScratch(root string) bool {
	info, err := os.Lstat(root)
	entries, readErr := os.ReadDir(root)
	if err != nil || readErr != nil || info.Mode() != fs.ModeDir|0o700 || !strings.HasPrefix(filepath.Base(root), scratchPrefix) {
		return false
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), attemptPrefix) {
			return false
		}
	}
	return true
}

// give takes a directory back. Nothing of its attempt lives any more.
func (s *scratch) give(dir string) {
	info, err := os.Lstat(dir)
	entries, readErr := os.ReadDir(dir)
	if err != nil || readErr != nil || info.Mode() != os.ModeDir|0o700 || len(entries) > 0 {
		os.RemoveAll(dir)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.empty = append(s.empty, dir)
}

func (s *scratch) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	root := s.root
	s.root, s.empty = "", nil
	if root == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(root), os.Remove(s.link))
}
