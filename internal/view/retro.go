package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
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

// Look reads a run back, from its rows. findings are those of the revision that it began
// with, and estimate what its plan said that it would take.
func Look(ctx context.Context, r Reader, head engine.HeadRow, findings []verify.Finding, estimate time.Duration) (Retro, error) {
	end, f, h := head.Finished, head.Foreseen, head.Effort
	if !head.Ended {
		end = r.Now()
	}
	x := Retro{
		Run: head.Run, Title: head.Title, Status: head.Shown(), Reason: head.Reason,
		Given:    RetroGiven{Window: f.Frames},
		Foreseen: RetroForeseen{Steps: f.Steps, Version: f.Version, Estimate: estimate, Millis: estimate.Milliseconds(), Budget: limitsDocument(f.Budget)},
		Happened: RetroHappened{
			Revisions: h.Revisions, Attempts: h.Attempts, Retries: h.Retries, Regressed: h.Regressed, Asked: h.Asked, Lost: h.Lost,
			Proven: head.Proven, Unproven: head.Unproven, Left: head.Total - head.Settled,
		},
		Spent: RetroSpent{
			TookMs: end.Sub(head.Started).Milliseconds(), WorkMs: h.WorkMs, CheckMs: h.CheckMs, WaitMs: h.WaitMs, Tokens: h.Tokens.Amount(), Cost: h.Cost.Amount(),
		},
	}
	var err error
	if x.Given.Frames, err = r.given(ctx, head); err != nil {
		return x, err
	}
	if err := x.steps(ctx, r, head); err != nil {
		return x, err
	}
	x.judge(findings)
	return x, nil
}

// steps reads what became of the steps, and why attempts did not pass.
func (x *Retro) steps(ctx context.Context, r Reader, head engine.HeadRow) error {
	rows, err := r.Store.Steps(ctx, store.StepFilter{Stream: head.Stream, Run: head.Run})
	if err != nil {
		return err
	}
	f, err := r.within(ctx, head)
	if err != nil {
		return err
	}
	f.Failed = true
	marked, err := r.Store.Marked(ctx, f)
	if err != nil {
		return err
	}
	failed := map[string][]string{}
	for _, m := range marked {
		if e, ok := m.Event.(engine.StepSettled); ok {
			failed[e.Step] = append(failed[e.Step], cutTo(e.Reason, primeLine))
		}
	}
	for _, row := range rows {
		x.Steps = append(x.Steps, RetroStep{
			ID: row.ID, Number: row.Number, Title: row.Title, Status: row.Status, Reason: row.Reason, Proven: row.Proven, Failed: List(failed[row.ID]),
			Attempts: row.Effort.Attempts, WorkMs: row.Effort.WorkMs, CheckMs: row.Effort.CheckMs, Tokens: row.Effort.Tokens.Amount(), Cost: row.Effort.Cost.Amount(),
		})
	}
	return nil
}

// given reads the frames that were visible when the newest revision of a run was made.
func (r Reader) given(ctx context.Context, head engine.HeadRow) ([]FrameDoc, error) {
	w := head.Foreseen.Frames
	seen, err := r.frames(ctx, store.MarkFilter{Stream: head.Stream})
	if err != nil {
		return nil, err
	}
	seen = slices.DeleteFunc(seen, func(f engine.FramePushed) bool {
		return f.ID >= w.Start || f.Kind != engine.IntentAnalysis && f.Kind != engine.Checkpoint
	})
	if w.Len() > 0 {
		inside, err := r.frames(ctx, store.MarkFilter{Stream: head.Stream, Frames: w})
		if err != nil {
			return nil, err
		}
		seen = append(seen, inside...)
	}
	return FramesOf(seen), nil
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

// judge says which findings came true: those of a step that did not pass at once,
// or that is done and proves nothing.
func (x *Retro) judge(findings []verify.Finding) {
	x.Came = []RetroTrue{}
	by := map[string]*RetroStep{}
	for i := range x.Steps {
		by[x.Steps[i].ID] = &x.Steps[i]
	}
	for _, f := range findings {
		s := by[f.Step]
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
