package check

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/engine"
)

// Executables names the commands that checks start: by a name that is searched
// for, or by an absolute path. The shell itself is one. It sees what stands in the
// text, also behind what starts the command after it (timeout, sudo, xargs), in a
// text for a shell (bash -c, eval), and after find -exec. It does not see a name
// that is only known when it runs, nor what scripts, Makefiles and other programs
// start. What lies in the workspace is a matter of guards. The names are sorted.
func Executables(checks []engine.Check) []string {
	if len(checks) == 0 {
		return nil
	}
	names := []string{"bash"}
	for _, c := range checks {
		names = append(names, startedBy(c.Command)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// startedBy are the commands of a text for the shell. One that no shell could
// read starts none.
func startedBy(script string) (names []string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			names = append(names, started(texts(call.Args))...)
		}
		return true
	})
	return names
}

// starters run the command that follows them, as wrappers do, and are of no
// matter to runners.
var starters = setOf("sudo doas setsid xargs gtimeout ionice chronic unbuffer fakeroot strace valgrind")

// started are the commands of one line: the first word, and those that wrappers
// before them start.
func started(words []string) (names []string) {
	for i, w := range words {
		if w != "" && (filepath.IsAbs(w) || !strings.ContainsAny(w, `/\`)) && !passed(w) {
			names = append(names, w)
		}
		base := path.Base(w)
		if inner, all := within(base, words[i+1:]); all {
			return append(names, inner...)
		}
		if !wrappers[base] && !starters[base] && !passed(w) && (i == 0 || !strings.HasPrefix(words[i-1], "-")) {
			break
		}
	}
	return names
}

// within are the commands that stand in the arguments of a shell, eval or find.
// False for what is none of these.
func within(base string, args []string) (names []string, ok bool) {
	switch base {
	case "bash", "sh", "dash", "zsh", "ksh", "ash":
		return startedBy(scriptOf(args)), true
	case "eval":
		return startedBy(strings.Join(args, " ")), true
	case "find":
		return executed(args), true
	}
	return nil, false
}

// scriptOf is the text after a shell's -c, "" if it has none.
func scriptOf(args []string) string {
	for i, a := range args {
		switch {
		case i > 0 && strings.HasSuffix(args[i-1], "o") && args[i-1][0] == '-': // the name of an option
		case !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+"):
			return ""
		case !strings.HasPrefix(a, "--") && strings.Contains(a, "c") && i+1 < len(args):
			return args[i+1]
		}
	}
	return ""
}

// executed are the commands that find starts for what it finds.
func executed(args []string) (names []string) {
	for {
		i := slices.IndexFunc(args, func(a string) bool { return a == "-exec" || a == "-execdir" || a == "-ok" || a == "-okdir" })
		if i < 0 {
			return names
		}
		args = args[i+1:]
		end := slices.IndexFunc(args, func(a string) bool { return strings.Trim(a, `\`) == ";" || a == "+" })
		if end < 0 {
			end = len(args)
		}
		names = append(names, started(args[:end])...)
		args = args[end:]
	}
}
