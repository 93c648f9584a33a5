package view

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/verify"
)

// Retro is what became of a run, beside what was known and foreseen when it began.
type Retro struct {
	Run      string        `json:"run"`
	Title    string        `json:"title"`
	Status   engine.Status `json:"status"`
	Reason   string        `json:"reason"`
	Given    RetroGiven    `json:"given"`
	Foreseen RetroForeseen `json:"foreseen"`
	Happened RetroHappened `json:"happened"`
	Steps    []RetroStep   `json:"steps"`
	Spent    RetroSpent    `json:"spent"`
	Came     []RetroTrue   `json:"findings_that_came_true"`
	Others   int           `json:"findings_that_did_not"`
}

// RetroGiven is the context in which the newest revision was made.
type RetroGiven struct {
	Window engine.Window `json:"window"`
	Frames []FrameDoc    `json:"frames"` // those that were visible
}

// RetroForeseen is what the plan said.
type RetroForeseen struct {
	Steps    int           `json:"steps"`
	Version  int           `json:"version"` // that the run began with
	Estimate time.Duration `json:"-"`       // 0 where the plan has none
	Millis   int64         `json:"estimate_ms"`
	Budget   limitsDoc     `json:"budget"`
}

// RetroHappened counts what happened beside the plan.
type RetroHappened struct {
	Revisions int `json:"revisions"`
	Attempts  int `json:"attempts"`
	Retries   int `json:"retries"`
	Regressed int `json:"regressed"`
	Asked     int `json:"asked"` // people, in the course of it
	Lost      int `json:"lost"`  // work whose owner died
	Proven    int `json:"proven"`
	Unproven  int `json:"unproven"`
	Left      int `json:"left"`
}

// RetroStep is what became of a step.
type RetroStep struct {
	ID       string        `json:"id"`
	Number   string        `json:"number"`
	Title    string        `json:"title"`
	Status   engine.Status `json:"status"`
	Reason   string        `json:"reason"`
	Proven   bool          `json:"proven"`
	Attempts int           `json:"attempts"` // that were worked on
	Failed   []string      `json:"failed"`   // why attempts did not pass, in their order
	WorkMs   int64         `json:"work_ms"`
	CheckMs  int64         `json:"check_ms"`
	Tokens   *int64        `json:"tokens"`      // nil where its agent told none
	Cost     *int64        `json:"cost_micros"` // the same
}

// RetroSpent is where time and money went.
type RetroSpent struct {
	TookMs  int64  `json:"took_ms"` // from the beginning to the end, or to now
	WorkMs  int64  `json:"work_ms"`
	CheckMs int64  `json:"check_ms"`
	WaitMs  int64  `json:"wait_ms"` // for people
	Tokens  *int64 `json:"tokens"`  // nil where no agent told any
	Cost    *int64 `json:"cost_micros"`
}

// RetroTrue is a finding of verify about a step that then did not pass, or did not
// prove anything.
type RetroTrue struct {
	Code    string `json:"code"`
	Step    string `json:"step"`
	Message string `json:"message"`
	Became  string `json:"became"`
}

// retro gathers what the records tell.
type retro struct {
	Retro
	by    map[string]*RetroStep
	asked map[string]time.Time
}

// Look reads a run back, from the records of its task up to its end: the frames of
// earlier runs are among them. findings are those of the revision that it began
// with, and estimate what its plan said that it would take.
func Look(head engine.HeadRow, steps []engine.StepRow, records iter.Seq2[engine.Record, error], findings []verify.Finding, estimate time.Duration, now time.Time) (Retro, error) {
	x := retro{by: map[string]*RetroStep{}, asked: map[string]time.Time{}}
	x.Run, x.Title, x.Status, x.Reason = head.Run, head.Title, head.Shown(), head.Reason
	x.Foreseen.Estimate, x.Foreseen.Millis = estimate, estimate.Milliseconds()
	end := head.Finished
	if !head.Ended {
		end = now
	}
	x.Spent.TookMs = end.Sub(head.Started).Milliseconds()
	for _, row := range steps {
		s := &RetroStep{ID: row.ID, Number: row.Number, Title: row.Title, Status: row.Status, Reason: row.Reason, Proven: row.Proven, Failed: []string{}}
		x.by[row.ID] = s
	}
	var known []engine.FramePushed
	run := ""
	for r, err := range records {
		if err != nil {
			return Retro{}, err
		}
		switch e := r.Event.(type) {
		case engine.FramePushed:
			known = append(known, e)
			continue
		case engine.RunOpened:
			if run = e.Run; run == head.Run {
				x.opens(e, known)
			}
		}
		if run == head.Run {
			x.take(r)
		}
	}
	h := &x.Happened
	h.Proven, h.Unproven, h.Left = head.Proven, head.Unproven, head.Total-head.Settled
	for _, row := range steps {
		x.Steps = append(x.Steps, *x.by[row.ID])
	}
	x.judge(findings)
	return x.Retro, nil
}

func (x *retro) opens(e engine.RunOpened, known []engine.FramePushed) {
	if e.Revises != "" {
		x.Happened.Revisions++
	} else {
		x.Foreseen.Steps, x.Foreseen.Version = e.Compiled.Len(), e.Version
		x.Foreseen.Budget = limitsDocument(e.Compiled.Budget())
	}
	x.Given = RetroGiven{Window: e.Frames, Frames: []FrameDoc{}}
	var seen []engine.FramePushed
	for _, f := range known {
		if f.ID < e.Frames.End && (f.ID >= e.Frames.Start || f.Kind == engine.IntentAnalysis || f.Kind == engine.Checkpoint) {
			seen = append(seen, f)
		}
	}
	x.Given.Frames = append(x.Given.Frames, framesOf(seen)...)
}

func (x *retro) step(id string) *RetroStep {
	if s := x.by[id]; s != nil {
		return s
	}
	return &RetroStep{} // a revision took it out
}

func (x *retro) take(r engine.Record) {
	switch e := r.Event.(type) {
	case engine.WorkDispatched:
		if e.Kind.Effect() == engine.Work {
			x.step(e.Step).Attempts++
			x.Happened.Attempts++
		}
	case engine.WorkEnded:
		x.ended(e)
	case engine.CheckEnded:
		x.step(e.Step).CheckMs += e.Ms
		x.Spent.CheckMs += e.Ms
	case engine.StepSettled:
		x.settled(e)
	case engine.ItemOpened:
		x.Happened.Asked++
		x.asked[e.Item] = r.At
	case engine.ItemAnswered:
		if at, ok := x.asked[e.Item]; ok {
			x.Spent.WaitMs += r.At.Sub(at).Milliseconds()
		}
	}
}

func (x *retro) ended(e engine.WorkEnded) {
	s := x.step(e.Step)
	if e.How == engine.Lost {
		x.Happened.Lost++
	}
	s.WorkMs += e.Ms
	x.Spent.WorkMs += e.Ms
	for _, n := range []*int64{e.Usage.In, e.Usage.Out} {
		s.Tokens, x.Spent.Tokens = summed(s.Tokens, n), summed(x.Spent.Tokens, n)
	}
	n := e.Usage.CostMicros
	s.Cost, x.Spent.Cost = summed(s.Cost, n), summed(x.Spent.Cost, n)
}

// summed is what two amounts come to. What nobody told is unknown, not nothing.
func summed(a, b *int64) *int64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(*a + *b)
}

// Used says what was used, as far as anybody told.
func Used(tokens, cost *int64) string {
	var parts []string
	if tokens != nil {
		parts = append(parts, Count(*tokens)+" tokens")
	}
	if cost != nil {
		parts = append(parts, Money(*cost))
	}
	if parts == nil {
		return "tokens and cost unknown"
	}
	return strings.Join(parts, ", ")
}

func (x *retro) settled(e engine.StepSettled) {
	s := x.step(e.Step)
	switch {
	case e.RetryAt != nil:
		x.Happened.Retries++
	case e.Status == engine.Regressed:
		x.Happened.Regressed++
	case e.Status != engine.Waiting && e.Status != engine.Failed:
		return
	}
	if e.Reason != "" {
		s.Failed = append(s.Failed, cutTo(e.Reason, primeLine))
	}
}

// judge says which findings came true: those of a step that did not pass at once,
// or that is done and proves nothing.
func (x *retro) judge(findings []verify.Finding) {
	x.Came = []RetroTrue{}
	for _, f := range findings {
		s := x.by[f.Step]
		became := ""
		switch {
		case s == nil:
		case len(s.Failed) > 0:
			became = s.Failed[0]
		case s.Status == engine.Done && !s.Proven:
			became = "done, unproven"
		}
		if became == "" {
			x.Others++
			continue
		}
		x.Came = append(x.Came, RetroTrue{f.Code, f.Step, f.Message, became})
	}
}

// Dearest are the steps on which most was spent, by one measure: those with
// nothing of it are left out.
func (r Retro) Dearest(most int, of func(RetroStep) int64) []RetroStep {
	steps := slices.DeleteFunc(slices.Clone(r.Steps), func(s RetroStep) bool { return of(s) == 0 })
	slices.SortStableFunc(steps, func(a, b RetroStep) int { return cmp.Compare(of(b), of(a)) })
	return steps[:min(most, len(steps))]
}

// Sum says in a line how the run came out.
func (r Retro) Sum() string {
	h := r.Happened
	return fmt.Sprintf("%d proven, %d unproven, %d left; %s, %s, %d regressed, %s, people asked %d times",
		h.Proven, h.Unproven, h.Left, Plural(h.Attempts, "attempt", "attempts"), Plural(h.Retries, "retry", "retries"), h.Regressed, Plural(h.Revisions, "revision", "revisions"), h.Asked)
}
