package project

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/engine"
)

// Loop is what became of a step with iterations: its checklist as it stands, and one
// entry for each iteration that is over.
type Loop struct {
	Checklist []LoopItem  `json:"checklist"`
	Activity  []Iteration `json:"activity"`
	Updated   time.Time   `json:"-"` // when either changed last

	Row engine.StepRow `json:"-"`
}

// LoopItem is a line of the checklist.
type LoopItem struct {
	ID       string `json:"id"`
	Status   string `json:"status"` // pending, pass, fail, skipped
	Required bool   `json:"required"`
	Command  string `json:"command,omitempty"`
	Error    string `json:"error,omitempty"`  // why it failed, or is skipped
	Output   string `json:"output,omitempty"` // the end of what it printed
	Verified string `json:"verified_at,omitempty"`
}

// Iteration is what came of one attempt of a loop. A loop that begins anew begins
// with its first iteration, and keeps what was before.
type Iteration struct {
	Iteration int               `json:"iteration"`
	Attempt   int               `json:"attempt"`
	Summary   string            `json:"summary"` // what the agent said last: a claim
	At        string            `json:"timestamp"`
	Ms        int64             `json:"duration_ms"`
	Verdict   engine.Verdict    `json:"verdict"`
	Reason    string            `json:"reason,omitempty"`
	Exit      engine.LoopExit   `json:"exit_reason,omitempty"`
	Snapshot  map[string]string `json:"checklist"` // status of each item after it

	Output string `json:"-"` // object: what the agent put out
}

// Implement is the item that stands for the work itself. Nobody can mark it: it
// passes with the step.
const Implement = "implement"

// Looping follows what is marked with a step that is a loop. The zero value is ready for use.
type Looping struct {
	loop   Loop
	said   map[string]LoopItem
	work   LoopItem
	ms     int64
	output string
	words  string
}

// Loop is what became of the step, as its row and the program have it.
func (l *Looping) Loop(row engine.StepRow, p *engine.Step) *Loop {
	l.loop.Row, l.loop.Checklist = row, l.items(p, row)
	return &l.loop
}

// Take takes the next record that is marked with the step, with how the step stood before it.
func (l *Looping) Take(r engine.Record, was engine.Moment) {
	switch e := r.Event.(type) {
	case engine.WorkEnded:
		if e.Kind == engine.AgentWork {
			l.ms += e.Ms
			l.output, l.words = e.Output, Summary([]byte(e.Words))
		}
	case engine.CheckEnded:
		if e.Phase == engine.Baseline {
			return
		}
		l.ms += e.Ms
		if l.said == nil {
			l.said = map[string]LoopItem{}
		}
		l.said[e.Check] = LoopItem{Status: passes(e.Verdict == engine.Pass && len(e.Tampered) == 0), Error: fault(e), Output: last(e.Stdout+e.Stderr, maxItemOutput), Verified: moment(r.At)}
		l.loop.Updated = r.At
	case engine.StepSettled:
		l.settled(e, r, was)
	}
}

// settled takes the end of an iteration. A fault of this machine is none.
func (l *Looping) settled(e engine.StepSettled, r engine.Record, was engine.Moment) {
	over := e.Exit != "" || e.By == "" && e.RetryAt != nil && e.Verdict != engine.Infra
	switch {
	case e.Status == engine.Regressed:
		l.work = LoopItem{Status: "fail", Error: e.Reason, Verified: moment(r.At)}
		l.loop.Updated = r.At
		return
	case !over || was.Loop == nil || was.Status == engine.Done: // it is proved again
		return
	}
	l.work = LoopItem{Status: passes(e.Status == engine.Done), Verified: moment(r.At)}
	if e.Status != engine.Done {
		l.work.Error = e.Reason
	}
	p := Iteration{
		Iteration: was.Loop.Iteration, Attempt: e.Attempt, At: moment(r.At), Ms: l.ms, Verdict: e.Verdict, Reason: e.Reason, Exit: e.Exit,
		Snapshot: map[string]string{Implement: l.work.Status}, Output: l.output, Summary: l.words,
	}
	for name, said := range l.said {
		p.Snapshot[name] = said.Status
	}
	l.loop.Activity = append(l.loop.Activity, p)
	l.ms, l.output, l.words, l.loop.Updated = 0, "", "", r.At
}

func passes(ok bool) string {
	if ok {
		return "pass"
	}
	return "fail"
}

// fault says why a check did not pass.
func fault(e engine.CheckEnded) string {
	switch {
	case len(e.Tampered) > 0:
		return "it changed protected files"
	case e.Verdict == engine.Pass:
		return ""
	case e.Verdict == engine.Timeout:
		return "it did not end in time"
	case e.Reason != "":
		return e.Reason
	case e.Signal != "":
		return "signal " + e.Signal
	}
	return fmt.Sprintf("exit code %d, wanted %d", e.Exit, e.Want)
}

// items are the lines of the checklist in their order.
func (l *Looping) items(p *engine.Step, row engine.StepRow) []LoopItem {
	work := l.work
	work.ID, work.Required, work.Status = Implement, true, cmp.Or(work.Status, "pending")
	if (row.Status == engine.Skipped || row.Status == engine.Waived) && work.Status == "pending" {
		work.Status = "skipped"
	}
	all := []LoopItem{work}
	for _, c := range p.Checks {
		it, asked := l.said[c.Name]
		if !asked {
			it.Status = "pending"
		}
		it.ID, it.Required, it.Command = c.Name, c.Required, c.Command
		all = append(all, it)
	}
	for _, o := range p.Omitted {
		all = append(all, LoopItem{ID: o.Name, Status: "skipped", Error: o.Why})
	}
	return all
}

// Bounds of what a projection quotes.
const (
	maxItemOutput = 2 << 10
	maxSummary    = 500
)

// Summary is the end of what an agent said, or put out.
func Summary(output []byte) string {
	return last(strings.ToValidUTF8(string(output), "\ufffd"), maxSummary)
}

// last is the end of a text, from the beginning of a line where there is one.
func last(s string, size int) string {
	s = strings.TrimSpace(s)
	cut := max(0, len(s)-size)
	if at := strings.IndexByte(s[cut:], '\n'); cut > 0 && at >= 0 && at+1 < len(s)-cut {
		cut += at + 1
	}
	for cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut++
	}
	return s[cut:]
}
