package proc

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Cell is what all rooms of a pool have in common.
type Cell struct {
	Level    Isolation // the level in force, which must be one that can be had; "" is none
	Hidden   []string  // what no child sees: the state, the home
	Writable []string  // what every child may change besides
	Visible  []string  // what every child may read besides
	Git      string    // the directory of git, where it lies outside of a child's directory; "" is none
	Temp     string    // a directory for what rooms need while a child is in it; must exist
}

// A Room is the part of the machine that a child works in, as surely as the level in
// force can hold it there. It has a home of its own, with what programs need of the
// person's, see [Tools], and directories of its own for temporary files.
type Room struct {
	Dir      string   // the workspace, or a worktree: may be changed
	Writable []string // may be changed too, where it exists
	Login    []string // by name in the home: may be changed there, where it exists
	Obeyed   []string // by name in the home: read only, also in a Login; of FILE#KEY see [loan.obeyed]
	Checks   bool     // the child judges the work of others
	Early    bool     // nobody has worked yet: what checks leave in caches that are [Kept], other checks find
	// Fixed: of all that is not the child's own only Writable may be changed, which no link
	// leads to, and Dir not either. Only a sealed child can be held so.
	Fixed bool
}

// Tools are what programs need of a home, by name in it. A child can change them, and what
// it changes is gone with it, but for what checks leave in those that are [Kept] before anybody
// has worked.
var Tools = []string{
	".asdf", ".bun", ".cabal", ".cache/bazel", ".cache/ccache", ".cache/deno", ".cache/go-build", ".cache/golangci-lint",
	".cache/ms-playwright", ".cache/node", ".cache/pip", ".cache/pnpm", ".cache/pre-commit", ".cache/pypoetry", ".cache/uv",
	".cache/yarn", ".cache/zig", ".cargo", ".conda", ".deno", ".dotnet", ".elan", ".gem", ".ghcup", ".gradle", ".ivy2",
	".julia", ".juliaup", ".local/bin", ".local/lib", ".local/pipx", ".local/share/mise", ".local/share/pnpm", ".local/share/uv",
	".m2", ".mix", ".npm", ".nuget/packages", ".nvm", ".opam", ".pnpm-store", ".pub-cache", ".pyenv", ".rbenv", ".rustup",
	".sdkman", ".stack", ".volta", ".yarn", "go", "miniconda3",
}

// Secrets are what lies in these and is hidden all the same.
var Secrets = []string{
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".gradle/gradle.properties", ".m2/settings-security.xml", ".m2/settings.xml",
}

// Settings are what programs read of a home besides.
var Settings = []string{".config/git/config", ".config/git/ignore", ".gitconfig"}

// Isolation is the level in force for children in a [Room].
func (p *Pool) Isolation() Isolation {
	return cmp.Or(p.cell.Level, LevelNone)
}

var errNotSealed = errors.New("processes are not sealed here")

// Holds says why no child can be held in a room that is [Room.Fixed] and offline, nil if one
// can.
func (p *Pool) Holds() error {
	if p.Isolation() != LevelSealed {
		return errNotSealed
	}
	return p.Offline()
}

// confine holds a child in its room. done is to be called when nothing of the child lives.
func (p *Pool) confine(s *Spec) (level Isolation, done func(), err error) {
	done = func() {}
	if s.Room == nil || s.Seal != nil || s.Writable != nil {
		return held(*s), done, nil
	}
	level = p.Isolation()
	switch {
	case s.Room.Fixed && level != LevelSealed:
		return level, done, errNotSealed
	case level == LevelNone:
		return level, done, nil
	}
	if !s.Room.Checks {
		p.kept.end()
	}
	temp, err := os.MkdirTemp(p.cell.Temp, "room-")
	if err != nil {
		return level, done, err
	}
	done = func() { _ = RemoveAll(temp) } // the next owner removes what is left
	if level == LevelSealed {
		if s.loans, err = p.cell.seal(s, temp); err == nil && s.Room.Checks {
			s.Seal.Kept = p.kept.list()
		}
		return level, done, err
	}
	return level, done, p.cell.fence(s, temp)
}

// held is the level at which a child is that has no room.
func held(s Spec) Isolation {
	switch {
	case s.Seal != nil:
		return LevelSealed
	case s.Writable != nil:
		return LevelFenced
	}
	return LevelNone
}

func (c Cell) seal(s *Spec, temp string) (loans []loan, err error) {
	home, room := Variable(s.Env, "HOME"), *s.Room
	var obeyed []string
	if !room.Fixed {
		if loans, room.Login, err = c.lend(home, temp, room.Login); err != nil {
			return nil, err
		}
		for _, name := range room.Obeyed {
			file, key, part := strings.Cut(name, "#")
			if i := slices.IndexFunc(loans, func(l loan) bool { return l.name == file }); part && i >= 0 {
				loans[i].obeyed = append(loans[i].obeyed, key)
			} else {
				obeyed = append(obeyed, file) // one that is not lent is read only as a whole
			}
		}
	}
	dirs := SearchPath(s.Env)
	seal := &Seal{
		Hidden: slices.Concat(c.Hidden, under(home, Secrets)), Home: home, Temp: temp,
		Visible: slices.Concat(c.Visible, under(home, Settings), under(home, obeyed), trees(dirs, home, s.Room.Dir)), Copied: under(home, Tools),
		Writable: c.writable(room, home),
	}
	if s.Room.Fixed {
		seal.Exact = s.Room.Writable
	}
	if o, err := resolve(*s); err == nil {
		seal.Visible = append(seal.Visible, Installed(o.path, home, s.Room.Dir)...)
	}
	seal.Visible = append(seal.Visible, c.git(s.Room.Dir), top(s.Room.Dir, home), s.Room.Dir)
	s.Env = with(s.Env, "TMPDIR=/tmp")
	s.Seal = seal
	if s.Room.Checks {
		s.asks(home)
	}
	return loans, nil
}

// asks has the caches of checks apart from those that lie beside a source, or tell two
// sources apart by size and time alone.
func (s *Spec) asks(home string) {
	s.Seal.Made = under(home, Kept)
	if Variable(s.Env, "PYTHONPYCACHEPREFIX") == "" {
		s.Env = with(s.Env, "PYTHONPYCACHEPREFIX="+compiled(home))
	}
	if flags := Variable(s.Env, "GOFLAGS"); !strings.Contains(flags, "-count") {
		s.Env = with(s.Env, strings.TrimRight("GOFLAGS=-count=1 "+flags, " "))
	}
}

// compiled is where a check has what Python compiles: it would take the place of a source
// from a directory of the workspace. It is gone with the check.
func compiled(home string) string {
	if home == "" {
		return "/tmp/python"
	}
	return filepath.Join(home, ".cache", "piton-python")
}

// fence leaves to a child what is in its room, temporary files elsewhere, and what programs
// keep in the home. One without a login has a home of its own that leads there.
func (c Cell) fence(s *Spec, temp string) error {
	own, tmp := filepath.Join(temp, "home"), filepath.Join(temp, "tmp")
	if err := cmp.Or(os.Mkdir(own, 0o700), os.Mkdir(tmp, 0o700)); err != nil {
		return err
	}
	home := Variable(s.Env, "HOME")
	tools := present(under(home, Tools))
	s.Writable = append(slices.Concat(c.writable(*s.Room, home), tools, present(terminals)), temp)
	s.Env = with(s.Env, "TMPDIR="+tmp)
	if len(s.Room.Login) > 0 {
		return nil
	}
	for _, path := range append(tools, present(under(home, Settings))...) {
		rel, err := filepath.Rel(home, path)
		if err != nil {
			return err
		}
		at := filepath.Join(own, rel)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Symlink(path, at)); err != nil {
			return err
		}
	}
	s.Env = with(s.Env, "HOME="+own)
	return nil
}

// terminals are the devices, and the shared memory, that programs write to.
var terminals = []string{"/dev/full", "/dev/ptmx", "/dev/pts", "/dev/shm", "/dev/tty", "/dev/zero"}

// present leaves out what is not there.
func present(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}

// with is an environment with a variable set.
func with(env []string, set string) []string {
	name, _, _ := strings.Cut(set, "=")
	rest := slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, name+"=") })
	return append(rest, set)
}

// writable is what a child may change of what is there, and its directory, unless that is
// fixed.
func (c Cell) writable(r Room, home string) []string {
	if r.Fixed {
		return nil
	}
	all := slices.Concat(c.Writable, r.Writable, under(home, r.Login))
	if git := c.git(r.Dir); git != "" {
		for _, dir := range under(git, []string{"objects", "worktrees"}) { // no branch: its own worktree has none
			if info, err := os.Lstat(dir); err == nil && info.IsDir() { // a child may have put a link there
				all = append(all, dir)
			}
		}
	}
	return append(present(all), r.Dir)
}

// git is the directory of git that a child in dir needs besides.
func (c Cell) git(dir string) string {
	if c.Git == "" || Within(dir, c.Git) {
		return ""
	}
	return c.Git
}

// top is the top of the checkout that a directory lies in, for what lies beside it there;
// "" where that holds the home too.
func top(dir, home string) string {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil && !Within(dir, home) {
			return dir
		}
	}
	return ""
}

// inside reports whether a path lies in a directory by its name.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func under(dir string, names []string) []string {
	var paths []string
	for _, name := range names {
		if path := filepath.Join(dir, name); dir != "" && filepath.IsLocal(name) {
			paths = append(paths, path)
		}
	}
	return paths
}

// trees are the directories of PATH with what they belong to: that above a directory for
// programs, unless it is a home, or one of those that hold all. What lies in the child's own
// directory can be seen as it is: a link there may lead anywhere.
func trees(dirs []string, home, own string) []string {
	var all []string
	for _, dir := range dirs {
		if inside(own, dir) {
			continue
		}
		above := filepath.Dir(dir)
		switch filepath.Base(dir) {
		case "bin", "sbin", "shims", ".bin":
			if strings.Count(above, "/") > 1 && resolved(above) != resolved(home) {
				dir = above
			}
		}
		all = append(all, dir)
	}
	return all
}

// Installed is what a program in the home needs to start: each link on the way to it, and the
// package that it belongs to. Nothing of one that the child's own directory leads to: a link
// there may lead anywhere.
func Installed(file, home, own string) (all []string) {
	const most = 40 // links, as the system has it
	for range most {
		if inside(own, file) {
			return nil
		}
		if inside(home, file) {
			all = append(all, file)
		}
		to, err := os.Readlink(file)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(resolved(filepath.Dir(file)), to)
		}
		file = to
	}
	if file = resolved(file); Within(own, file) || !Within(home, file) {
		return all
	}
	return append(all, packageOf(file, resolved(home)))
}

// Installation is the directory of what a file in the home was installed with, or the file
// itself where that would be the home.
func Installation(file, home string) string {
	if dir := packageOf(file, home); dir != "" {
		return dir
	}
	if dir := filepath.Dir(file); dir != home && inside(home, dir) {
		return dir
	}
	return file
}

// packageOf is the directory of what a file in the home was installed with, "" for none below
// the home. It is the outermost node_modules above the file. Else it is where the nearest
// package.json is, or what a directory for programs lies in.
func packageOf(file, home string) (dir string) {
	for above := filepath.Dir(file); above != home && inside(home, above); above = filepath.Dir(above) {
		if filepath.Base(above) == "node_modules" {
			dir = above
		} else if _, err := os.Lstat(filepath.Join(above, "package.json")); err == nil && dir == "" {
			dir = above
		}
	}
	if above := filepath.Dir(file); dir == "" && filepath.Base(above) == "bin" && filepath.Dir(above) != home && above != home {
		dir = filepath.Dir(above)
	}
	return dir
}

// RemoveAll removes a directory, with what was made hard to remove in it: package caches are
// read-only trees.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) // before the walk reads it; what cannot be removed is said then
		}
		return nil
	})
	return cmp.Or(os.RemoveAll(dir), err)
}
