package form

import (
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// maxDepth is how deep values may be nested.
const maxDepth = 64

// reader gathers what is wrong while a document is read.
type reader struct {
	plan.Problems
	comments bool
	kept     kept
	place    int   // whose pairs are read: an index of kept
	marked   []int // places with a status that is a mark
	wishes   []wish
	order    int // the highest of the steps that were read, in a graph
}

func (r *reader) wrong(n *node, code, hint, message string, args ...any) {
	r.Add(n.at, plan.Error, code, fmt.Sprintf(message, args...), hint)
}

// keep notes data that means nothing to a run.
func (r *reader) keep(key string, n *node) {
	if r.kept == nil {
		r.kept = kept{}
	}
	r.kept[r.place] = append(r.kept[r.place], pair{key: key, value: n})
}

// screen looks at a text that escapes may have filled with what nobody sees,
// and for lines that no plan can hold.
func (r *reader) screen(n *node, escapes bool) {
	if why := ""; escapes {
		if why = plan.Unseen(n.value); why != "" {
			r.wrong(n, plan.BadCharacter, "take it out", "%s is not allowed: a reviewer cannot see it", why)
		}
	}
	for line := range strings.Lines(n.value) {
		if len(line) > plan.MaxLine {
			r.wrong(n, plan.LineTooLong, "break it", "the text has a line of %d bytes; at most %d are allowed", len(line), plan.MaxLine)
			return
		}
	}
}

// unique reports keys that an object has twice, and leaves the later ones out.
func (r *reader) unique(n *node) *node {
	seen := make(map[string]bool, len(n.pairs))
	n.pairs = slices.DeleteFunc(n.pairs, func(p pair) bool {
		twice := seen[p.key]
		if twice {
			r.Add(p.at, plan.Error, plan.DuplicateField, fmt.Sprintf("the key %q is here twice", p.key), "keep one of them")
		}
		seen[p.key] = true
		return twice
	})
	return n
}
