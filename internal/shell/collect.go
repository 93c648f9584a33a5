package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// collector walks a script and notes the commands it runs. A directory is
// followed through constant cd commands; each method returns the directory
// after. Functions are walked where they are called and loops for each of their
// words, as long as the shell's count of repeated statements lasts.
type collector struct {
	shell  *Script
	from   Frame
	vars   map[string]*variable
	bodies map[string][]*syntax.Stmt // of functions
	called map[string]bool
	active map[string]int // functions whose body is being walked
	args   []Word         // $1 and on
	free   bool           // the arguments are not known
	stdin  input
	depth  int  // of scripts inside constant strings
	calls  int  // of functions that call one another
	at     int  // place of all words of a script in a string; 0 in the outermost
	maybe  bool // in a branch
}

// collect notes the commands of a parsed script. Where it has variables or
// functions it walks twice: what a loop or a function assigns may be used before
// the place where it stands.
func collect(s *Script, text string, from Frame) {
	c := &collector{shell: s, from: from, vars: map[string]*variable{}, bodies: bodies(s.File, text), active: map[string]int{}}
	c.walk()
	if len(c.vars)+len(c.bodies) > 0 {
		s.Calls, s.Lost = s.Calls[:0], s.Lost[:0]
		c.walk()
	}
	c.uncalled(from.Dir)
}

func (c *collector) walk() {
	c.shell.Left = repeats(c.shell.File)
	c.called, c.args = map[string]bool{}, c.from.Args
	c.stmts(c.shell.File.Stmts, c.from.Dir)
}

// repeats is how many statements may be walked more than once.
func repeats(file *syntax.File) int { return 1000 + int(file.End().Offset()) }

// bodies are those of the functions of a script; a name may have several. Where
// the text has neither parentheses nor the keyword, which a backslash may break
// in two, there are none.
func bodies(file *syntax.File, text string) map[string][]*syntax.Stmt {
	list := map[string][]*syntax.Stmt{}
	if !strings.ContainsAny(text, `(\`) && !strings.Contains(text, "function") {
		return list
	}
	for node := range syntax.Preorder(file) {
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil {
			list[f.Name.Value] = append(list[f.Name.Value], f.Body)
		}
	}
	return list
}

// uncalled walks the functions that nothing seems to call: something may.
func (c *collector) uncalled(dir string) {
	if len(c.bodies) == 0 {
		return
	}
	for node := range syntax.Preorder(c.shell.File) {
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil && !c.called[f.Name.Value] {
			c.called[f.Name.Value] = true
			lost := len(c.shell.Lost)
			c.free = true
			c.branch([]*syntax.Stmt{f.Body}, dir)
			c.free = false
			c.shell.Lost = c.shell.Lost[:lost]
		}
	}
}

// lose notes that what is run at a place cannot be told.
func (c *collector) lose(at int, what string) {
	if c.depth > 0 {
		at = c.at
	}
	c.shell.Lose(at, what)
}

// maxLost is how many places of one script are noted.
const maxLost = 20

func (s *Script) Lose(at int, what string) {
	if !slices.ContainsFunc(s.Lost, func(u untold) bool { return u.At == at }) && len(s.Lost) < maxLost {
		s.Lost = append(s.Lost, untold{at, what})
	}
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
	c.shell.Left--
	saved := c.stdin
	for _, r := range s.Redirs {
		c.inside(r, dir)
		c.redirect(r, dir)
	}
	after := c.command(s.Cmd, dir)
	c.stdin = saved
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
		return c.binary(cmd, dir)
	case *syntax.Block:
		return c.stmts(cmd.Stmts, dir)
	case *syntax.Subshell:
		c.stmts(cmd.Stmts, dir)
	case *syntax.IfClause:
		return c.branches(cmd, dir)
	case *syntax.WhileClause:
		dir = c.stmts(cmd.Cond, dir)
		return joined(dir, c.stmts(cmd.Do, dir))
	case *syntax.ForClause:
		return c.loop(cmd, dir)
	case *syntax.CaseClause:
		c.inside(cmd.Word, dir)
		after := dir
		for _, item := range cmd.Items {
			after = joined(after, c.branch(item.Stmts, dir))
		}
		return after
	case *syntax.FuncDecl: // walked where it is called
	case *syntax.TimeClause:
		return c.stmt(cmd.Stmt, dir)
	case *syntax.CoprocClause:
		c.stmt(cmd.Stmt, dir)
	case *syntax.DeclClause:
		for _, a := range cmd.Args {
			c.assign(a, dir)
		}
		c.inside(cmd, dir)
	case nil:
	default:
		c.inside(cmd, dir)
	}
	return dir
}

// joined is the directory after one of two ways was taken.
func joined(a, b string) string {
	if a == b {
		return a
	}
	return UnknownDir
}

func (c *collector) binary(cmd *syntax.BinaryCmd, dir string) string {
	switch cmd.Op {
	case syntax.AndStmt:
		return c.stmt(cmd.Y, c.stmt(cmd.X, dir))
	case syntax.OrStmt:
		after := c.stmt(cmd.X, dir)
		c.branch([]*syntax.Stmt{cmd.Y}, after)
		return after
	}
	c.stmt(cmd.X, dir)
	saved := c.stdin
	c.stdin = input{Kind: UnknownInput} // what goes through a pipe is not followed
	c.stmt(cmd.Y, dir)
	c.stdin = saved
	return dir
}

func (c *collector) branches(clause *syntax.IfClause, dir string) string {
	after, first := dir, true
	for ; clause != nil; clause = clause.Else {
		dir = c.stmts(clause.Cond, dir)
		if first {
			after, first = dir, false
		}
		if end := c.branch(clause.Then, dir); !leaves(clause.Then) {
			after = joined(after, end)
		}
	}
	return after
}

// leaves reports statements that end with exit or return.
func leaves(list []*syntax.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	cmd, ok := list[len(list)-1].Cmd.(*syntax.CallExpr)
	if !ok || len(cmd.Args) == 0 {
		return false
	}
	switch cmd.Args[0].Lit() {
	case "exit", "return", "exec":
		return true
	}
	return false
}

// branch collects commands that need not run.
func (c *collector) branch(list []*syntax.Stmt, dir string) string {
	saved := c.maybe
	c.maybe = true
	after := c.stmts(list, dir)
	c.maybe = saved
	return after
}

// loop walks the body of for once for each of its words.
func (c *collector) loop(cmd *syntax.ForClause, dir string) string {
	iter, ok := cmd.Loop.(*syntax.WordIter)
	if !ok || iter.Name == nil {
		c.inside(cmd.Loop, dir)
		return joined(dir, c.stmts(cmd.Do, dir))
	}
	items, free := c.args, c.free
	if iter.InPos.IsValid() {
		items, free = c.items(iter, dir), false
	}
	name := iter.Name.Value
	all := &variable{unknown: free}
	for _, item := range items {
		all.add(item)
	}
	after := dir
	if free || len(items) == 0 || c.shell.Left <= 0 {
		all.unknown = true
		c.vars[name] = all
		return joined(dir, c.stmts(cmd.Do, dir))
	}
	before := c.vars[name]
	for i, item := range items {
		if i > 0 && c.shell.Left <= 0 {
			c.lose(item.At, "all that the loop runs")
			break
		}
		c.vars[name] = &variable{}
		c.vars[name].add(item)
		after = c.stmts(cmd.Do, after)
	}
	all.merge(before)
	c.vars[name] = all
	return joined(dir, after)
}

func (c *collector) items(iter *syntax.WordIter, dir string) []Word {
	var items []Word
	for _, w := range iter.Items {
		c.inside(w, dir)
		for _, list := range c.expand(w, dir) {
			items = append(items, list...)
		}
	}
	return items
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
		c.assign(a, dir)
	}
	if len(cmd.Args) == 0 {
		return dir
	}
	lists := [][]Word{make([]Word, 0, len(cmd.Args))}
	for _, arg := range cmd.Args {
		if w, ok := c.plain(arg); ok {
			for i := range lists {
				lists[i] = append(lists[i], w)
			}
			continue
		}
		c.inside(arg, dir)
		lists = c.combine(lists, c.expand(arg, dir))
	}
	after := ""
	for i, words := range lists {
		end := dir
		if len(words) > 0 {
			end = c.call(Call{Words: words, Dir: dir, Maybe: c.maybe, Stdin: c.stdin})
		}
		if i == 0 {
			after = end
		}
		after = joined(after, end)
	}
	return after
}

// combine appends each of the readings of a word to each list of words, which
// are the caller's own.
func (c *collector) combine(lists, readings [][]Word) [][]Word {
	if len(readings) == 1 {
		for i := range lists {
			lists[i] = append(lists[i], readings[0]...)
		}
		return lists
	}
	if len(lists)*len(readings) > maxReadings {
		at := 0
		if len(readings) > 0 && len(readings[0]) > 0 {
			at = readings[0][0].At
		}
		readings = [][]Word{{{Text: UnknownText, At: at, Drawn: true}}}
	}
	var out [][]Word
	for _, list := range lists {
		for _, r := range readings {
			out = append(out, append(list[:len(list):len(list)], r...))
		}
	}
	return out
}

// call notes a command; of a wrapper the command it starts as well.
func (c *collector) call(cmd Call) string {
	name := cmd.Name()
	if name == "" && cmd.Words[0].Known && cmd.Words[0].Text == "" {
		return cmd.Dir
	}
	if name == "" {
		c.lose(cmd.Words[0].At, "which command runs here")
		return cmd.Dir
	}
	if bodies, ok := c.bodies[name]; ok {
		return c.function(name, bodies, cmd)
	}
	c.note(cmd)
	switch {
	case name == "cd" || name == "pushd":
		return changed(cmd)
	case name == "popd":
		return UnknownDir
	case name == "shift" || name == "set" && HasAny(cmd, "--"):
		c.free = true
	case name == "read" || name == "mapfile" || name == "readarray" || name == "getopts" || name == "printf":
		c.filled(cmd)
	case name == "eval" && len(cmd.Words) > 1 && !slices.ContainsFunc(cmd.Args(), Word.special):
		return c.call(Call{Words: cmd.Args(), Dir: cmd.Dir, Maybe: cmd.Maybe, Stdin: cmd.Stdin})
	case name == "eval" || name == "trap":
		return c.script(cmd, evaluated(cmd, name), c.args)
	case IsShell(cmd.Tool()):
		c.shellCommand(cmd)
	case asks(cmd):
		for _, w := range cmd.Args() {
			c.shell.Asked[w.Text] = true
		}
	}
	for _, inner := range begun(cmd) {
		if c.shell.Left -= len(inner.Words) / 64; c.shell.Left <= 0 {
			c.lose(cmd.Words[0].At, "all that the command starts")
			break
		}
		c.call(inner)
	}
	return cmd.Dir
}

func (c *collector) note(cmd Call) {
	name := cmd.Name()
	sources := name == "." || name == "source"
	c.shell.Paths = c.shell.Paths || sources
	if sources || !IsBuiltin(name) {
		c.shell.Calls = append(c.shell.Calls, cmd)
	}
}

// maxCalls is how deep functions that call one another are followed.
const maxCalls = 6

// function walks the bodies of a function with the arguments of a call.
func (c *collector) function(name string, bodies []*syntax.Stmt, cmd Call) string {
	if c.calls >= maxCalls || c.shell.Left <= 0 {
		if c.active[name] == 0 {
			c.lose(cmd.Words[0].At, "all that the function runs")
		}
		return cmd.Dir
	}
	c.called[name] = true
	args, free, maybe := c.args, c.free, c.maybe
	c.args, c.free, c.maybe = cmd.Args(), false, true
	c.calls++
	c.active[name]++
	after := c.stmt(bodies[0], cmd.Dir)
	for _, body := range bodies[1:] {
		after = joined(after, c.stmt(body, cmd.Dir))
	}
	c.active[name]--
	c.calls--
	c.args, c.free, c.maybe = args, free, maybe
	return after
}

// filled forgets what a builtin reads from elsewhere.
func (c *collector) filled(cmd Call) {
	for i, w := range cmd.Args() {
		if cmd.Name() == "printf" && (i != 1 || cmd.Words[1].Text != "-v") {
			continue
		}
		if !strings.HasPrefix(w.Text, "-") {
			c.variable(w.Text).unknown = true
		}
	}
}

// shellCommand follows the script of sh -c, or the one that a shell reads.
func (c *collector) shellCommand(cmd Call) {
	if w, ok := ScriptWord(cmd); ok {
		at := slices.Index(cmd.Words, w)
		var args []Word
		if at+2 <= len(cmd.Words) && at >= 0 {
			args = cmd.Words[min(at+2, len(cmd.Words)):]
		}
		c.script(cmd, w.Text, args)
		return
	}
	if ReadsScript(cmd) {
		switch cmd.Stdin.Kind {
		case constantInput:
			c.script(cmd, cmd.Stdin.text, nil)
		case UnknownInput:
			c.lose(cmd.Words[0].At, "what the shell reads here")
		}
	}
}

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

// maxStrings is how deep scripts in constant strings are followed.
const maxStrings = 4

// script collects the commands of a script that stands in a string.
func (c *collector) script(from Call, text string, args []Word) string {
	if text == "" {
		return from.Dir
	}
	if c.depth >= maxStrings || c.shell.Left <= 0 {
		c.lose(from.Words[0].At, "all that the script in the string runs")
		return from.Dir
	}
	c.shell.Left -= len(text) / 8
	inner := parseInner(text)
	if inner == nil {
		return from.Dir
	}
	nested := *c
	nested.depth, nested.maybe, nested.args = c.depth+1, from.Maybe, args
	nested.stdin = input{}
	if c.depth == 0 {
		nested.at = from.Words[0].At
	}
	for name, list := range bodies(inner, text) {
		if len(nested.bodies[name]) < maxReadings {
			nested.bodies[name] = append(nested.bodies[name], list...)
		}
	}
	return nested.stmts(inner.Stmts, from.Dir)
}
