package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker walks a script and notes the commands it runs. It follows constant cd
// commands, variables that the text sets, functions where they are called, and loops
// over words.
type walker struct {
	s      *Script
	from   Frame
	vars   map[string]string
	bodies map[string]*syntax.Stmt // of functions
	called map[string]bool
	args   []string // $1 and on
	free   bool     // the arguments are not known
	dir    string
	stdin  input
	maybe  bool // in a branch
	depth  int  // of functions, and of scripts in strings
	inner  bool // in a script in a string
	at     int  // place of all its words
	left   int  // statements that may yet be walked
}

// input is what a command reads, as far as the text tells.
type input struct {
	Files []Word // that are its input
	text  string // of a here-document
}

// maxDepth is how deep functions and scripts in strings are followed.
const maxDepth = 6

func collect(s *Script, text string, from Frame) {
	w := &walker{s: s, from: from, vars: map[string]string{}, bodies: map[string]*syntax.Stmt{}, called: map[string]bool{}, left: 1000 + len(text)}
	w.functions(s.File)
	w.stmts(s.File.Stmts)
	w.free, w.maybe, w.dir = true, true, ""
	for node := range syntax.Preorder(s.File) { // something may call those that nothing seems to call
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil && !w.called[f.Name.Value] {
			w.called[f.Name.Value] = true
			w.args = []string{unknownText}
			w.stmt(f.Body)
		}
	}
	s.Vague = s.Vague || w.left <= 0
}

func (w *walker) functions(file *syntax.File) {
	for node := range syntax.Preorder(file) {
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil {
			w.bodies[f.Name.Value] = f.Body
		}
	}
}

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *walker) stmt(s *syntax.Stmt) {
	if w.left--; s == nil || w.left <= 0 {
		return
	}
	dir, stdin := w.dir, w.stdin
	for _, r := range s.Redirs {
		w.inside(r)
		w.redirect(r)
	}
	w.command(s.Cmd)
	if w.stdin = stdin; s.Background || s.Coprocess {
		w.dir = dir
	}
}

// redirect follows < FILE, << and <<<.
func (w *walker) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut:
		w.stdin = input{Files: w.words(r.Word)}
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		word := r.Word
		if r.Hdoc != nil {
			word = &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: r.Hdoc.Parts}}}
		}
		w.stdin = input{}
		for _, one := range w.words(word) {
			w.stdin.text += one.Text
		}
	}
}

func (w *walker) command(cmd syntax.Command) {
	dir := w.dir
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		w.simple(cmd)
	case *syntax.BinaryCmd:
		switch w.stmt(cmd.X); cmd.Op {
		case syntax.AndStmt:
			w.stmt(cmd.Y)
		case syntax.OrStmt:
			w.branch([]*syntax.Stmt{cmd.Y})
		default:
			stdin := w.stdin
			w.dir, w.stdin = dir, input{}
			w.stmt(cmd.Y)
			w.dir, w.stdin = dir, stdin
		}
	case *syntax.Block:
		w.stmts(cmd.Stmts)
	case *syntax.Subshell:
		w.stmts(cmd.Stmts)
		w.dir = dir
	case *syntax.IfClause:
		for ; cmd != nil; cmd = cmd.Else {
			w.stmts(cmd.Cond)
			w.branch(cmd.Then)
		}
	case *syntax.WhileClause:
		w.stmts(cmd.Cond)
		w.stmts(cmd.Do)
	case *syntax.ForClause:
		w.loop(cmd)
	case *syntax.CaseClause:
		w.inside(cmd.Word)
		for _, item := range cmd.Items {
			w.branch(item.Stmts)
		}
	case *syntax.FuncDecl: // walked where it is called
	case *syntax.TimeClause:
		w.stmt(cmd.Stmt)
	case *syntax.CoprocClause:
		w.stmt(cmd.Stmt)
	case *syntax.DeclClause:
		for _, a := range cmd.Args {
			w.assign(a)
		}
		w.inside(cmd)
	case nil:
	default:
		w.inside(cmd)
	}
}

// branch walks commands that need not run.
func (w *walker) branch(list []*syntax.Stmt) {
	maybe, dir := w.maybe, w.dir
	w.maybe = true
	w.stmts(list)
	w.maybe = maybe
	switch {
	case leaves(list):
		w.dir = dir
	case w.dir != dir:
		w.dir = UnknownDir
	}
}

// leaves reports statements that end with exit or return.
func leaves(list []*syntax.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	cmd, ok := list[len(list)-1].Cmd.(*syntax.CallExpr)
	return ok && len(cmd.Args) > 0 && slices.Contains([]string{"exit", "return", "exec"}, cmd.Args[0].Lit())
}

// loop walks the body of for once for each of its words.
func (w *walker) loop(cmd *syntax.ForClause) {
	dir := w.dir
	iter, ok := cmd.Loop.(*syntax.WordIter)
	if !ok || iter.Name == nil {
		w.inside(cmd.Loop)
		w.stmts(cmd.Do)
		return
	}
	var items []Word
	for _, arg := range iter.Items {
		w.inside(arg)
		items = append(items, w.words(arg)...)
	}
	if !iter.InPos.IsValid() {
		for _, arg := range w.args {
			items = append(items, Word{Text: arg, Known: !w.free})
		}
	}
	for _, item := range items {
		if w.set(iter.Name.Value, item.Text, item.Known && !item.Glob); w.left > 0 {
			w.stmts(cmd.Do)
		}
	}
	if len(items) == 0 {
		w.stmts(cmd.Do)
	}
	if w.dir != dir {
		w.dir = UnknownDir
	}
}

// inside walks what substitutions in a node run.
func (w *walker) inside(node syntax.Node) {
	run := func(list []*syntax.Stmt) {
		dir := w.dir
		w.stmts(list)
		w.dir = dir
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			run(n.Stmts)
			return false
		case *syntax.ProcSubst:
			run(n.Stmts)
			return false
		}
		return true
	})
}

func (w *walker) assign(a *syntax.Assign) {
	if a.Name == nil || a.Naked {
		return
	}
	w.s.Paths = w.s.Paths || a.Name.Value == "PATH" && a.Value != nil
	text, known := "", false
	if a.Index == nil && a.Array == nil && !a.Append {
		text, known = w.literal(a.Value)
	}
	w.set(a.Name.Value, text, known)
}

func (w *walker) set(name, text string, known bool) {
	if delete(w.vars, name); known && len(text) <= MaxPath {
		w.vars[name] = text
	}
}

func (w *walker) simple(cmd *syntax.CallExpr) {
	for _, a := range cmd.Assigns {
		w.inside(a)
		w.assign(a)
	}
	words := make([]Word, 0, len(cmd.Args))
	for _, arg := range cmd.Args {
		w.inside(arg)
		words = append(words, w.words(arg)...)
	}
	if len(words) > 0 {
		w.call(Call{Words: words, Dir: w.dir, Maybe: w.maybe, Stdin: w.stdin})
	}
}

// call notes a command; of a wrapper the command it starts as well.
func (w *walker) call(cmd Call) {
	name := cmd.Name()
	if name == "" {
		w.s.Vague = w.s.Vague || !cmd.Words[0].Known || cmd.Words[0].Glob
		return
	}
	if body, ok := w.bodies[name]; ok {
		w.called[name] = true
		cmd.Maybe = true
		w.nested(cmd, textsOf(cmd.Args()), func() { w.stmt(body) })
		return
	}
	if sources := name == "." || name == "source"; sources || !IsBuiltin(name) {
		w.s.Paths = w.s.Paths || sources
		w.s.Calls = append(w.s.Calls, cmd)
	}
	switch {
	case name == "cd" || name == "pushd":
		w.dir = changed(cmd)
	case name == "popd":
		w.dir = UnknownDir
	case name == "shift" || name == "set" && HasAny(cmd, "--"):
		w.args, w.free = []string{unknownText}, true
	case name == "read" || name == "mapfile" || name == "readarray" || name == "getopts" || name == "printf":
		for _, arg := range cmd.Args() {
			delete(w.vars, arg.Text)
		}
	case name == "eval":
		w.script(cmd, strings.Join(textsOf(cmd.Args()), " "), w.args)
	case name == "trap" && len(cmd.Words) > 1:
		w.script(cmd, cmd.Words[1].Text, w.args)
	case IsShell(cmd.Tool()):
		w.shell(cmd)
	case asks(cmd):
		for _, arg := range cmd.Args() {
			w.s.Asked[arg.Text] = true
		}
	}
	for _, inner := range begun(cmd) {
		if w.left -= 1 + len(inner.Words)/64; w.left > 0 {
			w.call(inner)
		}
	}
}

func textsOf(words []Word) []string {
	list := make([]string, len(words))
	for i, one := range words {
		list[i] = one.Text
	}
	return list
}

// shell follows the script of sh -c, or the one that a shell reads.
func (w *walker) shell(cmd Call) {
	text, args := cmd.Stdin.text, []string(nil)
	if at := scriptIndex(cmd); at > 0 {
		text, args = cmd.Words[at].Text, textsOf(cmd.Words[min(at+2, len(cmd.Words)):])
	} else if !ReadsScript(cmd) {
		return
	}
	w.script(cmd, text, args)
}

// script walks a script that stands in a string.
func (w *walker) script(from Call, text string, args []string) {
	if w.left -= len(text) / 8; text == "" || w.left <= 0 {
		return
	}
	if file, _, _ := NewParser().parse(text); file != nil {
		w.nested(from, args, func() {
			if !w.inner {
				w.inner, w.at = true, from.Words[0].At
			}
			w.functions(file)
			w.stmts(file.Stmts)
		})
	}
}

// nested walks on with other arguments.
func (w *walker) nested(from Call, args []string, walk func()) {
	if w.depth >= maxDepth {
		w.s.Vague = true
		return
	}
	saved := *w
	w.args, w.free, w.maybe, w.stdin, w.depth = args, false, from.Maybe, input{}, w.depth+1
	walk()
	saved.dir, saved.left = w.dir, w.left
	*w = saved
}
