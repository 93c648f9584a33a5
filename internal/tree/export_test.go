package tree

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"os"
)

// Extract returns the part of a manifest that counts.
func Extract(file, part string, text []byte) ([]byte, error) {
	return formatOf(file, part).extract(text, part)
}

// Splice returns a manifest with another part in it.
func Splice(file, name string, text, part []byte) ([]byte, error) {
	return formatOf(file, name).splice(text, part, name)
}

// Digest says what a path of the workspace is now.
func (t *Tree) Digest(name string) (Digest, error) {
	ds, err := t.digests(context.Background(), []string{name}, -1)
	return append(ds, Absent)[0], err
}

// Matches reports whether a guard covers a name, and false for a malformed one.
func Matches(text, name string) bool {
	g, err := parseGuard(text)
	return err == nil && g.covers(name)
}

// Covers reports whether a scope covers a name.
func Covers(writes []string, name string) bool { return scopeOf(writes).covers(name) }

// Wire and Disk turn file names into the form used here and back.
func Wire(name string) string { return wire(name) }

// Disk undoes Wire.
func Disk(name string) string { return disk(name) }

// During lets f be told of each moment while a merge is written.
func (w *Worktree) During(f func(moment string)) { w.during = f }

// A Keep holds contents.
type Keep = keep

// OpenKeep opens a directory of contents.
func OpenKeep(dir string) (*Keep, error) { return openKeep(dir, newSyncer()) }

// Put, Get, Has and Flush are the keep's own.
func (k *keep) Put(sum string, content []byte) error { return k.put(sum, content) }

// Get is get.
func (k *keep) Get(sum string) ([]byte, error) { return k.get(sum) }

// Flush is flush.
func (k *keep) Flush() error { return k.flush() }

// CopyInto writes a file where the file system has no links.
func CopyInto(dir *os.Root, base string, in io.Reader) error {
	return newSyncer().copyInto(dir, base, 0o644, in)
}

// Syncs asks f before each file and directory of the workspace, its keep and its quarantine is
// made safe on disk, which is not done if f fails.
func (t *Tree) Syncs(f func(name string) error) { t.sync.ask(f) }

// Syncs is that of a Tree, for a keep alone.
func (k *keep) Syncs(f func(name string) error) { k.sync.ask(f) }

func (s *syncer) ask(f func(name string) error) {
	real := newSyncer()
	s.file = func(of *os.File) error { return cmp.Or(f(of.Name()), real.file(of)) }
	s.dir = func(of *os.Root) error { return cmp.Or(f(of.Name()), real.dir(of)) }
}

// File copies the regular file that info describes, as a copy does.
func (c *Copy) File(ctx context.Context, in, out *os.Root, name string, info fs.FileInfo) error {
	c.ctx = ctx
	return c.file(in, out, name, info)
}

// Counted is what a copy counts against its limits.
func (c *Copy) Counted() (files int, bytes int64) { return c.files, c.bytes }
