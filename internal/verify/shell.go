package verify

import (
	"errors"
	"path"
	"strings"

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

	guards []guard
	ends   codes // every code it may end with
}

// call is a simple command as far as the text itself tells it.
type call struct {
	words []word
	dir   string // where it runs, relative to the workspace; unknownDir if the text does not tell
	maybe bool   // it stands in a branch that need not be taken
}

// word is one argument. One that depends on anything but the text is not known.
type word struct {
	text  string
	known bool
	glob  bool // has unquoted * ? [ or {
	at    int  // byte offset
}

const unknownDir = "?"

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

// parseShell reads a script for bash.
func parseShell(text string) *shell {
	s := &shell{asked: map[string]bool{}}
	if at, deep := tooDeep(text); deep {
		s.fault, s.at = "parentheses nest too deep", at
		return s
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		s.fault, s.at = fault(err)
		return s
	}
	s.file = file
	c := collector{shell: s, functions: functions(file)}
	c.stmts(file.Stmts, "")
	s.guards, s.ends = guards(s.calls), results(file)
	return s
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

func functions(file *syntax.File) map[string]bool {
	names := map[string]bool{}
	for node := range syntax.Preorder(file) {
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil {
			names[f.Name.Value] = true
		}
	}
	return names
}

// collector walks a script and notes the commands it runs. A directory is
// followed through constant cd commands; each method returns the directory after.
type collector struct {
	shell     *shell
	functions map[string]bool
	depth     int  // of scripts inside constant strings
	at        int  // place of all words of such a script; 0 in the outermost
	maybe     bool // in a branch
}

func (c *collector) stmts(list []*syntax.Stmt, dir string) string {
	for _, s := range list {
		dir = c.stmt(s, dir)
	}
	return dir
}

func (c *collector) stmt(s *syntax.Stmt, dir string) string {
	if s == nil {
		return dir
	}
	for _, r := range s.Redirs {
		c.inside(r, dir)
	}
	after := c.command(s.Cmd, dir)
	if s.Background || s.Coprocess {
		return dir
	}
	return after
}

func (c *collector) command(cmd syntax.Command, dir string) string {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		return c.simple(cmd, dir)
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.AndStmt {
			return c.stmt(cmd.Y, c.stmt(cmd.X, dir))
		}
		if cmd.Op == syntax.OrStmt {
			after := c.stmt(cmd.X, dir)
			c.branch([]*syntax.Stmt{cmd.Y}, after)
			return after
		}
		c.stmt(cmd.X, dir)
		c.stmt(cmd.Y, dir)
	case *syntax.Block:
		return c.stmts(cmd.Stmts, dir)
	case *syntax.Subshell:
		c.stmts(cmd.Stmts, dir)
	case *syntax.IfClause:
		c.branches(cmd, dir)
	case *syntax.WhileClause:
		c.stmts(cmd.Do, c.stmts(cmd.Cond, dir))
	case *syntax.ForClause:
		c.inside(cmd.Loop, dir)
		c.stmts(cmd.Do, dir)
	case *syntax.CaseClause:
		c.inside(cmd.Word, dir)
		for _, item := range cmd.Items {
			c.branch(item.Stmts, dir)
		}
	case *syntax.FuncDecl:
		c.branch([]*syntax.Stmt{cmd.Body}, dir)
	case *syntax.TimeClause:
		return c.stmt(cmd.Stmt, dir)
	case *syntax.CoprocClause:
		c.stmt(cmd.Stmt, dir)
	case *syntax.DeclClause:
		for _, a := range cmd.Args {
			c.shell.paths = c.shell.paths || a.Name != nil && a.Name.Value == "PATH"
		}
		c.inside(cmd, dir)
	case nil:
	default:
		c.inside(cmd, dir)
	}
	return dir
}

func (c *collector) branches(clause *syntax.IfClause, dir string) {
	for ; clause != nil; clause = clause.Else {
		c.branch(clause.Then, c.stmts(clause.Cond, dir))
	}
}

// branch collects commands that need not run.
func (c *collector) branch(list []*syntax.Stmt, dir string) {
	saved := c.maybe
	c.maybe = true
	c.stmts(list, dir)
	c.maybe = saved
}

// inside collects what substitutions in a node run.
func (c *collector) inside(node syntax.Node, dir string) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			c.stmts(n.Stmts, dir)
			return false
		case *syntax.ProcSubst:
			c.stmts(n.Stmts, dir)
			return false
		}
		return true
	})
}

func (c *collector) simple(cmd *syntax.CallExpr, dir string) string {
	for _, a := range cmd.Assigns {
		c.inside(a, dir)
		c.shell.paths = c.shell.paths || a.Name != nil && a.Name.Value == "PATH"
	}
	words := make([]word, len(cmd.Args))
	for i, arg := range cmd.Args {
		c.inside(arg, dir)
		words[i] = constant(arg)
		if c.depth > 0 {
			words[i].at = c.at
		}
	}
	return c.call(call{words, dir, c.maybe})
}

// call notes a command; of a wrapper the command it starts as well.
func (c *collector) call(cmd call) string {
	name := cmd.name()
	if name == "" || c.functions[name] {
		return cmd.dir
	}
	sources := name == "." || name == "source"
	c.shell.paths = c.shell.paths || sources
	if sources || !isBuiltin(name) {
		c.shell.calls = append(c.shell.calls, cmd)
	}
	switch {
	case name == "cd" || name == "pushd":
		return changed(cmd)
	case name == "eval" || name == "trap":
		c.script(cmd, constants(cmd, name))
		return cmd.dir
	case isShell(cmd.tool()):
		c.script(cmd, shellArgument(cmd))
	case asks(cmd):
		for _, w := range cmd.args() {
			c.shell.asked[w.text] = true
		}
	}
	if inner, ok := unwrap(cmd); ok {
		return c.call(inner)
	}
	return cmd.dir
}

// maxStrings is how deep scripts in constant strings are followed.
const maxStrings = 4

// script collects the commands of a script that stands in a constant string.
func (c *collector) script(from call, text string) {
	if text == "" || c.depth >= maxStrings {
		return
	}
	inner := parseInner(text)
	if inner == nil {
		return
	}
	nested := collector{shell: c.shell, functions: c.functions, depth: c.depth + 1, at: from.words[0].at, maybe: from.maybe}
	nested.stmts(inner.Stmts, from.dir)
}

// parseInner reads a script in a string; nil if it is none.
func parseInner(text string) *syntax.File {
	if _, deep := tooDeep(text); deep {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file
}

// constants joins the arguments that eval or trap run; "" where one is unknown.
func constants(cmd call, name string) string {
	var parts []string
	for _, w := range cmd.args() {
		if !w.known {
			return ""
		}
		parts = append(parts, w.text)
	}
	if name == "trap" && len(parts) > 0 {
		return parts[0]
	}
	return strings.Join(parts, " ")
}

// shellArgument is the constant script of sh -c, or "".
func shellArgument(cmd call) string {
	args := cmd.args()
	for i, w := range args {
		if !w.known || !strings.HasPrefix(w.text, "-") {
			return ""
		}
		if !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "c") {
			if i+1 < len(args) && args[i+1].known {
				return args[i+1].text
			}
			return ""
		}
	}
	return ""
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

func changed(cmd call) string {
	if len(cmd.words) != 2 || !cmd.words[1].known || cmd.words[1].glob {
		return unknownDir
	}
	return within(cmd.dir, cmd.words[1].text)
}

// within is the path of a name as seen from a directory of the workspace;
// unknownDir if that lies outside or is not known.
func within(dir, name string) string {
	if dir == unknownDir || path.IsAbs(name) || strings.HasPrefix(name, "~") {
		return unknownDir
	}
	switch p := path.Join(dir, name); {
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

// constant reads a word whose value the text itself gives.
func constant(w *syntax.Word) word {
	out := word{known: true, at: int(w.Pos().Offset())}
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
