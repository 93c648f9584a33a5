package tree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/piton-dev/piton/internal/durable"
)

// marks are what a worktree has come to: commits, "" where there is none. They
// are kept beside it and not in git: its refs can be written by whoever works
// there, and a git that is killed leaves them locked.
type marks struct {
	Base     string `json:"base,omitempty"`     // what the worktree began with; written last
	Ready    bool   `json:"ready,omitempty"`    // it was prepared
	Conflict string `json:"conflict,omitempty"` // the newest one that was put, or is being put, into the worktree
	Writing  string `json:"writing,omitempty"`  // the merge whose files are being written into the workspace
	Merged   string `json:"merged,omitempty"`   // the newest merge that the workspace has
}

func (w *Worktree) marks() (marks, error) {
	var m marks
	body, err := os.ReadFile(filepath.Join(w.place, "marks.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		err = fmt.Errorf("read what the worktree of %s has come to: %w", w.what(), err)
	}
	return m, err
}

// note makes marks those of the worktree, whole or not at all, and durably.
func (w *Worktree) note(m marks) error {
	err := os.MkdirAll(w.place, 0o700)
	if err == nil {
		err = m.write(filepath.Join(w.place, "marks.json"))
	}
	if err != nil {
		err = fmt.Errorf("note what the worktree of %s has come to: %w", w.what(), err)
	}
	return err
}

func (m marks) write(path string) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return durable.Replace(path, body, 0o600, nil)
}

// hold keeps git from dropping a commit that the worktree still needs.
func (w *Worktree) hold(ctx context.Context, commit string) error {
	return w.set(ctx, w.held(), commit)
}

func (w *Worktree) held() string { return "refs/piton/" + w.run + "/" + w.step }
