package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// A Split is what changed from one manifest to another, in parts that can be taken back
// alone.
type Split struct {
	Hash  string // of all that changed
	Parts []Part

	files map[string]*altered
}

// A Part is a run of changed lines of a text that was there before. Anything else is one
// part for each file: a new or removed file, one of bytes, a link, another mode, and a file
// that has another name.
type Part struct {
	Place string // for people, as src/a.go:10-14

	paths []string
	back  *udiff.Edit // of the text as it is now; nil takes all of the paths back
	mode  bool        // takes back nothing but the mode
}

// altered is a path that is other than it was.
type altered struct {
	was, is Digest
	text    string // where runs of its lines are parts: what it is
	kept    []byte // what it was
	lines   bool
}

// stands is what was put into a copy, and how the file looked then.
type stands struct {
	what string
	info fs.FileInfo
}

// Split divides what changed. The error is [ErrNotKept] if what was there is not known any more.
func (t *Tree) Split(was, is Manifest, changes []Change) (*Split, error) {
	s := &Split{files: map[string]*altered{}}
	var all strings.Builder
	for _, c := range changes {
		f := &altered{was: Absent, is: Absent}
		if d, ok := was.Files[c.Path]; ok {
			f.was = d
		}
		if d, ok := is.Files[c.Path]; ok {
			f.is = d
		}
		if !plain(f.was) || !plain(f.is) {
			return nil, fmt.Errorf("%w: %s", ErrNotKept, c.Path)
		}
		var err error
		if f.kept, err = t.Content(f.was); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrNotKept, c.Path, err)
		}
		s.files[c.Path] = f
		fmt.Fprintf(&all, "%q %s %s\n", c.Path, f.was, f.is)
	}
	s.Hash = digestOf('f', []byte(all.String())).sum()
	s.renames(changes)
	for _, c := range changes {
		if err := s.divide(t, c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ErrNotKept says that what a file was is not known any more.
var ErrNotKept = errors.New("what was there was not kept")

// plain reports what can be written again: nothing, a file, a link.
func plain(d Digest) bool { return d == Absent || d.isFile() || d.kind() == 'l' }

// renames makes one part of a file that is gone and a new one with the same content.
func (s *Split) renames(changes []Change) {
	used := map[string]bool{}
	for _, from := range changes {
		f := s.files[from.Path]
		if f.is != Absent || !f.was.isFile() {
			continue
		}
		for _, to := range changes {
			if n := s.files[to.Path]; n.was == Absent && n.is.sum() == f.was.sum() && !used[to.Path] {
				used[to.Path] = true
				s.Parts = append(s.Parts, Part{Place: from.Path + " to " + to.Path + " (renamed)", paths: []string{from.Path, to.Path}})
				break
			}
		}
	}
}

// divide adds the parts of one file.
func (s *Split) divide(t *Tree, c Change) error {
	if slices.ContainsFunc(s.Parts, func(p Part) bool { return slices.Contains(p.paths, c.Path) }) {
		return nil // it was renamed
	}
	f := s.files[c.Path]
	if !f.was.isFile() || !f.is.isFile() || f.was.sum() == f.is.sum() {
		s.Parts = append(s.Parts, Part{Place: c.Path + " (" + c.What + ")", paths: []string{c.Path}})
		return nil
	}
	text, err := t.text(c.Path)
	if err != nil {
		return err
	}
	if isText(text) && isText(f.kept) {
		f.lines, f.text = true, string(text)
		for _, e := range udiff.Lines(f.text, string(f.kept)) {
			s.Parts = append(s.Parts, Part{Place: c.Path + ":" + linesOf(f.text, e), paths: []string{c.Path}, back: new(e)})
		}
	} else {
		s.Parts = append(s.Parts, Part{Place: c.Path + " (" + c.What + ")", paths: []string{c.Path}})
	}
	if f.lines && f.was.kind() != f.is.kind() {
		s.Parts = append(s.Parts, Part{Place: c.Path + " (mode)", paths: []string{c.Path}, mode: true})
	}
	return nil
}

// text reads a file of the workspace, nothing of one that is too large to have parts.
func (t *Tree) text(name string) ([]byte, error) {
	info, err := t.root.Lstat(disk(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > keepScanned {
		return nil, err
	}
	return t.root.ReadFile(disk(name))
}

func isText(b []byte) bool { return len(b) > 0 && utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// linesOf says which lines of a text an edit takes back.
func linesOf(text string, e udiff.Edit) string {
	first := 1 + strings.Count(text[:e.Start], "\n")
	taken := strings.TrimSuffix(text[e.Start:e.End], "\n")
	switch n := strings.Count(taken, "\n"); {
	case e.Start == e.End:
		return fmt.Sprintf("%d (lines taken out)", first)
	case n > 0:
		return fmt.Sprintf("%d-%d", first, first+n)
	}
	return fmt.Sprint(first)
}

// Without makes the copy as the workspace is now, but for the parts that are taken back, by
// their place in the list. It puts every path of the change right again, whatever was done
// to it in the copy meanwhile.
func (c *Copy) Without(ctx context.Context, s *Split, parts ...int) error {
	c.stamp = later(c.stamp)
	for _, name := range sortedPaths(s.files) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.make(name, s, parts); err != nil {
			return fmt.Errorf("take back %s: %w", name, err)
		}
	}
	return nil
}

func sortedPaths(files map[string]*altered) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// make makes a path what it is without some parts.
func (c *Copy) make(name string, s *Split, parts []int) error {
	f := s.files[name]
	var edits []udiff.Edit
	whole, mode := false, false
	for _, n := range parts {
		p := s.Parts[n]
		if !slices.Contains(p.paths, name) {
			continue
		}
		switch {
		case p.mode:
			mode = true
		case p.back != nil:
			edits = append(edits, *p.back)
		default:
			whole = true
		}
	}
	want, content := f.is, []byte(nil)
	switch {
	case whole:
		want, content = f.was, f.kept
	case len(edits) > 0 || mode:
		text, err := udiff.Apply(f.text, edits)
		if err != nil {
			return err
		}
		content = []byte(text)
		if want = digestOf(f.is.kind(), content); mode {
			want = digestOf(f.was.kind(), content)
		}
	}
	return c.put(name, want, content, want == f.is)
}

// put writes a path unless it stands as it was put last. asIs takes it from the workspace.
// What is written gets a later time than what was written for other parts, by a second at
// least: tools that compare times, or keep them in seconds, must see the difference. All of
// it gets the same one: no product is older than its source by the order of their names.
func (c *Copy) put(name string, want Digest, content []byte, asIs bool) error {
	at := disk(name)
	info, err := c.root.Lstat(at)
	held, known := c.held[name]
	switch {
	case known && held.what == string(want) && same(held.info, info):
		return nil
	case !known && asIs:
		c.held[name] = stands{string(want), info} // as it was copied
		return nil
	}
	if err == nil {
		if err := c.root.RemoveAll(at); err != nil {
			return err
		}
	}
	if want == Absent {
		for dir := path.Dir(at); dir != "." && c.root.Remove(dir) == nil; dir = path.Dir(dir) {
			continue // a directory that holds nothing any more
		}
		c.held[name] = stands{what: string(want)}
		return nil
	}
	if err := c.root.MkdirAll(path.Dir(at), 0o755); err != nil {
		return err
	}
	switch {
	case asIs && want.kind() == 'l':
		err = c.link(c.from.root, c.root, at)
	case asIs:
		err = c.file(c.from.root, c.root, at)
	case want.kind() == 'l':
		err = c.root.Symlink(c.leads(string(content)), at)
	default:
		err = c.root.WriteFile(at, content, permOf(want))
	}
	if err == nil && want.isFile() {
		err = c.root.Chtimes(at, c.stamp, c.stamp)
	}
	if err == nil {
		info, err = c.root.Lstat(at)
	}
	c.held[name] = stands{string(want), info}
	return err
}

// later is now, and a whole second behind the time before.
func later(before time.Time) time.Time {
	now := time.Now().Truncate(time.Second).Add(time.Second)
	if next := before.Add(time.Second); next.After(now) {
		return next
	}
	return now
}

// same reports whether a file looks as it did.
func same(was, is fs.FileInfo) bool {
	if was == nil || is == nil {
		return was == nil && is == nil
	}
	return os.SameFile(was, is) && was.ModTime().Equal(is.ModTime()) && was.Size() == is.Size() && was.Mode() == is.Mode()
}
