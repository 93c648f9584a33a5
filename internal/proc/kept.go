package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Kept are the caches of [Tools] that early checks leave to others. In each an entry has the
// digest of all that it was made of, or its own, for a name. What a check runs may be an
// agent's of another run: so there is no directory here in which programs, start-up files,
// unpacked packages or answers of other checks lie.
var Kept = []string{".cache/ccache", ".cache/go-build", ".npm/_cacache"}

// kept is what early checks left in these caches: layers that later checks find
// below their own, and nobody changes any more. None is added once a child was there that is
// no check: what checks run from then on may be its, and could leave answers for others.
type kept struct {
	mu     sync.Mutex
	over   bool
	made   int
	layers []string // the newest first
}

// maxKept is how many layers are kept: each makes every start slower.
const maxKept = 8

func (k *kept) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
}

func (k *kept) list() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.layers)
}

// drop removes all.
func (k *kept) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, layer := range k.layers {
		_ = RemoveAll(layer) // the next owner removes what is left
	}
	k.layers, k.over = nil, true
}

// keeps reports whether what a child leaves in its caches is for other checks. One that is
// fixed was read by nobody.
func (s *Spec) keeps() bool {
	return s.Seal != nil && s.Room != nil && s.Room.Checks && s.Room.Early && !s.Room.Fixed
}

// add keeps what a child has left in its caches. Nothing of the child lives. One that was
// ended counts too: tools tell an entry that they could not finish.
func (k *kept) add(s Spec) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over || len(k.layers) == maxKept {
		return
	}
	found := false
	layer := filepath.Join(filepath.Dir(s.Seal.Temp), "kept-"+strconv.Itoa(k.made+1))
	for _, name := range Kept {
		from, to := cacheOf(s.Seal.Temp, name), filepath.Join(layer, name)
		if left, err := os.ReadDir(from); err == nil && len(left) > 0 && os.MkdirAll(filepath.Dir(to), 0o755) == nil && os.Rename(from, to) == nil {
			found = true
		}
	}
	if found {
		k.made++
		k.layers = slices.Insert(k.layers, 0, layer)
	}
}

// cold lists the caches that a child found empty and filled.
func (s *Spec) cold() (list []string) {
	if s.Seal == nil || s.Seal.Temp == "" {
		return nil
	}
	for _, path := range s.Seal.Made {
		name, err := filepath.Rel(s.Seal.Home, path)
		if err != nil || empty(cacheOf(s.Seal.Temp, name)) || !empty(path) {
			continue
		}
		if !slices.ContainsFunc(s.Seal.Kept, func(layer string) bool { return !empty(filepath.Join(layer, name)) }) {
			list = append(list, "~/"+filepath.ToSlash(name))
		}
	}
	return list
}

// empty reports a cache with nothing in its directories, or none.
func empty(dir string) bool {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if inner, err := os.ReadDir(filepath.Join(dir, e.Name())); e.IsDir() && err == nil && len(inner) > 0 {
			return false
		}
	}
	return true
}

// cacheOf is where a child's changes to a cache of its home are, by the name of that.
func cacheOf(temp, name string) string {
	return filepath.Join(temp, "cache-"+strings.ReplaceAll(name, "/", "-"), "up")
}
