package verify

import (
	"slices"
	"strings"
)

// MaxDepth is how deep sub-plans may be nested: a plan may be delegated to by
// one that is delegated to, and so on, this many times.
const MaxDepth = 8

// Descent says what is wrong with the way in which documents delegate to each
// other, beginning with root: for each document, by the path that it delegates
// to. above are the documents that led to root, the outermost first. The cost is
// linear in what names holds.
func Descent(root string, above []string, names map[string][]string) map[string]map[string]Subplan {
	d := &descent{names: names, at: map[string]int{}, found: map[string]map[string]Subplan{}}
	d.stack = slices.Clone(above)
	for i, name := range above {
		d.at[name] = i
	}
	d.walk(root)
	d.measure(root, above)
	return d.found
}

type descent struct {
	names map[string][]string
	stack []string
	at    map[string]int // place in the stack; left is one that was
	after []string       // documents, each behind all that it delegates to
	found map[string]map[string]Subplan
}

const left = -1

func (d *descent) walk(name string) {
	d.at[name] = len(d.stack)
	d.stack = append(d.stack, name)
	for _, next := range d.names[name] {
		switch at, seen := d.at[next]; {
		case !seen:
			d.walk(next)
		case at != left:
			d.note(name, next, Subplan{Cycle: chain(append(slices.Clone(d.stack[at:]), next))})
		}
	}
	d.stack = d.stack[:len(d.stack)-1]
	d.at[name] = left
	d.after = append(d.after, name)
}

func (d *descent) note(name, next string, s Subplan) {
	if d.found[name] == nil {
		d.found[name] = map[string]Subplan{}
	}
	d.found[name][next] = s
}

// measure finds the delegations that are too deep, on the longest way to each
// document.
func (d *descent) measure(root string, above []string) {
	depth, by := map[string]int{root: len(above)}, map[string]string{}
	for _, name := range slices.Backward(d.after) {
		for _, next := range d.names[name] {
			switch {
			case d.found[name][next].Cycle != "":
			case depth[name] >= MaxDepth:
				d.note(name, next, Subplan{Deep: chain(append(append(slices.Clone(above), way(by, name)...), next))})
			case depth[name]+1 > depth[next]:
				depth[next], by[next] = depth[name]+1, name
			}
		}
	}
}

// way leads to a document from the root.
func way(by map[string]string, name string) []string {
	names := []string{name}
	for up, ok := by[name]; ok; up, ok = by[up] {
		names = append(names, up)
	}
	slices.Reverse(names)
	return names
}

func chain(names []string) string { return strings.Join(names, " → ") }
