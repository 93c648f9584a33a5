package effect

import (
	"fmt"
	"os"
	"sync"
)

// scratch gives every attempt an empty directory of its own. One that is still
// empty afterwards, as after most scripts, is given out again: to make and
// remove a directory costs a file system more than all else an attempt asks of
// it.
type scratch struct {
	mu    sync.Mutex
	root  string
	empty []string
}

func (s *scratch) take() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.empty); n > 0 {
		dir := s.empty[n-1]
		s.empty = s.empty[:n-1]
		return dir, nil
	}
	if s.root == "" {
		root, err := os.MkdirTemp("", "piton-")
		if err != nil {
			return "", fmt.Errorf("make a directory for attempts: %w", err)
		}
		s.root = root
	}
	dir, err := os.MkdirTemp(s.root, "attempt-")
	if err != nil {
		return "", fmt.Errorf("make a directory for the attempt: %w", err)
	}
	return dir, nil
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
	return os.RemoveAll(root)
}
