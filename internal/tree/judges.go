package tree

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/piton-dev/piton/internal/judge"
)

// Rules by which a file may judge that its name does not tell.
const (
	executableRule = "executable"
	hashBangRule   = "begins with #!"
)

// Base takes the base of a run: what guards protect, as [Tree.Protect] does, and with
// its content whatever may turn out to judge. It looks at every file once, and reads
// those that may judge.
func (t *Tree) Base(ctx context.Context, guards []string) (*Base, error) {
	return t.protect(ctx, guards, true)
}

// candidates are the keys of what may judge among some names, and those of which only
// the first bytes say so.
func (t *Tree) candidates(ctx context.Context, names []string) (keys, banged []string, err error) {
	const none, plain, banging = 0, 1, 2
	kinds := make([]byte, len(names))
	err = t.each(ctx, len(names), -1, func(c *cursor, i int) error {
		if rule, _ := judge.Of(names[i]); rule != "" {
			kinds[i] = plain
			return nil
		}
		if judge.InFilled(names[i]) {
			return nil
		}
		executable, bang, err := c.runs(names[i])
		if executable {
			kinds[i] = plain
		} else if bang {
			kinds[i] = banging
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("look for what may judge: %w", err)
	}
	for i, name := range names {
		if parts := judge.Keys(name); len(parts) > 0 {
			keys = append(keys, parts...)
			continue
		}
		if kinds[i] != none {
			keys = append(keys, name)
		}
		if kinds[i] == banging {
			banged = append(banged, name)
		}
	}
	return keys, banged, nil
}

// runs reports whether a file is executable, or begins with #!. One that is too large to
// be kept is neither.
func (c *cursor) runs(name string) (executable, bang bool, err error) {
	dir, err := c.enter(name)
	if err != nil || dir.root == nil {
		return false, false, err
	}
	info, err := lstat(dir.root, baseOf(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() < 2 || info.Size() > keepProtected {
		return false, false, nil
	}
	if fileKind(info.Mode()) == 'x' {
		return true, false, nil
	}
	f, err := openFile(dir.root, baseOf(name), info)
	if err != nil {
		return false, false, nil
	}
	defer f.Close()
	var head [2]byte
	_, err = io.ReadFull(f, head[:])
	return false, err == nil && string(head[:]) == "#!", nil
}

// Judges are the keys of the base by which a file that was opened judges, and the rule
// that says so; none where it does not, or was not there when the base was taken.
func (b *Base) Judges(path string) (keys []string, rule string) {
	file := wire(path)
	if !b.Had(path) || skipped(file) {
		return nil, ""
	}
	for _, key := range judge.Keys(file) {
		if _, ok := b.content.Files[key]; ok {
			keys = append(keys, key)
		}
	}
	if len(keys) > 0 {
		return keys, string(judge.Manifest)
	}
	d, ok := b.content.Files[file]
	if rule = b.rule(file, d); !ok || rule == "" {
		return nil, ""
	}
	return []string{file}, rule
}

func (b *Base) rule(file string, d Digest) string {
	rule, _ := judge.Of(file)
	switch {
	case rule != "":
		return rule
	case judge.InFilled(file):
		return ""
	case d.kind() == 'x':
		return executableRule
	}
	if _, bang := slices.BinarySearch(b.content.Banged, file); bang {
		return hashBangRule
	}
	return ""
}

// RuleOf says by which rule what a key names judges.
func (b *Base) RuleOf(key string) string {
	file, part := splitPart(key)
	if part != "" {
		return string(judge.Manifest) + ": " + baseOf(file) + "#" + part
	}
	return b.rule(file, b.content.Files[file])
}

// Same reports whether a file is as the base has it, or as moved has it. What the base
// does not have is not.
func (b *Base) Same(ctx context.Context, t *Tree, path string, moved map[string]string) (bool, error) {
	file := wire(path)
	was, ok := b.content.Whole[file]
	if d, in := b.content.Files[file]; in {
		was, ok = d, true
	}
	if d, in := moved[file]; in {
		was, ok = Digest(d), true
	}
	if !ok {
		return false, nil
	}
	ds, err := t.digests(ctx, []string{file}, -1)
	return err == nil && ds[0] == was, err
}

// Has are those of some keys under which there is anything now.
func (t *Tree) Has(ctx context.Context, keys []string) (has []string, err error) {
	slices.Sort(keys)
	ds, err := t.digests(ctx, keys, -1)
	for i, d := range ds {
		if d != Absent {
			has = append(has, keys[i])
		}
	}
	return has, err
}
