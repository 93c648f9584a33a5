package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

// ErrTooMany says that more files match a pattern than are wanted.
var ErrTooMany = errors.New("too many files match")

// Find lists the files and directories that a pattern names, sorted, without
// .git, .piton and, in a git repository, what git ignores. A directory is one
// that holds a file which is not left out. A pattern that leads out of the
// workspace, and one that nobody can read, is an error; so are more than most
// matches, and a name that is no UTF-8.
//
// It costs a listing of the workspace, whatever the pattern.
func (t *Tree) Find(ctx context.Context, pattern string, most int) ([]string, error) {
	name, ok := clean(pattern)
	if !ok {
		return nil, fmt.Errorf("%q is not a path inside the workspace", pattern)
	}
	if err := checkPattern(name); err != nil {
		return nil, fmt.Errorf("%q: %w", pattern, err)
	}
	_, names, err := t.list(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("list workspace: %w", err)
	}
	return found(t.root, guard{text: name, path: fixedDir(name), glob: true}, names, most)
}

// Below lists the files below a directory, sorted, without what [Tree.Find] leaves out:
// the first ones, at most most, and how many names there are besides. A name has the bytes
// that the system gives it. A directory outside the workspace is an error.
//
// It costs a listing of the workspace, whatever the directory.
func (t *Tree) Below(ctx context.Context, dir string, most int) (files []string, more int, err error) {
	top, ok := clean(dir)
	if !ok {
		return nil, 0, fmt.Errorf("%q is not a path inside the workspace", dir)
	}
	_, names, err := t.list(ctx, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("list workspace: %w", err)
	}
	for _, name := range names {
		if name == top || !below(name, top) || skipped(name) {
			continue
		}
		if len(files) == most {
			more++
			continue
		}
		file := disk(name)
		// Git knows what is gone still, and lists a repository in it as a file.
		if info, err := t.root.Lstat(filepath.FromSlash(file)); err == nil && !info.IsDir() {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files, more, nil
}

// found are the names, and the directories above them, that the glob matches
// and that are there.
func found(root *os.Root, g guard, names []string, most int) ([]string, error) {
	var list []string
	seen := map[string]bool{".": true}
	for _, name := range names {
		for _, candidate := range append(parents(name), name) {
			if seen[candidate] || skipped(candidate) {
				continue
			}
			seen[candidate] = true
			if !g.matches(candidate) {
				continue
			}
			file := disk(candidate)
			if !utf8.ValidString(file) {
				return nil, fmt.Errorf("the name %q is no UTF-8", file)
			}
			if _, err := root.Lstat(filepath.FromSlash(file)); errors.Is(err, fs.ErrNotExist) {
				continue // git knows it still
			}
			if list = append(list, file); len(list) > most {
				return nil, fmt.Errorf("%w: at most %d may", ErrTooMany, most)
			}
		}
	}
	slices.Sort(list)
	return list, nil
}
