package check

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// calls returns the names of the runners that a script calls. A script that no
// shell could read calls none.
func calls(script string) map[string]bool {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil
	}
	called := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			for _, name := range runnersOf(texts(call.Args)) {
				called[name] = true
			}
		}
		return true
	})
	return called
}

// texts returns what the words of a command say; one that is only known when it
// runs says nothing.
func texts(words []*syntax.Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		var b strings.Builder
		for _, part := range w.Parts {
			writeText(&b, part)
		}
		out[i] = b.String()
	}
	return out
}

func writeText(b *strings.Builder, part syntax.WordPart) {
	switch p := part.(type) {
	case *syntax.Lit:
		b.WriteString(p.Value)
	case *syntax.SglQuoted:
		b.WriteString(p.Value)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			writeText(b, inner)
		}
	}
}

// wrappers run the command that follows them, after options, settings and
// numbers of their own.
var wrappers = setOf("timeout env nice time command exec nohup xvfb-run stdbuf uv uvx poetry pipenv pdm hatch rye " +
	"run coverage npx bunx npm pnpm yarn bun exec dlx x python python3 py cross-env c8 nyc")

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// runnersOf returns the runners that one command calls, itself or through
// wrappers.
func runnersOf(words []string) []string {
	for i, w := range words {
		base := path.Base(w)
		if names := runnersAt(base, words[i+1:], words[:i]); len(names) > 0 {
			return names
		}
		if !wrappers[base] && !passed(w) && (i == 0 || !strings.HasPrefix(words[i-1], "-")) {
			return nil
		}
	}
	return nil
}

// passed reports whether a word is an option, setting or number of a wrapper
// before it.
func passed(w string) bool {
	return strings.HasPrefix(w, "-") || strings.Contains(w, "=") || w == "" || w[0] >= '0' && w[0] <= '9'
}

// runnersAt returns the runners that a word stands for, given what follows it
// and what came before.
func runnersAt(base string, rest, before []string) []string {
	first := ""
	if len(rest) > 0 {
		first = rest[0]
	}
	switch base {
	case "pytest", "py.test":
		return []string{"pytest"}
	case "unittest":
		if len(before) > 0 && before[len(before)-1] == "-m" {
			return []string{"unittest"}
		}
	case "go", "cargo":
		if first == "test" || first == "t" && base == "cargo" {
			return []string{base + " test"}
		}
	case "node":
		if slices.Contains(rest, "--test") {
			return []string{"node --test"}
		}
	case "jest", "vitest", "mocha":
		return []string{base}
	case "npm", "pnpm", "yarn", "bun":
		if script(rest) {
			return []string{"node --test", "jest", "vitest", "mocha"}
		}
	}
	return nil
}

// script reports whether the arguments of a package manager run a test script,
// which may call any of its runners.
func script(args []string) bool {
	for _, w := range args {
		switch {
		case w == "run" || w == "run-script" || strings.HasPrefix(w, "-"):
		default:
			return w == "t" || w == "tst" || strings.HasPrefix(w, "test")
		}
	}
	return false
}
