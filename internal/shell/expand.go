package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxReadings is how many things a word, or the words of a command, may say
// before they count as not known.
const maxReadings = 16

// variable is what a name may stand for, by all assignments of a script.
type variable struct {
	values  []Word
	unknown bool // something else, too
}

func (v *variable) add(w Word) {
	if !w.Known || len(v.values) >= maxReadings {
		v.unknown = true
		return
	}
	for _, have := range v.values {
		if have.Text == w.Text && have.Glob == w.Glob {
			return
		}
	}
	v.values = append(v.values, w)
}

func (v *variable) merge(other *variable) {
	if other == nil {
		return
	}
	v.unknown = v.unknown || other.unknown
	for _, w := range other.values {
		v.add(w)
	}
}

// variable returns what is known of a name that is assigned.
func (c *collector) variable(name string) *variable {
	v := c.vars[name]
	if v == nil {
		v = &variable{}
		c.vars[name] = v
	}
	return v
}

func (c *collector) assign(a *syntax.Assign, dir string) {
	if a.Name == nil || a.Naked {
		return
	}
	if a.Name.Value == "PATH" && a.Value != nil {
		c.shell.Paths = true
	}
	v := c.variable(a.Name.Value)
	switch {
	case a.Index != nil || a.Array != nil || a.Append:
		v.unknown = true
	case a.Value == nil:
		v.add(Word{Known: true, Drawn: true})
	default:
		for _, r := range c.readings(a.Value.Parts, dir, true) {
			v.add(r)
		}
	}
}

// expand returns what a word may say; each reading is none, one or several
// words. Words that are not known have a reading, too.
func (c *collector) expand(w *syntax.Word, dir string) [][]Word {
	if one, ok := c.plain(w); ok {
		return [][]Word{{one}}
	}
	at := c.place(w)
	if c.isArgs(w) {
		if c.free {
			return [][]Word{{{Text: UnknownText, Drawn: true, At: at}}}
		}
		return placed(c.args, at)
	}
	all := c.readings(w.Parts, dir, false)
	lists := make([][]Word, len(all))
	for i := range all {
		all[i].At = at
		lists[i] = fields(all[i:i+1:i+1], w)
	}
	return lists
}

// plain reads a word that the shell takes as it is written.
func (c *collector) plain(w *syntax.Word) (Word, bool) {
	lit := literal(w.Parts)
	if lit == nil {
		return Word{}, false
	}
	one := c.rooted(written(lit, false))
	one.At = c.place(w)
	return one, true
}

// place is where a word stands, or the string in which it does.
func (c *collector) place(w *syntax.Word) int {
	if c.depth > 0 {
		return c.at
	}
	return int(w.Pos().Offset())
}

// placed is one reading, of words that stand at a place.
func placed(list []Word, at int) [][]Word {
	list = slices.Clone(list)
	for i := range list {
		list[i].At = at
	}
	return [][]Word{list}
}

// fields splits one reading as the shell does where a variable stands unquoted.
func fields(one []Word, w *syntax.Word) []Word {
	r := one[0]
	bare := false
	for _, part := range w.Parts {
		switch part.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst:
			bare = true
		}
	}
	if !bare || !r.Known || r.Text != "" && !strings.ContainsAny(r.Text, " \t\n") {
		return one
	}
	var list []Word
	for f := range strings.FieldsSeq(r.Text) {
		list = append(list, Word{Text: f, Known: true, Drawn: true, At: r.At, Glob: r.Glob || len(f) > 1 && strings.ContainsAny(f, "*?[")})
	}
	return list
}

// isArgs reports a word that stands for all arguments: "$@", $*.
func (c *collector) isArgs(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	name := Plain(part)
	return name == "@" || name == "*"
}

// readings returns what the parts of a word may say together.
func (c *collector) readings(parts []syntax.WordPart, dir string, quoted bool) []Word {
	if lit := literal(parts); lit != nil {
		return []Word{c.rooted(written(lit, quoted))}
	}
	all := []Word{{Known: true}}
	for _, part := range parts {
		next := c.part(part, dir, quoted)
		if len(all)*len(next) > maxReadings {
			next = unknownWord()
		}
		if len(next) == 1 {
			for i := range all {
				all[i] = appended(all[i], next[0])
			}
			continue
		}
		var out []Word
		for _, a := range all {
			for _, n := range next {
				out = append(out, appended(a, n))
			}
		}
		all = out
	}
	for i := range all {
		all[i] = c.rooted(all[i])
	}
	return all
}

func appended(a, b Word) Word {
	a.Text += b.Text
	a.Known = a.Known && b.Known && len(a.Text) <= maxScriptText
	a.Glob = a.Glob || b.Glob
	a.Drawn = a.Drawn || b.Drawn
	return a
}

// maxScriptText is the longest text of a word that is followed.
const maxScriptText = 1 << 16

// rooted writes an absolute path inside the workspace as one.
func (c *collector) rooted(w Word) Word {
	if rest, ok := strings.CutPrefix(w.Text, c.from.Root); ok && c.from.Root != "" && (rest == "" || rest[0] == '/') {
		w.Text, w.Drawn = Workspace+rest, true
	}
	return w
}

// literal is what a word consists of that the shell takes as it is written, or nil.
func literal(parts []syntax.WordPart) *syntax.Lit {
	if len(parts) != 1 {
		return nil
	}
	lit, _ := parts[0].(*syntax.Lit)
	return lit
}

// written reads letters that stand in quotes or outside of them.
func written(lit *syntax.Lit, quoted bool) Word {
	if quoted {
		return Word{Text: unescape(lit.Value, "\\\"$`\n"), Known: true}
	}
	return Word{Text: unescape(lit.Value, ""), Known: true, Glob: len(lit.Value) > 1 && strings.ContainsAny(lit.Value, "*?[{")}
}

func unknownWord() []Word { return []Word{{Text: UnknownText, Drawn: true}} }

func (c *collector) part(part syntax.WordPart, dir string, quoted bool) []Word {
	switch p := part.(type) {
	case *syntax.Lit:
		return []Word{written(p, quoted)}
	case *syntax.SglQuoted:
		return []Word{{Text: p.Value, Known: !(p.Dollar && strings.Contains(p.Value, `\`))}}
	case *syntax.DblQuoted:
		return c.readings(p.Parts, dir, true)
	case *syntax.ParamExp:
		return c.param(p, dir)
	case *syntax.CmdSubst:
		return c.substitution(p, dir)
	}
	return unknownWord()
}

// param returns what $name or ${name…} may say.
func (c *collector) param(p *syntax.ParamExp, dir string) []Word {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		return unknownWord()
	}
	name := p.Param.Value
	values := c.value(name, dir)
	if p.Index != nil && name != "BASH_SOURCE" {
		return unknownWord()
	}
	if p.Exp == nil {
		return values
	}
	switch p.Exp.Op {
	case syntax.RemSmallSuffix:
		if p.Exp.Word != nil && p.Exp.Word.Lit() == "/*" {
			return mapped(values, path.Dir)
		}
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return c.defaulted(p, values, dir)
	}
	return unknownWord()
}

// defaulted is ${name:-word}: the word stands for a name that the script itself
// does not assign, since no step can change the environment of its contract.
func (c *collector) defaulted(p *syntax.ParamExp, values []Word, dir string) []Word {
	if p.Exp.Word == nil {
		return values
	}
	or := c.readings(p.Exp.Word.Parts, dir, true)
	for i := range or {
		or[i].Drawn = true
	}
	if len(values) == 1 && !values[0].Known {
		return or
	}
	return append(values[:len(values):len(values)], or...)
}

// value returns what a name may stand for.
func (c *collector) value(name, dir string) []Word {
	switch name {
	case "PITON_WORKSPACE":
		return []Word{{Text: Workspace, Known: true, Drawn: true}}
	case "PWD":
		return here(dir)
	case "HOME":
		return []Word{{Text: "~", Known: true, Drawn: true}}
	case "0", "BASH_SOURCE":
		if c.from.Zero == "" {
			return unknownWord()
		}
		return []Word{{Text: c.from.Zero, Known: true, Drawn: true}}
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		if n := int(name[0] - '0'); !c.free && n <= len(c.args) {
			w := c.args[n-1]
			w.Drawn = true
			return []Word{w}
		}
		if !c.free {
			return []Word{{Known: true, Drawn: true}}
		}
		return unknownWord()
	}
	v := c.vars[name]
	if v == nil || len(v.values) == 0 {
		return unknownWord()
	}
	list := v.values[:len(v.values):len(v.values)]
	if v.unknown {
		list = append(list, unknownWord()...)
	}
	return mapped(list, func(s string) string { return s })
}

// here is an absolute path of a directory of the workspace.
func here(dir string) []Word {
	if dir == UnknownDir {
		return unknownWord()
	}
	return []Word{{Text: strings.TrimSuffix(Workspace+"/"+dir, "/"), Known: true, Drawn: true}}
}

func mapped(words []Word, f func(string) string) []Word {
	out := make([]Word, len(words))
	for i, w := range words {
		if w.Known {
			w.Text = f(w.Text)
		}
		w.Drawn = true
		out[i] = w
	}
	return out
}

// substitution returns what the usual ways to find a directory or a program say.
func (c *collector) substitution(s *syntax.CmdSubst, dir string) []Word {
	if len(s.Stmts) != 1 || c.depth > maxStrings {
		return unknownWord()
	}
	switch cmd := s.Stmts[0].Cmd.(type) {
	case *syntax.BinaryCmd: // cd DIR && pwd
		if cmd.Op == syntax.AndStmt && cmd.Y != nil {
			if y, ok := cmd.Y.Cmd.(*syntax.CallExpr); ok && len(y.Args) > 0 && y.Args[0].Lit() == "pwd" {
				return c.entered(cmd.X, dir)
			}
		}
	case *syntax.CallExpr:
		return c.output(cmd, dir)
	}
	return unknownWord()
}

// entered is what pwd says after a cd.
func (c *collector) entered(cd *syntax.Stmt, dir string) []Word {
	cmd, ok := cd.Cmd.(*syntax.CallExpr)
	if !ok || len(cmd.Args) < 2 || cmd.Args[0].Lit() != "cd" {
		return unknownWord()
	}
	return c.absolute(c.readings(cmd.Args[len(cmd.Args)-1].Parts, dir, false), dir)
}

func (c *collector) absolute(words []Word, dir string) []Word {
	var out []Word
	for _, w := range words {
		at := UnknownDir
		if w.Known && !w.Glob {
			at = Within(dir, w.Text)
		}
		out = append(out, here(at)...)
	}
	return out
}

// output is what a command prints, of those whose output is a path or is given.
func (c *collector) output(cmd *syntax.CallExpr, dir string) []Word {
	if len(cmd.Args) == 0 {
		return unknownWord()
	}
	name := cmd.Args[0].Lit()
	var last []Word
	if n := len(cmd.Args); n > 1 {
		last = c.readings(cmd.Args[n-1].Parts, dir, false)
	}
	switch n := len(cmd.Args); {
	case name == "pwd":
		return here(dir)
	case name == "git" && n == 3 && cmd.Args[1].Lit() == "rev-parse" && cmd.Args[2].Lit() == "--show-toplevel" && c.from.Git:
		return here("")
	case name == "dirname" && n == 2 || name == "dirname" && n == 3 && cmd.Args[1].Lit() == "--":
		return mapped(last, path.Dir)
	case (name == "realpath" || name == "readlink") && n >= 2:
		return c.absolute(last, dir)
	}
	return unknownWord()
}
