package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
)

// kept is what early checks left in the caches of their homes: layers that later checks find
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

// add keeps what a child has left in its temporary files. Nothing of the child lives.
func (k *kept) add(s Spec) {
	upper := layerOf(s.Seal.Temp)
	if Variable(s.Env, "PYTHONPYCACHEPREFIX") == compiled(s.Seal.Home) { // a source is known by its size and time
		rel, err := filepath.Rel(resolved(s.Seal.Home), filepath.Join(compiled(resolved(s.Seal.Home)), resolved(s.Room.Dir)))
		if err != nil || RemoveAll(filepath.Join(upper, rel)) != nil {
			return
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	entries, err := os.ReadDir(upper)
	if k.over || err != nil || len(entries) == 0 || len(k.layers) == maxKept {
		return
	}
	k.made++
	layer := filepath.Join(filepath.Dir(s.Seal.Temp), "kept-"+strconv.Itoa(k.made))
	if os.Rename(upper, layer) == nil {
		k.layers = slices.Insert(k.layers, 0, layer)
	}
}

// layerOf is where a child's changes to what is copied in its home are.
func layerOf(temp string) string { return filepath.Join(temp, "layer-0", "up") }
