package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Stamps tell for each file and directory of a workspace what changes with every
// write to it, whatever was written. A directory ends in "/".
type Stamps map[string]string

// Stamps looks at what [Tree.Scan] would look at, and reads none of it. What
// Piton itself writes is left out: its output, and the document that it marks.
// young lists what was written to so shortly before that another write might not
// be seen, and the directory of the document, whose stamp says nothing.
func (t *Tree) Stamps(ctx context.Context, document string) (all Stamps, young []string, err error) {
	m, names, err := t.list(ctx, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the workspace: %w", err)
	}
	document = inside(document)
	names = slices.DeleteFunc(t.apart(&m, names, nil), func(name string) bool { return skipped(name) || name == document })
	home := path.Dir(document) + "/"
	for _, dir := range directories(names) {
		if dir != home || document == "" {
			names = append(names, dir)
		}
	}
	stamps, now := make([]identity, len(names)), time.Now()
	err = t.some(ctx, 0, len(names), -1, func(c *cursor, i int) error {
		info := c.info(strings.TrimSuffix(names[i], "/"))
		if names[i] == "./" {
			info, _ = t.root.Stat(".")
		}
		if info != nil {
			stamps[i] = stamp(info)
		}
		return nil
	})
	all = make(Stamps, len(names))
	for i, id := range stamps {
		if id == (identity{}) {
			continue
		}
		all[names[i]] = fmt.Sprintf("%x.%x.%x.%x", id.ino, id.size, id.ctime, id.mode)
		if !id.settled(now) {
			young = append(young, names[i])
		}
	}
	if document != "" {
		young = append(young, home)
	}
	return all, young, err
}

// inside is the document where it lies in the workspace. Of one that does not,
// nothing is left out.
func inside(document string) string {
	if !filepath.IsLocal(filepath.FromSlash(document)) {
		return ""
	}
	return document
}

// info is what is known of a path, nil where that cannot be reached.
func (c *cursor) info(name string) fs.FileInfo {
	dir, err := c.enter(name)
	if err != nil || dir.root == nil {
		return nil
	}
	info, err := lstat(dir.root, baseOf(name))
	if err != nil {
		return nil
	}
	return info
}

// stamp is the identity of a file, as far as the system tells it.
func stamp(info fs.FileInfo) identity {
	id, ok := identify(info)
	if !ok {
		id = identity{size: info.Size(), ctime: info.ModTime().UnixNano(), mode: uint32(info.Mode())}
	}
	return id
}

// directories are those that names lie in, each with a slash behind it.
func directories(names []string) []string {
	all := map[string]bool{"./": true}
	for _, name := range names {
		for _, dir := range parents(name) {
			all[dir+"/"] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Encode returns the canonical bytes of the stamps.
func (s Stamps) Encode() []byte { return encode(s) }

// DecodeStamps reads what [Stamps.Encode] wrote.
func DecodeStamps(body []byte) (s Stamps, err error) {
	err = decode(body, &s)
	return s, err
}

// Touched lists what was written to, made or removed since the stamps were taken.
func (s Stamps) Touched(now Stamps) []string {
	var list []string
	for name, stamp := range s {
		if now[name] != stamp {
			list = append(list, name)
		}
	}
	for name := range now {
		if _, was := s[name]; !was {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// soon is how long it may take to find out that nothing was touched.
const soon = 250 * time.Millisecond

// errTouched ends a walk.
var errTouched = errors.New("something was touched")

// Untouched reports whether nothing in the workspace and its repository was written to,
// made or removed since then. It is false as well where nobody can say so soon, as where
// the repository lies elsewhere. It costs a look at each file, what git ignores included,
// up to the first that was touched.
func (t *Tree) Untouched(ctx context.Context, since time.Time, document string) bool {
	if t.repo != nil || t.home != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	document = inside(document)
	return nil == filepath.WalkDir(t.dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errTouched
		}
		rel, err := filepath.Rel(t.dir, file)
		if err != nil {
			return err
		}
		switch name := wire(filepath.ToSlash(rel)); name {
		case ".piton", ".git/objects":
			return fs.SkipDir
		case document:
			return nil
		}
		info, err := e.Info()
		if err != nil || stamp(info).ctime >= since.UnixNano() {
			return errTouched
		}
		return nil
	})
}

// Digests says what is at each path now: in a file, in the list of a directory
// (dir/), or in all that is below one (dir/**).
func (t *Tree) Digests(ctx context.Context, watch []string, document string) (map[string]string, error) {
	all := make(map[string]string, len(watch))
	document = inside(document)
	for _, name := range watch {
		d, err := t.watched(ctx, name, document)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", name, err)
		}
		all[name] = d
	}
	return all, nil
}

func (t *Tree) watched(ctx context.Context, name, document string) (string, error) {
	if !isName(strings.TrimSuffix(strings.TrimSuffix(name, "**"), "/")) {
		return "", errors.New("that is no path in the workspace")
	}
	if dir, deep := strings.CutSuffix(name, "/**"); deep {
		names, err := t.walk(ctx, []string{dir}, func(name string) bool { return name != document && !t.isOutput(name) })
		if err != nil {
			return "", err
		}
		ds, err := t.digests(ctx, names, -1)
		sum := sha256.New()
		for i, d := range ds {
			fmt.Fprintf(sum, "%s\x00%s\x00\x00", names[i], d)
		}
		return hex.EncodeToString(sum.Sum(nil)), err
	}
	if dir, listed := strings.CutSuffix(name, "/"); listed {
		return t.listing(ctx, dir, document)
	}
	ds, err := t.digests(ctx, []string{name}, -1)
	if err != nil {
		return "", err
	}
	return string(ds[0]), nil
}

// listing is what a directory holds, less what Piton makes in it.
func (t *Tree) listing(ctx context.Context, dir, document string) (string, error) {
	c := t.cursor(ctx, -1)
	defer c.close()
	l, err := c.enter(join(dir, "x"))
	if err != nil || l.root == nil {
		return "", err
	}
	entries, err := readDir(l.root)
	sum := sha256.New()
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		// A document is written under another name first; see [durable.Write].
		name := join(dir, e.Name())
		if !skipped(name) && name != document && !strings.HasPrefix(name, join(dir, "."+path.Base(document)+".")) {
			fmt.Fprintf(sum, "%s\x00%s\x00", e.Name(), e.Type())
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}
