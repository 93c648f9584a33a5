package form

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// maxDepth is how deep values may be nested.
const maxDepth = 64

// reader gathers what is wrong while a document is read.
type reader struct {
	list     []plan.Problem
	more     bool
	comments bool
	kept     kept
	place    int   // whose pairs are read: an index of kept
	marked   []int // places with a status that is a mark
	wishes   []wish
}

func (r *reader) problem(at plan.Pos, s plan.Severity, code, message, hint string) {
	if len(r.list) >= plan.MaxProblems {
		r.more = true
		return
	}
	const most = 400
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "…"
	}
	r.list = append(r.list, plan.Problem{Pos: at, Severity: s, Code: code, Message: message, Hint: hint})
}

func (r *reader) wrong(n *node, code, hint, message string, args ...any) {
	r.problem(n.at, plan.Error, code, fmt.Sprintf(message, args...), hint)
}

// sorted returns the problems in the order of their places.
func (r *reader) sorted() []plan.Problem {
	if r.more {
		r.list = append(r.list, plan.Problem{
			Pos: plan.Pos{Line: 1, Column: 1}, Severity: plan.Error, Code: plan.TooManyProblems,
			Message: "the plan has more problems than are listed here", Hint: "fix these first",
		})
	}
	slices.SortStableFunc(r.list, func(a, b plan.Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return r.list
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
			r.problem(p.at, plan.Error, plan.DuplicateField, fmt.Sprintf("the key %q is here twice", p.key), "keep one of them")
		}
		seen[p.key] = true
		return twice
	})
	return n
}
