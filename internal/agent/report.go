package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// ReportType says what a line of an agent's report is about.
type ReportType string

const (
	UsageReport ReportType = "usage"
	Progress    ReportType = "progress"
	Log         ReportType = "log"
	Discovery   ReportType = "discovery"
	Question    ReportType = "question"
	Blocked     ReportType = "blocked"
	Frame       ReportType = "frame" // something else, under a word of its own
)

// Report is one line of an agent's report: a claim.
type Report struct {
	Type    ReportType
	Text    string // plain text, at most [MaxText] bytes
	Kind    engine.FrameKind
	Percent *float64     // of progress, 0 to 100
	Usage   engine.Usage // of usage
	// Cumulative says that Usage holds totals so far; else it is to be added.
	Cumulative bool
	// Odd says that a number of Usage made no sense: one that is too large counts
	// as the most that does, any other as unknown.
	Odd bool
}

// Claims are what an agent said of its attempt.
type Claims struct {
	Usage         engine.Usage // unknown where nothing was said
	engine.Claims              // what stopped it is the last thing it said; at most [MaxClaims] of each of the others
}

// Limits of a report. What is beyond them is counted, and otherwise ignored.
const (
	MaxReport  = 4 << 20  // bytes
	MaxLine    = 64 << 10 // bytes of one line
	MaxText    = 4 << 10  // bytes of one text
	MaxReports = 10_000   // that are handed on while the agent works
	MaxClaims  = 20       // discoveries, and as many questions and frames
)

// A claim beyond these is nonsense, and counts as these: who uses more than
// anybody can must not seem to have used nothing.
const (
	maxTokens = 1_000_000_000_000
	maxCost   = 1_000_000 // dollars
)

type reportLine struct {
	Type       ReportType `json:"type"`
	Text       string     `json:"text"`
	Kind       string     `json:"kind"`
	Percent    *float64   `json:"percent"`
	In         number     `json:"tokens_in"`
	Out        number     `json:"tokens_out"`
	Cost       number     `json:"cost_usd"`
	Cumulative bool       `json:"cumulative"`
}

// strange lists the keys of a line that no report has. They may be what it meant
// to say.
func strange(line []byte) []string {
	var keys map[string]json.RawMessage
	if json.Unmarshal(line, &keys) != nil {
		return nil
	}
	known := []string{"type", "text", "kind", "percent", "tokens_in", "tokens_out", "cost_usd", "cumulative"}
	maps.DeleteFunc(keys, func(key string, _ json.RawMessage) bool {
		return slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, key) })
	})
	return slices.Sorted(maps.Keys(keys))
}

// parseReport reads one line; false if it is no report.
func parseReport(line []byte) (Report, bool) {
	var l reportLine
	if json.Unmarshal(line, &l) != nil {
		return Report{}, false
	}
	r := Report{Type: l.Type, Text: plainText(l.Text)}
	switch l.Type {
	case UsageReport:
		r.Cumulative = l.Cumulative
		r.Usage = engine.Usage{In: l.In.tokens(), Out: l.Out.tokens(), CostMicros: l.Cost.micros()}
		r.Odd = l.In.odd(r.Usage.In, maxTokens) || l.Out.odd(r.Usage.Out, maxTokens) || l.Cost.odd(r.Usage.CostMicros, maxCost)
		return r, r.Usage != engine.Usage{}
	case Progress:
		if l.Percent != nil && *l.Percent >= 0 && *l.Percent <= 100 {
			r.Percent = l.Percent
		}
		return r, r.Text != "" || r.Percent != nil
	case Log, Discovery, Question, Blocked:
		return r, r.Text != ""
	case Frame:
		r.Kind = engine.FrameKind(l.Kind)
		return r, r.Text != "" && r.Kind.CanReport()
	}
	return Report{}, false
}

// AppendReport adds a line with a text to a report. It is for the agent's side, and refuses a
// text that would be cut.
func AppendReport(path string, t ReportType, text string) error {
	switch text = strings.TrimSpace(text); {
	case text == "":
		return errors.New("the text is empty: say it in a few words")
	case len(text) > MaxText:
		return fmt.Errorf("the text has %d bytes, and %d at most are kept: make it shorter", len(text), MaxText)
	}
	line, err := json.Marshal(map[string]string{"type": string(t), "text": text})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func plainText(s string) string {
	s = strings.TrimSpace(proc.Plain([]byte(s)))
	if len(s) <= MaxText {
		return s
	}
	cut := MaxText - len("…")
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// add takes a report into the claims; false if there are too many already.
func (c *Claims) add(r Report) bool {
	switch r.Type {
	case UsageReport:
		if r.Cumulative {
			c.Usage = most(c.Usage, r.Usage)
		} else {
			c.Usage = c.Usage.Plus(r.Usage)
		}
	case Blocked:
		c.Blocked = r.Text
	case Discovery:
		return push(&c.Discoveries, r.Text)
	case Question:
		return push(&c.Questions, r.Text)
	case Frame:
		return push(&c.Remarks, engine.Remark{Kind: r.Kind, Text: r.Text})
	}
	return true
}

// larger is the larger of what is known.
func larger(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// most is the larger usage of two, each kind by itself: nothing that was used is
// taken back.
func most(a, b engine.Usage) engine.Usage {
	return engine.Usage{In: larger(a.In, b.In), Out: larger(a.Out, b.Out), CostMicros: larger(a.CostMicros, b.CostMicros)}
}

func push[T any](list *[]T, said T) bool {
	if len(*list) >= MaxClaims {
		return false
	}
	*list = append(*list, said)
	return true
}

// lines cuts a stream into lines of at most [MaxLine] bytes; longer ones are
// counted. It keeps no more than one line, so nothing an agent writes can make
// it large or slow.
type lines struct {
	line    []byte
	long    bool // the line under way is too long already
	tooLong int
}

// feed hands each line that p ends to take.
func (l *lines) feed(p []byte, take func([]byte)) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		if l.long = l.long || len(l.line)+len(part) > MaxLine; !l.long {
			l.line = append(l.line, part...)
		}
		if end < 0 {
			return
		}
		l.end(take)
		p = p[end+1:]
	}
}

// end ends the line under way. Empty lines are nothing.
func (l *lines) end(take func([]byte)) {
	if l.long {
		l.tooLong++
	} else if line := bytes.TrimSpace(l.line); len(line) > 0 {
		take(line)
	}
	l.line, l.long = l.line[:0], false
}
