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

// judge weighs shell scripts. It is safe for concurrent use.
type judge struct {
	rules rules
	room  *room
	fetch *regexp.Regexp
}

func newJudge(custom Tiers, r *room) (*judge, error) {
	rs, err := builtinRules()
	if err != nil {
		return nil, err
	}
	for _, t := range []struct {
		tier    Tier
		entries []string
	}{{Free, custom.Free}, {Review, custom.Review}, {Approve, custom.Approve}, {Block, custom.Block}} {
		if err := rs.add(t.tier, t.entries, true); err != nil {
			return nil, err
		}
	}
	return &judge{rs, r, regexp.MustCompile(`\b(` + strings.Join(fetchers(), "|") + `)\b|/dev/(tcp|udp)`)}, nil
}

// fetchers bring text from other machines.
func fetchers() []string {
	return strings.Fields("curl wget aria2c lynx w3m links nc ncat netcat socat ftp tftp sftp scp ssh rsync telnet httpie xh")
}

// weigh says what a script for bash needs: as much as the worst of its parts, and
// of the places that its arguments name.
func (j *judge) weigh(script string, args ...string) (Tier, []string) {
	w := &reading{judge: j, tier: Free, args: args}
	w.script(script, fromNowhere)
	for _, a := range args {
		w.secret(a, "")
		w.reads(shell.Word{Text: a, Known: true}, "")
	}
	if w.kept && w.tier.Above(Free) {
		w.raise(Block, "works inside a directory that belongs to Git or Piton")
	}
	if w.assumed && w.unset {
		w.raise(Approve, "takes back functions, whose names then mean programs")
	}
	if w.elsewhere && (w.moved || !w.there(".git")) {
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

// A source is where a command's standard input comes from.
type source int

const (
	fromNowhere source = iota // the harness: nothing
	fromHere                  // a file, or a command that fetches nothing
	fromAway                  // a command that fetches
)

type reason struct {
	tier Tier
	text string
}

// reading is one script being weighed.
type reading struct {
	*judge
	tier      Tier
	reasons   []reason
	functions map[string]uint // by name, from where in the text on a call is surely one of it
	assumed   bool            // a call was taken for one of a function
	unset     bool            // functions may be taken back
	elsewhere bool            // git is called, and takes its repository from where it is called
	moved     bool            // it changes directory: where relative paths lead is not known
	kept      bool            // into one that belongs to others
	depth     int
	text      string   // of the script that is being read
	args      []string // of the outermost script
}

func (w *reading) raise(t Tier, format string, args ...any) {
	if t == Free {
		return
	}
	text := bounded(fmt.Sprintf(format, args...), 200)
	if !slices.ContainsFunc(w.reasons, func(r reason) bool { return r.text == text }) {
		w.reasons = append(w.reasons, reason{t, text})
	}
	if t.Above(w.tier) {
		w.tier = t
	}
}

// script weighs a text that a shell is to run. What cannot be read is blocked:
// a shell runs the lines before a fault, and nobody could say what they do.
func (w *reading) script(text string, in source) {
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
	outer, functions := w.text, w.functions
	if w.depth == 0 {
		fill(file, w.args)
	}
	w.text, w.functions = text, standing(file)
	w.depth++
	w.declare(file)
	w.walk(file, in)
	w.depth--
	w.text, w.functions = outer, functions
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

// standing lists the functions that the script makes whatever happens, by the end of
// what makes them: behind it, a command of that name is the function. What a here
// document substitutes runs before the rest of its line.
func standing(file *syntax.File) map[string]uint {
	all := map[string]uint{}
	for _, s := range file.Stmts {
		if f, ok := s.Cmd.(*syntax.FuncDecl); ok && !s.Background && f.Name != nil && !special(f.Name.Value) && !beforeDocument(file, f) {
			if _, twice := all[f.Name.Value]; !twice {
				all[f.Name.Value] = f.End().Offset()
			}
		}
	}
	return all
}

// special reports the builtins that bash finds before functions, where it keeps to POSIX.
func special(name string) bool {
	return slices.Contains(strings.Fields(". : break continue eval exec exit export readonly return set shift source times trap unset"), name)
}

// beforeDocument reports a function that stands between a command and its here document.
func beforeDocument(file *syntax.File, f *syntax.FuncDecl) bool {
	for n := range syntax.Preorder(file) {
		r, ok := n.(*syntax.Redirect)
		if ok && r.Hdoc != nil && !r.Pos().After(f.Pos()) && r.Hdoc.Pos().After(f.Pos()) {
			return true
		}
	}
	return false
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
	return strings.Count(text, "`") > maxNesting || len(openers(text)) > 2000
}

// openers are the words that begin what nests without a bracket.
func openers(text string) []string {
	var list []string
	for f := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n;&|!", r) }) {
		switch f {
		case "if", "while", "until", "for", "case", "select", "time", "coproc", "then", "do", "else", "elif":
			list = append(list, f)
		}
	}
	if strings.Count(text, "!") > maxNesting {
		return slices.Repeat([]string{"!"}, 2001)
	}
	return list
}

// declare notes what the whole script says before any of it is weighed.
func (w *reading) declare(file *syntax.File) {
	for node := range syntax.Preorder(file) {
		switch n := node.(type) {
		case *syntax.FuncDecl:
			if n.Name != nil {
				w.selfCall(n)
			}
		case *syntax.CallExpr:
			if ws := words(n.Args); len(ws) > 0 && slices.Contains([]string{"cd", "pushd", "popd"}, ws[0].Text) {
				w.moved = true
				w.kept = w.kept || slices.ContainsFunc(ws[1:], func(a shell.Word) bool { return keptBy(a.Text) != "" })
			}
		}
	}
}

// selfCall finds functions that start copies of themselves.
func (w *reading) selfCall(f *syntax.FuncDecl) {
	calls, forks := false, false
	for node := range syntax.Preorder(f.Body) {
		switch n := node.(type) {
		case *syntax.CallExpr:
			calls = calls || len(n.Args) > 0 && n.Args[0].Lit() == f.Name.Value
		case *syntax.BinaryCmd:
			forks = forks || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		case *syntax.Stmt:
			forks = forks || n.Background
		}
	}
	switch {
	case calls && forks:
		w.raise(Block, "the function %s starts copies of itself without end", f.Name.Value)
	case calls:
		w.raise(Approve, "the function %s calls itself", f.Name.Value)
	}
}

// walk weighs everything below a node.
func (w *reading) walk(node syntax.Node, in source) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				w.pipe(n, in)
				return false
			}
		case *syntax.Stmt:
			if got := w.redirections(n, in); got != in {
				w.walk(&syntax.Stmt{Cmd: n.Cmd, Position: n.Position}, got)
				w.insides(n.Redirs)
				return false
			}
		case *syntax.CallExpr:
			w.call(n, in)
		case *syntax.DeclClause:
			w.declaration(n)
		case *syntax.ParamExp:
			w.parameter(n)
		case *syntax.WordIter:
			w.variable(n.Name.Value)
		case *syntax.TestClause:
			w.evaluated(n)
		case *syntax.ArithmExp:
			w.calculated(n.X)
		case *syntax.ArithmCmd:
			w.calculated(n.X)
		case *syntax.LetClause:
			for _, x := range n.Exprs {
				w.calculated(x)
			}
		case *syntax.CStyleLoop:
			w.calculated(n.Cond)
			w.calculated(n.Init)
		}
		return true
	})
}

// insides weighs the substitutions in redirections.
func (w *reading) insides(list []*syntax.Redirect) {
	for _, r := range list {
		w.walk(r, fromNowhere)
	}
}

// pipe weighs both sides; the right one reads what the left one writes.
func (w *reading) pipe(n *syntax.BinaryCmd, in source) {
	w.walk(n.X, in)
	from := fromHere
	if in == fromAway || w.fetches(n.X) {
		from = fromAway
	} else if text, ok := echoed(n.X); ok {
		w.echoedInto(n.Y, text)
	}
	w.walk(n.Y, from)
}

// fetches reports whether something below a node brings text from elsewhere.
func (w *reading) fetches(node syntax.Node) bool {
	for n := range syntax.Preorder(node) {
		if call, ok := n.(*syntax.CallExpr); ok {
			for _, word := range words(call.Args) {
				if slices.Contains(fetchers(), path.Base(word.Text)) {
					return true
				}
			}
		}
	}
	from, to := int(node.Pos().Offset()), int(node.End().Offset())
	return from <= to && to <= len(w.text) && w.fetch.MatchString(w.text[from:to])
}

// echoed is the constant text that a statement prints.
func echoed(s *syntax.Stmt) (string, bool) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	ws := words(call.Args)
	if ws[0].Text != "echo" && ws[0].Text != "printf" {
		return "", false
	}
	var parts []string
	for _, p := range ws[1:] {
		if !p.Known {
			return "", false
		}
		parts = append(parts, p.Text)
	}
	return strings.Join(parts, " "), true
}

// echoedInto weighs a constant text that a shell reads from its input.
func (w *reading) echoedInto(to *syntax.Stmt, text string) {
	for n := range syntax.Preorder(to) {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			continue
		}
		if ws := words(call.Args); slices.ContainsFunc(ws, func(a shell.Word) bool {
			return shell.IsShell(path.Base(a.Text)) || a.Text == "." || a.Text == "source"
		}) {
			w.script(text, fromNowhere)
			return
		}
	}
}

// redirections weighs where a statement's output goes, and says where its input
// comes from.
func (w *reading) redirections(s *syntax.Stmt, in source) source {
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrInOut, syntax.RdrAll, syntax.AppAll, syntax.AppClob, syntax.RdrAllClob, syntax.AppAllClob:
			w.output(shell.Constant(r.Word))
		case syntax.DplOut:
			if to := shell.Constant(r.Word); !to.Known || strings.Trim(to.Text, "0123456789-") != "" {
				w.output(to)
			}
		case syntax.RdrIn:
			in = fromHere
			from := shell.Constant(r.Word)
			w.secret(from.Text, "")
			w.reads(from, "")
			if w.fetches(r) {
				in = fromAway
			}
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			in = w.document(s, r)
		}
	}
	return in
}

// document weighs a text that stands in the script and is given to a command.
func (w *reading) document(s *syntax.Stmt, r *syntax.Redirect) source {
	body := r.Hdoc
	if r.Op == syntax.WordHdoc {
		body = r.Word
	}
	if body == nil {
		return fromHere
	}
	if w.fetches(body) {
		return fromAway
	}
	if text := shell.Constant(body); text.Known {
		bare := &syntax.Stmt{Cmd: s.Cmd, Position: s.Position}
		if s.Cmd != nil {
			w.echoedInto(bare, text.Text)
		}
	}
	return fromHere
}

// output weighs a file that a redirection writes.
func (w *reading) output(to shell.Word) {
	switch {
	case slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"}, to.Text) || descriptor(to.Text):
	case strings.HasPrefix(to.Text, "/dev/tcp/"), strings.HasPrefix(to.Text, "/dev/udp/"):
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

// descriptor reports an open file that its number names, and no path through it.
func descriptor(name string) bool {
	number, ok := strings.CutPrefix(name, "/dev/fd/")
	return ok && strings.Trim(number, "0123456789") == ""
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
