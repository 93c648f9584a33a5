package agent

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// Preset says in which form an agent prints what it does on standard output.
type Preset string

const (
	NoPreset Preset = "none"     // it prints text; the default
	Codex    Preset = "codex"    // codex exec --json
	Claude   Preset = "claude"   // claude -p --output-format stream-json, or json
	Gemini   Preset = "gemini"   // gemini -o stream-json, or json
	OpenCode Preset = "opencode" // opencode run --format json
	Copilot  Preset = "copilot"  // copilot --output-format json; tells neither the tokens it read nor a cost
	Qwen     Preset = "qwen"     // qwen -o stream-json
	Pi       Preset = "pi"       // pi --mode json
	Cline    Preset = "cline"    // cline --json
	Protocol Preset = "acp"      // the Agent Client Protocol: of each agent of that kind, and of no other
)

// FormOf is the form in which an agent prints what it does.
func FormOf(kind Kind, parse string) Preset {
	if kind == ACP {
		return Protocol
	}
	return Preset(parse)
}

// said is what an agent printed of itself. A program that prints another's
// words can say anything here, so it is a claim like a report.
type said struct {
	text   []byte // its last words, at most [MaxOutput] bytes
	usage  engine.Usage
	events int // that were understood

	apart bool   // the next words are a message of their own
	call  string // the call whose usage was counted last
	calls engine.Usage
	doings
}

// transcript reads an agent's output while it comes, a line at a time, and keeps
// one line and the last words. A nil transcript reads nothing. It is safe for
// concurrent use.
type transcript struct {
	mu    sync.Mutex
	shape reader
	whole bool // it got each line as it came, and none of another stream
	lines lines
	said  said
}

// reader reads one object of what an agent prints; false if it is none that tells something.
type reader interface {
	hear(s *said, line []byte) bool
}

// reader is nil for agents that print text.
func (p Preset) reader() reader {
	if p == Protocol {
		return &acpReader{}
	}
	if shape, ok := shapes[p]; ok {
		return shape
	}
	return nil
}

// newTranscript returns nil for agents that print text.
func newTranscript(p Preset) (*transcript, error) {
	if p == NoPreset || p == "" {
		return nil, nil
	}
	shape := p.reader()
	if shape == nil {
		return nil, fmt.Errorf("its parse %q is none of none, codex, claude, gemini, opencode, copilot, qwen, pi and cline", p)
	}
	return &transcript{shape: shape, whole: p == Protocol}, nil
}

// line takes one line that came whole.
func (t *transcript) line(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.take(line)
}

func (t *transcript) write(p []byte) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines.feed(p, t.take)
}

// take reads a line from its first brace on: what stands before is a word of
// another stream, or of a program that the agent started.
func (t *transcript) take(line []byte) {
	if at := bytes.IndexByte(line, '{'); at >= 0 && t.shape.hear(&t.said, line[at:]) {
		t.said.events++
	}
}

// usage is what was used, as far as it is known by now.
func (t *transcript) usage() engine.Usage {
	if t == nil {
		return engine.Usage{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.said.usage
}

// finish returns what was said in out. Out that was captured whole is read
// anew, since the transcript as it came has standard error in it, which may cut
// a line in two; of longer output it is the only one that has all lines. The
// notes say what was not read.
func (t *transcript) finish(out proc.Capture) (said, []string) {
	if t == nil {
		return said{}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.whole {
		return t.said, nil
	}
	whole := out.Total <= int64(len(out.Tail))
	if whole {
		t.said, t.lines = said{}, lines{}
		t.lines.feed(out.Tail, t.take)
	}
	t.lines.end(t.take)
	if t.said.events == 0 && whole {
		t.take(out.Tail) // one object on many lines, or on one that is too long
	}
	switch {
	case t.said.events > 0:
		return t.said, counted(nil, t.lines.tooLong, "what it used may not be known in full; lines of the output that were too long to be read: %d")
	case out.Total > 0:
		return t.said, []string{"nothing in the output has the form that `parse:` of the agent names, so what it used is not known"}
	}
	return t.said, nil
}

// total takes u as what was used in all so far.
func (s *said) total(u engine.Usage) { s.usage = most(s.usage, u) }

// add takes u as what one call used. A call that is told in pieces has one name
// for them all and counts once; an empty name is a call of its own.
func (s *said) add(call string, u engine.Usage) {
	if call != "" && call == s.call {
		return
	}
	s.call = call
	s.calls = s.calls.Plus(u)
	s.total(s.calls)
}

// added is the sum of what is known, as long as that makes sense.
func added(list ...*int64) (total *int64) {
	for _, n := range list {
		if n == nil {
			continue
		}
		if total == nil {
			total = new(int64)
		}
		*total = min(*total+*n, maxTokens) // which is [maxCost] in millionths, too
	}
	return total
}

// say takes text as a message of its own.
func (s *said) say(text string) {
	if text != "" {
		s.apart = true
		s.more(text)
		s.apart = true
	}
}

// more takes text as a part of the message under way.
func (s *said) more(text string) {
	if text == "" {
		return
	}
	if s.apart {
		s.text, s.apart = s.text[:0], false
	}
	s.text = append(s.text, text[:min(len(text), MaxOutput-len(s.text))]...)
}

// number is a JSON number that may be missing, or be anything else.
type number struct {
	value *float64
	given bool // something stands there
}

// UnmarshalJSON never fails: what is no number is unknown.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = number{given: string(b) != "null"}
	if f, err := strconv.ParseFloat(string(b), 64); err == nil || errors.Is(err, strconv.ErrRange) {
		n.value = &f
	}
	return nil
}

// tokens are nil unless n is a whole number that is not below nothing, and at
// most [maxTokens].
func (n number) tokens() *int64 {
	if n.value == nil || *n.value < 0 || *n.value != math.Trunc(*n.value) {
		return nil
	}
	return new(int64(min(*n.value, maxTokens)))
}

// micros are millionths of n dollars, at most [maxCost] of them; nil unless that
// makes sense.
func (n number) micros() *int64 {
	if n.value == nil || *n.value < 0 {
		return nil
	}
	return new(int64(math.Round(min(*n.value, maxCost) * 1e6)))
}

// odd reports whether something is there that was not read, or is more than limit.
func (n number) odd(read *int64, limit float64) bool {
	return n.given && (read == nil || *n.value > limit)
}
