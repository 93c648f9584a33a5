package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Scan takes the manifest of the workspace, without .git, .piton, and, in a git
// repository, what git ignores: by .gitignore and .git/info/exclude, and not by
// anyone's own settings. Contents of up to 1 MiB are kept.
//
// since is the manifest that the new one will be compared with, nil if there is
// none. Its paths are looked at even where git ignores them by now, and whether git
// was asked then decides whether it is asked now: so nobody hides a change by having
// it ignored, or by making or breaking a repository. (A file that is new and ignored
// is no change to anyone.)
//
// Where git was asked and cannot be any more, only the paths of since are looked
// at and .git is a change.
//
// It costs a look at each file, and the reading of each that looks other than
// when this Tree last read it.
func (t *Tree) Scan(ctx context.Context, since *Manifest) (Manifest, error) {
	m, err := t.scan(ctx, since)
	if err != nil {
		return Manifest{}, fmt.Errorf("scan workspace: %w", err)
	}
	return m, nil
}

func (t *Tree) scan(ctx context.Context, since *Manifest) (Manifest, error) {
	m, names, err := t.list(ctx, since)
	if err != nil {
		return Manifest{}, err
	}
	nested, err := t.fill(ctx, m, t.apart(&m, names, since))
	if err != nil || !m.Git {
		return m, err
	}
	// Of repositories inside of this one git lists the directory, not the files.
	names, err = t.walk(ctx, nested, func(name string) bool {
		_, known := m.Files[name]
		return !known
	})
	for _, name := range nested {
		delete(m.Files, name)
	}
	if err == nil {
		_, err = t.fill(ctx, m, t.apart(&m, names, since))
	}
	return m, err
}

// fill puts the digests of names in m, and returns those that are directories.
func (t *Tree) fill(ctx context.Context, m Manifest, names []string) (dirs []string, err error) {
	ds, err := t.digests(ctx, names, keepScanned)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if ds[i] == Absent {
			continue
		}
		m.Files[name] = ds[i]
		if ds[i] == directory && name != ".git" {
			dirs = append(dirs, name)
		}
	}
	return dirs, nil
}

// list returns the paths that a scan looks at, and a manifest to be filled.
func (t *Tree) list(ctx context.Context, since *Manifest) (Manifest, []string, error) {
	m := Manifest{Files: map[string]Digest{}}
	if since == nil || since.Git {
		names, ok, err := t.ask(ctx, kept...)
		if err == nil && ok {
			m.Git = true
			m.Ignored, err = t.gitIgnored(ctx)
		}
		if err != nil || ok {
			return m, sift(append(names, ".git", ".git/info/exclude"), since), err
		}
	}
	if since != nil && since.Git {
		m = Manifest{Files: map[string]Digest{".git": broken}, Git: true, Ignored: since.Ignored}
		if d, ok := since.Files[".git/info/exclude"]; ok {
			m.Files[".git/info/exclude"] = d
		}
		return m, slices.DeleteFunc(sift(nil, since), func(name string) bool { return below(name, ".git") }), nil
	}
	names, err := t.walk(ctx, []string{"."}, func(string) bool { return true })
	return m, sift(names, since), err
}

// sift drops from names what was ignored when since was taken, adds its paths, and sorts.
func sift(names []string, since *Manifest) []string {
	if since != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return since.Ignores(name) })
		names = slices.AppendSeq(names, maps.Keys(since.Files))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Print returns a hash over the workspace as something that began then found it: its
// files, but for those that git ignores and opened does not name, where the repository
// stands, and nothing that was written to since. Two prints that are equal are of trees
// on which a check should give the same answer. document is as in [Tree.Stamps]. It costs
// what [Tree.Scan] does, and keeps nothing.
func (t *Tree) Print(ctx context.Context, opened []string, document string, began time.Time) (string, error) {
	names, err := t.printed(ctx, opened, inside(document), began)
	if err != nil {
		return "", fmt.Errorf("look at the workspace: %w", err)
	}
	ds, err := t.digests(ctx, names, -1)
	if err != nil {
		return "", fmt.Errorf("read the workspace: %w", err)
	}
	sum := sha256.New()
	for i, name := range names {
		if ds[i] != Absent {
			fmt.Fprintf(sum, "%s\x00%s\x00\x00", name, ds[i])
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (t *Tree) printed(ctx context.Context, opened []string, document string, began time.Time) ([]string, error) {
	m, names, err := t.list(ctx, nil)
	if err != nil {
		return nil, err
	}
	refs, err := t.walk(ctx, []string{".git/refs"}, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	names = slices.Concat(t.apart(&m, names, nil), opened, refs, []string{".git/HEAD", ".git/index", ".git/logs/HEAD", ".git/packed-refs"})
	slices.Sort(names)
	names = slices.Compact(names)
	written := make([]bool, len(names))
	err = t.some(ctx, 0, len(names), -1, func(c *cursor, i int) error {
		info := c.info(names[i])
		written[i] = info != nil && stamp(info).ctime > began.UnixNano()
		return nil
	})
	var kept []string
	for i, name := range names {
		if !written[i] && name != document {
			kept = append(kept, name)
		}
	}
	return kept, err
}
