// Package project writes into plan documents: the outcome of a run, where people look
// for it, and what a person changed at the command line. It also makes the files that
// show a run below .piton, and the records of runs for other forms.
//
// A projection follows the journal and is never read back. The marks are not part of
// the document's hash, so they break no approval. A document is replaced as a whole, by
// renaming, and only if it is still the one that was read.
//
// It must never mark a byte that the hash covers, and never overwrite a document that
// somebody changed meanwhile.
package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// ErrChanged says that the document is not the one that was run.
var ErrChanged = errors.New("the plan document was changed")

// Mark writes the status of a run and of its steps into the plan document at
// path, by renaming a new file over it. The new file is written in the directory
// through: out of the workspace, where no step takes it for a change. Only Markdown
// has marks: a plan in another form stays as it is. It does so only while the
// document has the hash that the run pinned: else it fails with ErrChanged. Two
// calls at once for one path are safe; a person's editor that saves in between is
// not seen.
func Mark(through, path, hash string, status engine.Status, steps []engine.StepRow) error {
	return remark(through, path, hash, func(src []byte, _ *plan.Plan) []byte {
		return plan.SetStatus(src, string(status), marks(steps))
	})
}

// Unmark takes the marks of an earlier run away when the next one opens, under the
// same conditions. A document without marks stays as it is.
func Unmark(through, path, hash string) error {
	return remark(through, path, hash, func(src []byte, p *plan.Plan) []byte {
		none := noMarks(p)
		if bytes.Equal(plan.SetStatus(src, "", none), src) {
			return src
		}
		return plan.SetStatus(src, string(engine.Running), none)
	})
}

func noMarks(p *plan.Plan) map[string]plan.Mark {
	none := map[string]plan.Mark{}
	for _, s := range p.Steps {
		none[s.ID.Value] = plan.NoMark
	}
	return none
}

// Marked reports whether the marks in src, the bytes of p, are such as [Mark] and
// [Unmark] write for the run. Those of a run that goes on again may be of when it
// failed: then no more steps had come to an end.
func Marked(src []byte, p *plan.Plan, run engine.HeadRow, steps []engine.StepRow) bool {
	if bytes.Equal(plan.SetStatus(src, string(engine.Running), noMarks(p)), src) {
		return true
	}
	status, is := run.Status, marks(steps)
	if !run.Ended {
		status = engine.Failed
		for _, s := range p.Steps {
			if s.Mark != plan.MarkDone && s.Mark != plan.MarkSkipped {
				is[s.ID.Value] = s.Mark
			}
		}
	}
	return bytes.Equal(plan.SetStatus(src, string(status), is), src)
}

// remark puts what marked makes of the document in its place.
func remark(through, path, hash string, marked func(src []byte, p *plan.Plan) []byte) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("mark plan: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("mark plan: %s is not a regular file", path)
	}
	src, err := durable.ReadFile(path, plan.MaxBytes)
	if errors.Is(err, durable.ErrNotText) {
		return ErrChanged
	}
	if err != nil {
		return fmt.Errorf("mark plan: %w", err)
	}
	d, _ := form.Read(path, src)
	if d.Plan == nil || d.Plan.Hash() != hash {
		return ErrChanged
	}
	if d.Form != form.Markdown {
		return nil // every byte of the other forms is covered by the hash
	}
	text := marked(src, d.Plan)
	if bytes.Equal(text, src) {
		return nil
	}
	if err := replace(through, path, src, text, info.Mode().Perm()); err != nil {
		return fmt.Errorf("mark plan: %w", err)
	}
	return nil
}

// Rewrite puts the next revision of a plan in the place of the document at path, under
// the same conditions as Replace. It does so only if the document has one of the hashes
// and was not touched since. It reports whether the document has the text.
func Rewrite(through, path string, hashes map[string]bool, since time.Time, text []byte) (bool, error) {
	src, err := durable.ReadFile(path, plan.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, durable.ErrNotText):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("rewrite plan: %w", err)
	case bytes.Equal(src, text):
		return true, nil
	}
	info, err := os.Stat(path)
	d, _ := form.Read(path, src)
	if err != nil || d.Plan == nil || !hashes[d.Plan.Hash()] || info.ModTime().After(since) {
		return false, nil
	}
	if err = replaceLinked(through, path, src, text); errors.Is(err, ErrChanged) {
		return false, nil
	}
	return err == nil, err
}

// Replace puts text in the place of the document at path, whole or not at all,
// if its bytes are still those that were seen: else it fails with ErrChanged. A
// symbolic link stays one. An editor that saves in between is not seen.
func Replace(path string, seen, text []byte) error {
	return replaceLinked("", path, seen, text)
}

// replaceLinked is Replace through a directory; "" is that of the document.
func replaceLinked(through, path string, seen, text []byte) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("replace plan: %w", err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return fmt.Errorf("replace plan: %w", err)
	}
	if through == "" {
		through = filepath.Dir(real)
	}
	if err := replace(through, real, seen, text, info.Mode().Perm()); err != nil {
		return fmt.Errorf("replace plan: %w", err)
	}
	return nil
}

// Restore is [Replace] for a document that may be gone, with its directory: with nil for
// what was seen there must be none.
func Restore(path string, seen, text []byte) error {
	if seen != nil {
		return Replace(path, seen, text)
	}
	absent := func(s durable.Stage) error {
		if _, err := os.Lstat(path); s != durable.Renamed && !errors.Is(err, fs.ErrNotExist) {
			return ErrChanged
		}
		return nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = durable.Replace(path, text, 0o644, absent)
	}
	if err != nil {
		return fmt.Errorf("restore plan: %w", err)
	}
	return nil
}

// IsFull reports whether a document could not be written because the disk is full.
func IsFull(err error) bool { return durable.IsFull(err) }

func replace(through, path string, seen, text []byte, mode fs.FileMode) error {
	return durable.ReplaceThrough(through, path, text, mode, func(s durable.Stage) error {
		if s == durable.Renamed {
			return nil
		}
		if now, err := durable.ReadFile(path, plan.MaxBytes); err != nil || !bytes.Equal(now, seen) {
			return ErrChanged
		}
		return nil
	})
}

func marks(steps []engine.StepRow) map[string]plan.Mark {
	m := make(map[string]plan.Mark, len(steps))
	for _, s := range steps {
		m[s.ID] = markOf(s.Status)
	}
	return m
}

// markOf gives a waived step no mark: nobody proved it, and it was not skipped.
func markOf(s engine.Status) plan.Mark {
	switch s {
	case engine.Done:
		return plan.MarkDone
	case engine.Failed:
		return plan.MarkFailed
	case engine.Skipped:
		return plan.MarkSkipped
	case engine.Waiting:
		return plan.MarkWaiting
	}
	return plan.NoMark
}
