package form

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
)

// parse reads a document in the syntax that its bytes show.
func (r *reader) parse(src string) *node {
	const bom = "\ufeff"
	body := strings.TrimPrefix(src, bom)
	if strings.HasPrefix(strings.TrimLeft(body, " \t\r\n"), "{") {
		return r.parseJSON(body)
	}
	return r.parseYAML(body)
}

// yamlText is YAML and its lines.
type yamlText struct {
	r      *reader
	lines  []string
	widths []int // of lines, in characters; -1 where nobody has asked yet
}

func (r *reader) parseYAML(src string) *node {
	t := &yamlText{r: r, lines: strings.Split(src, "\n")}
	t.widths = slices.Repeat([]int{-1}, len(t.lines))
	var doc yaml.Node
	if err := yaml.Load([]byte(src), &doc); err != nil {
		t.notYAML(err)
		return nil
	}
	if len(doc.Content) != 1 {
		return nil
	}
	return t.node(doc.Content[0], 1)
}

func (t *yamlText) notYAML(err error) {
	at, message := plan.Pos{Line: 1, Column: 1}, err.Error()
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		at, message = t.clamp(e.Mark.Line, e.Mark.Column), e.Message
	}
	t.r.Add(at, plan.Error, plan.BadSyntax, "this is not YAML: "+message, "mind the indentation, and put texts with a colon in quotes")
}

// clamp is a place inside of the text.
func (t *yamlText) clamp(line, column int) plan.Pos {
	line = max(1, min(line, len(t.lines)))
	width := &t.widths[line-1]
	if *width < 0 {
		*width = utf8.RuneCountInString(t.lines[line-1])
	}
	return plan.Pos{Line: line, Column: max(1, min(column, *width+1))}
}

// node copies a value. It returns nil where the document must not be read on.
func (t *yamlText) node(y *yaml.Node, depth int) *node {
	n := &node{at: t.clamp(y.Line, y.Column)}
	t.r.comments = t.r.comments || y.HeadComment+y.LineComment+y.FootComment != ""
	switch {
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		t.r.wrong(n, plan.BadAlias, "write the value out", "anchors and aliases are not allowed")
		return nil
	case y.Style&yaml.TaggedStyle != 0:
		t.r.wrong(n, plan.BadAlias, "put texts in quotes instead", "a plan uses no tags")
		return nil
	case depth > maxDepth && y.Kind != yaml.ScalarNode:
		t.r.wrong(n, plan.TooDeep, "keep it flat", "values are nested more than %d deep", maxDepth)
		return nil
	}
	switch y.Kind {
	case yaml.MappingNode:
		return t.object(n, y, depth)
	case yaml.SequenceNode:
		n.kind = list
		for _, c := range y.Content {
			v := t.node(c, depth+1)
			if v == nil {
				return nil
			}
			n.items = append(n.items, v)
		}
		return n
	}
	return t.scalar(n, y)
}

func (t *yamlText) object(n *node, y *yaml.Node, depth int) *node {
	n.kind = object
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		at := t.clamp(k.Line, k.Column)
		if k.Kind != yaml.ScalarNode || k.Anchor != "" || k.Style&yaml.TaggedStyle != 0 {
			t.r.Add(at, plan.Error, plan.BadAlias, "a key is a plain name", "write `key: value`")
			return nil
		}
		t.r.comments = t.r.comments || k.HeadComment+k.LineComment+k.FootComment != ""
		v := t.node(y.Content[i+1], depth+1)
		if v == nil {
			return nil
		}
		n.pairs = append(n.pairs, pair{k.Value, at, v})
	}
	return t.r.unique(n)
}

// jsonNumber is what both syntaxes take for the same number.
var jsonNumber = lazy.Regexp(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (t *yamlText) scalar(n *node, y *yaml.Node) *node {
	n.kind, n.value = text, y.Value
	if y.Style == 0 {
		switch y.ShortTag() {
		case "!!null":
			n.kind, n.value = null, ""
		case "!!bool":
			n.kind, n.value = boolean, strings.ToLower(y.Value)
		case "!!int", "!!float":
			n.kind = number
			if !jsonNumber().MatchString(y.Value) {
				t.r.wrong(n, plan.WrongType, "write it in decimal, or in quotes if it is a text", "%q is a number that people read in two ways", y.Value)
			}
		}
	}
	if n.kind == text {
		t.places(n, y)
		t.r.screen(n, y.Style&yaml.DoubleQuotedStyle != 0)
	}
	return n
}

// places finds where the lines of a text stand.
func (t *yamlText) places(n *node, y *yaml.Node) {
	switch {
	case y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		n.at = t.clamp(n.at.Line, n.at.Column+1)
	case y.Style&yaml.LiteralStyle != 0:
		t.literal(n)
		return
	}
	n.oneSource()
}

// literal is a block in which each line of the text is one of the source.
func (t *yamlText) literal(n *node) {
	head := n.at.Line
	for i, line := range strings.Split(n.value, "\n") {
		at := t.clamp(head+1+i, 1)
		source := strings.TrimSuffix(t.lines[at.Line-1], "\r")
		if rest, ok := strings.CutSuffix(source, line); ok {
			at.Column += utf8.RuneCountInString(rest)
		}
		n.lines = append(n.lines, at)
	}
	n.at = n.lines[0]
}

func writeYAML(n *node) []byte {
	there, back := standIns(n)
	out, err := yaml.Dump(yamlNode(n, there), yaml.WithLineWidth(-1))
	if err != nil {
		return writeJSON(n) // which is YAML too
	}
	return []byte(back.Replace(string(out)))
}

// standIns replaces the characters that the library would write as escapes,
// emoji among them, by private ones that the document does not have, and back.
func standIns(n *node) (there, back *strings.Replacer) {
	seen := map[rune]bool{}
	n.each(func(s string) {
		for _, r := range s {
			if r >= 0xe000 && r <= 0xf8ff || r > 0xffff {
				seen[r] = true
			}
		}
	})
	var to, from []string
	free := rune(0xe000)
	for _, r := range slices.Sorted(maps.Keys(seen)) {
		for seen[free] {
			free++
		}
		if r > 0xffff && free <= 0xf8ff {
			to, from = append(to, string(r), string(free)), append(from, string(free), string(r))
			free++
		}
	}
	return strings.NewReplacer(to...), strings.NewReplacer(from...)
}

// ambiguous are words that some readers of YAML take for something else.
var ambiguous = strings.Fields("y n yes no on off true false null ~ =")

func yamlNode(n *node, in *strings.Replacer) *yaml.Node {
	y := &yaml.Node{Kind: yaml.ScalarNode, Value: in.Replace(n.value)}
	switch n.kind {
	case null:
		y.Tag, y.Value = "!!null", "null"
	case text:
		y.Tag = "!!str"
		switch {
		case strings.Contains(n.value, "\n"):
			y.Style = yaml.LiteralStyle
		case slices.Contains(ambiguous, strings.ToLower(n.value)):
			y.Style = yaml.DoubleQuotedStyle
		}
	case list:
		y.Kind = yaml.SequenceNode
		for _, v := range n.items {
			y.Content = append(y.Content, yamlNode(v, in))
		}
		if len(n.items) == 0 {
			y.Style = yaml.FlowStyle
		}
	case object:
		y.Kind = yaml.MappingNode
		for _, p := range n.pairs {
			y.Content = append(y.Content, yamlNode(texts(p.key), in), yamlNode(p.value, in))
		}
		if len(n.pairs) == 0 {
			y.Style = yaml.FlowStyle
		}
	}
	return y
}
