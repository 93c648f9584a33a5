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
type shape struct {
	events map[string]event
	// did tells the deeds of an object of any type.
	did func(d *doings, kind string, o object)
}

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

// shapes are the presets. Each has a file of its own.
var shapes = map[Preset]shape{
	Codex: codex, Claude: claude, Qwen: qwen, Gemini: gemini, OpenCode: openCode, Copilot: copilot, Pi: pi, Cline: cline,
}

// hear takes one object; false if it is none that tells something.
func (f shape) hear(s *said, line []byte) bool {
	o, ok := decode(line)
	if !ok {
		return false
	}
	kind := o.text("type")
	f.did(&s.doings, kind, o)
	e, known := f.events[kind]
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
	if u != (engine.Usage{}) {
		s.do(Deed{Type: Used, Usage: s.usage})
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
