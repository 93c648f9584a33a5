package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Said returns the commands that a text for bash spells out, wherever in it they are: those of
// wrappers, functions, substitutions and of scripts in quotes too. Nothing is put in for a
// variable: a word with one is not known. all is false if the text may run a command that it
// does not spell out. The cost is linear, whoever wrote the text.
func Said(text string) (calls []Call, all bool) {
	s := &speech{bash: NewParser(), left: 1000 + len(text)}
	s.script(text, 0)
	return s.calls, !s.vague
}

// speech gathers what a text says.
type speech struct {
	bash  *Parser
	calls []Call
	left  int // what the scripts and wrappers in it may yet cost
	vague bool
}

// maxWords is how many words a command may have.
const maxWords = 1000

func (s *speech) script(text string, depth int) {
	if s.left -= len(text) / maxDepth; depth > maxDepth || s.left <= 0 {
		s.vague = true
		return
	}
	file, _, _ := s.bash.parse(text)
	if file == nil {
		s.vague = true
		return
	}
	for n := range syntax.Preorder(file) {
		if cmd, ok := n.(*syntax.CallExpr); ok && len(cmd.Args) > 0 {
			var c Call
			for _, arg := range cmd.Args {
				c.Words = append(c.Words, spelled(arg))
			}
			s.call(c, depth)
		}
	}
}

// call takes a command, and what it is told to run.
func (s *speech) call(c Call, depth int) {
	n := len(c.Words)
	if s.left -= n * n / maxWords; c.Name() == "" || n > maxWords || s.left <= 0 {
		s.vague = true
		return
	}
	s.calls = append(s.calls, c)
	unknown := slices.ContainsFunc(c.Args(), func(w Word) bool { return !w.Known })
	switch name := c.Name(); {
	case name == "eval":
		s.vague = s.vague || unknown
		s.script(strings.Join(textsOf(c.Args()), " "), depth+1)
	case name == "trap" && n > 1:
		s.vague = s.vague || unknown
		s.script(c.Words[1].Text, depth+1)
	case name == "." || name == "source":
		s.vague = s.vague || unknown || n > 1 && strings.HasPrefix(c.Words[1].Text, "/dev/")
	case IsShell(c.Tool()):
		s.vague = s.vague || unknown || !HasScript(c) && ReadsScript(c)
		if at := scriptIndex(c); at > 0 {
			s.script(c.Words[at].Text, depth+1)
		}
	}
	for _, inner := range begun(c) {
		s.left--
		s.call(inner, depth)
	}
}

// spelled is a word as its own text has it.
func spelled(word *syntax.Word) Word {
	var b strings.Builder
	one := Word{At: int(word.Pos().Offset()), Known: true}
	opened := byte(0)
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			for i := 0; i < len(p.Value); i++ {
				c := p.Value[i]
				switch {
				case c == '\\' && i+1 < len(p.Value):
					if i++; p.Value[i] == '\n' {
						continue
					}
				case c == '*', c == '?', c == ']' && opened != 0, c == '}' && opened != 0:
					one.Known = false
				case c == '[', c == '{':
					opened = c
				}
				b.WriteByte(p.Value[i])
			}
		case *syntax.SglQuoted:
			one.Known = one.Known && !p.Dollar
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			one.Known = one.Known && !p.Dollar
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if one.Known = one.Known && ok; ok {
					b.WriteString(inQuotes.Replace(lit.Value))
				}
			}
		default:
			one.Known = false
		}
	}
	one.Text = b.String()
	return one
}

// inQuotes takes away the backslashes that mean something between double quotes.
var inQuotes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "")
