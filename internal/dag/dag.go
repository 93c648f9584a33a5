// Package dag lays a directed graph without cycles out in columns or rows, so that every edge
// leads to the right, or downward, and few edges cross. It is pure: the same graph gets the same places.
//
// It must never put one node on another, or depend on a map's order.
package dag

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Size is how large a node is, and how much room is between nodes.
type Size struct{ W, H, GapX, GapY float64 }

// Point is a place; y grows downward.
type Point struct{ X, Y float64 }

// Edge leads from a node to one that needs it.
type Edge struct {
	From, To int
	points   []Point // through the columns
	down     bool    // it leads downward
}

// Layout is where nodes and edges are.
type Layout struct {
	Nodes         []Point // the upper left corner of each
	Edges         []Edge
	Width, Height float64
}

// ErrCycle is returned where nodes need each other.
var ErrCycle = errors.New("the graph has a cycle")

// vertex is a node, or a place where a long edge goes through a column.
type vertex struct {
	column, pos int
	y, h        float64
	left, right []int
}

// thin is the height of a place that an edge goes through.
const thin = 1

// Columns tells the column of each node: the length of the longest way to it. needs lists for
// each node those before it.
func Columns(needs [][]int) ([]int, error) {
	columns := make([]int, len(needs))
	after, open := make([][]int, len(needs)), make([]int, len(needs))
	var ready []int
	for i, before := range needs {
		if open[i] = len(before); open[i] == 0 {
			ready = append(ready, i)
		}
		for _, n := range before {
			after[n] = append(after[n], i)
		}
	}
	done := 0
	for ; done < len(ready); done++ {
		n := ready[done]
		for _, next := range after[n] {
			columns[next] = max(columns[next], columns[n]+1)
			if open[next]--; open[next] == 0 {
				ready = append(ready, next)
			}
		}
	}
	if done < len(needs) {
		return nil, ErrCycle
	}
	return columns, nil
}

// Reduced leaves out what a node needs already because of something else that it needs. It
// fails with ErrCycle.
func Reduced(needs [][]int) ([][]int, error) {
	columns, err := Columns(needs)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(needs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return columns[a] - columns[b] })
	words := (len(needs) + 63) / 64
	above := make([][]uint64, len(needs)) // all that a node needs, in any number of steps
	less := make([][]int, len(needs))
	for _, i := range order {
		above[i] = make([]uint64, words)
		near := slices.Clone(needs[i])
		slices.SortStableFunc(near, func(a, b int) int { return columns[b] - columns[a] })
		for _, n := range near {
			if above[i][n/64]&(1<<(n%64)) != 0 {
				continue
			}
			less[i] = append(less[i], n)
			above[i][n/64] |= 1 << (n % 64)
			for w, bits := range above[n] {
				above[i][w] |= bits
			}
		}
		slices.Sort(less[i])
	}
	return less, nil
}

// Lay gives every node a place. needs lists for each node those before it. It fails with
// ErrCycle.
func Lay(needs [][]int, size Size) (Layout, error) {
	columns, err := Columns(needs)
	if err != nil {
		return Layout{}, err
	}
	vs := make([]vertex, len(needs), 2*len(needs))
	for i, c := range columns {
		vs[i] = vertex{column: c, h: size.H}
	}
	var chains [][]int
	for to, before := range needs {
		for _, from := range before {
			chain := []int{from}
			for c := columns[from] + 1; c < columns[to]; c++ {
				vs = append(vs, vertex{column: c, h: thin})
				chain = append(chain, len(vs)-1)
			}
			chain = append(chain, to)
			for i := 1; i < len(chain); i++ {
				a, b := chain[i-1], chain[i]
				vs[a].right, vs[b].left = append(vs[a].right, b), append(vs[b].left, a)
			}
			chains = append(chains, chain)
		}
	}
	var all [][]int
	for i := range vs {
		for vs[i].column >= len(all) {
			all = append(all, nil)
		}
		vs[i].pos = len(all[vs[i].column])
		all[vs[i].column] = append(all[vs[i].column], i)
	}
	untangle(vs, all)
	place(vs, all, size)
	return drawn(vs, chains, len(needs), len(all), size), nil
}

// LayDown does as [Lay] does, with rows in place of columns: every edge leads downward.
func LayDown(needs [][]int, size Size) (Layout, error) {
	l, err := Lay(needs, Size{W: size.H, H: size.W, GapX: size.GapY, GapY: size.GapX})
	turn := func(ps []Point) {
		for i, p := range ps {
			ps[i] = Point{p.Y, p.X}
		}
	}
	turn(l.Nodes)
	for i := range l.Edges {
		turn(l.Edges[i].points)
		l.Edges[i].down = true
	}
	l.Width, l.Height = l.Height, l.Width
	return l, err
}

// drawn takes places and ways out of the vertices.
func drawn(vs []vertex, chains [][]int, nodes, columns int, size Size) Layout {
	out := Layout{Nodes: make([]Point, nodes), Width: max(0, float64(columns)*(size.W+size.GapX)-size.GapX)}
	top := math.Inf(1)
	for i := range vs {
		top = min(top, vs[i].y-vs[i].h/2)
	}
	x := func(v int) float64 { return float64(vs[v].column) * (size.W + size.GapX) }
	for i := range vs {
		vs[i].y -= top
		out.Height = max(out.Height, vs[i].y+vs[i].h/2)
		if i < nodes {
			out.Nodes[i] = Point{x(i), vs[i].y - size.H/2}
		}
	}
	for _, chain := range chains {
		last := len(chain) - 1
		e := Edge{From: chain[0], To: chain[last]}
		for i, v := range chain {
			if i > 0 {
				e.points = append(e.points, Point{x(v), vs[v].y})
			}
			if i < last {
				e.points = append(e.points, Point{x(v) + size.W, vs[v].y})
			}
		}
		out.Edges = append(out.Edges, e)
	}
	return out
}

// Sweeps over the columns: more of them make little better.
const (
	orderSweeps = 12
	placeSweeps = 10
)

// untangle orders each column by where its neighbours are, and keeps the order with the fewest
// crossings.
func untangle(vs []vertex, columns [][]int) {
	fewest := math.MaxInt
	best := make([][]int, len(columns))
	for round := range orderSweeps {
		rightward := round%2 == 0
		for k := range columns {
			c := columns[k]
			if !rightward {
				c = columns[len(columns)-1-k]
			}
			slices.SortStableFunc(c, func(a, b int) int { return cmp.Compare(middle(vs, a, rightward), middle(vs, b, rightward)) })
			for pos, v := range c {
				vs[v].pos = pos
			}
		}
		if n := crossings(vs, columns); n < fewest {
			fewest = n
			for i := range columns {
				best[i] = slices.Clone(columns[i])
			}
		}
		if fewest == 0 {
			break
		}
	}
	for i := range columns {
		columns[i] = best[i]
		for pos, v := range columns[i] {
			vs[v].pos = pos
		}
	}
}

func neighbours(vs []vertex, v int, rightward bool) []int {
	if rightward {
		return vs[v].left
	}
	return vs[v].right
}

// middle is the mean place of the neighbours on one side.
func middle(vs []vertex, v int, rightward bool) float64 {
	near := neighbours(vs, v, rightward)
	if len(near) == 0 {
		return float64(vs[v].pos)
	}
	sum := 0
	for _, u := range near {
		sum += vs[u].pos
	}
	return float64(sum) / float64(len(near))
}

// crossings counts how often edges between neighbouring columns cross.
func crossings(vs []vertex, columns [][]int) (total int) {
	for k := 0; k+1 < len(columns); k++ {
		tree := make([]int, len(columns[k+1])+1) // of sums, of how many edges end above a place
		seen := 0
		for _, v := range columns[k] {
			for _, to := range vs[v].right {
				above := 0
				for i := vs[to].pos + 1; i > 0; i -= i & -i {
					above += tree[i]
				}
				total += seen - above
			}
			for _, to := range vs[v].right {
				seen++
				for i := vs[to].pos + 1; i < len(tree); i += i & -i {
					tree[i]++
				}
			}
		}
	}
	return total
}

// block is some vertices of a column that touch each other and move together.
type block struct {
	sum, weight float64
	n           int
}

// place brings each vertex as near to its neighbours as the order and the room of its column
// allow.
func place(vs []vertex, columns [][]int, size Size) {
	for _, c := range columns {
		y := 0.0
		for _, v := range c {
			vs[v].y = y + vs[v].h/2
			y += vs[v].h + size.GapY
		}
	}
	for round := range placeSweeps {
		for k := range columns {
			c := columns[k]
			if round%2 == 1 {
				c = columns[len(columns)-1-k]
			}
			settle(vs, c, round%2 == 0, size.GapY)
		}
	}
}

// settle solves one column: the least squares under the order of its vertices.
func settle(vs []vertex, column []int, rightward bool, gap float64) {
	var blocks []block
	off := 0.0
	offs := make([]float64, len(column))
	for i, v := range column {
		if i > 0 {
			off += (vs[column[i-1]].h+vs[v].h)/2 + gap
		}
		offs[i] = off
		want, weight := wish(vs, v, rightward)
		blocks = append(blocks, block{(want - off) * weight, weight, 1})
		for n := len(blocks); n > 1 && blocks[n-2].sum/blocks[n-2].weight > blocks[n-1].sum/blocks[n-1].weight; n = len(blocks) {
			a, b := blocks[n-2], blocks[n-1]
			blocks = append(blocks[:n-2], block{a.sum + b.sum, a.weight + b.weight, a.n + b.n})
		}
	}
	i := 0
	for _, b := range blocks {
		for range b.n {
			vs[column[i]].y = b.sum/b.weight + offs[i]
			i++
		}
	}
}

// wish is where a vertex would like to be, and how much.
func wish(vs []vertex, v int, rightward bool) (y, weight float64) {
	near := neighbours(vs, v, rightward)
	if len(near) == 0 {
		return vs[v].y, 0.1
	}
	for _, u := range near {
		y += vs[u].y
	}
	weight = 1
	if vs[v].h == thin {
		weight = 4 // long edges stay straight
	}
	return y / float64(len(near)), weight
}

// Path is the edge as the path of an SVG.
func (e Edge) Path() string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%.1f %.1f", e.points[0].X, e.points[0].Y)
	for i := 1; i < len(e.points); i++ {
		p, q := e.points[i-1], e.points[i]
		x, y := (p.X+q.X)/2, (p.Y+q.Y)/2
		switch {
		case p.X == q.X || p.Y == q.Y:
			fmt.Fprintf(&b, "L%.1f %.1f", q.X, q.Y)
		case e.down:
			fmt.Fprintf(&b, "C%.1f %.1f %.1f %.1f %.1f %.1f", p.X, y, q.X, y, q.X, q.Y)
		default:
			fmt.Fprintf(&b, "C%.1f %.1f %.1f %.1f %.1f %.1f", x, p.Y, x, q.Y, q.X, q.Y)
		}
	}
	return b.String()
}
