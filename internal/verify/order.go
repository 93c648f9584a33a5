package verify

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/shell"
)

// order tells which steps wait for which, directly or through others.
type order struct {
	units  []*unit
	chain  bool       // each step waits for the one before it
	sorted []int      // steps that can start, each after all it waits for
	open   []int      // of each step, how many needs keep it from ever starting; none in a chain
	before [][]uint64 // of each step, a bit for each that it waits for, up to the last; made when asked for
}

// order is computed once for a document.
func (d *document) order() *order {
	if d.ordered == nil {
		d.ordered = d.arranged()
	}
	return d.ordered
}

func (d *document) arranged() *order {
	o := &order{units: d.units, open: make([]int, len(d.units)), sorted: make([]int, 0, len(d.units))}
	if o.chain = !slices.ContainsFunc(d.units, (*unit).unchained); o.chain {
		for i := range d.units {
			o.sorted = append(o.sorted, i)
		}
		return o
	}
	waiting := make([][]int, len(d.units))
	for i, u := range d.units {
		if o.open[i] = len(u.needs); o.open[i] == 0 {
			o.sorted = append(o.sorted, i)
		}
		for _, n := range u.needs {
			waiting[n.index] = append(waiting[n.index], i)
		}
	}
	for at := 0; at < len(o.sorted); at++ {
		for _, w := range waiting[o.sorted[at]] {
			if o.open[w]--; o.open[w] == 0 {
				o.sorted = append(o.sorted, w)
			}
		}
	}
	return o
}

// unchained reports a step that does not simply follow the one before it.
func (u *unit) unchained() bool {
	return u.Needs.Set || slices.ContainsFunc(u.needs, func(n need) bool { return n.index > u.index })
}

// reach fills in before: a bit for each pair of steps, so only where a rule asks
// for a pair.
func (o *order) reach() {
	o.before = make([][]uint64, len(o.units))
	for _, i := range o.sorted {
		words := 0
		for _, n := range o.units[i].needs {
			words = max(words, len(o.before[n.index]), n.index/64+1)
		}
		own := make([]uint64, words)
		for _, n := range o.units[i].needs {
			for w, b := range o.before[n.index] {
				own[w] |= b
			}
			own[n.index/64] |= 1 << (n.index % 64)
		}
		o.before[i] = own
	}
}

// precedes reports whether step j waits for step i.
func (o *order) precedes(i, j int) bool {
	if o.chain {
		return i < j
	}
	if len(o.units[j].needs) == 0 {
		return false
	}
	if o.before == nil {
		o.reach()
	}
	return i/64 < len(o.before[j]) && o.before[j][i/64]&(1<<(i%64)) != 0
}

// apart reports whether neither of two steps waits for the other.
func (o *order) apart(i, j int) bool { return i != j && !o.precedes(i, j) && !o.precedes(j, i) }

// namings tells which steps speak of a file.
type namings struct {
	scopes    stepsBy  // by a literal path of `writes:`
	patterns  []naming // of `writes:`; of more than are tried the rest is missing
	contracts stepsBy  // by a path in a contract or check
	tasks     stepsBy  // by a path in a task
}

type naming struct {
	pattern string
	step    int
}

// namings is computed once for a document.
func (d *document) namings() *namings {
	if d.named == nil {
		d.named = d.gathered()
	}
	return d.named
}

func (d *document) gathered() *namings {
	n := &namings{scopes: stepsBy{}, contracts: stepsBy{}, tasks: stepsBy{}}
	for i, u := range d.units {
		for _, w := range u.Writes.Value {
			switch {
			case !isGlob(w.Value):
				n.scopes.put(path.Clean(w.Value), i)
			case len(n.patterns) <= maxPatterns:
				n.patterns = append(n.patterns, naming{w.Value, i})
			}
		}
		for _, s := range u.proofs {
			for _, p := range s.mentions() {
				n.contracts.put(p.Text, i)
			}
		}
		for _, p := range mentioned(u.Task.Value) {
			n.tasks.put(p, i)
		}
	}
	return n
}

// stepsBy are steps by a name.
type stepsBy map[string][]int

// put notes a step under a name, once.
func (by stepsBy) put(name string, step int) {
	if steps := by[name]; len(steps) == 0 || steps[len(steps)-1] != step {
		by[name] = append(steps, step)
	}
}

// writers are the steps whose explicit `writes:` cover a file; known is false
// where there are too many patterns to try.
func (n *namings) writers(file string) (steps []int, known bool) {
	for dir := file; ; dir = path.Dir(dir) {
		steps = append(steps, n.scopes[dir]...)
		if dir == "." || dir == "/" {
			break
		}
	}
	if len(n.patterns) > maxPatterns {
		return steps, false
	}
	for _, p := range n.patterns {
		if covered(file, []string{p.pattern}) {
			steps = append(steps, p.step)
		}
	}
	return steps, true
}

// mentions lists the constant words of a script that look like paths of files,
// as seen from the workspace.
func (s *reading) mentions() []shell.Word {
	if s == nil || s.File == nil {
		return nil
	}
	if s.named == nil {
		s.named = []shell.Word{}
		for node := range syntax.Preorder(s.File) {
			if w, ok := node.(*syntax.Word); ok {
				s.mention(shell.Constant(w))
			}
		}
	}
	return s.named
}

// mention notes a word that looks like a path.
func (s *reading) mention(w shell.Word) {
	if !w.Known || w.Glob || !looksLikeFile(w.Text) {
		return
	}
	if w.Text = shell.Within("", w.Text); w.Text != shell.UnknownDir && w.Text != "" {
		s.named = append(s.named, w)
	}
}

// looksLikeFile reports a word that people write for a file: with a directory
// or an ending, and without what no path has.
func looksLikeFile(s string) bool {
	if len(s) < 3 || len(s) > shell.MaxPath || strings.HasPrefix(s, "-") || strings.Contains(s, "...") || strings.ContainsAny(s, " \t\n:=$*?|()<>'\"\\") {
		return false
	}
	dot := strings.LastIndexByte(path.Base(s), '.')
	return dot > 0 && dot < len(path.Base(s))-1 || strings.Contains(s, "/") && !strings.HasPrefix(s, "/")
}

// mentioned lists the words of running text that look like paths.
func mentioned(text string) []string {
	var list []string
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n`'\"()[]<>,;", r) }) {
		if w = strings.TrimRight(w, ".:!?*_"); looksLikeFile(w) {
			list = append(list, path.Clean(w))
		}
	}
	return list
}
