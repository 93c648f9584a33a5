package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
)

// maxDepth is how many directories deep a walk goes. What lies deeper is one
// thing, named by its directory.
const maxDepth = 100

// walker collects the names of everything in some directories that is not a
// directory itself, and of directories that cannot be entered. It leaves out
// what belongs to git and to Piton.
type walker struct {
	ctx   context.Context
	take  func(name string) bool
	names []string
}

// walk returns the names below dirs that take wants, sorted and each once. A
// dir that is no directory, or cannot be reached without following a link, holds
// nothing. A dir inside .git is walked, one outside never leads there.
func (t *Tree) walk(ctx context.Context, dirs []string, take func(name string) bool) ([]string, error) {
	w := &walker{ctx: ctx, take: take}
	c := t.cursor(ctx, -1)
	defer c.close()
	for _, dir := range outermost(dirs) {
		if err := w.from(c, dir); err != nil {
			return nil, err
		}
	}
	slices.Sort(w.names)
	return w.names, nil
}

// outermost drops every directory that lies in another one. "." does not hold
// what is in .git, so those stay.
func outermost(dirs []string) []string {
	given := make(map[string]bool, len(dirs))
	for _, d := range dirs {
		given[d] = true
	}
	var out []string
	for d := range given {
		if !slices.ContainsFunc(parents(d), func(p string) bool { return given[p] && (p != "." || !skipped(d)) }) {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return out
}

// parents returns the directories above name, "." among them.
func parents(name string) []string {
	if name == "." {
		return nil
	}
	up := []string{"."}
	for i, c := range []byte(name) {
		if c == '/' {
			up = append(up, name[:i])
		}
	}
	return up
}

// skipped reports whether a walk from the top leaves name out.
func skipped(name string) bool { return below(name, ".git") || below(name, ".piton") }

func (w *walker) from(c *cursor, dir string) error {
	l, err := c.enter(join(dir, "x"))
	if err != nil || l.root == nil {
		return err
	}
	return w.dir(l.root, dir, 0)
}

func (w *walker) dir(root *os.Root, dir string, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := readDir(root)
	if err != nil {
		_, err = unreachable(dir, err)
		w.add(dir)
		return err
	}
	for _, e := range entries {
		name := join(dir, wire(e.Name()))
		switch {
		case skipped(name) && dir == ".", e.IsDir() && e.Name() == ".git":
		case e.IsDir():
			err = w.enter(root, name, e, depth+1)
		default:
			w.add(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readDir(root *os.Root) ([]fs.DirEntry, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

func (w *walker) enter(parent *os.Root, name string, e fs.DirEntry, depth int) error {
	info, err := parent.Lstat(e.Name())
	if err != nil || !info.IsDir() || depth > maxDepth {
		return w.instead(name, err)
	}
	root, err := openDir(parent, wire(e.Name()), info)
	if err != nil {
		return w.instead(name, err)
	}
	defer root.Close()
	return w.dir(root, name, depth)
}

// instead takes a directory for one thing where it cannot be entered.
func (w *walker) instead(name string, err error) error {
	if err != nil && !errors.Is(err, errSwapped) {
		d, err := unreachable(name, err)
		if err != nil || d == Absent {
			return err
		}
	}
	w.add(name)
	return nil
}

func (w *walker) add(name string) {
	if w.take(name) {
		w.names = append(w.names, name)
	}
}
