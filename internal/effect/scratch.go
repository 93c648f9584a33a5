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

	"github.com/piton-dev/piton/internal/proc"
)

// scratch gives every attempt an empty directory of its own. One that is still
// empty afterwards, as after most scripts, is given out again: to make and
// remove a directory costs a file system more than all else an attempt asks of
// it.
//
// They lie in the system's directory for temporary files: there paths are short
// enough for sockets, and nothing leads to the state. A file in the state
// directory, which is there before they are, tells whoever owns the workspace
// next what a process that was killed has left. (A link would need a privilege on
// Windows.)
type scratch struct {
	mu    sync.Mutex
	note  string
	root  string
	empty []string
}

const (
	scratchNote   = "scratch"
	scratchPrefix = "piton-"
	attemptPrefix = "attempt-"
)

// Scratch gives an empty directory outside of workspace and state, for a process that
// is no attempt of a step. done takes it back.
func (w *World) Scratch() (dir string, done func(), err error) {
	free := &w.scratch
	dir, err = free.take(w.State)
	return dir, func() { free.give(dir) }, err
}

// take gives a directory, in one that is noted in the state directory.
func (s *scratch) take(state string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.empty); n > 0 {
		dir := s.empty[n-1]
		s.empty = s.empty[:n-1]
		return dir, nil
	}
	if s.root == "" {
		if err := s.begin(filepath.Join(state, scratchNote)); err != nil {
			return "", fmt.Errorf("make a directory for attempts: %w", err)
		}
	}
	dir, err := os.MkdirTemp(s.root, attemptPrefix)
	if err != nil {
		return "", fmt.Errorf("make a directory for the attempt: %w", err)
	}
	return dir, nil
}

func (s *scratch) begin(note string) error {
	var name [8]byte
	_, _ = rand.Read(name[:]) // it never fails
	root := filepath.Join(os.TempDir(), scratchPrefix+hex.EncodeToString(name[:]))
	err := noteScratch(note, root)
	if errors.Is(err, fs.ErrExist) {
		if err = sweepScratch(note); err == nil {
			err = noteScratch(note, root)
		}
	}
	if err == nil {
		err = os.Mkdir(root, 0o700)
	}
	if err == nil {
		s.note, s.root = note, root
	}
	return err
}

func noteScratch(note, root string) error {
	f, err := os.OpenFile(note, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(root)
	return errors.Join(err, f.Close())
}

// Sweep removes what an owner of the workspace that was killed has left of its
// attempts. To be called by the owner alone, before the first effect.
func (w *World) Sweep() error { return sweepScratch(filepath.Join(w.State, scratchNote)) }

// sweepScratch removes what is noted, if that looks like what is made here, and
// the note: an agent could have written that, too.
func sweepScratch(note string) error {
	root, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && isScratch(string(root)) {
		err = proc.RemoveAll(string(root))
	}
	if err != nil {
		return err // the next owner tries again
	}
	return os.RemoveAll(note)
}

func isScratch(root string) bool {
	info, err := os.Lstat(root)
	entries, readErr := os.ReadDir(root)
	if err != nil || readErr != nil || !info.IsDir() || !strings.HasPrefix(filepath.Base(root), scratchPrefix) {
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
		_ = proc.RemoveAll(dir) // close tries again
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
	if err := proc.RemoveAll(root); err != nil {
		return err
	}
	return os.Remove(s.note)
}
