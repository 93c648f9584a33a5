package page

import (
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strconv"

	"github.com/piton-dev/piton/internal/dag"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// Graph is which step needs which, as a drawing. Steps far apart are joined where there are very
// many of them.
type Graph struct {
	Width, Height string
	Label         string
	Nodes         []Node
	Edges         []GraphEdge
	Plan          bool   // of a plan that has not run
	Path          string // how long the longest way through it takes; "" where that is not known
}

// Node is a step of the drawing, or several that stand the same.
type Node struct {
	Key          string // what stands in a page for the step
	To           string // where it leads; "" for several steps
	Number, Name string
	Title        string
	State        State
	Gate         bool // a person is asked first
	Current      bool
	X, Y         string
	column       int
}

// GraphEdge leads from a step to one that needs it.
type GraphEdge struct {
	Path     string
	To       string // the key of the one that needs it
	On, Crit bool
}

// How large a node is drawn, where edges lead to the right and where they lead downward.
var (
	nodeSize = dag.Size{W: 124, H: 30, GapX: 40, GapY: 10}
	nodeDown = dag.Size{W: 124, H: 30, GapX: 10, GapY: 24}
)

// Bounds on a drawing: above so many nodes steps are joined, and a name is cut after so many letters.
const (
	mostNodes  = 150
	mostLetter = 10 // with those of the number
)

// graphOf draws nodes. needs lists for each those before it, and crit reports the edges that the
// end depends on. Edges lead to the right or, in a card that is narrow, downward. Needs that go
// round in a circle cannot be drawn: then there are no nodes.
func graphOf(nodes []Node, needs [][]int, crit func(from, to int) bool, down bool) Graph {
	g := Graph{Label: "Which step needs which, " + view.Plural(len(nodes), "step", "steps")}
	needs, err := dag.Reduced(needs)
	if err != nil {
		return g
	}
	path := map[[2]int]bool{}
	for to, before := range needs {
		for _, from := range before {
			path[[2]int{from, to}] = crit != nil && crit(from, to)
		}
	}
	if len(nodes) > mostNodes {
		nodes, needs, path = joined(nodes, needs, path)
	}
	lay, size := dag.Lay, nodeSize
	if down {
		lay, size = dag.LayDown, nodeDown
	}
	l, err := lay(needs, size)
	if err != nil {
		return g
	}
	px := func(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }
	g.Width, g.Height = px(l.Width+4), px(l.Height+4)
	for i, n := range nodes {
		n.X, n.Y = px(l.Nodes[i].X), px(l.Nodes[i].Y)
		if name, most := []rune(n.Name), max(3, mostLetter-len(n.Number)); len(name) > most {
			n.Name = string(name[:most-1]) + "…"
		}
		g.Nodes = append(g.Nodes, n)
	}
	for _, e := range l.Edges {
		g.Edges = append(g.Edges, GraphEdge{
			Path: e.Path(), To: nodes[e.To].Key, Crit: path[[2]int{e.From, e.To}], On: nodes[e.To].State.Tone == "run" && nodes[e.From].State.Tone != "run",
		})
	}
	sort.SliceStable(g.Edges, func(i, j int) bool { return !g.Edges[i].Crit && g.Edges[j].Crit }) // those that count are drawn last
	return g
}

// joins is the word under which a step is joined with others; "" where it stands alone.
func (n Node) joins() string {
	switch {
	case n.Current:
		return ""
	case n.State.Word == string(view.DoneUnproven):
		return "unproven"
	}
	return map[string]string{"ok": "done", "idle": "to go"}[n.State.Tone]
}

// joined makes one node of all steps of neighbouring columns that are proven, that are unproven,
// or that have not begun, and one of those within a column.
func joined(nodes []Node, needs [][]int, path map[[2]int]bool) ([]Node, [][]int, map[[2]int]bool) {
	columns, err := dag.Columns(needs)
	if err != nil {
		return nodes, needs, path
	}
	last := 0
	for i, c := range columns {
		nodes[i].column, last = c, max(last, c)
	}
	whole := make([]string, last+1) // the word under which all of a column are joined
	for i := range whole {
		whole[i] = "?"
	}
	for _, n := range nodes {
		if w := &whole[n.column]; *w == "?" {
			*w = n.joins()
		} else if *w != n.joins() {
			*w = ""
		}
	}
	first := make([]int, last+1) // the first column of those that are joined with this one
	for c := range first {
		first[c] = c
		if c > 0 && whole[c] == whole[c-1] && whole[c] != "" {
			first[c] = first[c-1]
		}
	}
	type group struct {
		column int
		word   string
	}
	count, at, to := map[group]int{}, map[group]int{}, make([]int, len(nodes))
	of := func(n Node) group {
		return group{first[n.column], n.joins()}
	}
	for _, n := range nodes {
		count[of(n)]++
	}
	var few []Node
	for i, n := range nodes {
		g := of(n)
		if g.word == "" || count[g] == 1 {
			to[i], few = len(few), append(few, n)
			continue
		}
		j, known := at[g]
		if !known {
			j, at[g] = len(few), len(few)
			few = append(few, Node{Key: "of-" + n.Key, Number: fmt.Sprint(count[g]), Name: g.word, Title: view.Plural(count[g], "step", "steps") + " " + g.word, State: n.State})
		}
		to[i] = j
	}
	less, crit := make([][]int, len(few)), map[[2]int]bool{}
	for i, before := range needs {
		for _, n := range before {
			a, b := to[n], to[i]
			if a == b {
				continue
			}
			if !slices.Contains(less[b], a) {
				less[b] = append(less[b], a)
			}
			crit[[2]int{a, b}] = crit[[2]int{a, b}] || path[[2]int{n, i}]
		}
	}
	return few, less, crit
}

// graph draws the steps of a run. Instances of a step are part of it.
func graph(st view.Standing, gates map[string]bool, o view.Outlook, current string) Graph {
	at := map[string]int{}
	var nodes []Node
	for _, row := range st.Steps {
		if _, instance := engine.InstanceOf(row.ID); instance {
			continue
		}
		at[row.ID] = len(nodes)
		nodes = append(nodes, Node{
			Key: row.ID, To: "?step=" + url.QueryEscape(row.ID), Number: row.Number, Name: row.ID, Title: row.Title, State: standsAs(st, row), Gate: gates[row.ID], Current: row.ID == current,
		})
	}
	needs := make([][]int, len(nodes))
	for _, row := range st.Steps {
		i, ok := at[row.ID]
		for _, n := range row.Needs {
			if before, here := at[n]; ok && here {
				needs[i] = append(needs[i], before)
			}
		}
	}
	g := graphOf(nodes, needs, func(from, to int) bool { return o.Path[nodes[from].Key] && o.Path[nodes[to].Key] }, false)
	if len(o.Path) > 1 {
		g.Path = view.Span(o.PathTook(st))
	}
	return g
}

// shape is a drawing without how its steps stand, which changes often.
func (g Graph) shape() Graph {
	g.Nodes, g.Edges = slices.Clone(g.Nodes), slices.Clone(g.Edges)
	for i := range g.Nodes {
		g.Nodes[i].State = State{}
	}
	for i := range g.Edges {
		g.Edges[i].On = false
	}
	g.Path = ""
	return g
}

// states are the signs of the nodes that stand otherwise in another drawing of the same shape:
// key, tone, glyph and word of each.
func (g Graph) states(was Graph) (all [][4]string) {
	for i, n := range g.Nodes {
		if n.State != was.Nodes[i].State {
			all = append(all, [4]string{n.Key, n.State.Tone, n.State.Glyph, n.State.Word})
		}
	}
	return all
}
