package form

import (
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// kind is the type of a value.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a text", "a list", "an object"}[k]
}

// node is one value of a document, whatever its syntax.
type node struct {
	kind  kind
	value string // of a scalar: the text, or the number as written
	at    plan.Pos
	lines []plan.Pos // where each line of a text stands
	items []*node    // of a list
	pairs []pair     // of an object, in document order
}

type pair struct {
	key   string
	at    plan.Pos
	value *node
}

func texts(s string) *node { return &node{kind: text, value: s} }

func numbers(s string) *node { return &node{kind: number, value: s} }

func booleans(b bool) *node {
	if b {
		return &node{kind: boolean, value: "true"}
	}
	return &node{kind: boolean, value: "false"}
}

// put adds a pair to an object, unless there is nothing to add.
func (n *node) put(key string, value *node) {
	if value != nil {
		n.pairs = append(n.pairs, pair{key: key, value: value})
	}
}

// get returns the value of the first pair of that key, nil if there is none.
func (n *node) get(key string) *node {
	if i := slices.IndexFunc(n.pairs, func(p pair) bool { return p.key == key }); i >= 0 {
		return n.pairs[i].value
	}
	return nil
}

// each visits every text and key.
func (n *node) each(visit func(string)) {
	if n.kind == text {
		visit(n.value)
	}
	for _, v := range n.items {
		v.each(visit)
	}
	for _, p := range n.pairs {
		visit(p.key)
		p.value.each(visit)
	}
}

// equal compares values, places apart.
func (n *node) equal(m *node) bool {
	if n == nil || m == nil {
		return n == m
	}
	return n.kind == m.kind && n.value == m.value &&
		slices.EqualFunc(n.items, m.items, (*node).equal) &&
		slices.EqualFunc(n.pairs, m.pairs, func(a, b pair) bool { return a.key == b.key && a.value.equal(b.value) })
}

// asText is the value of a text with the places of its lines.
func (n *node) asText() plan.Text {
	if len(n.lines) == 0 {
		return plan.Text{Value: n.value, Pos: n.at}
	}
	return plan.Placed(n.value, n.lines)
}

// oneSource says that only the first line of a text is known to stand somewhere.
func (n *node) oneSource() {
	n.lines = make([]plan.Pos, strings.Count(n.value, "\n")+1)
	n.lines[0] = n.at
}
