package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What of the files that git ignores a worktree begins with.
const (
	ignoredFiles = 50_000
	ignoredBytes = 1 << 30
	ignoredTime  = 20 * time.Second
)

// An ignored entry is a file or a directory of which git ignores all.
type ignored struct {
	name  string // below the top of the repository, as git writes it
	files int
	bytes int64
}

// bringIgnored copies what git ignores in the checkout into the worktree: dependencies, build
// caches, settings of this machine. Small entries come first, and what is beyond the bounds
// stays away: it returns the names of that. Nothing of Piton or of git itself is copied, and
// nothing that is in the worktree is written over.
func (w *Worktree) bringIgnored(ctx context.Context) (left []string, err error) {
	list, err := w.ask(ctx, nil, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, ignoredTime)
	defer cancel()
	c := &Copy{from: w.home, Dir: w.Dir(), ctx: within}
	in, err := os.OpenRoot(w.top)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := os.OpenRoot(w.dir)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	all := weigh(within, w.top, w.worth(list))
	room := ignored{files: ignoredFiles, bytes: ignoredBytes}
	for _, e := range all {
		if e.files > room.files || e.bytes > room.bytes || within.Err() != nil {
			left = append(left, wire(e.name))
			continue
		}
		if err := c.bring(in, out, e.name); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			left = append(left, wire(e.name))
			if err := out.RemoveAll(e.name); err != nil {
				return nil, fmt.Errorf("take back half of a copy: %w", err)
			}
			continue
		}
		room.files, room.bytes = room.files-e.files, room.bytes-e.bytes
	}
	slices.Sort(left)
	return left, ctx.Err()
}

// ofRuns are what of the directory .piton belongs to the workspace, and is read by runs.
var ofRuns = []string{"config.yaml", "agents", "memories", "topics"}

// worth lists those of the names that belong into a worktree.
func (w *Worktree) worth(list string) []string {
	mine, err := filepath.Rel(w.top, w.root())
	var names []string
	for name := range strings.SplitSeq(list, "\x00") {
		name = strings.TrimSuffix(name, "/")
		parts := strings.Split(name, "/")
		switch {
		case name == "" || !filepath.IsLocal(filepath.FromSlash(name)):
		case name == path.Join(w.sub(), ".piton"):
			for _, own := range ofRuns {
				if _, err := os.Lstat(filepath.Join(w.top, filepath.FromSlash(name), own)); err == nil {
					names = append(names, filepath.Join(filepath.FromSlash(name), own))
				}
			}
		case slices.Contains(parts, ".git") || slices.Contains(parts, ".piton") && !slices.Contains(ofRuns, parts[len(parts)-1]):
		case err == nil && (liesIn(name, mine) || liesIn(mine, name)):
		default:
			names = append(names, filepath.FromSlash(name))
		}
	}
	return names
}

// weigh sorts the names by how much there is of each, the smallest first. One that is more
// than a worktree may get is not looked at to its end.
func weigh(ctx context.Context, top string, names []string) []ignored {
	var all []ignored
	for _, name := range names {
		e := ignored{name: name}
		_ = filepath.WalkDir(filepath.Join(top, name), func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // nobody may read it, or it is gone: it is not copied either
			}
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				e.bytes += info.Size()
			}
			if e.files++; e.files > ignoredFiles || e.bytes > ignoredBytes || ctx.Err() != nil {
				e.files = ignoredFiles + 1
				return fs.SkipAll
			}
			return nil
		})
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b ignored) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), strings.Compare(a.name, b.name))
	})
	return all
}

// bring copies one file, link or directory, where there is nothing yet.
func (c *Copy) bring(in, out *os.Root, name string) error {
	if _, err := out.Lstat(name); err == nil {
		return nil
	}
	info, err := in.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := out.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return c.entry(in, out, filepath.ToSlash(name), info, func(string) bool { return false })
}
