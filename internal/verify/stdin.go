package verify

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// input is what a command reads, as far as the text tells.
type input struct {
	kind  inputKind
	files []word // of fileInput
	text  string // of constantInput
}

type inputKind int

const (
	noInput inputKind = iota // none that the script gives it
	fileInput
	constantInput
	unknownInput
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

func fileInputOf(lists [][]word) input {
	in := input{kind: fileInput}
	for _, list := range lists {
		in.files = append(in.files, list...)
	}
	return in
}

// constantOf is a text; where it may say several things, all of them in turn.
func constantOf(readings []word) input {
	var b strings.Builder
	for _, r := range readings {
		b.WriteString(r.text + "\n")
	}
	return input{kind: constantInput, text: b.String()}
}

// written is what a command writes into a pipe.
func (c *collector) written(s *syntax.Stmt, dir string) input {
	unknown := input{kind: unknownInput}
	if s == nil {
		return unknown
	}
	cmd, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(cmd.Args) == 0 {
		return unknown
	}
	var words []word
	for _, arg := range cmd.Args[1:] {
		for _, list := range c.expand(arg, dir) {
			words = append(words, list...)
		}
	}
	switch cmd.Args[0].Lit() {
	case "cat":
		in := input{kind: fileInput}
		for _, w := range words {
			if !strings.HasPrefix(w.text, "-") {
				in.files = append(in.files, w)
			}
		}
		if len(in.files) > 0 {
			return in
		}
		return c.copied(s, dir)
	case "echo", "printf":
		var parts []string
		for _, w := range words {
			if !strings.HasPrefix(w.text, "-") && w.text != `%s\n` && w.text != "%s" {
				parts = append(parts, strings.TrimSuffix(w.text, `\n`))
			}
		}
		return input{kind: constantInput, text: strings.ReplaceAll(strings.Join(parts, " "), `\n`, "\n")}
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
