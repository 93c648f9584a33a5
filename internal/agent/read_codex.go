package agent

import "strings"

// codex: usage is of the whole thread so far, with the cached tokens in input_tokens and the
// reasoning in output_tokens. A thread that was taken up again counts its earlier turns
// too.
var codex = shape{map[string]event{
	"thread.started": {},
	"item.completed": {where: [2]string{"item.type", "agent_message"}, words: "item.text"},
	"turn.completed": {used: usage{in: "usage.input_tokens", out: "usage.output_tokens"}},
}, codexDeeds}

func codexDeeds(d *doings, kind string, o object) {
	item := o.inner("item")
	switch kind {
	case "thread.started":
		d.do(Deed{Type: Started})
	case "item.started", "item.completed":
		codexItem(d, item, item.text("type"), kind == "item.completed")
	case "error":
		d.err(Fault{Text: reconnecting(o.text("message"))})
	case "turn.failed":
		d.err(Fault{Text: reconnecting(o.text("error.message"))})
	case "turn.completed":
		d.fault = Fault{}
	}
}

// codexItem: an item of type error is a warning, after which the work goes on.
func codexItem(d *doings, item object, kind string, done bool) {
	id := item.text("id")
	switch kind {
	case "agent_message":
		d.do(Deed{Type: SaidIt, Text: item.text("text")})
	case "command_execution", "file_change", "mcp_tool_call", "web_search":
		if _, open := d.open[id]; !open {
			d.begin(id, codexTool(kind, item), codexArgs(kind, item))
		}
		if !done {
			return
		}
		d.end(id, func(deed *Deed) {
			deed.Exit = item.number("exit_code")
			switch item.text("status") {
			case "declined":
				deed.refuse("declined")
			case "failed":
				deed.Failed = true
			}
		})
	}
}

func codexTool(kind string, item object) string {
	if kind == "mcp_tool_call" {
		return item.text("server") + "/" + item.text("tool")
	}
	return kind
}

// codexArgs are the arguments of an item as other agents have them. A command stands in the
// shell's call, which is the same for all.
func codexArgs(kind string, item object) object {
	if kind != "file_change" {
		if c := item.text("command"); c != "" {
			return object{"command": quoted(unwrapped(c))}
		}
		return item
	}
	var paths []string
	for _, c := range item.list("changes") {
		paths = append(paths, c.text("path"))
	}
	return object{"path": quoted(strings.Join(paths, " "))}
}

// unwrapped is a command without the shell that runs it.
func unwrapped(command string) string {
	for _, shell := range []string{"/bin/bash -lc ", "bash -lc ", "/bin/zsh -lc ", "/bin/sh -c ", "/bin/sh -lc "} {
		inner, ok := strings.CutPrefix(command, shell)
		if !ok || len(inner) < 2 {
			continue
		}
		switch quote := inner[0]; {
		case quote != inner[len(inner)-1]:
		case quote == '\'':
			return strings.ReplaceAll(inner[1:len(inner)-1], `'\''`, "'")
		case quote == '"':
			return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`").Replace(inner[1 : len(inner)-1])
		}
		return inner
	}
	return command
}

// reconnecting is what an error says that is told of a try to connect again.
func reconnecting(s string) string {
	rest, ok := strings.CutPrefix(s, "Reconnecting... ")
	at := strings.IndexByte(rest, '(')
	if !ok || at < 0 || !strings.HasSuffix(rest, ")") {
		return s
	}
	return rest[at+1 : len(rest)-1]
}
