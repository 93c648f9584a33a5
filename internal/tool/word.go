package tool

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is one argument of a command as far as the text itself tells it.
type word struct {
	text  string // what is known of it
	known bool   // all of it stands in the text
	glob  bool   // has unquoted * ? or [
}

// home stands for what $HOME and ~ hold.
const home = "~"

// words reads arguments, with braces expanded.
func words(list []*syntax.Word) []word {
	var out []word
	for _, w := range list {
		for _, part := range unbraced(w) {
			out = append(out, constant(part))
		}
	}
	return out
}

// unbraced expands {a,b}; a word that could become many is left alone, and is
// then not known.
func unbraced(w *syntax.Word) []*syntax.Word {
	lit := w.Lit()
	if n := strings.Count(lit, "{"); n == 0 || n > 4 || strings.Contains(lit, "..") || strings.Count(lit, ",") > 32 {
		return []*syntax.Word{w}
	}
	split := *w
	syntax.SplitBraces(&split)
	var all []*syntax.Word
	for one, err := range expand.BracesSeq(nil, &split) {
		if err != nil {
			return []*syntax.Word{w}
		}
		all = append(all, one)
	}
	return all
}

// constant reads a word whose value the text itself gives.
func constant(w *syntax.Word) word {
	out := word{known: true}
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out.literal(&b, p.Value, i == 0)
		case *syntax.SglQuoted:
			out.known = out.known && !(p.Dollar && strings.Contains(p.Value, `\`))
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
	out.text = b.String()
	return out
}

func (w *word) literal(b *strings.Builder, text string, first bool) {
	plain := strings.NewReplacer(`\\`, "", `\*`, "", `\?`, "", `\[`, "", `\{`, "").Replace(text)
	w.glob = w.glob || strings.ContainsAny(plain, "*?[") && plain != "["
	if i := strings.IndexByte(plain, '{'); i >= 0 && strings.ContainsAny(plain[i:], ",.") {
		w.known = false
	}
	if first && strings.HasPrefix(text, "~+") {
		text = "." + text[2:]
	}
	b.WriteString(unescape(text, ""))
}

// expansion reads the two variables whose value is known well enough.
func (w *word) expansion(b *strings.Builder, part syntax.WordPart) {
	if p, ok := part.(*syntax.ParamExp); ok && p.Param != nil && simple(p) {
		switch p.Param.Value {
		case "HOME":
			b.WriteString(home)
			return
		case "PWD":
			b.WriteString(".")
			return
		}
	}
	w.known = false
}

// simple reports a plain $name or ${name}.
func simple(p *syntax.ParamExp) bool {
	return p.Exp == nil && p.Repl == nil && p.Slice == nil && p.Index == nil && !p.Excl && !p.Length && !p.Width
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
