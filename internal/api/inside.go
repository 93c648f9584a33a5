package api

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/piton-dev/piton/internal/plan"
)

// PlansDir is where plans are kept in a workspace, unless a person puts them elsewhere.
const PlansDir = "plans"

// PlanFiles are the documents below [PlansDir], by name, relative to the workspace.
func (p *Product) PlanFiles() []string {
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

func outside(file string) error {
	return &Problem{Code: Denied, Message: file + " leads out of the workspace", Hint: "give a path inside, such as plans/fix.md"}
}
