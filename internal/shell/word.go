package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Word is one argument of a command. One that depends on anything but the text is
// not known.
type Word struct {
	Text  string // what is known of it
	At    int    // byte offset
	Known bool   // all of it is in the text
	Glob  bool   // has unquoted * ? [ or {
	Drawn bool   // the text is that of a variable or substitution, or names the workspace
}

// home is the text of what $HOME and ~ hold.
const home = "~"

// Constant reads a word whose value the text itself gives, without the variables of
// the script.
func Constant(word *syntax.Word) Word {
	list := (&walker{s: &Script{}}).words(word)
	if len(list) != 1 {
		return Word{At: int(word.Pos().Offset())}
	}
	return list[0]
}

// words is what a word says: none, one or several, as bash would make of it.
func (w *walker) words(word *syntax.Word) []Word {
	one := Word{At: w.at}
	if !w.inner {
		one.At = int(word.Pos().Offset())
	}
	if text := word.Lit(); text != "" && !strings.ContainsAny(text, `\*?[{~`) {
		one.Text, one.Known = text, true // most of the time
		return []Word{w.rooted(one)}
	}
	bounded := true
	syntax.Walk(word, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			bounded = bounded && !n.Dollar
		case *syntax.DblQuoted:
			syntax.Walk(&syntax.Word{Parts: n.Parts}, func(n syntax.Node) bool {
				bounded, one.Drawn = bounded && simple(n), one.Drawn || draws(n)
				return bounded && !draws(n)
			})
			return false
		case *syntax.Lit:
			plain := escaped.Replace(n.Value)
			one.Glob = one.Glob || len(n.Value) > 1 && strings.ContainsAny(plain, "*?[{")
		case *syntax.Word:
		default:
			bounded, one.Drawn = bounded && simple(n), one.Drawn || draws(n)
			return bounded && !draws(n)
		}
		return true
	})
	fields, known := []string{unknownText}, false
	if bounded && !(one.Glob && strings.Contains(raw(word), "{")) {
		fields, known = w.fields(word)
	}
	list := make([]Word, len(fields))
	for i, text := range fields {
		list[i] = one
		list[i].Text, list[i].Known = text, known && len(text) <= MaxPath*8
		list[i] = w.rooted(list[i])
	}
	return list
}

var escaped = strings.NewReplacer(`\\`, "", `\*`, "", `\?`, "", `\[`, "", `\{`, "")

// raw is what stands outside of quotes in a word.
func raw(word *syntax.Word) (text string) {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			text += lit.Value
		}
	}
	return text
}

// draws reports a part of a word that is replaced by something else.
func draws(n syntax.Node) bool {
	switch n.(type) {
	case nil, *syntax.Lit, *syntax.Word, *syntax.SglQuoted, *syntax.DblQuoted:
		return false
	}
	return true
}

// simple reports a part that can be replaced at a cost that its length bounds: no
// arithmetic, no array, no pattern but those of % and #.
func simple(n syntax.Node) bool {
	p, ok := n.(*syntax.ParamExp)
	if !ok {
		_, substitution := n.(*syntax.CmdSubst)
		return substitution || !draws(n)
	}
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && p.Slice == nil && p.Repl == nil && p.Index == nil && p.Names == 0 &&
		(p.Exp == nil || p.Exp.Word == nil || p.Exp.Word.Lit() != "")
}

// fields expands a word. Where it depends on what is not known, that is [unknownText].
func (w *walker) fields(word *syntax.Word) (list []string, known bool) {
	word = &syntax.Word{Parts: w.named(word.Parts)}
	for _, vague := range []bool{false, true} {
		list, err := expand.Fields(&expand.Config{Env: values{w, vague}, NoUnset: !vague}, word)
		if err == nil {
			return list, !strings.Contains(strings.Join(list, " "), unknownText)
		}
	}
	return []string{unknownText}, false
}

// literal is the value of an assignment.
func (w *walker) literal(word *syntax.Word) (string, bool) {
	if word == nil {
		return "", true
	}
	list := w.words(&syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: word.Parts}}})
	if _, quoted := word.Parts[0].(*syntax.Lit); !quoted {
		list = w.words(word)
	}
	if len(list) != 1 || !list[0].Known || len(list[0].Text) > MaxPath {
		return "", false
	}
	return list[0].Text, true
}

// named are parts of a word with the output of the usual ways to find a directory or a
// program in the place of substitutions, and a variable that nobody sets for any other.
func (w *walker) named(parts []syntax.WordPart) []syntax.WordPart {
	list := slices.Clone(parts)
	for i, part := range list {
		switch p := part.(type) {
		case *syntax.DblQuoted:
			inner := w.named(p.Parts)
			for n, part := range inner {
				if text, ok := part.(*syntax.SglQuoted); ok {
					inner[n] = &syntax.Lit{Value: text.Value}
				}
			}
			list[i] = &syntax.DblQuoted{Parts: inner}
		case *syntax.CmdSubst:
			list[i] = &syntax.ParamExp{Short: true, Param: &syntax.Lit{Value: "PITON_UNKNOWN"}}
			if text := w.output(p); text != "" {
				list[i] = &syntax.SglQuoted{Value: text}
			}
		}
	}
	return list
}

// output is what a substitution prints, "" where that is not known.
func (w *walker) output(s *syntax.CmdSubst) string {
	if len(s.Stmts) != 1 {
		return ""
	}
	words := func(cmd syntax.Command) (list []string) {
		if call, ok := cmd.(*syntax.CallExpr); ok {
			for _, arg := range call.Args {
				if one := w.words(arg); len(one) == 1 && one[0].Known && !one[0].Glob {
					list = append(list, one[0].Text)
				}
			}
		}
		return append(list, "", "")
	}
	if and, ok := s.Stmts[0].Cmd.(*syntax.BinaryCmd); ok && and.Op == syntax.AndStmt {
		if to := words(and.X.Cmd); to[0] == "cd" && words(and.Y.Cmd)[0] == "pwd" {
			return w.absolute(to[1])
		}
		return ""
	}
	list := words(s.Stmts[0].Cmd)
	switch last := list[max(0, len(list)-3)]; {
	case list[0] == "pwd":
		return w.absolute(".")
	case strings.Join(list, " ") == "git rev-parse --show-toplevel  " && w.from.Git:
		return workspace
	case list[0] == "dirname":
		return path.Dir(last)
	case list[0] == "realpath" || list[0] == "readlink":
		return w.absolute(last)
	}
	return ""
}

// absolute is a path of the workspace from its root on, "" of any other.
func (w *walker) absolute(name string) string {
	at := Within(w.dir, name)
	if at == UnknownDir {
		return ""
	}
	return strings.TrimSuffix(workspace+"/"+at, "/")
}

// rooted writes an absolute path inside the workspace as one.
func (w *walker) rooted(one Word) Word {
	if rest, ok := strings.CutPrefix(one.Text, w.from.Root); ok && w.from.Root != "" && (rest == "" || rest[0] == '/') {
		one.Text, one.Drawn = workspace+rest, true
	}
	return one
}

// values are the variables of a script at a place of it.
type values struct {
	*walker
	vague bool // what is not known has a value as well
}

// Get implements [expand.Environ].
func (v values) Get(name string) expand.Variable {
	text, known := v.vars[name]
	switch {
	case name == "IFS":
		return expand.Variable{}
	case name == "@" || name == "*":
		return expand.Variable{Set: true, Kind: expand.Indexed, List: v.args}
	case name == "PITON_WORKSPACE":
		text, known = workspace, true
	case name == "PWD":
		text = v.absolute(".")
		known = text != ""
	case name == "HOME":
		text, known = home, true
	case strings.HasPrefix(name, "HOME "): // of another user: the expander would ask this machine
		return expand.Variable{Set: true, Kind: expand.String, Str: unknownText}
	case len(name) == 1 && name[0] >= '1' && name[0] <= '9':
		text, known = "", !v.free
		if n := int(name[0] - '0'); n <= len(v.args) {
			text, known = v.args[n-1], true
		}
	}
	if !known && v.vague {
		text = unknownText
	}
	return expand.Variable{Set: known || v.vague, Kind: expand.String, Str: text}
}

// Each implements [expand.Environ].
func (values) Each(func(string, expand.Variable) bool) {}
