package view

import (
	"context"
	"sort"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Changes are what a step, or one attempt of it, changed.
type Changes struct {
	Run     string        `json:"run"`
	Step    string        `json:"step"`
	Attempt int           `json:"attempt"`
	Whole   bool          `json:"whole"` // all attempts up to this one, not this one alone
	Known   bool          `json:"known"` // whether anything recorded it
	Files   []FileChanged `json:"files"`
	Text    string        `json:"text"` // as git writes it
}

// FileChanged counts the lines of one file. Both numbers are -1 where they are not known: it is
// no text, or a call changed it.
type FileChanged struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// Changes reads what an attempt of a step changed; attempt 0 is the step with all that it
// had done when its newest attempt ended. ok is false where there was no such attempt.
func (r Reader) Changes(ctx context.Context, head engine.HeadRow, step string, attempt int) (c Changes, ok bool, err error) {
	within, err := r.Within(ctx, head)
	if err != nil {
		return c, false, err
	}
	within.Steps = []string{step}
	marked, err := r.Store.Marked(ctx, within)
	if err != nil {
		return c, false, err
	}
	var hash string
	var called []FileChanged // by a call, which tells only the names
	compared := map[int]bool{}
	for _, m := range marked {
		switch e := m.Event.(type) {
		case engine.WorkDispatched:
			compared[e.N] = e.Tree != ""
		case engine.WorkEnded:
			if e.Kind == engine.MergeWork || attempt != 0 && e.Attempt != attempt {
				continue
			}
			ok, hash, called = true, e.Diff, nil
			if e.Kind == engine.ToolWork && e.Diff == "" {
				for _, path := range e.Changed {
					called = append(called, FileChanged{path, -1, -1})
				}
			}
			c = Changes{Run: head.Run, Step: step, Attempt: e.Attempt, Known: compared[e.N]}
			if c.Whole = attempt == 0 && e.Whole != ""; c.Whole {
				hash = e.Whole
			}
		}
	}
	body, err := r.Body(ctx, hash)
	if hash != "" && body == nil {
		c.Known = false
	}
	c.Text, c.Files = string(body), List(append(filesOf(string(body)), called...))
	c.Known = c.Known || len(called) > 0
	return c, ok, err
}

// filesOf counts the lines of each file in a difference.
func filesOf(text string) []FileChanged {
	var all []FileChanged
	inside := false // of a hunk, where a line with --- is one that was taken out
	for l := range strings.Lines(text) {
		if _, name, is := strings.Cut(l, " b/"); is && strings.HasPrefix(l, "diff --git ") {
			all, inside = append(all, FileChanged{Path: strings.TrimSpace(name)}), false
			continue
		}
		if len(all) == 0 {
			continue
		}
		f := &all[len(all)-1]
		switch {
		case strings.HasPrefix(l, "@@ "):
			inside = true
		case !inside && strings.HasPrefix(l, "Binary files "):
			f.Added, f.Removed = -1, -1
		case inside && l[0] == '+':
			f.Added++
		case inside && l[0] == '-':
			f.Removed++
		}
	}
	return all
}

// RunFile counts what the steps of a run changed in one file.
type RunFile struct {
	FileChanged
	By []StepChange
}

// StepChange is a step that changed a file, in the run that did.
type StepChange struct{ Run, Step string }

// RunChanges are the files that the steps of a run changed, and those of the runs that carried
// steps out, by path. Lines that one step added and another removed again count twice. unknown
// counts steps whose changes are not recorded, or not any more.
func (r Reader) RunChanges(ctx context.Context, head engine.HeadRow) (files []RunFile, unknown int, err error) {
	under, err := r.Under(ctx, head)
	if err != nil {
		return nil, 0, err
	}
	at := map[string]int{}
	for _, h := range append([]engine.HeadRow{head}, under...) {
		steps, err := r.Store.Steps(ctx, store.StepFilter{Stream: h.Stream, Run: h.Run})
		if err != nil {
			return nil, 0, err
		}
		for _, row := range steps {
			if row.Attempts == 0 {
				continue
			}
			c, ok, err := r.Changes(ctx, h, row.ID, 0)
			if err != nil {
				return nil, 0, err
			}
			if ok && !c.Known {
				unknown++
			}
			for _, f := range c.Files {
				i, known := at[f.Path]
				if !known {
					i, at[f.Path] = len(files), len(files)
					files = append(files, RunFile{FileChanged: FileChanged{Path: f.Path}})
				}
				files[i].add(f, StepChange{h.Run, row.ID})
			}
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	return files, unknown, nil
}

// add counts what one more step changed.
func (f *RunFile) add(more FileChanged, by StepChange) {
	f.By = append(f.By, by)
	if f.Added < 0 || more.Added < 0 {
		f.Added, f.Removed = -1, -1
		return
	}
	f.Added, f.Removed = f.Added+more.Added, f.Removed+more.Removed
}
