package tree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/proc"
)

// Executables finds the files that names of commands stand for, on one search
// path. Only what may lie outside of the system's directories is looked for:
// those are no matter of a workspace's. It is safe for concurrent use.
type Executables struct {
	dirs  []string
	mixed bool // some are not the system's
	cache *cache

	mu     sync.Mutex
	system map[string]bool // directories that were looked at
}

// NewExecutables searches directories in their order.
func NewExecutables(dirs []string) *Executables {
	x := &Executables{dirs: dirs, cache: newCache(), system: map[string]bool{}}
	x.mixed = slices.ContainsFunc(dirs, func(dir string) bool { return !x.ofSystem(dir) })
	return x
}

// ofSystem is [ofSystem], asked once of each directory.
func (x *Executables) ofSystem(dir string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	is, known := x.system[dir]
	if !known {
		is = ofSystem(dir)
		x.system[dir] = is
	}
	return is
}

// Find returns the file that a name, or an absolute path, stands for, with the
// digest of its content where it is not the system's: "" if there is none, or if
// it lies in the system's directories and nothing else is searched before them.
func (x *Executables) Find(name string) string {
	if filepath.IsAbs(name) && x.ofSystem(filepath.Dir(name)) || !filepath.IsAbs(name) && !x.mixed {
		return ""
	}
	file, err := proc.Find(name, x.dirs)
	if err != nil || x.ofSystem(filepath.Dir(file)) {
		return file
	}
	return file + " " + string(x.digest(file))
}

// Add finds those of names that found does not have yet.
func (x *Executables) Add(found map[string]string, names []string) {
	for _, name := range names {
		if _, known := found[name]; known {
			continue
		}
		if is := x.Find(name); is != "" {
			found[name] = is
		}
	}
}

// FileOf is the file of what Find returned.
func FileOf(found string) string {
	if i := strings.LastIndexByte(found, ' '); i >= 0 && Digest(found[i+1:]).valid() {
		return found[:i]
	}
	return found
}

// digest is that of a file's content, read again only where the file looks different.
func (x *Executables) digest(file string) Digest {
	info, err := os.Stat(file)
	if err != nil {
		return unreadable
	}
	id, known := identify(info)
	if d, ok := x.cache.get(file, id); ok && known {
		return d
	}
	began := time.Now()
	f, err := os.Open(file)
	if err != nil {
		return unreadable
	}
	defer f.Close()
	sum, err := sumOf(context.Background(), f, info.Size())
	if err != nil {
		return unreadable
	}
	d := Digest("x:" + sum)
	if known {
		x.cache.put(file, id, d, began)
	}
	return d
}

// liesIn reports a directory that is root, or lies in it.
func liesIn(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && filepath.IsLocal(rel)
}
