package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// input is what a command reads, as far as the text tells.
type input struct {
	Kind  inputKind
	Files []Word // of fileInput
	text  string // of constantInput
}

type inputKind int

const (
	noInput inputKind = iota // none that the script gives it
	FileInput
	constantInput
	UnknownInput
)

// redirect follows < FILE, << and <<<.
func (c *collector) redirect(r *syntax.Redirect, dir string) {
	if r.N != nil && r.N.Value != "0" {
		return
	}
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut:
		c.stdin = fileInputOf(c.expand(r.Word, dir))
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			c.stdin = constantOf(c.readings(r.Hdoc.Parts, dir, true))
		}
	case syntax.WordHdoc:
		c.stdin = constantOf(c.readings(r.Word.Parts, dir, false))
	}
}

func fileInputOf(lists [][]Word) input {
	in := input{Kind: FileInput}
	for _, list := range lists {
		in.Files = append(in.Files, list...)
	}
	return in
}

// constantOf is a text; where it may say several things, all of them in turn.
func constantOf(readings []Word) input {
	var b strings.Builder
	for _, r := range readings {
		b.WriteString(r.Text + "\n")
	}
	return input{Kind: constantInput, text: b.String()}
}

// written is what a command writes into a pipe.
func (c *collector) written(s *syntax.Stmt, dir string) input {
	unknown := input{Kind: UnknownInput}
	if s == nil {
		return unknown
	}
	cmd, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(cmd.Args) == 0 {
		return unknown
	}
	var words []Word
	for _, arg := range cmd.Args[1:] {
		for _, list := range c.expand(arg, dir) {
			words = append(words, list...)
		}
	}
	switch cmd.Args[0].Lit() {
	case "cat":
		in := input{Kind: FileInput}
		for _, w := range words {
			if !strings.HasPrefix(w.Text, "-") {
				in.Files = append(in.Files, w)
			}
		}
		if len(in.Files) > 0 {
			return in
		}
		return c.copied(s, dir)
	case "echo", "printf":
		var parts []string
		for _, w := range words {
			if !strings.HasPrefix(w.Text, "-") && w.Text != `%s\n` && w.Text != "%s" {
				parts = append(parts, strings.TrimSuffix(w.Text, `\n`))
			}
		}
		return input{Kind: constantInput, text: strings.ReplaceAll(strings.Join(parts, " "), `\n`, "\n")}
	}
	return unknown
}

// copied is what cat without files writes: what it reads.
func (c *collector) copied(s *syntax.Stmt, dir string) input {
	saved := c.stdin
	for _, r := range s.Redirs {
		c.redirect(r, dir)
	}
	in := c.stdin
	c.stdin = saved
	return in
}
