package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// Change is a path that differs, as the journal has it.
type Change = engine.Change

// Protect takes the base that a run's steps are compared with, and keeps the
// contents of protected files of up to 8 MiB. guards are those of all steps of a
// program. Each is
//
//   - a path; that nothing is there is protected too, and of a directory the
//     files in it;
//   - a glob with *, **, ?, [a-z] and {a,b}, which protects the files that it
//     matches now. A file that appears later may, except below .git and .piton;
//   - file#part, which protects what configures a runner: of any .json the key
//     of that name (package.json#scripts), pyproject.toml#tool the tables
//     [tool.*] save the lists of dependencies, .git/config#run the
//     variables that make git run or redirect something, and the files that it
//     includes. A file that is not
//     well-formed is protected as a whole.
//
// It walks the directories of the globs once, without .git and .piton, and does
// not look at what git ignores. It costs the reading of each protected file. An
// error means that a guard is malformed or that the workspace cannot be read.
func (t *Tree) Protect(ctx context.Context, guards []string) (*Base, error) {
	return t.protect(ctx, guards, false)
}

// protect takes a base, with what may judge or without.
func (t *Tree) protect(ctx context.Context, guards []string, judges bool) (*Base, error) {
	gs, err := parseGuards(guards)
	if err != nil {
		return nil, err
	}
	globs, dirs := globsOf(gs)
	names, err := t.walk(ctx, dirs, globs.match)
	if err != nil {
		return nil, fmt.Errorf("take protected base: %w", err)
	}
	var b baseContent
	if judges {
		all, err := t.walk(ctx, []string{"."}, func(string) bool { return true })
		if err != nil {
			return nil, fmt.Errorf("take the names of the workspace's files: %w", err)
		}
		var more []string
		if more, b.Banged, err = t.candidates(ctx, all); err != nil {
			return nil, err
		}
		b.Names, names = namesetOf(all), append(names, more...)
	}
	f := &finder{ctx: ctx, t: t, c: t.cursor(ctx, -1), found: map[string]bool{}, along: map[string][]string{}}
	defer f.c.close()
	for _, g := range gs {
		if !g.glob {
			f.add(g.key())
		}
	}
	for _, name := range names {
		f.add(name)
	}
	if err := f.followAll(dirs); err != nil {
		return nil, fmt.Errorf("take protected base: %w", err)
	}
	return t.base(ctx, f, b)
}

// base takes the digests of everything that a finder found.
func (t *Tree) base(ctx context.Context, f *finder, b baseContent) (*Base, error) {
	keys := slices.Sorted(maps.Keys(f.found))
	ds, err := t.digests(ctx, keys, keepProtected)
	if err != nil {
		return nil, fmt.Errorf("take protected base: %w", err)
	}
	b.Files, b.Along, b.Whole = make(map[string]Digest, len(keys)), f.along, map[string]Digest{}
	var whole []string
	for i, key := range keys {
		b.Files[key] = ds[i]
		if file, part := splitPart(key); part != "" {
			whole = append(whole, file)
		}
	}
	whole = slices.Compact(whole)
	if ds, err = t.digests(ctx, whole, keepProtected); err != nil {
		return nil, fmt.Errorf("take protected base: %w", err)
	}
	for i, file := range whole {
		b.Whole[file] = ds[i]
	}
	return newBase(b), nil
}

// globset finds the globs that could match a name by the directory they are for.
type globset map[string][]guard

// globsOf takes the globs out of gs, with the directories to be walked for them.
// The literals stay for their own paths.
func globsOf(gs []guard) (globset, []string) {
	globs := globset{}
	for _, g := range gs {
		if g.glob {
			globs[g.path] = append(globs[g.path], g)
		}
	}
	dirs := make([]string, 0, len(globs))
	for dir := range globs {
		dirs = append(dirs, walked(dir))
	}
	return globs, dirs
}

// walked is what is looked at of a directory: of .git only the hooks, for the
// rest of it is git's own business.
func walked(dir string) string {
	if dir == ".git" {
		return ".git/hooks"
	}
	return dir
}

func (s globset) match(name string) bool {
	return slices.ContainsFunc(append(parents(name), name), func(dir string) bool {
		return slices.ContainsFunc(s[dir], func(g guard) bool { return g.matches(name) })
	})
}

// A finder collects the keys of a base. Where a path is a link, or lies behind
// one, it goes on with what that leads to; of a directory it takes the files.
type finder struct {
	ctx   context.Context
	t     *Tree
	c     *cursor
	todo  []string
	found map[string]bool
	along map[string][]string
}

func (f *finder) add(key string) {
	if !f.found[key] {
		f.found[key] = true
		f.todo = append(f.todo, key)
	}
}

// lead notes that whoever protects from protects to.
func (f *finder) lead(from, to string) {
	if from != to && !slices.Contains(f.along[from], to) {
		f.along[from] = append(f.along[from], to)
	}
	f.add(to)
}

// followAll goes on from what was added, and from those of dirs that are links
// or lie behind one: a walk found nothing there.
func (f *finder) followAll(dirs []string) error {
	for _, dir := range dirs {
		if s, err := f.c.trace(dir); err != nil {
			return err
		} else if s.link != "" {
			f.add(dir)
		}
	}
	for len(f.todo) > 0 {
		key := f.todo[len(f.todo)-1]
		f.todo = f.todo[:len(f.todo)-1]
		if err := f.follow(key); err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) follow(key string) error {
	file, part := splitPart(key)
	if repo := f.t.origin().repo; repo != nil && below(file, ".git") {
		f.lead(key, ".git") // which may lead to another one
		if own := repo.alone(file); own != "" {
			f.lead(key, own)
		}
	}
	if isGitConfig(file) {
		if err := f.include(key, file, maxIncludes); err != nil {
			return err
		}
	}
	s, err := f.c.trace(file)
	switch {
	case err != nil:
		return err
	case s.link != "":
		f.lead(key, s.link)
		if next, ok := f.t.resolve(s.link, s.target); ok && s.target != "" {
			next = join(next, strings.TrimPrefix(strings.TrimPrefix(file, s.link), "/"))
			f.lead(key, guard{path: strings.TrimSuffix(next, "/"), part: part}.key())
		}
	case s.dir && part == "":
		names, err := f.t.walk(f.ctx, []string{walked(file)}, func(string) bool { return true })
		for _, name := range names {
			f.add(name)
		}
		return err
	}
	return nil
}

// maxIncludes is how deep git lets its configuration files include others.
const maxIncludes = 10

// isGitConfig reports whether git reads a file of its own as configuration.
func isGitConfig(file string) bool {
	base := baseOf(file)
	return below(file, ".git") && (base == "config" || base == "config.worktree")
}

// include protects with key the files that one of git's configuration includes, on
// whatever condition. What is malformed git does not read either.
func (f *finder) include(key, file string, depth int) error {
	if depth == 0 {
		return nil
	}
	opened, info, err := f.c.open(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > maxManifest {
		return nil
	} else if err != nil {
		_, err = unreachable(file, err)
		return err
	}
	text, err := f.c.all(opened, info.Size())
	_ = opened.Close() // it was only read
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	all, _ := settings(text)
	for _, s := range all {
		if s.key != "path" || s.section != "include" && s.section != "includeif" {
			continue
		}
		if next, ok := f.t.resolve(file, s.value); ok && s.value != "" && next != file {
			f.lead(key, next)
			if err := f.include(key, next, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve returns where a link leads, if that is inside the workspace or its
// repository.
func (t *Tree) resolve(link, target string) (string, bool) {
	t = t.ownerOf(link)
	apart := t.repo != nil && below(link, ".git")
	if !apart && !filepath.IsAbs(target) {
		return clean(path.Join(path.Dir(link), wire(filepath.ToSlash(target))))
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(t.repo.at.common, disk(path.Dir(strings.TrimPrefix(link, ".git/"))), target)
	}
	if apart {
		if rel, err := filepath.Rel(t.repo.at.common, target); err == nil && filepath.IsLocal(rel) {
			return clean(".git/" + wire(filepath.ToSlash(rel)))
		}
	}
	rel, err := filepath.Rel(t.dir, target)
	if err != nil {
		return "", false
	}
	return clean(wire(filepath.ToSlash(rel)))
}
