package verify

import "slices"

import "strings"

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

// inner returns the command that begins after the wrapper's options, which are
// looked for from word i on.
func (w wrapper) inner(cmd call, i int) (call, bool) {
	for i < len(cmd.words) && cmd.words[i].known && strings.HasPrefix(cmd.words[i].text, "-") {
		text := cmd.words[i].text
		if i++; text == "--" {
			break
		}
		if w.takesNext(text) {
			i++
		}
	}
	i += w.skip
	for i < len(cmd.words) && cmd.tool() == "env" && strings.Contains(cmd.words[i].text, "=") {
		i++
	}
	if i >= len(cmd.words) || !cmd.words[i].known {
		return call{}, false
	}
	return call{cmd.words[i:], cmd.dir, cmd.maybe}, true
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
