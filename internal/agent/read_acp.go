package agent

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// acpReader reads what an agent prints that speaks the Agent Client Protocol: messages of
// JSON-RPC, a line each. A kind of update is known by its own word, so one that nobody knows
// is taken for no other.
type acpReader struct {
	partly bool            // it tells the tokens of the last call of a turn as those of the turn
	tells  bool            // it tells errors as if its model had said them
	error  string          // the last that may be one
	told   map[string]bool // calls under way that were told of
	saying []byte          // the message under way, as far as a deed holds it
}

// tellsPartly are agents whose tokens of a turn are those of its last call, by the names that
// they give themselves.
var tellsPartly = map[string]bool{"OpenCode": true}

// tellsErrors are agents that print errors as messages, and end their turn as if all went well.
var tellsErrors = map[string]bool{"Copilot": true}

// TellsOver says what an agent's program tells of its usage over the protocol: "" where that
// is not all tokens of a turn, "tokens" where it is no cost.
func TellsOver(command []string) string {
	if len(command) == 0 {
		return ""
	}
	return map[string]string{"gemini": "tokens", "qwen": "tokens", "copilot": "tokens", "claude-agent-acp": "cost"}[filepath.Base(command[0])]
}

func (a *acpReader) hear(s *said, line []byte) bool {
	o, ok := decode(line)
	if !ok {
		return false
	}
	if o.text("params.update.sessionUpdate") != "agent_message_chunk" {
		a.hush(&s.doings)
	}
	switch method := o.text("method"); {
	case method == "session/update":
		a.update(s, o.inner("params.update"))
	case method == "session/request_permission":
		s.apart = true
		a.call(&s.doings, o.inner("params.toolCall"))
	case method != "":
	case o.has([]string{"error"}):
		s.err(acpFault(o.inner("error")))
	case o.has([]string{"result"}):
		a.result(s, o.inner("result"))
	default:
		return false
	}
	return true
}

// hush ends the message under way.
func (a *acpReader) hush(d *doings) {
	if len(a.saying) > 0 {
		d.do(Deed{Type: SaidIt, Text: string(a.saying)})
		a.saying = a.saying[:0]
	}
}

func (a *acpReader) update(s *said, u object) {
	switch u.text("sessionUpdate") {
	case "agent_message_chunk":
		if u.text("content.type") == "text" {
			s.more(u.text("content.text"))
			if told, is := strings.CutPrefix(u.text("content.text"), "Error: "); is && a.tells {
				a.error = told
			}
			a.saying = append(a.saying, u.text("content.text")...)
			a.saying = a.saying[:min(len(a.saying), 4*maxDeedText)]
		}
		if used := acpUsage(u.inner("_meta.usage")); used != (engine.Usage{}) {
			s.add("", used)
			s.do(Deed{Type: Used, Usage: s.usage})
		}
	case "tool_call", "tool_call_update":
		s.apart = true
		a.call(&s.doings, u)
	case "agent_thought_chunk", "plan":
		s.apart = true
	case "usage_update": // what it has of its context filled is nothing that it used
		if u.text("cost.currency") == "USD" {
			s.total(engine.Usage{CostMicros: u.sum("cost.amount", number.micros)})
			s.do(Deed{Type: Used, Usage: s.usage})
		}
	}
}

func (a *acpReader) result(s *said, r object) {
	if name := r.text("agentInfo.name"); name != "" {
		a.partly, a.tells = tellsPartly[name], tellsErrors[name]
		s.do(Deed{Type: Started, Text: strings.TrimSpace(name + " " + r.text("agentInfo.version"))})
	}
	stop := r.text("stopReason")
	if stop == "" {
		return
	}
	// A model that said something used tokens. Without them it was the program.
	if a.error != "" && !r.has([]string{"usage"}) {
		s.err(Fault{Text: a.error})
	}
	if !a.partly {
		quota := engine.Usage{In: r.sum("_meta.quota.token_count.input_tokens", number.tokens), Out: r.sum("_meta.quota.token_count.output_tokens", number.tokens)}
		if u := most(acpUsage(r.inner("usage")), quota); u != (engine.Usage{}) {
			s.total(u)
			s.do(Deed{Type: Used, Usage: s.usage})
		}
	}
	s.do(Deed{Type: Over, Text: stop})
}

// acpUsage takes all that is not written as read, cached tokens too, which some agents count
// in with the others and some apart.
func acpUsage(u object) engine.Usage {
	in, out := u.sum("inputTokens", number.tokens), u.sum("outputTokens thoughtTokens", number.tokens)
	if total := u.sum("totalTokens", number.tokens); total != nil && out != nil && *total >= *out {
		in = larger(in, new(*total-*out))
	}
	return engine.Usage{In: in, Out: out}
}

// acpFault is an error as JSON-RPC has it; some agents put the code of HTTP in its place.
func acpFault(e object) Fault {
	f := Fault{Text: e.text("message")}
	for _, place := range []string{"data.details", "data.message", "data.error", "data"} {
		if more := e.text(place); more != "" && more != f.Text {
			f.Text += ": " + more
			break
		}
	}
	n := e.number("code")
	for _, place := range []string{"data.statusCode", "data.status", "data.code"} {
		if status := e.number(place); status != nil {
			n = status
		}
	}
	switch {
	case n == nil:
	case *n >= 400 && *n < 600:
		f.Status = *n
	case *n == needsLogin:
		f.Text, f.Code = "Authentication required: "+f.Text, strconv.Itoa(*n)
	default:
		f.Code = strconv.Itoa(*n)
	}
	return f
}

// call takes what is told of a call: it comes in pieces, and the first may say next to nothing.
func (a *acpReader) call(d *doings, c object) {
	id := c.text("toolCallId")
	deed, open := d.open[id]
	switch {
	case open:
	case len(d.open) >= maxUnderWay:
		return
	default:
		deed = Deed{Type: Called, ID: id, Tool: Other}
	}
	if kind := c.text("kind"); kind != "" {
		deed.Tool = KindOf(kind)
	}
	if title := c.text("title"); title != "" {
		deed.Name = short(title, 80)
	}
	if at := acpTarget(c, deed); at != "" {
		deed.Target = at
	}
	for _, part := range c.list("content") {
		if part.text("type") == "diff" {
			minus, plus := differing(part.text("oldText"), part.text("newText"))
			deed.Plus, deed.Minus = &plus, &minus
		}
	}
	if d.open == nil {
		d.open = map[string]Deed{}
	}
	if a.told == nil {
		a.told = map[string]bool{}
	}
	d.open[id] = deed
	status := c.text("status")
	ended := status == "completed" || status == "failed"
	if !a.told[id] && (deed.Target != "" || status != "" && status != "pending") {
		a.told[id] = true
		d.do(deed)
	}
	if ended {
		delete(a.told, id)
		d.end(id, func(deed *Deed) { acpEnd(deed, c, status == "failed") })
	}
}

// acpTarget is what a call is about.
func acpTarget(c object, deed Deed) string {
	raw := c.inner("rawInput")
	if deed.Tool == RunIt {
		var input any
		if at := c.at("rawInput"); len(at) > 0 {
			_ = json.Unmarshal(at[0], &input)
		}
		if command, _ := commandOf(input); command != "" {
			return command
		}
		if len(raw) == 0 {
			return c.text("title")
		}
		return ""
	}
	for _, l := range c.list("locations") {
		return l.text("path")
	}
	return target(raw)
}

func acpEnd(deed *Deed, c object, failed bool) {
	deed.Failed = failed
	for _, place := range []string{"rawOutput.exit_code", "rawOutput.metadata.exit", "rawOutput.exitCode"} {
		if n := c.number(place); n != nil {
			deed.Exit = n
		}
	}
	for _, part := range c.list("rawOutput.contents") {
		if n := part.number("exitCode"); n != nil {
			deed.Exit = n
		}
	}
	if !failed {
		return
	}
	for _, part := range c.list("content") {
		if text := part.text("content.text"); denied(text) {
			deed.refuse(text)
		}
	}
}
