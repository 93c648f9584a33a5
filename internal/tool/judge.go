package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/shell"
)

// Limits of a script that is weighed.
const (
	maxScript  = 64 << 10
	maxNesting = 200 // parentheses, braces and quotes in each other
	maxInner   = 6   // scripts in strings in scripts
	maxReasons = 12
)

// judge weighs shell scripts: it knows plain commands, and asks about all else.
// What is never run it looks for everywhere. It is safe for concurrent use.
type judge struct {
	rules rules
	room  *room
}

func newJudge(custom Tiers, r *room) (*judge, error) {
	rs, err := builtinRules()
	if err != nil {
		return nil, err
	}
	for tier, entries := range map[Tier][]string{Free: custom.Free, Review: custom.Review, Approve: custom.Approve, Block: custom.Block} {
		if err := rs.add(tier, entries, true); err != nil {
			return nil, err
		}
	}
	return &judge{rs, r}, nil
}

// weigh says what a script for bash needs: as much as the worst of its parts, and
// of the places that its arguments name.
func (j *judge) weigh(script string, args ...string) (Tier, []string) {
	w := &reading{judge: j, tier: Free, args: args}
	w.script(script, false)
	for _, a := range args {
		w.reads(shell.Word{Text: a, Known: true})
	}
	if w.kept && w.tier.Above(Free) {
		w.raise(Block, "works inside a directory that belongs to Git or Piton")
	}
	if w.git && (w.moved || !w.there(".git")) {
		w.raise(Review, "git may find a repository that files of the workspace make, and run what its configuration says")
	}
	slices.SortStableFunc(w.reasons, func(a, b reason) int {
		return slices.Index(tierList(), b.tier) - slices.Index(tierList(), a.tier)
	})
	var texts []string
	for _, r := range w.reasons[:min(len(w.reasons), maxReasons)] {
		texts = append(texts, r.text)
	}
	return w.tier, texts
}

type reason struct {
	tier Tier
	text string
}

// reading is one script being weighed.
type reading struct {
	*judge
	tier    Tier
	reasons []reason
	git     bool // git is called, and takes its repository from where it is called
	moved   bool // it changes directory: where relative paths lead is not known
	kept    bool // into one that belongs to others
	defines bool // it has functions
	fed     bool // the statement under way has a program that runs what stands on its input
	depth   int
	args    []string // of the outermost script
}

func (w *reading) raise(t Tier, format string, args ...any) {
	text := bounded(fmt.Sprintf(format, args...), 200)
	if !slices.ContainsFunc(w.reasons, func(r reason) bool { return r.text == text }) {
		w.reasons = append(w.reasons, reason{t, text})
	}
	if t.Above(w.tier) {
		w.tier = t
	}
}

// script weighs a text that a shell is to run. What cannot be read is blocked:
// a shell runs the lines before a fault, and nobody could say what they do. away
// says that its input may come from another machine.
func (w *reading) script(text string, away bool) {
	switch {
	case len(text) > maxScript:
		w.raise(Block, "the script has more than %d bytes; put it into a file", maxScript)
		return
	case w.depth >= maxInner:
		w.raise(Block, "scripts in scripts nest too deep to be read")
		return
	}
	file, err := parse(text)
	if err != nil {
		w.raise(Block, "this is no bash that can be read: %v", err)
		return
	}
	if w.depth == 0 {
		fill(file, w.args)
	}
	w.depth++
	fed := w.fed
	w.declare(file)
	for _, s := range file.Stmts {
		w.statement(s, away)
		fed = fed || w.fed
	}
	w.fed = fed
	w.depth--
}

// fill puts the script's arguments where they stand in quotes, "$1" and so on: each
// is one word then, whatever it says. Functions have arguments of their own, and
// set and shift change those of the script.
func fill(file *syntax.File, args []string) {
	if len(args) == 0 {
		return
	}
	for n := range syntax.Preorder(file) {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && slices.Contains([]string{"", "set", "shift", "eval", "builtin", "command", ".", "source"}, c.Args[0].Lit()) {
			return
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if _, function := n.(*syntax.FuncDecl); function {
			return false
		}
		if q, ok := n.(*syntax.DblQuoted); ok {
			for i, part := range q.Parts {
				q.Parts[i] = filled(part, args)
			}
		}
		return true
	})
}

// filled is a part of a text in quotes with the argument that it names.
func filled(part syntax.WordPart, args []string) syntax.WordPart {
	n, err := strconv.Atoi(shell.Plain(part))
	if err != nil || n < 1 || n > len(args) {
		return part
	}
	text := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(args[n-1])
	return &syntax.Lit{ValuePos: part.Pos(), ValueEnd: part.End(), Value: text}
}

// parse reads a script; one that nests too deep is not even tried.
func parse(text string) (*syntax.File, error) {
	if nestsDeep(text) {
		return nil, errors.New("it nests too deep")
	}
	if strings.ContainsRune(text, '\r') {
		return nil, errors.New("it has carriage returns, which bash takes for letters; end its lines with a newline alone")
	}
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
}

// openers are the words that begin what nests without a bracket.
var openers = regexp.MustCompile(`\b(if|while|until|for|case|select|time|coproc|then|do|else|elif)\b`)

// nestsDeep estimates nesting from brackets and words that open, in linear time.
func nestsDeep(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth = max(0, depth-1)
		}
		if depth > maxNesting {
			return true
		}
	}
	return strings.Count(text, "`") > maxNesting || strings.Count(text, "!") > maxNesting || len(openers.FindAllStringIndex(text, 2001)) > 2000
}

// declare notes what the whole script says before any of it is weighed.
func (w *reading) declare(file *syntax.File) {
	for node := range syntax.Preorder(file) {
		switch n := node.(type) {
		case *syntax.FuncDecl:
			w.defines = true
		case *syntax.CallExpr:
			if ws := words(n.Args); len(ws) > 0 && slices.Contains([]string{"cd", "pushd", "popd"}, ws[0].Text) {
				w.moved = true
				w.kept = w.kept || slices.ContainsFunc(ws[1:], func(a shell.Word) bool { return keptBy(a.Text) != "" })
			}
		}
	}
}

// fetchers bring text from other machines.
var fetchers = regexp.MustCompile(`(^|/)(curl|wget|aria2c|lynx|w3m|links|nc|ncat|netcat|socat|ftp|tftp|sftp|scp|ssh|rsync|telnet|httpie|xh)$`)

// fetches reports a command that brings text from another machine, or starts one
// that does by its arguments.
func fetches(ws []shell.Word) bool {
	if len(ws) > 0 && !starts(ws[0].Text) {
		ws = ws[:1]
	}
	return slices.ContainsFunc(ws, func(a shell.Word) bool {
		return slices.ContainsFunc(strings.FieldsFunc(a.Text, unnamed), fetchers.MatchString)
	})
}

// starts reports programs that may run what their arguments name.
func starts(name string) bool {
	name = programName(name)
	_, wraps := shell.WrapperOf(name)
	return wraps || runsText(name) || name == "find"
}

// origins are the nodes of a script that bring text from another machine, or have
// one below them that does.
type origins map[syntax.Node]bool

func originsOf(node syntax.Node) origins {
	from := origins{}
	var above []syntax.Node
	syntax.Walk(node, func(node syntax.Node) bool {
		if node == nil {
			above = above[:len(above)-1]
			return true
		}
		above = append(above, node)
		if c, ok := node.(*syntax.CallExpr); ok && fetches(words(c.Args)) {
			for i := len(above) - 1; i >= 0 && !from[above[i]]; i-- {
				from[above[i]] = true
			}
		}
		return true
	})
	return from
}

// feed is what has its input from an origin, seen at a node: the right side of a
// pipe, a statement with a redirection, a process that a file stands for.
func (from origins) feed(node syntax.Node) syntax.Node {
	switch n := node.(type) {
	case *syntax.BinaryCmd:
		if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && from[n.X] {
			return n.Y
		}
	case *syntax.Stmt:
		if slices.ContainsFunc(n.Redirs, func(r *syntax.Redirect) bool { return from[r] }) {
			return n
		}
	case *syntax.ProcSubst:
		if n.Op == syntax.CmdOut && len(from) > 0 {
			return n
		}
	}
	return nil
}

// unnamed reports what stands between the names of programs in a text.
func unnamed(r rune) bool { return strings.ContainsRune(" \t\n;&|(){}<>`'\"$=", r) }

// statement weighs all that stands in a statement. A text in it that may be the
// input of a shell is a script.
func (w *reading) statement(s *syntax.Stmt, away bool) {
	w.fed = false
	var texts []string
	from, fed := originsOf(s), map[syntax.Node]bool{}
	above := []bool{away} // of the nodes around this one
	syntax.Walk(s, func(node syntax.Node) bool {
		if node == nil {
			above = above[:len(above)-1]
			return true
		}
		if x := from.feed(node); x != nil {
			fed[x] = true
		}
		here := above[len(above)-1] || fed[node]
		above = append(above, here)
		switch n := node.(type) {
		case *syntax.CallExpr:
			w.call(n, here)
			if ws := words(n.Args); len(ws) > 0 && (ws[0].Text == "echo" || ws[0].Text == "printf") {
				texts = append(texts, joined(ws[1:]))
			}
		case *syntax.Redirect:
			w.redirection(n)
			for _, body := range []*syntax.Word{n.Hdoc, n.Word} {
				if body != nil && (n.Op == syntax.WordHdoc || body == n.Hdoc) {
					texts = append(texts, shell.Constant(body).Text)
				}
			}
		case *syntax.FuncDecl:
			w.function(n)
		case *syntax.Assign:
			w.assignment(n)
		case *syntax.WordIter:
			w.variable(n.Name.Value)
		default:
			if does := beyondPlain(n); does != "" {
				w.raise(Approve, "%s, which can run commands", does)
			}
		}
		return true
	})
	for i := 0; w.fed && i < len(texts); i++ {
		w.inString(shell.Word{Text: texts[i]}, away)
		w.fed = true
	}
}

// beyondPlain says what a node of a script does that the text does not show in full:
// the shell runs what substitutions it finds in the values that it calculates with.
func beyondPlain(node syntax.Node) string {
	switch n := node.(type) {
	case *syntax.DeclClause:
		return "declares variables"
	case *syntax.CoprocClause:
		return "starts a coprocess"
	case *syntax.LetClause, *syntax.ArithmCmd, *syntax.CStyleLoop:
		return "calculates"
	case *syntax.ArithmExp:
		for x := range syntax.Preorder(n.X) {
			if v, ok := x.(*syntax.Word); ok && (v.Lit() == "" || strings.Trim(v.Lit(), "0123456789") != "") {
				return "calculates with a variable"
			}
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			return "looks for a variable"
		}
	case *syntax.BinaryTest:
		if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
			return "compares numbers in [["
		}
	case *syntax.ParamExp:
		op := n.Exp != nil && slices.Contains([]syntax.ParExpOperator{syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.OtherParamOps}, n.Exp.Op)
		if op || n.Excl || n.Index != nil || n.Slice != nil {
			return "sets, calculates or expands again what a variable has"
		}
	}
	return ""
}

// function weighs a declaration. Its calls are not followed.
func (w *reading) function(f *syntax.FuncDecl) {
	w.raise(Approve, "declares a function, whose calls the text does not show")
	calls, forks := false, false
	for node := range syntax.Preorder(f.Body) {
		switch n := node.(type) {
		case *syntax.CallExpr:
			calls = calls || len(n.Args) > 0 && f.Name != nil && n.Args[0].Lit() == f.Name.Value
		case *syntax.BinaryCmd:
			forks = forks || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		case *syntax.Stmt:
			forks = forks || n.Background
		}
	}
	if calls && forks {
		w.raise(Block, "the function %s starts copies of itself without end", f.Name.Value)
	}
}

// assignment weighs NAME=value and the members of a list.
func (w *reading) assignment(a *syntax.Assign) {
	if a.Name != nil {
		w.variable(a.Name.Value)
	}
	if a.Index != nil || a.Array != nil && slices.ContainsFunc(a.Array.Elems, func(e *syntax.ArrayElem) bool { return e.Index != nil }) {
		w.raise(Approve, "calculates a subscript, which can run commands")
	}
}

// harmless are the names of variables that no program takes an order from. What is
// set by any other name may make programs run or load others.
var harmless = regexp.MustCompile(`^([a-z][a-z0-9_]*|[A-Z]|LANG|LC_[A-Z]+|TERM|COLUMNS|LINES|NO_COLOR|CI|REPLY)$`)

func (w *reading) variable(name string) {
	if !harmless.MatchString(name) || strings.Contains(name, "_proxy") {
		w.raise(Approve, "sets the variable %q, which may change what programs run", name)
	}
}

// redirection weighs a file that is opened for a command.
func (w *reading) redirection(r *syntax.Redirect) {
	to := shell.Constant(r.Word)
	switch r.Op {
	case syntax.RdrIn:
		w.reads(to)
	case syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
	case syntax.DplOut:
		if !to.Known || strings.Trim(to.Text, "0123456789-") != "" {
			w.output(to)
		}
	default:
		w.output(to)
	}
}

// output weighs a file that is written.
func (w *reading) output(to shell.Word) {
	number, descriptor := strings.CutPrefix(to.Text, "/dev/fd/")
	descriptor = descriptor && strings.Trim(number, "0123456789") == ""
	switch {
	case descriptor, slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"}, to.Text):
	case connects(to.Text):
		w.raise(Block, "connects to another machine through %s", to.Text)
	case !to.Known || to.Glob:
		w.raise(Approve, "writes to a file whose name is only known when it runs")
	case keptBy(to.Text) != "":
		w.raise(Block, "writes to %s, which belongs to %s", to.Text, keptBy(to.Text))
	case w.leaves(to.Text) && systemPath(to.Text):
		w.raise(Block, "writes to %s, which belongs to the system", to.Text)
	case w.leaves(to.Text):
		w.raise(Approve, "writes to %s, outside of the workspace", to.Text)
	case w.moved || w.there(to.Text):
		w.raise(Approve, "may overwrite %s", to.Text)
	default:
		w.raise(Review, "makes the file %s", to.Text)
	}
}

func connects(name string) bool {
	return strings.HasPrefix(name, "/dev/tcp/") || strings.HasPrefix(name, "/dev/udp/")
}

// secrets are in the paths where passwords and keys are kept.
var secrets = regexp.MustCompile(`(?i)/\.(ssh|aws|gnupg|netrc|kube|docker/config|npmrc|pypirc|git-credentials|azure|config/(gh|gcloud))|id_(rsa|ed25519)|/etc/(shadow|sudoers)|/environ`)

// reads weighs a path that is at least looked at.
func (w *reading) reads(a shell.Word) {
	name := path.Clean(a.Text)
	switch {
	case connects(a.Text):
		w.raise(Block, "connects to another machine through %s", a.Text)
	case secrets.MatchString(a.Text):
		w.raise(Approve, "looks where passwords and keys are kept: %s", a.Text)
	case looksLikePath(a.Text) && w.leaves(a.Text) && !(strings.HasPrefix(name, "/dev/") && !strings.Contains(a.Text, "..")):
		w.raise(Review, "looks outside of the workspace: %s", a.Text)
	}
}

func looksLikePath(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, shell.Home) || strings.HasPrefix(text, "..") || strings.Contains(text, "/../")
}

// there reports whether something is at a path of the workspace, or may be.
func (w *reading) there(name string) bool {
	_, err := w.room.root.Lstat(filepath.FromSlash(w.inside(name)))
	return !errors.Is(err, fs.ErrNotExist)
}

// inside is a path relative to the workspace, where it is one of its paths.
func (w *reading) inside(name string) string {
	if below, ok := strings.CutPrefix(path.Clean(name), filepath.ToSlash(w.room.dir)+"/"); ok {
		return below
	}
	return path.Clean(name)
}

// leaves reports whether a path leads out of the workspace, or may.
func (w *reading) leaves(name string) bool {
	if name == w.room.dir {
		return false
	}
	name = w.inside(name)
	return strings.HasPrefix(name, shell.Home) || !filepath.IsLocal(filepath.FromSlash(name)) || w.moved && strings.Contains(name, "..")
}

// systemPath reports directories that the machine needs.
func systemPath(name string) bool {
	name = path.Clean(name)
	top, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	switch top {
	case "home", "Users", "root", "var", "opt":
		return strings.Count(name, "/") <= 2 && name != "/var/tmp"
	case "dev":
		return !strings.HasPrefix(name, "/dev/shm/")
	}
	return slices.Contains(strings.Fields("bin boot etc lib lib32 lib64 proc run sbin sys usr System Library Applications"), top)
}
