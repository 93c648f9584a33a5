package verify

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
)

// maxComparisons bounds the work on scopes: far more pairs than plans that people
// write have.
const maxComparisons = 1_000_000

// scope is one of a step's, where it stands.
type scope struct {
	text  string
	trunk string // what stands before the first wildcard
	step  int
	pos   plan.Pos
}

func checkOverlap(p *pass) {
	o := p.doc.order()
	if p.doc.plan.Parallel.Value < 2 || o.chain {
		return
	}
	var all []scope
	for _, i := range o.sorted {
		u := p.doc.units[i]
		if !u.Writes.Set || u.apart() {
			continue
		}
		for _, w := range u.Writes.Value {
			// Where an item makes it overlap, the run says so.
			if badScope(w.Value) == "" && !(u.ForEach.Set && strings.Contains(w.Value, engine.ItemMark)) {
				all = append(all, scope{path.Clean(w.Value), trunk(w.Value), i, w.Pos})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b scope) int { return cmp.Or(cmp.Compare(a.trunk, b.trunk), cmp.Compare(a.text, b.text)) })
	found, left := map[int][2]scope{}, maxComparisons
	for i, x := range all {
		for j := i + 1; j < len(all) && strings.HasPrefix(all[j].trunk, x.trunk); j++ {
			// Of one text each must wait for the one before it, so the next is enough.
			y, twin := all[j], all[j].text == x.text
			if left--; left < 0 || twin && j > i+1 {
				continue
			}
			if o.apart(x.step, y.step) && (twin || meet(x.text, y.text)) {
				first, second := x, y
				if first.step > second.step {
					first, second = second, first
				}
				if had, ok := found[second.step]; !ok || first.step < had[0].step {
					found[second.step] = [2]scope{first, second}
				}
			}
		}
	}
	for _, pair := range found {
		p.overlaps(pair[0], pair[1])
	}
	if left < 0 {
		p.report(nil, p.doc.plan.Parallel.Pos, "the plan has too many scopes to compare them all; steps whose scopes overlap will wait for each other", "").Severity = Note
	}
}

func (p *pass) overlaps(x, y scope) {
	u, other := p.doc.units[y.step], p.doc.units[x.step]
	message := fmt.Sprintf("step %q may run in parallel with step %q, and both write %q", u.ID.Value, other.ID.Value, y.text)
	if x.text != y.text {
		message = fmt.Sprintf("step %q may run in parallel with step %q, and %q overlaps with its %q", u.ID.Value, other.ID.Value, y.text, x.text)
	}
	p.waits(p.report(u, y.pos, message, fmt.Sprintf("add `needs: %s`, or give them scopes that share no path", other.ID.Value)), u, other)
}

// trunk is the part of a scope before its first wildcard; without one, all of it
// and a slash, for what stands below it.
func trunk(scope string) string {
	scope = path.Clean(scope)
	if at := strings.IndexAny(scope, "*?[{\\"); at >= 0 {
		return scope[:at]
	}
	if scope == "." {
		return ""
	}
	return scope + "/"
}

// meet reports whether two scopes may share a path. Two patterns are compared name by
// name as far as `**`, from both ends, and of two patterns for one name only the
// beginnings and the ends: it may say so where they do not.
func meet(a, b string) bool {
	if inside(a, b) || inside(b, a) {
		return true
	}
	xs, ys := alternatives(a), alternatives(b)
	for _, x := range xs {
		for _, y := range ys {
			if meets(namesOf(x), namesOf(y)) {
				return true
			}
		}
	}
	return xs == nil || ys == nil
}

// inside reports a scope that begins in the literal path that another one is.
func inside(a, b string) bool {
	return !isGlob(b) && strings.HasPrefix(path.Clean(a), path.Clean(b)+"/")
}

// namesOf are the parts of a scope. One without a wildcard names all below it, too;
// where its last name has a dot, it is taken for a file.
func namesOf(scope string) []string {
	if scope = path.Clean(scope); scope == "." {
		return []string{"**"}
	}
	names := strings.Split(scope, "/")
	if !isGlob(scope) && !strings.Contains(path.Base(scope), ".") {
		names = append(names, "**")
	}
	return names
}

var letters = lazy.Regexp(`\[[^]!^,{}-]{1,4}\]`)

// most is how many patterns one may stand for to be told apart from others.
const most = 64

// alternatives writes a pattern without {a,b} and [ab]; nil are too many.
func alternatives(pattern string) []string {
	if at := letters().FindStringIndex(pattern); at != nil {
		either := strings.Join(strings.Split(pattern[at[0]+1:at[1]-1], ""), ",")
		return alternatives(pattern[:at[0]] + "{" + either + "}" + pattern[at[1]:])
	}
	end := strings.IndexByte(pattern, '}')
	begin := strings.LastIndexByte(pattern[:max(0, end)], '{')
	if begin < 0 {
		return []string{pattern}
	}
	var all []string
	for one := range strings.SplitSeq(pattern[begin+1:end], ",") {
		some := alternatives(pattern[:begin] + one + pattern[end+1:])
		if all = append(all, some...); some == nil || len(all) > most {
			return nil
		}
	}
	return all
}

func meets(a, b []string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] != "**" && b[0] != "**" {
		if !alike(a[0], b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] != "**" && b[len(b)-1] != "**" {
		if !alike(a[len(a)-1], b[len(b)-1]) {
			return false
		}
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	rest := slices.Concat(a, b)
	return len(a) > 0 && len(b) > 0 || !slices.ContainsFunc(rest, func(name string) bool { return name != "**" })
}

// alike reports whether one name may fit both patterns.
func alike(a, b string) bool {
	if isGlob(a) && isGlob(b) {
		return fits(a[:strings.IndexAny(a, "*?[\\{")], b[:strings.IndexAny(b, "*?[\\{")], strings.HasPrefix) &&
			fits(a[strings.LastIndexAny(a, "*?]}")+1:], b[strings.LastIndexAny(b, "*?]}")+1:], strings.HasSuffix)
	}
	if isGlob(a) {
		a, b = b, a
	}
	same, err := doublestar.Match(b, a)
	return same || err != nil
}

func fits(a, b string, begins func(string, string) bool) bool { return begins(a, b) || begins(b, a) }
