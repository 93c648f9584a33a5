package tree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

	back *udiff.Edit // of the text as it is now; nil takes back all of its paths
	mode bool        // takes back nothing but the mode
}

// altered is a path that is other than it was.
type altered struct {
	was, is Digest
	parts   []int // that it is in, by their place in the list
}

// stands is what was put into a copy, and how the file looked then.
type stands struct {
	what string
	info fs.FileInfo
}

// Split divides what changed. The error is [ErrNotKept] if what was there is not known any more.
func (t *Tree) Split(ctx context.Context, was, is Manifest, changes []Change) (*Split, error) {
	s := &Split{files: map[string]*altered{}}
	var all strings.Builder
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := &altered{was: was.digest(c.Path), is: is.digest(c.Path)}
		if !plain(f.was) || !plain(f.is) {
			return nil, fmt.Errorf("%w: %s", ErrNotKept, c.Path)
		}
		if _, err := t.whatWas(c.Path, f.was); err != nil {
			return nil, err
		}
		s.files[c.Path] = f
		fmt.Fprintf(&all, "%q %s %s\n", c.Path, f.was, f.is)
	}
	s.Hash = digestOf('f', []byte(all.String())).sum()
	s.renames(changes)
	for _, c := range changes {
		err := ctx.Err()
		if err == nil && len(s.files[c.Path].parts) == 0 {
			err = s.divide(t, c)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// whatWas reads what a path held.
func (t *Tree) whatWas(name string, d Digest) ([]byte, error) {
	content, err := t.Content(d)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNotKept, name, err)
	}
	return content, nil
}

// add adds a part of these paths.
func (s *Split) add(p Part, paths ...string) {
	for _, name := range paths {
		f := s.files[name]
		f.parts = append(f.parts, len(s.Parts))
	}
	s.Parts = append(s.Parts, p)
}

// ErrNotKept says that what a file was is not known any more.
var ErrNotKept = errors.New("what was there was not kept")

// plain reports what can be written again: nothing, a file, a link.
func plain(d Digest) bool { return d == Absent || d.isFile() || d.kind() == 'l' }

// renames makes one part of a file that is gone and a new one with the same content.
func (s *Split) renames(changes []Change) {
	fresh := map[string][]string{} // new files, by what they hold
	for _, to := range changes {
		if f := s.files[to.Path]; f.was == Absent && f.is.isFile() {
			fresh[f.is.sum()] = append(fresh[f.is.sum()], to.Path)
		}
	}
	for _, from := range changes {
		f := s.files[from.Path]
		if f.is != Absent || !f.was.isFile() {
			continue
		}
		if to := fresh[f.was.sum()]; len(to) > 0 {
			fresh[f.was.sum()] = to[1:]
			s.add(Part{Place: from.Path + " to " + to[0] + " (renamed)"}, from.Path, to[0])
		}
	}
}

// divide adds the parts of one file.
func (s *Split) divide(t *Tree, c Change) error {
	f := s.files[c.Path]
	if !f.was.isFile() || !f.is.isFile() || f.was.sum() == f.is.sum() {
		s.add(Part{Place: c.Path + " (" + c.What + ")"}, c.Path)
		return nil
	}
	kept, err := t.whatWas(c.Path, f.was)
	if err != nil {
		return err
	}
	text, err := t.Content(f.is)
	if err != nil || !isText(text) || !isText(kept) {
		s.add(Part{Place: c.Path + " (" + c.What + ")"}, c.Path)
		return nil // of what is too large to be kept too
	}
	line, at := 1, 0
	for _, e := range udiff.Lines(string(text), string(kept)) {
		line += bytes.Count(text[at:e.Start], []byte("\n"))
		at = e.Start
		s.add(Part{Place: c.Path + ":" + linesOf(line, string(text[e.Start:e.End])), back: new(e)}, c.Path)
	}
	if f.was.kind() != f.is.kind() {
		s.add(Part{Place: c.Path + " (mode)", mode: true}, c.Path)
	}
	return nil
}

func isText(b []byte) bool {
	return len(b) > 0 && len(b) <= keepScanned && utf8.Valid(b) && bytes.IndexByte(b, 0) < 0
}

// linesOf says which lines an edit takes back.
func linesOf(first int, taken string) string {
	switch n := strings.Count(strings.TrimSuffix(taken, "\n"), "\n"); {
	case taken == "":
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
	taken := map[int]bool{}
	for _, n := range parts {
		taken[n] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.make(name, s, taken); err != nil {
			return fmt.Errorf("take back %s: %w", name, err)
		}
	}
	return nil
}

// make makes a path what it is without some parts.
func (c *Copy) make(name string, s *Split, taken map[int]bool) error {
	f := s.files[name]
	var edits []udiff.Edit
	whole, mode := false, false
	for _, n := range f.parts {
		switch p := s.Parts[n]; {
		case !taken[n]:
		case p.mode:
			mode = true
		case p.back != nil:
			edits = append(edits, *p.back)
		default:
			whole = true
		}
	}
	var content []byte
	var err error
	want := f.is
	switch {
	case whole:
		want = f.was
		content, err = c.from.whatWas(name, want)
	case len(edits) > 0 || mode:
		if content, err = c.from.Content(f.is); err != nil {
			return err
		}
		var text string
		text, err = udiff.Apply(string(content), edits)
		content = []byte(text)
		if want = digestOf(f.is.kind(), content); mode {
			want = digestOf(f.was.kind(), content)
		}
	}
	if err != nil {
		return err
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
	now, err := c.from.root.Lstat(at)
	regular := err == nil && now.Mode().IsRegular()
	switch {
	case asIs && want.kind() == 'l':
		err = c.link(c.from.root, c.root, at)
	case asIs && regular:
		err = c.file(c.from.root, c.root, at, now)
	case asIs:
		err = cmp.Or(err, errSwapped)
	case want.kind() == 'l':
		err = c.root.Symlink(c.leads(string(content)), at)
	default:
		perm := permOf(want)
		if regular && fileKind(now.Mode()) == want.kind() {
			perm = now.Mode().Perm()
		}
		err = c.root.WriteFile(at, content, 0o600)
		err = errors.Join(err, c.root.Chmod(at, perm))
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
