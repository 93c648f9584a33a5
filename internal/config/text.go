package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
)

// Caps on one file.
const (
	maxFile  = 1 << 20
	maxDepth = 8
	tooDeep  = "nests deeper than 8 levels"
)

// parseYAML reads one YAML document of plain mappings, lists and scalars. The
// result is nil where the text holds no value. Aliases, tags, a second document
// and deep nesting are refused: each can make a reader see something else than
// what is used.
func parseYAML(file string, text []byte) (*yaml.Node, []Problem) {
	if p, bad := unreadable(file, text); bad {
		return nil, []Problem{p}
	}
	for range 2 { // in [-, -] the comma is the end of one and the beginning of the other
		text = loneDash().ReplaceAll(text, []byte("${1}"+dash+"${2}"))
	}
	root, err := oneDocument(text)
	if err != nil {
		return nil, []Problem{yamlProblem(file, err)}
	}
	if root == nil || null(root) {
		return nil, nil
	}
	if p, bad := unplain(file, root); bad {
		return nil, []Problem{p}
	}
	return root, nil
}

// secondDocument is the error for a text of several documents.
type secondDocument struct{ line, column int }

func (secondDocument) Error() string {
	return "a second document starts here; one file is one document"
}

func oneDocument(text []byte) (*yaml.Node, error) {
	var doc, second yaml.Node
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithPlugin(depthLimit{}))
	if err != nil {
		return nil, err
	}
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := loader.Load(&second); err == nil {
		return nil, secondDocument{second.Line, second.Column}
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if doc.Kind == yaml.DocumentNode && len(doc.Content) > 0 {
		return doc.Content[0], nil
	}
	return &doc, nil
}

// A lone dash is the last word of many commands, and YAML does not take one
// inside brackets: [codex, exec, -]. A noncharacter of the same width, which no
// file may have, stands in for it, so that every position stays as the author
// sees it.
const dash = "\ufdd0"

var loneDash = lazy.Regexp(`([\[{,:][ \t\r\n]*)-([ \t\r\n]*[,\]}])`)

// depthLimit stops the YAML library where a configuration cannot reach.
type depthLimit struct{}

func (depthLimit) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxDepth {
		return errors.New(tooDeep)
	}
	return nil
}

func (depthLimit) CheckAlias(aliases, _ int) error {
	if aliases > 0 {
		return errors.New("aliases are not allowed")
	}
	return nil
}

// unreadable finds what a person would not see in the text, or see differently.
func unreadable(file string, text []byte) (Problem, bool) {
	if len(text) > maxFile {
		return Problem{Origin: Origin{File: file}, Message: fmt.Sprintf("is larger than %d bytes", maxFile)}, true
	}
	var found plan.Problems
	plan.Screen(text, &found)
	for _, p := range found.Sorted() {
		return Problem{Origin: Origin{File: file, Line: p.Pos.Line, Column: p.Pos.Column}, Message: p.Message, Hint: p.Hint}, true
	}
	return Problem{}, false
}

// unplain finds the first alias or tag in the tree, whose depth is bounded, and
// gives dashes their own face again.
func unplain(file string, n *yaml.Node) (Problem, bool) {
	n.Value = strings.ReplaceAll(n.Value, dash, "-")
	switch {
	case n.Kind == yaml.AliasNode:
		return at(file, n, "aliases are not allowed; write the value out"), true
	case n.Style&yaml.TaggedStyle != 0:
		return at(file, n, "tags such as %s are not allowed", n.Tag), true
	}
	for _, child := range n.Content {
		if p, bad := unplain(file, child); bad {
			return p, true
		}
	}
	return Problem{}, false
}

func yamlProblem(file string, err error) Problem {
	p := Problem{Origin: Origin{File: file}, Message: err.Error()}
	if e, ok := errors.AsType[secondDocument](err); ok {
		p.Origin.Line, p.Origin.Column = e.line, e.column
	}
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		if p.Message = "is not YAML: " + e.Message; e.Message == tooDeep {
			p.Message = tooDeep
		}
		p.Origin.Line, p.Origin.Column = e.Mark.Line, max(e.Mark.Column, 1)
		if strings.HasSuffix(e.Message, "cannot start any token") {
			p.Hint = "YAML indents with blanks, never with a tab; a text that begins with @, ` or % needs quotes"
		}
	}
	return p
}

func at(file string, n *yaml.Node, format string, args ...any) Problem {
	return Problem{Origin: origin(file, n), Message: fmt.Sprintf(format, args...)}
}

func origin(file string, n *yaml.Node) Origin {
	return Origin{File: file, Line: n.Line, Column: n.Column}
}

func null(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}
