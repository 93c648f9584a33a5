// Package model asks a language model one question and brings back its one answer.
//
// The model stands behind a configured agent, which is started for the question and
// ends with it, or behind an endpoint that speaks the protocol of OpenAI or of
// Anthropic. What it answers is text from outside: bounded in size and time, and
// nothing more.
//
// It must never decide anything, never judge what an answer says, never keep a
// conversation, and never tell a key.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// MaxAnswer is the largest answer that is taken, in bytes.
const MaxAnswer = 1 << 20

// DefaultTime bounds a question that no configuration bounds.
const DefaultTime = 10 * time.Minute

// Question is what a model is asked.
type Question struct {
	Prompt string
	Dir    string          // where an agent's program starts: a throw-away directory
	Log    string          // file that gets the question and what is said to it, appended; "" is none
	Schema json.RawMessage // JSON Schema of a structured answer; nil is any text
}

// Answer is what it said.
type Answer struct {
	Text  string // valid UTF-8, not empty, at most [MaxAnswer] bytes
	Usage engine.Usage
}

// An Asker asks one model. It is safe for concurrent use.
type Asker interface {
	// Ask returns the answer, or a [*Failure]. What was used is told with either.
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Failure is why there is no answer.
type Failure struct {
	// How is [engine.NoStart] where nothing can be said of the model: it was not
	// reached, or refused the work; [engine.Exited] where it answered what cannot be
	// taken; [engine.TimedOut] or [engine.Stopped].
	How    engine.How
	Reason string // for people: plain text, bounded
}

func (f *Failure) Error() string { return f.Reason }

func failure(how engine.How, format string, args ...any) *Failure {
	return &Failure{How: how, Reason: fmt.Sprintf(format, args...)}
}

// taken is an answer that can be taken, if text is one.
func taken(who, text string, used engine.Usage) (Answer, error) {
	a := Answer{Usage: used}
	switch {
	case len(text) > MaxAnswer:
		return a, tooLong(who)
	case strings.TrimSpace(text) == "":
		return a, failure(engine.Exited, "%s answered nothing", who)
	}
	a.Text = strings.ToValidUTF8(text, "�")
	if len(a.Text) > MaxAnswer {
		a.Text = ""
		return a, tooLong(who)
	}
	return a, nil
}

func tooLong(who string) *Failure {
	return failure(engine.Exited, "%s answered more than %d bytes, the most that an answer may have", who, MaxAnswer)
}

// maxWords bounds what is repeated of a model's or an endpoint's words, in bytes.
const maxWords = 300

// words are the end of what somebody said, for people: one line.
func words(s string) string {
	s = strings.Join(strings.Fields(proc.Plain([]byte(s))), " ")
	if len(s) <= maxWords {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-maxWords:], "")
}

// keep appends to the file of a question. A question is asked all the same where
// that fails.
func keep(path, title, text string) {
	if path == "" {
		return
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "--- %s ---\n%s\n", title, text)
}
