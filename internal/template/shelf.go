package template

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// own is where a workspace keeps templates of its own.
const own = ".piton/templates"

// Shelf are the templates of a workspace: those of the library, and its own, which
// hide those of the library that have their names.
type Shelf struct {
	All    []*Template
	Faults map[string]error // by name: why one of its own cannot be used

	dir string // the workspace
}

// Open finds the templates of the workspace in dir, and reads its own with read.
func Open(dir string, read func(path string) ([]byte, error)) (Shelf, error) {
	s := Shelf{Faults: map[string]error{}, dir: dir}
	var err error
	if s.All, err = Library(); err != nil {
		return s, err
	}
	files, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(own)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	for _, f := range files {
		name, isPlan := strings.CutSuffix(f.Name(), ".md")
		if !isPlan || !IsName(name) {
			continue
		}
		s.All = slices.DeleteFunc(s.All, func(t *Template) bool { return t.Name == name })
		text, err := read(filepath.Join(dir, filepath.FromSlash(own), f.Name()))
		var t *Template
		if err == nil {
			t, err = Parse(name, own+"/"+f.Name(), text)
		}
		if err != nil {
			s.Faults[name] = err
			continue
		}
		s.All = append(s.All, t)
	}
	slices.SortFunc(s.All, func(a, b *Template) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

// Find is the template of this name.
func (s Shelf) Find(name string) (*Template, error) {
	if err := s.Faults[name]; err != nil {
		return nil, err
	}
	var known []string
	for _, t := range s.All {
		if t.Name == name {
			return t, nil
		}
		known = append(known, t.Name)
	}
	hint := "piton new --list prints them all"
	if near := plan.Nearest(name, known); near != "" {
		hint = near + " " + hint
	}
	return nil, &Unfit{fmt.Sprintf("there is no template %q", name), hint}
}

// Fill makes the plan of the template of this name, with defaults that fit the
// workspace. Each of given sets a variable, as NAME=VALUE.
func (s Shelf) Fill(name, title string, given []string) (*plan.Plan, error) {
	values, err := assignments(given)
	if err != nil {
		return nil, err
	}
	t, err := s.Find(name)
	if err != nil {
		return nil, err
	}
	return t.Fill(title, values, s.has)
}

// has reports whether the workspace has a file.
func (s Shelf) has(file string) bool {
	if !filepath.IsLocal(file) {
		return false
	}
	_, err := os.Stat(filepath.Join(s.dir, file))
	return err == nil
}

// assignments reads values of variables.
func assignments(words []string) (map[string]string, error) {
	values := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, &Unfit{fmt.Sprintf("--var %q does not set a variable", w), "write --var NAME=VALUE"}
		}
		if _, twice := values[name]; twice {
			return nil, &Unfit{fmt.Sprintf("--var gives %q two values", name), "keep one of them"}
		}
		values[name] = value
	}
	return values, nil
}

// Entry is a template as lists show it.
type Entry struct {
	Name      string  `json:"name"`
	About     string  `json:"about"`
	File      *string `json:"file"` // of the workspace; null for those that come with the program
	Variables []Hole  `json:"variables"`
}

// Hole is a variable of an [Entry].
type Hole struct {
	Name    string  `json:"name"`
	About   string  `json:"about"`
	Default *string `json:"default"` // in this workspace; null where a value must be given
}

// List is what the shelf has.
func (s Shelf) List() []Entry {
	all := []Entry{}
	for _, t := range s.All {
		e := Entry{Name: t.Name, About: t.About, Variables: []Hole{}}
		if strings.HasPrefix(t.File, own) {
			e.File = &t.File
		}
		for _, v := range t.Variables {
			h := Hole{Name: v.Name, About: v.About}
			if value, ok := v.Value(s.has); ok {
				h.Default = &value
			}
			e.Variables = append(e.Variables, h)
		}
		all = append(all, e)
	}
	return all
}
