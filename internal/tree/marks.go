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
	Base     string   `json:"base,omitempty"`     // what the worktree began with; written last
	Lacks    []string `json:"lacks,omitempty"`    // what git ignores and the worktree did not begin with
	Root     string   `json:"root,omitempty"`     // of a run: where its branch begins
	Branch   string   `json:"branch,omitempty"`   // of a run: that it has, once anything was recorded
	Tip      string   `json:"tip,omitempty"`      // what the branch has come to
	Put      []string `json:"put,omitempty"`      // what the branch is, unless somebody else moved it: one of these
	Begun    string   `json:"begun,omitempty"`    // tree: what of the worktree was recorded, or is not the run's doing
	Done     []string `json:"done,omitempty"`     // keys of what was recorded
	Anew     bool     `json:"anew,omitempty"`     // it is being made again, and does not count until then
	Ready    bool     `json:"ready,omitempty"`    // it was prepared
	Conflict string   `json:"conflict,omitempty"` // the newest one that was put, or is being put, into the worktree
	Writing  string   `json:"writing,omitempty"`  // the merge whose files are being written
	Into     string   `json:"into,omitempty"`     // the workspace that they are written into
	Edits    []edit   `json:"edits,omitempty"`    // what is written there
	Merged   string   `json:"merged,omitempty"`   // the newest merge that the workspace has
}

// marksFile has the marks, in the place of a worktree.
const marksFile = "marks.json"

// written is what is to be noted when no file is written any more.
func (m marks) written() marks {
	m.Writing, m.Into, m.Edits = "", "", nil
	return m
}

func (w *Worktree) marks() (marks, error) {
	m, err := marksIn(w.place)
	if err != nil {
		err = fmt.Errorf("read what the worktree of %s has come to: %w", w.what(), err)
	}
	return m, err
}

func marksIn(place string) (marks, error) {
	var m marks
	body, err := os.ReadFile(filepath.Join(place, marksFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	return m, err
}

// note makes marks those of the worktree, whole or not at all, and durably.
func (w *Worktree) note(m marks) error {
	err := os.MkdirAll(w.place, 0o700)
	if err == nil {
		err = m.write(filepath.Join(w.place, marksFile))
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
	_, err := w.ask(ctx, nil, "update-ref", "--no-deref", w.held(), commit)
	return err
}

func (w *Worktree) held() string { return "refs/piton/" + w.run + "/" + w.step }
