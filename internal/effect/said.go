package effect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tool"
)

// Said is what an attempt said of itself while it was under way: a claim, which
// is no event and moves nothing.
type Said struct {
	At      time.Time        `json:"at"`
	Type    agent.ReportType `json:"type"` // [agent.Progress] or [agent.Log]
	Percent *float64         `json:"percent,omitempty"`
	Text    string           `json:"text,omitempty"`
}

// LogFile is where what an attempt prints is kept, below the state directory.
func LogFile(run, step string, attempt, n int) string {
	return filepath.Join("attempts", run, fmt.Sprintf("%s.%d.%d.log", step, attempt, n))
}

// SaidFile is where the harness keeps what an attempt said, below the state
// directory: a [Said] a line, in order. A first start that says nothing has none.
func SaidFile(state, run, step string, attempt, n int) string {
	return filepath.Join(state, "attempts", run, fmt.Sprintf("%s.%d.%d.said", step, attempt, n))
}

// maxSaidRead bounds one look at what an attempt said.
const maxSaidRead = 1 << 20

// ReadSaid reads what was said after an offset, and returns the offset to go on
// from: a line that is not whole yet is left for the next look. A file that is
// not there, or that somebody made unreadable, says nothing.
func ReadSaid(path string, offset int64) (list []Said, next int64) {
	f, err := os.Open(path)
	if err != nil {
		return nil, offset
	}
	defer f.Close()
	body, _ := io.ReadAll(io.NewSectionReader(f, offset, maxSaidRead))
	for {
		line, rest, whole := bytes.Cut(body, []byte("\n"))
		if !whole {
			return list, offset
		}
		offset += int64(len(line)) + 1
		var s Said
		if json.Unmarshal(line, &s) == nil {
			list = append(list, s)
		}
		body = rest
	}
}

// NewestSaid is what [LastSaid] is of an attempt's newest start that is known
// here: it reads the directory that says which there are.
func NewestSaid(state, run, step string, attempt int) (now Said, ok bool) {
	files, _ := os.ReadDir(filepath.Dir(SaidFile(state, run, step, attempt, 1)))
	newest := 0
	for _, f := range files {
		text, mine := strings.CutPrefix(f.Name(), fmt.Sprintf("%s.%d.", step, attempt))
		n, err := strconv.Atoi(strings.TrimSuffix(text, ".said"))
		if mine && err == nil {
			newest = max(newest, n)
		}
	}
	return LastSaid(state, run, step, attempt, newest)
}

// LastSaid is how far the n-th start of an attempt says it is: its last percent
// and its last text. False where it said nothing.
func LastSaid(state, run, step string, attempt, n int) (now Said, ok bool) {
	path := SaidFile(state, run, step, attempt, n)
	for offset := int64(0); ; {
		list, next := ReadSaid(path, offset)
		if next == offset {
			return now, ok
		}
		for _, s := range list {
			now, ok = now.Then(s), true
		}
		offset = next
	}
}

// Then is how far an attempt says it is once it has said more: a text without a
// percent leaves the percent as it was.
func (s Said) Then(more Said) Said {
	if more.Percent == nil {
		more.Percent = s.Percent
	}
	if more.Text == "" {
		more.Text = s.Text
	}
	return more
}

// Ear follows what the attempts under way say. It has no place in the order of events
// but this: it stands between an attempt's start and its end. It is not safe for
// concurrent use.
type Ear struct {
	State  string // the state directory; "" follows nothing
	voices []*Voice
}

// Voice is a start of an attempt under way.
type Voice struct {
	Run, Step  string
	Attempt, N int

	offset int64
	line   int
}

// Heard is one line of an attempt.
type Heard struct {
	Said
	From *Voice
	Line int // counted from 1
}

// Take notes attempts that begin, and returns what is left of one that ends.
func (l *Ear) Take(run string, e engine.Event) []Heard {
	switch e := e.(type) {
	case engine.WorkDispatched:
		if e.Kind != engine.ContractWork && l.State != "" {
			l.voices = append(l.voices, &Voice{Run: run, Step: e.Step, Attempt: e.Attempt, N: e.N})
		}
	case engine.WorkEnded:
		at := slices.IndexFunc(l.voices, func(v *Voice) bool { return v.Run == run && v.Step == e.Step && v.Attempt == e.Attempt && v.N == e.N })
		if at >= 0 {
			rest := l.hear(l.voices[at])
			l.voices = slices.Delete(l.voices, at, at+1)
			return rest
		}
	}
	return nil
}

// Look returns what was said since the last look.
func (l *Ear) Look() (all []Heard) {
	for _, v := range l.voices {
		all = append(all, l.hear(v)...)
	}
	return all
}

func (l *Ear) hear(v *Voice) (all []Heard) {
	for {
		list, next := ReadSaid(SaidFile(l.State, v.Run, v.Step, v.Attempt, v.N), v.offset)
		if next == v.offset {
			return all
		}
		v.offset = next
		for _, s := range list {
			v.line++
			all = append(all, Heard{s, v, v.line})
		}
	}
}

// maxSaid is how many lines of an attempt are kept.
const maxSaid = agent.MaxReports

// saying writes down what one attempt says. It is safe for concurrent use. What
// cannot be written is left out: nothing rests on it.
type saying struct {
	path string
	tell func() // called after each line

	mu   sync.Mutex
	file *os.File // nil until something is said, or it is not the first start
	left int
}

func (w *World) saying(k engine.Key, tell func()) *saying {
	s := &saying{path: SaidFile(w.State, k.Run, k.Step, k.Attempt, k.N), tell: tell, left: maxSaid}
	if k.N > 1 {
		_ = s.open() // an empty file: what a start before it said is over
	}
	return s
}

func (s *saying) report(r agent.Report) {
	if r.Type == agent.Progress || r.Type == agent.Log {
		s.say(Said{Type: r.Type, Percent: r.Percent, Text: r.Text})
	}
}

func (s *saying) progress(p tool.Progress) {
	s.say(Said{Type: agent.Progress, Percent: p.Percent, Text: p.Text})
}

func (s *saying) say(what Said) {
	if s.write(what) {
		s.tell()
	}
}

func (s *saying) write(what Said) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 || s.open() != nil {
		return false
	}
	s.left--
	what.At = time.Now()
	line, err := json.Marshal(what)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	return err == nil
}

func (s *saying) open() error {
	if s.file != nil {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(s.path), 0o700)
	if err == nil {
		s.file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	return err
}

// close ends it: what is said later is left out.
func (s *saying) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = 0
	if s.file != nil {
		s.file.Close()
	}
}
