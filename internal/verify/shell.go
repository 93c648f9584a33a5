package verify

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

// shell is a parsed shell text. It does not know where in a plan it stands, so
// that steps with the same contract share it.
type shell struct {
	file  *syntax.File    // nil if the text has a fault
	fault string          // what is wrong with the syntax, or ""
	at    int             // byte offset of the fault
	calls []call          // simple commands in the order of the text, wrappers taken off
	asked map[string]bool // names that the script itself looks for
	paths bool            // it may change where commands are found

	search []string // directories of the workspace that it puts on PATH
	lost   []untold // what it runs and the text does not tell
	strays []word   // what it runs from outside of the workspace
	left   int      // statements that may be walked more than once
	guards []guard
	goals  goals  // of make
	ends   codes  // every code it may end with
	named  []word // that look like paths of files; made when asked for
}

// untold is a place where a script runs something that cannot be told.
type untold struct {
	at   int    // byte offset
	what string // "the command", "what the shell reads here"
}

// frame is what a script knows of the world it starts in, and who reads it.
type frame struct {
	parser *syntax.Parser

	root string // of the workspace, absolute; "" if that is not known
	git  bool   // the workspace is the top of a repository
	zero string // $0
	dir  string
	args []word // $1 and on
}

// call is a simple command as far as the text itself tells it.
type call struct {
	words []word
	dir   string // where it runs, relative to the workspace; unknownDir if the text does not tell
	maybe bool   // it stands in a branch that need not be taken
	stdin input  // what it reads, if the text tells
}

// word is one argument. One that depends on anything but the text is not known.
type word struct {
	text  string
	at    int // byte offset
	known bool
	glob  bool // has unquoted * ? [ or {
	drawn bool // the text is that of a variable or substitution, or names the workspace
}

const (
	unknownDir = "?"
	// workspace begins a path that is meant from the root of the workspace on,
	// whatever the directory: no path of a plan can hold a NUL.
	workspace = "\x00workspace"
	// unknownText stands for what is not known in the text of a word, so that the
	// rest can still be read as a script.
	unknownText = "${PITON_UNKNOWN}"
)

// maxPath is the longest path that is followed.
const maxPath = 1024

// name is the command's name, or "" where it is not known from the text.
func (c call) name() string {
	if len(c.words) == 0 || !c.words[0].known || c.words[0].glob {
		return ""
	}
	return c.words[0].text
}

// tool is the name without its directory.
func (c call) tool() string { return path.Base(c.name()) }

// args are the words after the name.
func (c call) args() []word { return c.words[1:] }

// parseShell reads a script for bash that starts at the root of the workspace.
func parseShell(text string) *shell { return parseScript(text, frame{parser: newParser()}) }

func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// parseScript reads a script for bash that starts in a frame.
func parseScript(text string, from frame) *shell {
	s := &shell{asked: map[string]bool{}}
	if at, deep := tooDeep(text); deep {
		s.fault, s.at = "parentheses nest too deep", at
		return s
	}
	file, err := from.parser.Parse(strings.NewReader(text), "")
	if err != nil {
		s.fault, s.at = fault(err)
		return s
	}
	if s.fault, s.at = falseBlank(file, text); s.fault != "" {
		return s
	}
	s.file = file
	collect(s, text, from)
	s.ends = results(file)
	return s
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

// parseInner reads a script in a string; nil if it is none.
func parseInner(text string) *syntax.File {
	if _, deep := tooDeep(text); deep {
		return nil
	}
	file, err := newParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file
}

// constants joins the arguments that eval or trap run; "" where one is unknown.
func constants(cmd call, name string) string {
	for _, w := range cmd.args() {
		if !w.known {
			return ""
		}
	}
	return evaluated(cmd, name)
}

// evaluated is what eval or trap run, with unknownText in it where the text does
// not tell.
func evaluated(cmd call, name string) string {
	var parts []string
	for _, w := range cmd.args() {
		parts = append(parts, w.text)
	}
	if name == "trap" && len(parts) > 0 {
		return parts[0]
	}
	return strings.Join(parts, " ")
}

// shellArgument is the constant script of sh -c, or "".
func shellArgument(cmd call) string {
	if w, ok := scriptWord(cmd); ok && w.known {
		return w.text
	}
	return ""
}

// scriptWord is the argument that sh -c runs.
func scriptWord(cmd call) (word, bool) {
	args := cmd.args()
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case !args[i].known || !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+") || text == "-" || text == "--":
			return word{}, false
		case strings.HasPrefix(text, "--"):
		case text[0] == '-' && strings.Contains(text, "c"):
			for i++; i < len(args) && args[i].known && strings.HasPrefix(args[i].text, "-"); i++ {
			}
			if i < len(args) {
				return args[i], true
			}
			return word{}, false
		case text == "-o" || text == "+o" || text == "-O" || text == "+O":
			i++
		}
	}
	return word{}, false
}

// asks reports a command that only looks whether others exist.
func asks(cmd call) bool {
	switch cmd.name() {
	case "which", "type", "hash":
		return true
	case "command":
		return len(cmd.words) > 1 && (cmd.words[1].text == "-v" || cmd.words[1].text == "-V")
	}
	return false
}

// changed is the directory after cd.
func changed(cmd call) string {
	args := cmd.args()
	for len(args) > 1 && args[0].known && strings.HasPrefix(args[0].text, "-") {
		args = args[1:]
	}
	if len(args) != 1 || !args[0].known || args[0].glob || args[0].text == "-" {
		return unknownDir
	}
	return within(cmd.dir, args[0].text)
}

// within is the path of a name as seen from a directory of the workspace;
// unknownDir if that lies outside or is not known.
func within(dir, name string) string {
	if rest, ok := strings.CutPrefix(name, workspace); ok && (rest == "" || rest[0] == '/') {
		dir, name = "", "."+rest
	}
	if dir == unknownDir || path.IsAbs(name) || strings.HasPrefix(name, "~") {
		return unknownDir
	}
	switch p := joint(dir, name); {
	case len(p) > maxPath:
		return unknownDir
	case p == ".":
		return ""
	case p == ".." || strings.HasPrefix(p, "../"):
		return unknownDir
	default:
		return p
	}
}

// joint is [path.Join] of a directory, which may be "", and a name in it.
func joint(dir, name string) string {
	if dir == "" {
		return path.Clean(name) // most of the time the name itself
	}
	return path.Join(dir, name)
}

// constant reads a word whose value the text itself gives.
func constant(w *syntax.Word) word {
	out := word{known: true, at: int(w.Pos().Offset())}
	if lit := literal(w.Parts); lit != nil {
		all := written(lit, false)
		all.at = out.at
		return all
	}
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out.glob = out.glob || len(p.Value) > 1 && strings.ContainsAny(p.Value, "*?[{")
			b.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			out.known = out.known && !(p.Dollar && strings.Contains(p.Value, `\`))
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			text, ok := quoted(p)
			out.known = out.known && ok
			b.WriteString(text)
		default:
			out.known = false
		}
	}
	out.text = b.String()
	return out
}

func quoted(q *syntax.DblQuoted) (string, bool) {
	var b strings.Builder
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		b.WriteString(unescape(lit.Value, "\\\"$`\n"))
	}
	return b.String(), true
}

// unescape takes the backslashes off that quote one of the characters; off all
// where none are given.
func unescape(s, chars string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (chars == "" || strings.IndexByte(chars, s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
