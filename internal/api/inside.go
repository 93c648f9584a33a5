package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// PlansDir is where plans are kept in a workspace, unless a person puts them elsewhere.
const PlansDir = "plans"

// PlanFiles are the documents below [PlansDir], by name, relative to the workspace.
func (p *Product) PlanFiles() []string {
	if p.Files != nil {
		return p.Files.Names()
	}
	names := []string{}
	root, err := os.OpenRoot(p.Place.Dir)
	if err != nil {
		return names
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), PlansDir)
	if err != nil {
		return names // there is none, or it is a link out of the workspace
	}
	for _, e := range entries {
		if e.Type().IsRegular() && plan.DocumentName(e.Name()) {
			names = append(names, path.Join(PlansDir, e.Name()))
		}
	}
	return names
}

// Inside is the path of a regular file of the workspace, relative to it. Links are followed
// as long as they stay inside. Faces that take paths from others than the person at the
// terminal read no other file.
func (p *Product) Inside(file string) (rel string, err error) {
	rel = filepath.Clean(file)
	if filepath.IsAbs(file) {
		if rel, err = filepath.Rel(p.Place.Dir, rel); err != nil {
			rel = ".."
		}
	}
	if !filepath.IsLocal(rel) {
		return "", outside(file)
	}
	root, err := os.OpenRoot(p.Place.Dir)
	if err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	info, err := root.Stat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &Problem{Code: NotFound, Message: file + ": there is no such file in the workspace", Hint: "give the path of a plan document in it"}
	case err != nil:
		return "", outside(file)
	case !info.Mode().IsRegular():
		return "", &Problem{Code: Invalid, Message: file + " is no file", Hint: "give the path of a plan document"}
	}
	return rel, nil
}

// admits refuses a guest a name that is no plan's: it is not below [PlansDir], and the journal
// has no plan of this name.
func (p *Product) admits(ctx context.Context, path string) error {
	rel, err := p.local(path)
	if err != nil {
		return err
	}
	name := filepath.ToSlash(rel)
	if plan.DocumentName(name) && strings.HasPrefix(name, PlansDir+"/") {
		return nil
	}
	r, err := p.newestAt(ctx, name)
	if err == nil && (r == nil || !plan.DocumentName(name)) {
		err = noPlan(path)
	}
	return err
}

// local is a path relative to the workspace. No part of it is hidden.
func (p *Product) local(path string) (rel string, err error) {
	rel = filepath.Clean(p.at(path))
	if filepath.IsAbs(rel) {
		rel, err = filepath.Rel(p.Place.Dir, rel)
	}
	if err != nil || !filepath.IsLocal(rel) {
		return "", outside(path)
	}
	if rel == "." {
		return "", &Problem{Code: Invalid, Message: path + " is no file", Hint: "give the path of a plan document"}
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if strings.HasPrefix(part, ".") {
			return "", noPlan(path)
		}
	}
	return rel, nil
}

// guestRead reads a plan for a guest. It judges the file that it has opened, whatever is put
// in its place meanwhile: no part of the path is hidden, a link, or a workspace of its own,
// and the text is one of a plan.
func (p *Product) guestRead(path string) ([]byte, error) {
	return again(func() ([]byte, error) {
		rel, err := p.local(path)
		if err != nil {
			return nil, err
		}
		root, err := os.OpenRoot(p.Place.Dir)
		if err != nil {
			return nil, fmt.Errorf("open the workspace: %w", err)
		}
		defer root.Close()
		f, err := direct(root, rel, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &Problem{Code: NotFound, Message: path + ": there is no such file"}
		case err != nil:
			if problem, ok := errors.AsType[*Problem](err); ok {
				return nil, problem
			}
			return nil, unreadable(path, err)
		}
		defer f.Close()
		source, err := io.ReadAll(io.LimitReader(f, plan.MaxBytes+1))
		if err != nil {
			return nil, unreadable(path, err)
		}
		if !plan.DocumentName(filepath.ToSlash(rel)) || !Parse(path, source).isPlan() {
			return nil, noPlan(path)
		}
		return source, nil
	})
}

// direct opens a file that is reached without a link and is in no workspace below dir. Path
// is its name in messages.
func direct(dir *os.Root, rel, path string) (*os.File, error) {
	name, rest, below := strings.Cut(rel, string(filepath.Separator))
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if below {
		if !seen.IsDir() {
			return nil, noPlan(path)
		}
		in, err := dir.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		if is, err := in.Stat("."); err != nil || !os.SameFile(seen, is) {
			return nil, Meanwhile(path)
		}
		if _, err := in.Lstat(filepath.Dir(config.File)); !errors.Is(err, fs.ErrNotExist) {
			return nil, noPlan(path)
		}
		return direct(in, rest, path)
	}
	if !seen.Mode().IsRegular() {
		return nil, noPlan(path)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(seen, is) {
		f.Close()
		return nil, Meanwhile(path)
	}
	return f, nil
}

// isPlan reports whether the text is that of a plan, not only one that can be read as such:
// it has steps, and as Markdown it says what it is.
func (d *Document) isPlan() bool {
	if d.Plan == nil || len(d.Plan.Steps) == 0 {
		return false
	}
	return d.Form.Form != form.Markdown || slices.ContainsFunc(d.Plan.Front, func(k plan.Key) bool { return k.Name == "type" && k.Value == "plan" })
}

func noPlan(path string) error {
	return &Problem{Code: Denied, Message: path + " is no plan document", Hint: "give the path of one, such as plans/fix.md"}
}

func outside(file string) error {
	return &Problem{Code: Denied, Message: file + " leads out of the workspace", Hint: "give a path inside, such as plans/fix.md"}
}
