package verify

import (
	"fmt"
	"path"
	"regexp/syntax"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

// maxComparisons bounds the work on scopes, in pairs of characters: far more
// than plans that people write need.
const maxComparisons = 20_000_000

func checkOverlap(p *pass) {
	if p.doc.plan.Parallel.Value < 2 {
		return
	}
	s := newScopes(2 * len(p.doc.units))
	s.pass, s.order = p, p.doc.order()
	for _, i := range s.order.sorted {
		if u := p.doc.units[i]; u.Writes.Set && !u.apart() {
			s.add(i, u)
		}
	}
	for _, e := range s.all {
		s.compare(e)
	}
	if s.left < 0 {
		f := p.report(nil, p.doc.plan.Parallel.Pos, "the plan has too many scopes to compare them all; steps whose scopes overlap will wait for each other", "")
		f.Severity = Note
	}
}

// scopes finds scopes that overlap. Those of one text are one entry; an entry is
// compared only with those whose beginning is a beginning of its own.
type scopes struct {
	*pass
	order    *order
	texts    map[string]*entry
	begins   map[string][]*entry       // by what stands before the first wildcard
	ends     [maxPattern + 2][256]bool // of the keys of begins: by their length, what they end with
	all      []*entry
	left     int
	reported map[int]bool
}

func newScopes(size int) *scopes {
	return &scopes{texts: make(map[string]*entry, size), begins: make(map[string][]*entry, size), left: maxComparisons, reported: map[int]bool{}}
}

type entry struct {
	text  string
	trunk string // what stands before the first wildcard
	at    int    // place in all
	steps []member
	first [1]member    // most have no other
	auto  *syntax.Prog // made when asked for
}

type member struct {
	step int
	pos  plan.Pos
}

func (s *scopes) add(i int, u *unit) {
	for _, w := range u.Writes.Value {
		if badScope(w.Value) != "" || u.ForEach.Set && strings.Contains(w.Value, engine.ItemMark) {
			continue // where an item makes it overlap, the run says so
		}
		e := s.entry(path.Clean(w.Value))
		if n := len(e.steps); n == 0 || e.steps[n-1].step != i {
			e.steps = append(e.steps, member{i, w.Pos})
		}
	}
}

func (s *scopes) entry(text string) *entry {
	e := s.texts[text]
	if e == nil {
		e = &entry{text: text, trunk: trunk(text), at: len(s.all)}
		e.steps = e.first[:0]
		s.texts[text], s.all = e, append(s.all, e)
		s.begins[e.trunk] = append(s.begins[e.trunk], e)
		s.ends[len(e.trunk)][end(e.trunk)] = true
	}
	return e
}

// end is the last byte of a text; 0 of none.
func end(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

// compare looks for steps beside those of an entry: in the entry itself, where
// each must wait for the one before it, and in those that begin above it.
func (s *scopes) compare(e *entry) {
	for n := 1; n < len(e.steps); n++ {
		if s.order.apart(e.steps[n-1].step, e.steps[n].step) {
			s.overlap(e.steps[n-1], e, e.steps[n], e)
		}
	}
	for n := range len(e.trunk) + 1 {
		if s.ends[n][end(e.trunk[:n])] {
			s.against(e, s.begins[e.trunk[:n]])
		}
	}
}

// against compares an entry with those whose beginning begins its own: others
// share no path with it.
func (s *scopes) against(e *entry, others []*entry) {
	for _, other := range others {
		if other == e || other.trunk == e.trunk && other.at > e.at {
			continue
		}
		if s.left--; s.left < 0 {
			return
		}
		if x, y, apart := s.pair(other, e); apart && s.meet(e, other) {
			s.overlap(x, other, y, e)
		}
	}
}

// below reports a scope that begins in the literal path that another one is.
func (e *entry) below(other *entry) bool {
	return !isGlob(other.text) && strings.HasPrefix(e.text, other.text+"/")
}

// meet reports whether two scopes share a path.
func (s *scopes) meet(a, b *entry) bool {
	if a.below(b) || b.below(a) {
		return true
	}
	for _, e := range []*entry{a, b} {
		if e.auto == nil {
			e.auto = compileScope(e.text)
		}
	}
	s.left -= len(a.auto.Inst) * len(b.auto.Inst)
	return s.left >= 0 && overlap(a.auto, b.auto)
}

// pair finds a step of each entry that may run at once.
func (s *scopes) pair(a, b *entry) (x, y member, found bool) {
	for _, y := range b.steps {
		for _, x := range a.steps {
			if s.left--; s.left < 0 {
				return x, y, false
			}
			if s.order.apart(x.step, y.step) {
				return x, y, true
			}
		}
	}
	return x, y, false
}

// overlap reports a pair at the step that stands later in the plan, once a step.
func (s *scopes) overlap(x member, xs *entry, y member, ys *entry) {
	if x.step > y.step {
		x, xs, y, ys = y, ys, x, xs
	}
	if s.reported[y.step] {
		return
	}
	s.reported[y.step] = true
	u, other := s.doc.units[y.step], s.doc.units[x.step]
	message := fmt.Sprintf("step %q may run in parallel with step %q, and both write %q", u.ID.Value, other.ID.Value, ys.text)
	if xs != ys {
		message = fmt.Sprintf("step %q may run in parallel with step %q, and %q overlaps with its %q", u.ID.Value, other.ID.Value, ys.text, xs.text)
	}
	s.report(u, y.pos, message, fmt.Sprintf("add `needs: %s`, or give them scopes that share no path", other.ID.Value))
}
