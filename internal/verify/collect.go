package verify

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
	shell  *shell
	from   frame
	vars   map[string]*variable
	bodies map[string][]*syntax.Stmt // of functions
	called map[string]bool
	active map[string]int // functions whose body is being walked
	args   []word         // $1 and on
	free   bool           // the arguments are not known
	stack  []string
	stdin  input
	depth  int  // of scripts inside constant strings
	calls  int  // of functions that call one another
	at     int  // place of all words of a script in a string; 0 in the outermost
	maybe  bool // in a branch
}

// collect notes the commands of a parsed script. Where it has variables or
// functions it walks twice: what a loop or a function assigns may be used before
// the place where it stands.
func collect(s *shell, text string, from frame) {
	c := &collector{shell: s, from: from, vars: map[string]*variable{}, bodies: bodies(s.file, text), active: map[string]int{}}
	c.walk()
	if len(c.vars)+len(c.bodies) > 0 {
		s.calls, s.lost = s.calls[:0], s.lost[:0]
		c.walk()
	}
	c.uncalled(from.dir)
}

func (c *collector) walk() {
	c.shell.left = repeats(c.shell.file)
	c.called, c.args, c.stack = map[string]bool{}, c.from.args, nil
	c.stmts(c.shell.file.Stmts, c.from.dir)
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
	for node := range syntax.Preorder(c.shell.file) {
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil && !c.called[f.Name.Value] {
			c.called[f.Name.Value] = true
			lost := len(c.shell.lost)
			c.free = true
			c.branch([]*syntax.Stmt{f.Body}, dir)
			c.free = false
			c.shell.lost = c.shell.lost[:lost]
		}
	}
}

// lose notes that what is run at a place cannot be told.
func (c *collector) lose(at int, what string) {
	if c.depth > 0 {
		at = c.at
	}
	c.shell.lose(at, what)
}

func (s *shell) lose(at int, what string) {
	if !slices.ContainsFunc(s.lost, func(u untold) bool { return u.at == at }) && len(s.lost) < maxPerScript {
		s.lost = append(s.lost, untold{at, what})
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
	c.shell.left--
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
	return unknownDir
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
	c.stdin = c.written(cmd.X, dir)
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
	if free || len(items) == 0 || c.shell.left <= 0 {
		all.unknown = true
		c.vars[name] = all
		return joined(dir, c.stmts(cmd.Do, dir))
	}
	before := c.vars[name]
	for i, item := range items {
		if i > 0 && c.shell.left <= 0 {
			c.lose(item.at, "all that the loop runs")
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

func (c *collector) items(iter *syntax.WordIter, dir string) []word {
	var items []word
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
	lists := [][]word{make([]word, 0, len(cmd.Args))}
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
			end = c.call(call{words: words, dir: dir, maybe: c.maybe, stdin: c.stdin})
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
func (c *collector) combine(lists, readings [][]word) [][]word {
	if len(readings) == 1 {
		for i := range lists {
			lists[i] = append(lists[i], readings[0]...)
		}
		return lists
	}
	if len(lists)*len(readings) > maxReadings {
		at := 0
		if len(readings) > 0 && len(readings[0]) > 0 {
			at = readings[0][0].at
		}
		readings = [][]word{{{text: unknownText, at: at, drawn: true}}}
	}
	var out [][]word
	for _, list := range lists {
		for _, r := range readings {
			out = append(out, append(list[:len(list):len(list)], r...))
		}
	}
	return out
}

// call notes a command; of a wrapper the command it starts as well.
func (c *collector) call(cmd call) string {
	name := cmd.name()
	if name == "" && cmd.words[0].known && cmd.words[0].text == "" {
		return cmd.dir
	}
	if name == "" {
		c.lose(cmd.words[0].at, "which command runs here")
		return cmd.dir
	}
	if bodies, ok := c.bodies[name]; ok {
		return c.function(name, bodies, cmd)
	}
	c.note(cmd)
	switch {
	case name == "cd":
		return changed(cmd)
	case name == "pushd":
		c.stack = append(c.stack, cmd.dir)
		return changed(cmd)
	case name == "popd":
		return c.pop()
	case name == "set" || name == "shift":
		c.shift(cmd)
	case name == "read" || name == "mapfile" || name == "readarray" || name == "getopts" || name == "printf":
		c.filled(cmd)
	case name == "eval" || name == "trap":
		return c.script(cmd, evaluated(cmd, name), c.args)
	case isShell(cmd.tool()):
		c.shellCommand(cmd)
	case asks(cmd):
		for _, w := range cmd.args() {
			c.shell.asked[w.text] = true
		}
	}
	for _, inner := range begun(cmd) {
		c.call(inner)
	}
	return cmd.dir
}

func (c *collector) note(cmd call) {
	name := cmd.name()
	sources := name == "." || name == "source"
	c.shell.paths = c.shell.paths || sources
	if sources || !isBuiltin(name) {
		c.shell.calls = append(c.shell.calls, cmd)
	}
}

func (c *collector) pop() string {
	if len(c.stack) == 0 {
		return unknownDir
	}
	dir := c.stack[len(c.stack)-1]
	c.stack = c.stack[:len(c.stack)-1]
	return dir
}

// maxCalls is how deep functions that call one another are followed.
const maxCalls = 6

// function walks the bodies of a function with the arguments of a call.
func (c *collector) function(name string, bodies []*syntax.Stmt, cmd call) string {
	if c.calls >= maxCalls || c.shell.left <= 0 {
		if c.active[name] == 0 {
			c.lose(cmd.words[0].at, "all that the function runs")
		}
		return cmd.dir
	}
	c.called[name] = true
	args, free, maybe := c.args, c.free, c.maybe
	c.args, c.free, c.maybe = cmd.args(), false, true
	c.calls++
	c.active[name]++
	after := c.stmt(bodies[0], cmd.dir)
	for _, body := range bodies[1:] {
		after = joined(after, c.stmt(body, cmd.dir))
	}
	c.active[name]--
	c.calls--
	c.args, c.free, c.maybe = args, free, maybe
	return after
}

// shift follows the positional arguments.
func (c *collector) shift(cmd call) {
	args := cmd.args()
	switch {
	case cmd.name() == "shift" && len(args) == 0 && len(c.args) > 0:
		c.args = c.args[1:]
	case cmd.name() == "shift" && len(args) > 0:
		c.free = true
	case cmd.name() == "set" && len(args) > 0 && args[0].text == "--":
		c.args, c.free = args[1:], false
	}
}

// filled forgets what a builtin reads from elsewhere.
func (c *collector) filled(cmd call) {
	for i, w := range cmd.args() {
		if cmd.name() == "printf" && (i != 1 || cmd.words[1].text != "-v") {
			continue
		}
		if !strings.HasPrefix(w.text, "-") {
			c.variable(w.text).unknown = true
		}
	}
}

// shellCommand follows the script of sh -c, or the one that a shell reads.
func (c *collector) shellCommand(cmd call) {
	if w, ok := scriptWord(cmd); ok {
		at := slices.Index(cmd.words, w)
		var args []word
		if at+2 <= len(cmd.words) && at >= 0 {
			args = cmd.words[min(at+2, len(cmd.words)):]
		}
		c.script(cmd, w.text, args)
		return
	}
	if readsScript(cmd) {
		switch cmd.stdin.kind {
		case constantInput:
			c.script(cmd, cmd.stdin.text, nil)
		case unknownInput:
			c.lose(cmd.words[0].at, "what the shell reads here")
		}
	}
}

// readsScript reports a shell or an interpreter that reads its script from its input.
func readsScript(cmd call) bool {
	for i, w := range cmd.args() {
		switch {
		case w.text == "-s" && isShell(cmd.tool()):
			return true
		case w.text == "-" || w.text == "/dev/stdin":
			return true
		case !w.known || !strings.HasPrefix(w.text, "-") && !(i > 0 && (cmd.words[i].text == "-o" || cmd.words[i].text == "-O")):
			return false
		case !isShell(cmd.tool()):
			return false // an option that says what to run, or to print
		}
	}
	return true
}

// maxStrings is how deep scripts in constant strings are followed.
const maxStrings = 4

// script collects the commands of a script that stands in a string.
func (c *collector) script(from call, text string, args []word) string {
	if text == "" {
		return from.dir
	}
	if c.depth >= maxStrings || c.shell.left <= 0 {
		c.lose(from.words[0].at, "all that the script in the string runs")
		return from.dir
	}
	c.shell.left -= len(text) / 8
	inner := parseInner(text)
	if inner == nil {
		return from.dir
	}
	nested := *c
	nested.depth, nested.maybe, nested.args = c.depth+1, from.maybe, args
	nested.stdin = input{}
	if c.depth == 0 {
		nested.at = from.words[0].at
	}
	for name, list := range bodies(inner, text) {
		if len(nested.bodies[name]) < maxReadings {
			nested.bodies[name] = append(nested.bodies[name], list...)
		}
	}
	return nested.stmts(inner.Stmts, from.dir)
}
