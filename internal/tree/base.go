package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A Base holds the digests of protected paths as they were when it was taken,
// absent ones included. It does not change and is safe for concurrent use.
type Base struct {
	content baseContent
	names   []string // keys of content.Files, sorted

	mu      sync.Mutex
	matched map[string][]string // what a glob covers; filled when first asked for
}

// baseContent is what a base is on the wire. A key is a path or path#part.
type baseContent struct {
	Files map[string]Digest   `json:"files"`
	Along map[string][]string `json:"along,omitempty"` // links: what else is protected with a path
	Whole map[string]Digest   `json:"whole,omitempty"` // the files of which only a part counts
	Names nameset             `json:"names,omitempty"` // of all files of the workspace
	// Banged are the names of files that may judge because of their first bytes, sorted.
	Banged []string `json:"banged,omitempty"`
}

func newBase(c baseContent) *Base {
	return &Base{content: c, names: slices.Sorted(maps.Keys(c.Files)), matched: map[string][]string{}}
}

// Encode returns the base's canonical bytes: the same base gives the same bytes.
func (b *Base) Encode() []byte { return encode(b.content) }

// DecodeBase reads what [Base.Encode] wrote.
func DecodeBase(body []byte) (*Base, error) {
	var c baseContent
	if err := decode(body, &c); err != nil {
		return nil, fmt.Errorf("decode protected base: %w", err)
	}
	for key, also := range c.Along {
		for _, name := range append(also, key) {
			if _, ok := c.Files[name]; !ok {
				return nil, fmt.Errorf("decode protected base: %q leads to what is not in it", key)
			}
		}
	}
	if len(c.Names)%nameSize != 0 {
		return nil, fmt.Errorf("decode protected base: %d bytes of names", len(c.Names))
	}
	for _, files := range []map[string]Digest{c.Files, c.Whole} {
		if err := checkDigests(files); err != nil {
			return nil, fmt.Errorf("decode protected base: %w", err)
		}
	}
	return newBase(c), nil
}

func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // maps of strings always can be
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func decode(body []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("something follows the end")
	}
	return nil
}

func checkDigests(files map[string]Digest) error {
	for name, d := range files {
		if !isName(name) || !d.valid() {
			return fmt.Errorf("%q with digest %q", name, d)
		}
	}
	return nil
}

// Over returns a base that protects what b does, as it was then, and beside
// that what only later holds.
func (b *Base) Over(later *Base) *Base {
	c := later.content.clone()
	c.Names, c.Banged = b.content.Names, b.content.Banged
	maps.Copy(c.Files, b.content.Files)
	maps.Copy(c.Whole, b.content.Whole)
	for from, to := range b.content.Along {
		all := slices.Concat(to, c.Along[from])
		slices.Sort(all)
		c.Along[from] = slices.Compact(all)
	}
	return newBase(c)
}

// clone has maps of its own, none of them nil.
func (c baseContent) clone() baseContent {
	c.Files, c.Along, c.Whole = maps.Collect(maps.All(c.Files)), maps.Collect(maps.All(c.Along)), maps.Collect(maps.All(c.Whole))
	return c
}

// Renew returns a base that has the files that are meant, and their parts, as later has them.
func (b *Base) Renew(later *Base, meant func(path string) bool) *Base {
	c := b.content.clone()
	maps.DeleteFunc(c.Files, func(path string, _ Digest) bool { return meant(path) })
	maps.DeleteFunc(c.Along, func(path string, _ []string) bool { return meant(path) })
	for path, d := range later.content.Files {
		if !meant(path) {
			continue
		}
		c.Files[path] = d
		if file, part := splitPart(path); part != "" {
			c.Whole[file] = later.content.Whole[file]
		}
		if also := later.content.Along[path]; len(also) > 0 {
			c.Along[path] = also
			for _, name := range also {
				c.Files[name] = later.content.Files[name]
			}
		}
	}
	return newBase(c)
}

// Digest is what path (or path#part) was, and false if it is not in the base.
func (b *Base) Digest(path string) (Digest, bool) {
	d, ok := b.content.Files[path]
	return d, ok
}

// cover returns the keys that some guards cover, sorted: those in the base, and
// those that moved into it later. Its cost is that of the answer, save that each
// glob is matched once against what lies in its directory.
func (b *Base) cover(gs []guard, moved map[string]string) ([]string, error) {
	found := map[string]bool{}
	for _, g := range gs {
		if g.glob {
			for _, key := range b.glob(g) {
				b.closure(key, found)
			}
			// A directory that was a link is protected with what it led to.
			if k := b.content.Files[g.path].kind(); k == 'l' || k == 'v' {
				b.closure(g.path, found)
			}
			continue
		}
		_, inBase := b.content.Files[g.key()]
		if _, later := moved[g.key()]; !inBase && !later {
			return nil, fmt.Errorf("guard %q is not in the protected base", g.text)
		}
		b.closure(g.key(), found)
	}
	for key := range moved {
		if !found[key] && slices.ContainsFunc(gs, func(g guard) bool { return g.covers(key) }) {
			found[key] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// closure adds key, what it leads to, and what is in it if it is a directory.
func (b *Base) closure(key string, found map[string]bool) {
	if found[key] {
		return
	}
	found[key] = true
	for _, next := range b.content.Along[key] {
		b.closure(next, found)
	}
	if b.content.Files[key] == directory {
		for _, n := range b.within(key) {
			b.closure(n, found)
		}
	}
}

// within returns the keys in a directory.
func (b *Base) within(dir string) []string {
	if dir == "." {
		return b.names
	}
	from, _ := slices.BinarySearch(b.names, dir+"/")
	to, _ := slices.BinarySearch(b.names, dir+"0") // '0' follows '/'
	return b.names[from:to]
}

// glob returns the files that a glob covers.
func (b *Base) glob(g guard) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if keys, ok := b.matched[g.text]; ok {
		return keys
	}
	var keys []string
	for _, n := range b.within(g.path) {
		if d := b.content.Files[n]; d != Absent && d.kind() != 'p' && g.matches(n) {
			keys = append(keys, n)
		}
	}
	b.matched[g.text] = keys
	return keys
}

// sortedByPath orders changes for a journal and for people.
func sortedByPath(cs []Change) []Change {
	slices.SortFunc(cs, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return cs
}
