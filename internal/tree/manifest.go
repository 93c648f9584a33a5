package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Manifest holds the digests of all files of a workspace at one moment. The
// zero Manifest is one that was never taken.
type Manifest struct {
	// Files has the digest of every path that is no directory, and "d" for
	// directories that could not be looked into. With Git it has .git and
	// .git/info/exclude too, which say what is ignored.
	Files map[string]Digest `json:"files"`
	// Git says that what git ignores was left out.
	Git bool `json:"git,omitempty"`
	// Ignored are the files and whole directories that git ignored. What is
	// there is no addition once git stops ignoring it.
	Ignored []string `json:"ignored,omitempty"`
	// Output are the files that Piton itself printed to (see [Tree.Output]): left out
	// too, here and in what is compared with this manifest.
	Output []string `json:"output,omitempty"`
}

// Encode returns the manifest's canonical bytes: the same files give the same bytes.
func (m Manifest) Encode() []byte { return encode(m) }

// DecodeManifest reads what [Manifest.Encode] wrote.
func DecodeManifest(body []byte) (Manifest, error) {
	var m Manifest
	if err := decode(body, &m); err != nil {
		return Manifest{}, fmt.Errorf("decode manifest: %w", err)
	}
	if err := checkDigests(m.Files); err != nil {
		return Manifest{}, fmt.Errorf("decode manifest: %w", err)
	}
	for _, name := range slices.Concat(m.Ignored, m.Output) {
		if !isName(name) {
			return Manifest{}, fmt.Errorf("decode manifest: %q is left out", name)
		}
	}
	return m, nil
}

// Diff returns what changed from a to b, sorted by path.
func Diff(a, b Manifest) []Change {
	var out []Change
	for name, was := range a.Files {
		if is := b.digest(name); is != was {
			out = append(out, Change{Path: name, What: what(was, is)})
		}
	}
	for name, is := range b.Files {
		if _, ok := a.Files[name]; !ok && is != Absent {
			out = append(out, Change{Path: name, What: "added"})
		}
	}
	return sortedByPath(out)
}

// OutOfScope returns the changes that a plan's `writes:` do not cover. An entry
// that names a file or a directory covers it and all that is below; any other is
// a glob, which covers the paths it matches and no more. Names are compared byte
// for byte. No entries are no scope: then nothing is outside.
func OutOfScope(changes []Change, writes []string) []Change {
	if len(writes) == 0 {
		return nil
	}
	s := scopeOf(writes)
	var out []Change
	for _, c := range changes {
		if file, _ := splitPart(c.Path); !s.covers(file) && !s.covers(c.Path) {
			out = append(out, c)
		}
	}
	return out
}

// IgnoreRules returns the changes of files that say what git ignores.
func IgnoreRules(changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return !strings.EqualFold(baseOf(c.Path), ".gitignore") && c.Path != ".git/info/exclude"
	})
}

// Hides reports whether git ignores something that it did not ignore, or that was
// not there, in an earlier manifest.
func (m Manifest) Hides(before Manifest) bool {
	return slices.ContainsFunc(m.Ignored, func(name string) bool {
		return !before.Ignores(name)
	})
}

// Ignores reports whether git ignored a path, or a directory that it is in.
func (m Manifest) Ignores(name string) bool {
	return slices.ContainsFunc(append(parents(name), name), func(up string) bool {
		_, is := slices.BinarySearch(m.Ignored, up)
		return is
	})
}

// digest is that of a path, which may not be there.
func (m Manifest) digest(name string) Digest { return cmp.Or(m.Files[name], Absent) }
