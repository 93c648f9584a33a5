package tree

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
)

// Compare returns what the paths that guards cover are other than they were,
// sorted by path. guards are those of one step, and must be among those that the
// base was taken for. moved overrides the base: it holds the digests of paths
// that finished steps were allowed to change (see [Base.Moved]).
//
// What the step's explicit `writes:` cover is among the changes; [Base.Tampered]
// leaves it out. It costs a look at each covered path, whatever the size of the base.
// An error means that the answer is not known: the workspace cannot be read.
func (b *Base) Compare(ctx context.Context, t *Tree, guards []string, moved map[string]string) ([]Change, error) {
	gs, err := parseGuards(guards)
	if err != nil {
		return nil, err
	}
	keys, err := b.cover(gs, moved)
	if err != nil {
		return nil, err
	}
	more, err := b.additions(ctx, t, gs, moved)
	if err != nil {
		return nil, fmt.Errorf("compare protected files: %w", err)
	}
	keys = append(keys, more...)
	slices.Sort(keys)
	ds, err := t.digests(ctx, keys, -1)
	if err != nil {
		return nil, fmt.Errorf("compare protected files: %w", err)
	}
	var out []Change
	for i, key := range keys {
		if was := b.was(key, moved); was != ds[i] {
			out = append(out, Change{Path: key, What: what(was, ds[i])})
		}
	}
	return out, nil
}

// Scopes say what a step may write. Of what the base has they allow it only what
// Opens covers, the part of Writes that a person has named (see [engine.Step.Opens]), of
// what may judge only what Opens names letter by letter, and nothing of what Never
// covers: guards that hold whatever the step writes.
type Scopes struct{ Writes, Opens, Never []string }

// Tampered is [Base.Compare] for a step with explicit `writes:`: what those open
// the step may change, protected or not, and what is new since the base was taken
// and lies in them. Guards that lie in what is opened as a whole still count: a
// plan has them only as the step's own `protect:`, which says more than its
// `writes:`.
func (b *Base) Tampered(ctx context.Context, t *Tree, guards []string, may Scopes, moved map[string]string) ([]Change, error) {
	guards = slices.Concat(guards, may.Never)
	cs, err := b.Compare(ctx, t, guards, moved)
	if err != nil || len(may.Writes) == 0 {
		return cs, err
	}
	gs, err := parseGuards(guards)
	if err != nil {
		return nil, err
	}
	opens := scopeOf(may.Opens)
	gs = slices.DeleteFunc(gs, func(g guard) bool { return !opens.covers(g.pattern()) })
	allowed := b.allowed(may)
	return slices.DeleteFunc(cs, func(c Change) bool {
		own := slices.ContainsFunc(gs, func(g guard) bool { return g.covers(c.Path) })
		return allowed(c.Path) && !own
	}), nil
}

// Changed is [Base.Compare] for a workspace in which either will do: what a path was when the
// base was taken, or what finished steps were allowed to make of it. The workspace that a run's
// worktree was made from has the latter only after a merge.
func (b *Base) Changed(ctx context.Context, t *Tree, guards []string, moved map[string]string) ([]Change, error) {
	changed, err := b.Compare(ctx, t, guards, nil)
	if err != nil || len(changed) == 0 || len(moved) == 0 {
		return changed, err
	}
	other, err := b.Compare(ctx, t, guards, moved)
	return slices.DeleteFunc(changed, func(c Change) bool {
		return !slices.ContainsFunc(other, func(o Change) bool { return o.Path == c.Path })
	}), err
}

// allowed reports whether a step with these scopes may change what a key names.
func (b *Base) allowed(may Scopes) func(key string) bool {
	opens, writes, never := scopeOf(may.Opens), scopeOf(may.Writes), scopeOf(may.Never)
	return func(key string) bool {
		file, _ := splitPart(key)
		_, inBase := b.content.Files[key]
		if inBase && b.RuleOf(key) != "" && !opens.names(file) {
			return false
		}
		return opens.covers(file) && !(inBase && never.covers(file)) || !inBase && writes.covers(file)
	}
}

// was is what a key must be: what a finished step made of it, or what it was.
func (b *Base) was(key string, moved map[string]string) Digest {
	if d, ok := moved[key]; ok {
		return Digest(d)
	}
	return cmp.Or(b.content.Files[key], Absent)
}

// additions returns files that are new where a new file counts.
func (b *Base) additions(ctx context.Context, t *Tree, gs []guard, moved map[string]string) ([]string, error) {
	gs = slices.DeleteFunc(slices.Clone(gs), func(g guard) bool { return !g.additive() })
	dirs := make([]string, len(gs))
	for i, g := range gs {
		dirs[i] = walked(g.path)
	}
	return t.walk(ctx, dirs, func(name string) bool { return b.added(name, gs, moved) })
}

// added reports whether guards cover name, which the base and moved do not have.
func (b *Base) added(name string, gs []guard, moved map[string]string) bool {
	_, inBase := b.content.Files[name]
	_, later := moved[name]
	return !inBase && !later && slices.ContainsFunc(gs, func(g guard) bool { return g.covers(name) })
}

// Moved returns what a step that is done has made of protected paths that its
// explicit `writes:` open: those that differ, and new files that guards cover.
// From then on they are protected as they are now. guards are those of the whole
// program; contents are kept. It walks the step's scope once.
func (b *Base) Moved(ctx context.Context, t *Tree, guards []string, may Scopes, moved map[string]string) (map[string]string, error) {
	gs, err := parseGuards(guards)
	if err != nil {
		return nil, err
	}
	s := scopeOf(may.Writes)
	keys := b.inScope(s, moved)
	allowed := b.allowed(may)
	opens, guarded := scopeOf(may.Opens), map[string]bool{}
	for _, g := range gs {
		guarded[g.key()] = !g.glob
	}
	maps.DeleteFunc(keys, func(key string, _ bool) bool {
		file, _ := splitPart(key)
		return !allowed(key) || guarded[key] && !opens.names(file)
	})
	mine := func(name string) bool { return s.covers(name) && b.added(name, gs, moved) }
	more, err := t.walk(ctx, s.dirs(), mine)
	if err != nil {
		return nil, fmt.Errorf("move protected base: %w", err)
	}
	for _, g := range s {
		if !g.glob && mine(g.path) {
			more = append(more, g.path)
		}
	}
	for _, name := range more {
		keys[name] = true
	}
	sorted := slices.Sorted(maps.Keys(keys))
	ds, err := t.digests(ctx, sorted, keepProtected)
	if err != nil {
		return nil, fmt.Errorf("move protected base: %w", err)
	}
	now := map[string]string{}
	for i, key := range sorted {
		if ds[i] != b.was(key, moved) {
			now[key] = string(ds[i])
		}
	}
	return now, nil
}

// inScope returns the protected keys that a scope covers.
func (b *Base) inScope(s scope, moved map[string]string) map[string]bool {
	keys := map[string]bool{}
	add := func(key string) {
		if file, _ := splitPart(key); s.covers(file) {
			keys[key] = true
		}
	}
	for _, g := range s {
		for _, key := range b.within(g.path) {
			add(key)
		}
		for _, key := range b.withParts(g.path) {
			add(key)
		}
	}
	for key := range moved {
		add(key)
	}
	return keys
}

// withParts returns the keys of one file: itself and its parts.
func (b *Base) withParts(file string) []string {
	from, _ := slices.BinarySearch(b.names, file+"#")
	to, _ := slices.BinarySearch(b.names, file+"$") // '$' follows '#'
	keys := slices.Clone(b.names[from:to])
	if _, ok := b.content.Files[file]; ok {
		keys = append(keys, file)
	}
	return keys
}
