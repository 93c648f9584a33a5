package agent

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// A shape says how to read the objects that an agent prints, by their type. Places in
// them are paths: keys with dots between them, and * for every key.
type shape map[string]event

// An event is what an object of one type tells; many tell nothing.
type event struct {
	where  [2]string // a place and what is there, where the object tells anything
	orElse bool      // where it does not, what comes next is a message of its own
	any    []string  // one of these is there, or nobody knows the object

	words string // a message, or a list of its parts
	piece string // words continue the message under way where something is at this place that is not false
	apart bool   // what comes next is a message of its own

	used  usage
	other usage  // where used is not told
	each  bool   // it is what one call used, and not all so far
	call  string // the call's name
}

// usage is where an object tells what was used. Tokens in are all that a model
// read, those from a cache and those written to one included: agents that count
// these apart have them added. Tokens out are all that it wrote, with its
// reasoning where the agent tells it.
type usage struct{ in, out, cost string }

// shapes are the presets.
var shapes = map[Preset]shape{
	// Usage is of the whole thread so far, with the cached tokens in input_tokens
	// and the reasoning in output_tokens. A thread that was taken up again counts
	// its earlier turns too.
	Codex: {
		"thread.started": {},
		"item.completed": {where: [2]string{"item.type", "agent_message"}, words: "item.text"},
		"turn.completed": {used: usage{in: "usage.input_tokens", out: "usage.output_tokens"}},
	},
	// The result has the totals. What single messages tell of usage is not final,
	// and repeated.
	Claude: {
		"system":    {},
		"assistant": {words: "message.content", apart: true},
		"result": {words: "result", used: usage{
			in:  "usage.input_tokens usage.cache_creation_input_tokens usage.cache_read_input_tokens",
			out: "usage.output_tokens", cost: "total_cost_usd",
		}},
	},
	// Each message has the usage of its call, with the cached tokens in
	// input_tokens. The result's is never added.
	Qwen: {
		"system": {},
		"assistant": {
			words: "message.content", apart: true, each: true, call: "message.id",
			used: usage{in: "message.usage.input_tokens", out: "message.usage.output_tokens"},
		},
		"result": {words: "result", used: usage{in: "usage.input_tokens", out: "usage.output_tokens"}},
	},
	// The totals are by line in a stream, by model in a single object. Both count
	// cached tokens as input.
	Gemini: {
		"init":        {used: geminiStream, other: geminiModels},
		"result":      {used: geminiStream, other: geminiModels},
		"message":     {where: [2]string{"role", "assistant"}, orElse: true, words: "content", piece: "delta"},
		"tool_use":    {apart: true},
		"tool_result": {apart: true},
		"":            {any: []string{"response", "stats"}, words: "response", used: geminiStream, other: geminiModels},
	},
	// Each step is one call; input, cache, output and reasoning are apart.
	OpenCode: {
		"step_start": {apart: true},
		"text":       {words: "part.text", piece: "type"},
		"step_finish": {each: true, used: usage{
			in:  "part.tokens.input part.tokens.cache.read part.tokens.cache.write",
			out: "part.tokens.output part.tokens.reasoning", cost: "part.cost",
		}},
		"tool_use": {},
		"error":    {},
	},
	// Messages may tell what was written for them; nothing tells what was read.
	Copilot: {
		"assistant.message": {words: "data.content", each: true, used: usage{out: "data.outputTokens"}},
		"result":            {},
	},
	// Each message of the assistant is one call, and is told once more at the end
	// of its turn and of the run. Input and cache are apart.
	Pi: {
		"session": {},
		"message_end": {where: [2]string{"message.role", "assistant"}, words: "message.content", apart: true, each: true, used: usage{
			in:  "message.usage.input message.usage.cacheRead message.usage.cacheWrite",
			out: "message.usage.output", cost: "message.usage.cost.total",
		}},
	},
	// The last line has the totals.
	Cline: {
		"agent_event": {},
		"run_result":  {words: "text", used: usage{in: "usage.inputTokens", out: "usage.outputTokens", cost: "usage.totalCost"}},
	},
}

var (
	geminiStream = usage{in: "stats.input_tokens", out: "stats.output_tokens"}
	geminiModels = usage{in: "stats.models.*.tokens.prompt", out: "stats.models.*.tokens.candidates stats.models.*.tokens.thoughts"}
)

// hear takes one object; false if it is none that tells something.
func (f shape) hear(s *said, line []byte) bool {
	o, ok := decode(line)
	if !ok {
		return false
	}
	e, known := f[o.text("type")]
	if known = known && (e.any == nil || o.has(e.any)); !known {
		return false
	}
	if e.where[0] != "" && o.text(e.where[0]) != e.where[1] {
		s.apart = s.apart || e.orElse
		return true
	}
	e.say(s, o)
	u := o.usage(e.used)
	if u == (engine.Usage{}) {
		u = o.usage(e.other)
	}
	if e.each {
		s.add(o.text(e.call), u)
	} else {
		s.total(u)
	}
	return true
}

// say takes the words of an object.
func (e *event) say(s *said, o object) {
	piece := e.piece != "" && len(o.at(e.piece)) > 0 && string(o.at(e.piece)[0]) != "false"
	switch words := o.text(e.words); {
	case piece:
		s.more(words)
	case words != "":
		s.say(words)
	default:
		s.apart = s.apart || e.apart
		for _, part := range o.at(e.words + ".*") {
			if p, ok := decode(part); ok && p.text("type") == "text" {
				s.more(p.text("text"))
			}
		}
		s.apart = s.apart || e.apart
	}
}

// object is what an agent printed on a line, read as far as somebody asks.
type object map[string]json.RawMessage

// decode reads one object.
func decode(line []byte) (o object, ok bool) {
	return o, json.Unmarshal(line, &o) == nil && o != nil
}

// at lists what is at a place.
func (o object) at(path string) []json.RawMessage {
	key, rest, deeper := strings.Cut(path, ".")
	var found []json.RawMessage
	for _, member := range o.members(key) {
		if !deeper {
			found = append(found, member)
			continue
		}
		if inner, ok := decode(member); ok {
			found = append(found, inner.at(rest)...)
			continue
		}
		var list []json.RawMessage
		if rest == "*" && json.Unmarshal(member, &list) == nil {
			found = append(found, list...)
		}
	}
	return found
}

func (o object) members(key string) []json.RawMessage {
	if key == "*" {
		return slices.Collect(maps.Values(o))
	}
	if member, ok := o[key]; ok {
		return []json.RawMessage{member}
	}
	return nil
}

func (o object) has(paths []string) bool {
	for _, path := range paths {
		if at := o.at(path); len(at) > 0 && string(at[0]) != "null" {
			return true
		}
	}
	return false
}

// text is the text at a place, "" if there is none.
func (o object) text(path string) (s string) {
	for _, v := range o.at(path) {
		if json.Unmarshal(v, &s) == nil {
			return s
		}
	}
	return ""
}

func (o object) usage(u usage) engine.Usage {
	return engine.Usage{In: o.sum(u.in, number.tokens), Out: o.sum(u.out, number.tokens), CostMicros: o.sum(u.cost, number.micros)}
}

// sum adds up what is known at the places.
func (o object) sum(paths string, read func(number) *int64) (total *int64) {
	for path := range strings.FieldsSeq(paths) {
		for _, v := range o.at(path) {
			var is number
			_ = is.UnmarshalJSON(v) // it never fails
			total = added(total, read(is))
		}
	}
	return total
}
