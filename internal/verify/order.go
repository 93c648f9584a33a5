package verify

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// order tells which steps wait for which, directly or through others. It holds
// a bit for each pair of steps, so it is made only where a rule asks.
type order struct {
	chain  bool       // each step waits for the one before it
	before [][]uint64 // else: of each step, those it waits for, up to the last of them
	sorted []int      // steps that can start, each after all it waits for
}

// order is computed once for a document.
func (d *document) order() *order {
	if d.ordered == nil {
		d.ordered = d.arranged()
	}
	return d.ordered
}

func (d *document) arranged() *order {
	n := len(d.units)
	if !slices.ContainsFunc(d.units, func(u *unit) bool { return u.Needs.Set }) {
		o := &order{chain: true}
		for i := range d.units {
			o.sorted = append(o.sorted, i)
		}
		return o
	}
	words := (n + 63) / 64
	bits := make([]uint64, n*words)
	o := &order{before: make([][]uint64, n)}
	open := make([]int, n)
	waiting := make([][]int, n)
	for i, u := range d.units {
		o.before[i] = bits[i*words : i*words : (i+1)*words]
		if open[i] = len(u.needs); open[i] == 0 {
			o.sorted = append(o.sorted, i)
		}
		for _, n := range u.needs {
			waiting[n.index] = append(waiting[n.index], i)
		}
	}
	for at := 0; at < len(o.sorted); at++ {
		i := o.sorted[at]
		for _, n := range d.units[i].needs {
			before := o.before[n.index]
			own := o.before[i][:max(len(o.before[i]), len(before), n.index/64+1)]
			for w, b := range before {
				own[w] |= b
			}
			own[n.index/64] |= 1 << (n.index % 64)
			o.before[i] = own
		}
		for _, w := range waiting[i] {
			if open[w]--; open[w] == 0 {
				o.sorted = append(o.sorted, w)
			}
		}
	}
	return o
}

// precedes reports whether step j waits for step i.
func (o *order) precedes(i, j int) bool {
	if o.chain {
		return i < j
	}
	return i/64 < len(o.before[j]) && o.before[j][i/64]&(1<<(i%64)) != 0
}

// waits reports whether a step waits for any that can start.
func (o *order) waits(i int) bool {
	return o.chain && i > 0 || !o.chain && slices.ContainsFunc(o.before[i], func(b uint64) bool { return b != 0 })
}

// apart reports whether neither of two steps waits for the other.
func (o *order) apart(i, j int) bool { return i != j && !o.precedes(i, j) && !o.precedes(j, i) }

// namings tells which steps speak of a file.
type namings struct {
	scopes    map[string][]int // by a literal path of `writes:`
	patterns  []naming         // of `writes:`
	contracts map[string][]int // by a path in a contract or check
	tasks     map[string][]int // by a path in a task
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
	n := &namings{scopes: map[string][]int{}, contracts: map[string][]int{}, tasks: map[string][]int{}}
	for i, u := range d.units {
		for _, w := range u.Writes.Value {
			if isGlob(w.Value) {
				n.patterns = append(n.patterns, naming{w.Value, i})
			} else {
				put(n.scopes, cleanScope(w.Value), i)
			}
		}
		for _, s := range u.proofs {
			for _, p := range d.pathsOf(s) {
				put(n.contracts, p.text, i)
			}
		}
		for _, p := range mentioned(u.Task.Value) {
			put(n.tasks, p, i)
		}
	}
	return n
}

// put notes a step under a name, once.
func put(list map[string][]int, name string, step int) {
	if steps := list[name]; len(steps) == 0 || steps[len(steps)-1] != step {
		list[name] = append(list[name], step)
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

// pathsOf lists the constant words of a script that look like paths of files,
// as seen from the workspace, each once.
func (d *document) pathsOf(s script) []word {
	if !s.readable() {
		return nil
	}
	if paths, known := d.paths[s.shell]; known {
		return paths
	}
	var paths []word
	seen := map[string]bool{}
	for node := range syntax.Preorder(s.file) {
		w, ok := node.(*syntax.Word)
		if !ok {
			continue
		}
		c := constant(w)
		if !c.known || c.glob || !looksLikeFile(c.text) {
			continue
		}
		if c.text = within("", c.text); c.text != unknownDir && c.text != "" && !seen[c.text] {
			seen[c.text] = true
			paths = append(paths, c)
		}
	}
	d.paths[s.shell] = paths
	return paths
}

// looksLikeFile reports a word that people write for a file: with a directory
// or an ending, and without what no path has.
func looksLikeFile(s string) bool {
	if len(s) < 3 || len(s) > maxPath || strings.HasPrefix(s, "-") || strings.Contains(s, "...") || strings.ContainsAny(s, " \t\n:=$*?|()<>'\"\\") {
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
