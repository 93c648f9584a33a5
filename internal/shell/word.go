package shell

import (
	"strings"

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

// special reports a word that a shell would not read again as it is.
func (w Word) special() bool {
	return !w.Known || w.Text == "" || strings.Trim(w.Text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") != ""
}

// Home is the text of what $HOME and ~ hold.
const Home = "~"

// Constant reads a word whose value the text itself gives, without the variables of
// the script. $HOME is [Home], and $PWD the current directory.
func Constant(w *syntax.Word) Word {
	out := Word{Known: true, At: int(w.Pos().Offset())}
	if lit := literal(w.Parts); lit != nil && !strings.ContainsAny(lit.Value, `\*?[{~`) {
		out.Text = lit.Value // most of the time
		return out
	}
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out.literal(&b, p.Value, i == 0)
		case *syntax.SglQuoted:
			out.Known = out.Known && !(p.Dollar && strings.Contains(p.Value, `\`))
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if lit, ok := q.(*syntax.Lit); ok {
					b.WriteString(unescape(lit.Value, "\\\"$`\n"))
				} else {
					out.expansion(&b, q)
				}
			}
		default:
			out.expansion(&b, part)
		}
	}
	out.Text = b.String()
	return out
}

var escapedMarks = strings.NewReplacer(`\\`, "", `\*`, "", `\?`, "", `\[`, "", `\{`, "")

func (w *Word) literal(b *strings.Builder, text string, first bool) {
	plain := escapedMarks.Replace(text)
	w.Glob = w.Glob || strings.ContainsAny(plain, "*?[") && plain != "["
	if i := strings.IndexByte(plain, '{'); i >= 0 && strings.ContainsAny(plain[i:], ",.") {
		w.Known = false
	}
	if first && strings.HasPrefix(text, "~+") {
		text = "." + text[2:]
	}
	b.WriteString(unescape(text, ""))
}

// expansion reads the two variables whose value is known well enough.
func (w *Word) expansion(b *strings.Builder, part syntax.WordPart) {
	switch Plain(part) {
	case "HOME":
		b.WriteString(Home)
	case "PWD":
		b.WriteString(".")
	default:
		w.Known = false
	}
}

// Plain is the name in $name and ${name}, "" of any other part of a word.
func Plain(part syntax.WordPart) string {
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Exp != nil || p.Repl != nil || p.Slice != nil || p.Index != nil || p.Excl || p.Length || p.Width {
		return ""
	}
	return p.Param.Value
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
