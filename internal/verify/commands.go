package verify

import (
	"slices"
	"strings"
)

// isBuiltin reports the names that bash itself runs.
func isBuiltin(name string) bool {
	switch name {
	case ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command",
		"compgen", "complete", "compopt", "continue", "declare", "dirs", "disown", "echo", "enable",
		"eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "help", "history",
		"jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read",
		"readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test",
		"times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait":
		return true
	}
	return false
}

// isShell reports the names of shells that take a script with -c or as a file.
func isShell(tool string) bool {
	switch tool {
	case "sh", "bash", "dash", "zsh", "ksh", "ash":
		return true
	}
	return false
}

// wrapper describes a command that starts another one: its short options that
// take a value, its long ones, and how many words it takes before the command.
type wrapper struct {
	short string
	long  []string
	skip  int
}

func wrapperOf(tool string) (wrapper, bool) {
	switch tool {
	case "command", "builtin", "nohup", "setsid", "chronic", "unbuffer":
		return wrapper{}, true
	case "exec":
		return wrapper{short: "a"}, true
	case "env":
		return wrapper{short: "uCS", long: []string{"--unset", "--chdir", "--split-string"}}, true
	case "timeout", "gtimeout":
		return wrapper{short: "ks", long: []string{"--kill-after", "--signal"}, skip: 1}, true
	case "nice":
		return wrapper{short: "n", long: []string{"--adjustment"}}, true
	case "ionice":
		return wrapper{short: "cn"}, true
	case "stdbuf":
		return wrapper{short: "ioe", long: []string{"--input", "--output", "--error"}}, true
	case "time":
		return wrapper{short: "fo"}, true
	case "xargs":
		return wrapper{short: "nPILdEsa"}, true
	case "sudo":
		return wrapper{short: "ugpChrt"}, true
	case "doas":
		return wrapper{short: "uC"}, true
	case "parallel":
		return wrapper{short: "jNnLPIS"}, true
	case "watch", "strace", "ltrace", "valgrind", "fakeroot", "catchsegv", "caffeinate":
		return wrapper{short: "ndoepsu"}, true
	case "flock":
		return wrapper{short: "wE", skip: 1}, true
	case "busybox", "toybox":
		return wrapper{}, true
	case "xvfb-run":
		return wrapper{short: "nsefp"}, true
	}
	return wrapper{}, false
}

// unwrap returns the command that a wrapper starts.
func unwrap(cmd call) (call, bool) {
	w, ok := wrapperOf(cmd.tool())
	if !ok || asks(cmd) {
		return call{}, false
	}
	return w.inner(cmd, 1)
}

// begun returns the commands that a command starts by its arguments.
func begun(cmd call) []call {
	if inner, ok := unwrap(cmd); ok {
		return []call{inner}
	}
	switch cmd.tool() {
	case "find", "fd":
		return executed(cmd)
	case "git":
		if v, rest := verb(cmd, wrapper{short: "Cc"}); v == "bisect" && len(rest.words) > 2 && rest.words[1].text == "run" {
			rest.words = rest.words[2:]
			return []call{rest}
		}
	}
	return nil
}

// executed returns what find -exec and its like start. {} is a file that is
// found, which cannot be told.
func executed(cmd call) []call {
	var list []call
	for i, w := range cmd.words {
		switch w.text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X":
		default:
			continue
		}
		if i+1 >= len(cmd.words) || !w.known {
			continue
		}
		words := slices.Clone(cmd.words[i+1:])
		for j := range words {
			if words[j].text == ";" || words[j].text == "+" {
				words = words[:j]
				break
			}
			if words[j].text == "{}" {
				words[j] = word{text: unknownText, at: words[j].at}
			}
		}
		if len(words) > 0 {
			inner := cmd
			inner.words = words
			list = append(list, inner)
		}
	}
	return list
}

// inner returns the command that begins after the wrapper's options, which are
// looked for from word i on. Its name need not be known.
func (w wrapper) inner(cmd call, i int) (call, bool) {
	env := cmd.tool() == "env"
	for i < len(cmd.words) && cmd.words[i].known && strings.HasPrefix(cmd.words[i].text, "-") {
		text := cmd.words[i].text
		if i++; text == "--" {
			break
		}
		if dir, ok := strings.CutPrefix(text, "--chdir="); ok && env {
			cmd.dir = within(cmd.dir, dir)
		}
		if w.takesNext(text) && i < len(cmd.words) {
			if env && (text == "-C" || text == "--chdir") {
				cmd.dir = changed(call{words: cmd.words[i-1 : i+1], dir: cmd.dir})
			}
			i++
		}
	}
	i += w.skip
	for i < len(cmd.words) && env && strings.Contains(cmd.words[i].text, "=") {
		i++
	}
	if i >= len(cmd.words) {
		return call{}, false
	}
	cmd.words = cmd.words[i:]
	return cmd, true
}

// takesNext reports whether the value of an option is the next word.
func (w wrapper) takesNext(option string) bool {
	if strings.HasPrefix(option, "--") {
		return slices.Contains(w.long, option)
	}
	for i := 1; i < len(option); i++ {
		if strings.IndexByte(w.short, option[i]) >= 0 {
			return i == len(option)-1
		}
	}
	return false
}
