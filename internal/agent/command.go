package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/proc"
)

// command returns the agent's argv and what it reads on standard input; nil is
// the null device.
func (a *attempt) command() (argv []string, stdin []byte, err error) {
	switch a.cfg.Kind {
	case Shell:
		return []string{cmp.Or(a.task.Bash, "bash"), "--noprofile", "--norc", "-c", a.task.Text}, nil, nil
	case Exec:
		return a.execCommand()
	case ACP:
		if len(a.cfg.Command) == 0 || a.cfg.Command[0] == "" {
			return nil, nil, errors.New("its configuration names no command")
		}
		return a.fill(a.cfg.Command, nil)
	}
	return nil, nil, fmt.Errorf("its kind %q is none of exec, acp and shell", a.cfg.Kind)
}

func (a *attempt) execCommand() (argv []string, stdin []byte, err error) {
	if len(a.cfg.Command) == 0 || a.cfg.Command[0] == "" {
		return nil, nil, errors.New("its configuration names no command")
	}
	command := a.cfg.Command
	switch a.cfg.Prompt {
	case Stdin, "":
		stdin = []byte(a.task.Text)
	case Arg:
		command = withPlace(command, "{prompt}")
	case File:
		command = withPlace(command, "{prompt_file}")
	default:
		return nil, nil, fmt.Errorf("its prompt goes to %q, which is none of stdin, arg and file", a.cfg.Prompt)
	}
	return a.fill(command, stdin)
}

// withPlace adds a place as the last argument unless there is one.
func withPlace(command []string, place string) []string {
	if slices.ContainsFunc(command[1:], func(s string) bool { return strings.Contains(s, place) }) {
		return command
	}
	return append(slices.Clone(command), place)
}

// fill puts the values in their places. What a value holds is not looked at
// again, so a prompt may speak of {mode}.
func (a *attempt) fill(command []string, stdin []byte) ([]string, []byte, error) {
	text := strings.Join(command[1:], "\x00")
	switch {
	case a.cfg.Kind == ACP && (strings.Contains(text, "{prompt}") || strings.Contains(text, "{prompt_file}")):
		return nil, nil, errors.New("its command holds the prompt, which an agent of the kind acp is told later")
	case strings.Contains(text, "{prompt}") && a.cfg.Prompt != Arg:
		return nil, nil, errors.New("its command holds {prompt}, so its configuration must say prompt: arg")
	case strings.Contains(text, "{model}") && a.cfg.Model == "":
		return nil, nil, errors.New("its command holds {model}, but no model is configured")
	case strings.Contains(text, "{tools}") && len(a.cfg.Tools) == 0:
		return nil, nil, errors.New("its command holds {tools}, but no tools are configured")
	case strings.Contains(text, "{prompt_file}"):
		if err := a.desk.writePrompt(a.task.Text); err != nil {
			return nil, nil, err
		}
	}
	values := strings.NewReplacer("{prompt}", a.task.Text, "{prompt_file}", a.desk.prompt,
		"{workdir}", a.task.Dir, "{mode}", a.mode(), "{model}", a.cfg.Model, "{tools}", strings.Join(a.cfg.Tools, ","),
		"{scratch}", a.task.Scratch)
	argv := []string{command[0]}
	for _, arg := range command[1:] {
		argv = append(argv, values.Replace(arg))
	}
	return argv, stdin, nil
}

// environ returns the agent's whole environment. Names that begin with PITON_
// are the harness's own: whatever configuration or plan say of them, an agent
// gets those below and no other.
func (a *attempt) environ() ([]string, error) {
	set := maps.Clone(a.cfg.Env)
	maps.DeleteFunc(set, func(name, _ string) bool { return reserved(name) })
	if set == nil {
		set = map[string]string{}
	}
	switch a.cfg.Home {
	case Inherit, "":
	case Isolated:
		if err := a.desk.makeHome(); err != nil {
			return nil, err
		}
		maps.Copy(set, homeVariables(a.desk.home))
	default:
		return nil, fmt.Errorf("its home %q is none of inherit and isolated", a.cfg.Home)
	}
	maps.Copy(set, map[string]string{
		"PITON_RUN":       a.task.Run,
		"PITON_STEP":      a.task.Step,
		"PITON_ATTEMPT":   strconv.Itoa(a.task.Attempt),
		"PITON_WORKSPACE": a.task.Dir,
		"PITON_OUTPUT":    a.desk.output,
		"PITON_REPORT":    a.desk.report,
	})
	maps.Copy(set, a.task.Values)
	pass := slices.DeleteFunc(slices.Concat(a.cfg.EnvPass, a.task.Pass), reserved)
	return proc.Environ(a.task.Environ, pass, set), nil
}

func reserved(name string) bool {
	return strings.HasPrefix(strings.ToUpper(name), "PITON_")
}
