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
