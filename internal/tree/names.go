package tree

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sort"
)

// A nameset says which names were there: of each a hash, in order. Two names with the same
// hash make it hold one that was not there, and never miss one that was.
type nameset []byte

const nameSize = 8

func hashName(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// namesetOf takes names.
func namesetOf(names []string) nameset {
	all := make([]uint64, len(names))
	for i, name := range names {
		all[i] = hashName(name)
	}
	slices.Sort(all)
	set := make(nameset, 0, nameSize*len(all))
	for _, h := range all {
		set = binary.BigEndian.AppendUint64(set, h)
	}
	return set
}

func (s nameset) has(name string) bool {
	h, n := hashName(name), len(s)/nameSize
	at := func(i int) uint64 { return binary.BigEndian.Uint64(s[i*nameSize:]) }
	i := sort.Search(n, func(i int) bool { return at(i) >= h })
	return i < n && at(i) == h
}

// Had reports whether a file of this path below the workspace was there when the base was
// taken. It is true as well of what belongs to git and to Piton, and rarely of another.
func (b *Base) Had(path string) bool {
	name := wire(path)
	return skipped(name) || b.content.Names.has(name)
}
