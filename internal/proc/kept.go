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

// add keeps what a child has left in its caches. Nothing of the child lives.
func (k *kept) add(s Spec) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over || len(k.layers) == maxKept {
		return
	}
	upper, found := layerOf(s.Seal.Temp), false
	layer := filepath.Join(filepath.Dir(s.Seal.Temp), "kept-"+strconv.Itoa(k.made+1))
	for _, name := range Kept {
		from, to := filepath.Join(upper, name), filepath.Join(layer, name)
		if plain(upper, name) && os.MkdirAll(filepath.Dir(to), 0o755) == nil && os.Rename(from, to) == nil {
			found = true
		}
	}
	if found {
		k.made++
		k.layers = slices.Insert(k.layers, 0, layer)
	}
}

// plain reports a directory in another one, with no link on the way, that is not empty.
func plain(dir, name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		dir = filepath.Join(dir, part)
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// layerOf is where a child's changes to what is copied in its home are.
func layerOf(temp string) string { return filepath.Join(temp, "layer-0", "up") }
