package tree

import (
	"path/filepath"
	"slices"
	"sync"
)

// outputs are the files of a workspace that Piton itself prints to.
type outputs struct {
	mu    sync.Mutex
	names []string // sorted
}

// Output says that Piton itself prints to the file at an absolute path. If that is in
// the workspace, what happens to the path is nobody's change from then on: whoever
// gives the file another name has made that one.
func (t *Tree) Output(path string) {
	rel, err := filepath.Rel(t.dir, path)
	name := wire(filepath.ToSlash(rel))
	if err != nil || !filepath.IsLocal(rel) || skipped(name) {
		return
	}
	t.prints.mu.Lock()
	defer t.prints.mu.Unlock()
	if at, known := slices.BinarySearch(t.prints.names, name); !known {
		t.prints.names = slices.Insert(t.prints.names, at, name)
	}
}

func (t *Tree) outputs() []string {
	t.prints.mu.Lock()
	defer t.prints.mu.Unlock()
	return slices.Clone(t.prints.names)
}

func (t *Tree) isOutput(name string) bool { return slices.Contains(t.outputs(), name) }

// apart leaves Piton's own output out of names and notes it in m, where it is as
// since has it.
func (t *Tree) apart(m *Manifest, names []string, since *Manifest) []string {
	own := t.outputs()
	if since != nil {
		own = append(own, since.Output...)
	}
	if len(own) == 0 {
		return names
	}
	slices.Sort(own)
	m.Output = slices.Compact(own)
	return slices.DeleteFunc(names, func(name string) bool {
		_, found := slices.BinarySearch(m.Output, name)
		if found && since != nil {
			if was, known := since.Files[name]; known {
				m.Files[name] = was
			}
		}
		return found
	})
}
