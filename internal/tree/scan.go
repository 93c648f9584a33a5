package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
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
		names, ok, err := t.gitFiles(ctx)
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
		names = slices.DeleteFunc(names, func(name string) bool { return since.ignores(name) })
		names = append(names, since.names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ScopeHash returns a hash over what the guards and the scope of one step hold
// now: two checks that ran on trees of the same hash should give the same answer.
// It is "", not known, for a step without explicit `writes:`. guards and moved
// are as in [Base.Compare]. It costs a listing of the scope and a look at each
// file of both.
func (t *Tree) ScopeHash(ctx context.Context, b *Base, guards, writes []string, moved map[string]string) (string, error) {
	if len(writes) == 0 {
		return "", nil
	}
	keys, err := t.scopeKeys(ctx, b, guards, writes, moved)
	if err != nil {
		return "", fmt.Errorf("hash scope: %w", err)
	}
	ds, err := t.digests(ctx, keys, -1)
	if err != nil {
		return "", fmt.Errorf("hash scope: %w", err)
	}
	sum := sha256.New()
	for i, key := range keys {
		if ds[i] != Absent {
			fmt.Fprintf(sum, "%s\x00%s\x00\x00", key, ds[i])
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (t *Tree) scopeKeys(ctx context.Context, b *Base, guards, writes []string, moved map[string]string) ([]string, error) {
	gs, err := parseGuards(guards)
	if err != nil {
		return nil, err
	}
	keys, err := b.cover(gs, moved)
	if err != nil {
		return nil, err
	}
	s := scopeOf(writes)
	names, err := t.walk(ctx, s.dirs(), s.covers) // what git ignores too: a contract sees it
	if err != nil {
		return nil, err
	}
	for _, g := range s {
		if !g.glob {
			names = append(names, g.path)
		}
	}
	keys = append(append(keys, names...), s.dirs()...) // an empty directory is something too
	slices.Sort(keys)
	return slices.Compact(keys), nil
}
