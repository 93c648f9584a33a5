package tree

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/durable"
)

// repository returns the repository that a directory belongs to, its own or one
// of a directory above it, and the top of that one's files.
func repository(of string) (gitDir, workTree string) {
	for dir := of; ; dir = filepath.Dir(dir) {
		gitDir = filepath.Join(dir, ".git")
		if _, err := os.Lstat(gitDir); err == nil {
			return gitDir, dir
		} else if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", ""
		}
	}
}

// Partly says what of the checkout around dir a worktree would not have, or have otherwise,
// as far as files of its repository tell; "" for nothing.
func Partly(dir string) string {
	gitDir, top := repository(dir)
	if gitDir == "" {
		return ""
	}
	own := gitDir
	if at, err := locate(top); err == nil && at.own != "" {
		own = at.own
	}
	if _, err := os.Lstat(filepath.Join(top, ".gitmodules")); err == nil {
		return "the repository has submodules"
	}
	common := commonDir(gitDir)
	for _, file := range []string{filepath.Join(own, "config.worktree"), filepath.Join(common, "config")} {
		if config, err := durable.ReadFile(file, maxText); err == nil && bytes.Contains(bytes.ToLower(config), []byte("sparsecheckout = true")) {
			return "the checkout is sparse"
		}
	}
	for _, file := range []string{filepath.Join(top, ".gitattributes"), filepath.Join(common, "info", "attributes")} {
		if text, err := durable.ReadFile(file, maxText); err == nil && bytes.Contains(text, []byte("filter=")) {
			return "git filters files of the repository, as Git LFS does"
		}
	}
	return ""
}

// InRepository reports whether a git repository is around a directory.
func InRepository(dir string) bool {
	gitDir, _ := repository(dir)
	return gitDir != ""
}

// Common is the directory of git that all worktrees of the repository around a directory
// share. It is "" where there is none, or none that looks like one.
func Common(dir string) string {
	file, _ := repository(dir)
	at, err := locate(dir)
	if file == "" || err != nil {
		return ""
	}
	common := cmp.Or(at.common, file)
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(common, name)); err != nil {
			return ""
		}
	}
	return common
}

// elsewhere is the repository of a workspace that does not have it in a directory
// .git of its own: the workspace lies below the top, in a linked worktree or in a
// submodule. Its files have the names that they would have in such a directory.
type elsewhere struct {
	at     located
	common *os.Root // what all its worktrees share
}

// located is where a repository is: by that it is known again.
type located struct {
	file   string // the .git that leads to it
	common string // the directory that all its worktrees share
	own    string // the directory of this worktree alone, which may be the same
}

// locate finds the repository of a directory as git does. It is the zero value
// where that is an own directory .git, or there is none.
func locate(dir string) (located, error) {
	file, top := repository(dir)
	if file == "" {
		return located{}, nil
	}
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return located{}, err
	case info.IsDir() && top == dir, info.Mode().Type() == fs.ModeSymlink:
		return located{}, nil
	case info.IsDir():
		return located{file, file, file}, nil
	}
	own, err := named(file, "gitdir: ", top)
	if err != nil {
		return located{}, err
	}
	common, err := named(filepath.Join(own, "commondir"), "", own)
	if errors.Is(err, fs.ErrNotExist) {
		common, err = own, nil
	}
	return located{file, common, own}, err
}

// sound finds the repository that a .git leads to, and fails where something sends git on to
// another one, which may have any configuration: a filter in it is a program. Git itself
// writes such a file in a linked worktree only, and there it leads to the repository that
// the worktree belongs to.
func sound(gitDir string) (common string, err error) {
	own := gitDir
	if info, err := os.Stat(gitDir); err == nil && !info.IsDir() {
		if own, err = named(gitDir, "gitdir: ", filepath.Dir(gitDir)); err != nil {
			return "", err
		}
	}
	leads := filepath.Join(own, "commondir")
	switch common, err = named(leads, "", own); {
	case errors.Is(err, fs.ErrNotExist):
		return own, nil
	case err != nil:
		return "", err
	case filepath.Base(filepath.Dir(own)) != "worktrees" || common != filepath.Dir(filepath.Dir(own)):
		return "", fmt.Errorf("%s leads git to %s; remove it if you did not make it", leads, common)
	}
	if mine, err := durable.ReadFile(filepath.Join(own, "config.worktree"), maxText); err == nil { // git copies it
		if theirs, _ := durable.ReadFile(filepath.Join(common, "config.worktree"), maxText); !bytes.Equal(mine, theirs) {
			return "", fmt.Errorf("%s is not that of the repository; remove it if you did not make it", filepath.Join(own, "config.worktree"))
		}
	}
	if _, err := os.Lstat(filepath.Join(common, "commondir")); err == nil {
		return "", fmt.Errorf("%s leads git elsewhere; remove it if you did not make it", filepath.Join(common, "commondir"))
	}
	return common, nil
}

// belongs fails unless a .git leads to the same repository as another one.
func belongs(gitDir, to string) error {
	common, err := sound(to)
	if err != nil || gitDir == to {
		return err
	}
	mine, err := sound(gitDir)
	if err != nil {
		return err
	}
	a, err := os.Stat(mine)
	b, err2 := os.Stat(common)
	if err = errors.Join(err, err2); err == nil && !os.SameFile(a, b) {
		err = fmt.Errorf("%s leads git to %s, and its repository is %s", gitDir, mine, common)
	}
	return err
}

// named reads the path that a file of git's names, relative to dir.
func named(file, prefix, dir string) (string, error) {
	body, err := durable.ReadFile(file, maxText)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(body), "\r\n"), prefix)
	if !ok || path == "" {
		return "", fmt.Errorf("%s names no directory: %w", file, fs.ErrNotExist)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path), nil
}

// openElsewhere opens the repository of a directory, if it is not its own .git.
// One that cannot be found is none: then the file that leads to it is what counts.
func openElsewhere(dir string) (*elsewhere, error) {
	at, err := locate(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	if err != nil || at == (located{}) {
		return nil, nil
	}
	common, err := os.OpenRoot(at.common)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the repository of %s: %w", dir, err)
	}
	return &elsewhere{at, common}, nil
}

func (e *elsewhere) close() error {
	if e == nil {
		return nil
	}
	return e.common.Close()
}

// enter goes to the repository, unless another one is used in dir by now.
func (e *elsewhere) enter(dir string) (level, error) {
	l := level{name: ".git"}
	if now, err := locate(dir); err != nil || now != e.at {
		l.link, l.block = l.name, digestOf('v', []byte(l.name+"\x00"+now.file+"\x00"+now.common+"\x00"+now.own))
		return l, nil //nolint:nilerr // it is not what it was, whatever it is
	}
	root, err := e.common.OpenRoot(".")
	l.root = root
	return l, err
}

// alone returns the name below .git of what git keeps for this worktree alone
// where others have the same below .git, or "".
func (e *elsewhere) alone(name string) string {
	const base = "config.worktree"
	if name != ".git/"+base {
		return ""
	}
	rel, err := filepath.Rel(e.at.common, filepath.Join(e.at.own, base))
	if err != nil || !filepath.IsLocal(rel) || rel == base {
		return ""
	}
	return ".git/" + wire(filepath.ToSlash(rel))
}

// origin is the Tree whose repository this one has: of a worktree, that of the
// workspace it was made from.
func (t *Tree) origin() *Tree {
	for t.home != nil {
		t = t.home
	}
	return t
}

// ownerOf is the Tree that has what a name says.
func (t *Tree) ownerOf(name string) *Tree {
	if below(name, ".git") {
		return t.origin()
	}
	return t
}
