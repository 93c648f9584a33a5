package shell

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// maxNesting is how deep parentheses may nest in a script: far more than people
// write, and little enough to parse in linear time.
const maxNesting = 500

// Script is a script as it is read: its commands, and what cannot be told of them.
type Script struct {
	File  *syntax.File    // nil if the text has a fault
	Fault string          // what is wrong with the syntax, or ""
	At    int             // byte offset of the fault
	Calls []Call          // simple commands in the order of the text, wrappers taken off
	Asked map[string]bool // names that the script itself looks for
	Paths bool            // it may change where commands are found

	Vague bool // it runs what the text does not tell
	Ends  int  // the code it always ends with, or Any
}

// Frame is what a script knows of the world it starts in, and who reads it.
type Frame struct {
	Parser *Parser

	Root string // of the workspace, absolute; "" if that is not known
	Git  bool   // the workspace is the top of a repository
}

// Call is a simple command as far as the text itself tells it.
type Call struct {
	Words []Word
	Dir   string // where it runs, relative to the workspace; unknownDir if the text does not tell
	Maybe bool   // it stands in a branch that need not be taken
	Stdin input  // what it reads, if the text tells
}

const (
	// UnknownDir is a directory that the text does not tell.
	UnknownDir = "?"
	// workspace begins a path that is meant from the root of the workspace on,
	// whatever the directory: no path of a plan can hold a control character.
	workspace = "/\x1fworkspace"
	// unknownText stands for what is not known in the text of a word, so that the
	// rest can still be read as a script.
	unknownText = "${PITON_UNKNOWN}"
)

// MaxPath is the longest path that is followed.
const MaxPath = 1024

// Name is the command's name, or "" where it is not known from the text.
func (c Call) Name() string {
	if len(c.Words) == 0 || !c.Words[0].Known || c.Words[0].Glob {
		return ""
	}
	return c.Words[0].Text
}

// Tool is the name without its directory.
func (c Call) Tool() string { return path.Base(c.Name()) }

// Args are the words after the name.
func (c Call) Args() []Word { return c.Words[1:] }

// Parse reads a script for bash that starts at the root of the workspace.
func Parse(text string) *Script { return Read(text, Frame{Parser: NewParser()}) }

// A Parser parses each text once. It is not safe for concurrent use.
type Parser struct {
	bash *syntax.Parser
	read map[string]Script // without what depends on the frame
}

// NewParser returns a parser for bash.
func NewParser() *Parser {
	return &Parser{syntax.NewParser(syntax.Variant(syntax.LangBash)), map[string]Script{}}
}

// parse reads a text: the file is nil where something is wrong with it, at a byte offset.
func (p *Parser) parse(text string) (file *syntax.File, wrong string, at int) {
	if at, deep := tooDeep(text); deep {
		return nil, "parentheses nest too deep", at
	}
	file, err := p.bash.Parse(strings.NewReader(text), "")
	if err != nil {
		wrong, at = fault(err)
		return nil, wrong, at
	}
	if wrong, at = falseBlank(file, text); wrong != "" {
		file = nil
	}
	return file, wrong, at
}

func (p *Parser) fresh(text string) (s Script) {
	if s.File, s.Fault, s.At = p.parse(text); s.File != nil {
		s.Ends = ends(s.File)
	}
	return s
}

// Read reads a script for bash that starts in a frame.
func Read(text string, from Frame) *Script {
	s, known := from.Parser.read[text]
	if !known {
		s = from.Parser.fresh(text)
		from.Parser.read[text] = s
	}
	s.Asked = map[string]bool{}
	if s.File != nil {
		collect(&s, text, from)
	}
	return &s
}

// falseBlank is the fault of a character outside of quotes that a reader takes
// for the blank between two words and bash does not, and where it stands.
func falseBlank(file *syntax.File, text string) (string, int) {
	if !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "", 0
	}
	at, r := strayBlank(file)
	if r == 0 {
		return "", 0
	}
	return fmt.Sprintf("U+%04X looks like a blank, and bash takes it for a letter: put it in quotes, or write a space", r), at
}

// strayBlank finds the first such character.
func strayBlank(file *syntax.File) (at int, found rune) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DblQuoted:
			return false
		case *syntax.Redirect: // the text of a here-document is quoted, its end is not read
			return n.Hdoc == nil
		case *syntax.Lit:
			for i, r := range n.Value {
				if found == 0 && r > unicode.MaxASCII && unicode.IsSpace(r) {
					at, found = int(n.Pos().Offset())+i, r
				}
			}
		}
		return found == 0
	})
	return at, found
}

func fault(err error) (string, int) {
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		return e.Text, int(e.Pos.Offset())
	}
	if e, ok := errors.AsType[syntax.LangError](err); ok {
		return e.Feature + " is not part of bash", int(e.Pos.Offset())
	}
	return err.Error(), 0
}

// tooDeep estimates the nesting from the parentheses alone, quotes and comments
// included: no script that people write comes near the cap.
func tooDeep(text string) (int, bool) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			if depth++; depth > maxNesting {
				return i, true
			}
		case ')':
			depth = max(0, depth-1)
		}
	}
	return 0, false
}

// scriptIndex is the place of the script among the words of sh -c, or 0.
func scriptIndex(cmd Call) int {
	for i := 1; i < len(cmd.Words); i++ {
		text := cmd.Words[i].Text
		switch {
		case !cmd.Words[i].Known || !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+") || text == "-" || text == "--":
			return 0
		case strings.HasPrefix(text, "--"):
		case text[0] == '-' && strings.Contains(text, "c"):
			for i++; i < len(cmd.Words) && cmd.Words[i].Known && strings.HasPrefix(cmd.Words[i].Text, "-"); i++ {
			}
			return i % len(cmd.Words)
		case text == "-o" || text == "+o" || text == "-O" || text == "+O":
			i++
		}
	}
	return 0
}

// HasScript reports a shell that runs a script in its arguments.
func HasScript(cmd Call) bool { return scriptIndex(cmd) > 0 }

// ReadsScript reports a shell or an interpreter that reads its script from its input.
func ReadsScript(cmd Call) bool {
	for i, w := range cmd.Args() {
		switch {
		case w.Text == "-s" && IsShell(cmd.Tool()):
			return true
		case w.Text == "-" || w.Text == "/dev/stdin":
			return true
		case !w.Known || !strings.HasPrefix(w.Text, "-") && !(i > 0 && (cmd.Words[i].Text == "-o" || cmd.Words[i].Text == "-O")):
			return false
		case !IsShell(cmd.Tool()):
			return false // an option that says what to run, or to print
		}
	}
	return true
}

// asks reports a command that only looks whether others exist.
func asks(cmd Call) bool {
	switch cmd.Name() {
	case "which", "type", "hash":
		return true
	case "command":
		return len(cmd.Words) > 1 && (cmd.Words[1].Text == "-v" || cmd.Words[1].Text == "-V")
	}
	return false
}

// changed is the directory after cd.
func changed(cmd Call) string {
	args := cmd.Args()
	for len(args) > 1 && args[0].Known && strings.HasPrefix(args[0].Text, "-") {
		args = args[1:]
	}
	if len(args) != 1 || !args[0].Known || args[0].Glob || args[0].Text == "-" {
		return UnknownDir
	}
	return Within(cmd.Dir, args[0].Text)
}

// Within is the path of a name as seen from a directory of the workspace;
// unknownDir if that lies outside or is not known.
func Within(dir, name string) string {
	if rest, ok := strings.CutPrefix(name, workspace); ok && (rest == "" || rest[0] == '/') {
		dir, name = "", "."+rest
	}
	if dir == UnknownDir || path.IsAbs(name) || strings.HasPrefix(name, "~") {
		return UnknownDir
	}
	switch p := path.Join(dir, name); {
	case len(p) > MaxPath:
		return UnknownDir
	case p == ".":
		return ""
	case p == ".." || strings.HasPrefix(p, "../"):
		return UnknownDir
	default:
		return p
	}
}
