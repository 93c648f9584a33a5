package tree

import (
	"context"
	"os"
	"slices"
	"sync"
)

// outputs are the files of a workspace that Piton itself prints to.
type outputs struct {
	mu     sync.Mutex
	known  []os.FileInfo
	sought []os.FileInfo // of the known, by the next scan
	names  []string      // sorted
}

// Output says that Piton itself prints to a file, wherever that is. Where the next
// scan finds it in the workspace, what happens to the path is nobody's change from
// then on: whoever gives the file another name has made that one.
func (t *Tree) Output(file os.FileInfo) {
	t.prints.mu.Lock()
	defer t.prints.mu.Unlock()
	if !among(t.prints.known, file) {
		t.prints.known = append(t.prints.known, file)
		t.prints.sought = append(t.prints.sought, file)
	}
}

// outputs are those of Piton's own files that were found among names, now or before.
func (t *Tree) outputs(ctx context.Context, names []string) ([]string, error) {
	t.prints.mu.Lock()
	defer t.prints.mu.Unlock()
	if len(t.prints.sought) > 0 && len(names) > 0 {
		err := t.some(ctx, 0, len(names), -1, func(c *cursor, i int) error {
			if info := c.info(names[i]); info != nil && among(t.prints.sought, info) {
				t.prints.names = append(t.prints.names, names[i])
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		t.prints.sought = nil
		slices.Sort(t.prints.names)
		t.prints.names = slices.Compact(t.prints.names)
	}
	return slices.Clone(t.prints.names), nil
}

// isOutput reports whether a path was found to be output of Piton.
func (t *Tree) isOutput(name string) bool {
	t.prints.mu.Lock()
	defer t.prints.mu.Unlock()
	return slices.Contains(t.prints.names, name)
}

// seeks reports whether there is output that was not looked for.
func (t *Tree) seeks() bool {
	t.prints.mu.Lock()
	defer t.prints.mu.Unlock()
	return len(t.prints.sought) > 0
}

func among(files []os.FileInfo, file os.FileInfo) bool {
	return slices.ContainsFunc(files, func(f os.FileInfo) bool { return os.SameFile(f, file) })
}

// info is what is known of a path, nil where that cannot be reached.
func (c *cursor) info(name string) os.FileInfo {
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
