package view

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
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
	fell     []fall        // the same, with the kind
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

// RetroTrue is a finding of verify about a step that then failed in a way which the
// finding foretells.
type RetroTrue struct {
	Code    string `json:"code"`
	Step    string `json:"step"`
	Message string `json:"message"`
	Became  string `json:"became"`
}

// foreseen is what was said of the plan before the run: findings, and how long the
// plan said that it would take. What gc has removed is left out.
func (r Reader) foreseen(ctx context.Context, head engine.HeadRow) (findings []verify.Finding, estimate time.Duration, err error) {
	kept, doc, err := r.Kept(ctx, head.Plan)
	if err != nil && api.Explain(err).Code == api.NotFound {
		return nil, 0, nil // of a plan that was approved with another
	}
	if err != nil {
		return nil, 0, err
	}
	body, err := r.Body(ctx, kept.Verified.Findings)
	if err != nil {
		return nil, 0, err
	}
	if body != nil {
		if err := json.Unmarshal(body, &findings); err != nil {
			return nil, 0, fmt.Errorf("read the findings of plan %s: %w", head.Plan, err)
		}
	}
	if doc.Plan != nil {
		estimate = doc.Plan.Estimate.Value
	}
	return findings, estimate, nil
}

// Look reads a run back, from its rows, and from what was said of its plan before it.
func Look(ctx context.Context, r Reader, head engine.HeadRow) (Retro, error) {
	findings, estimate, err := r.foreseen(ctx, head)
	if err != nil {
		return Retro{}, err
	}
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
	f, err := r.Within(ctx, head)
	if err != nil {
		return err
	}
	f.Failed = true
	marked, err := r.Store.Marked(ctx, f)
	if err != nil {
		return err
	}
	failed, fell := map[string][]string{}, map[string][]fall{}
	for _, m := range marked {
		if e, ok := m.Event.(engine.StepSettled); ok {
			why := cutTo(e.Reason, primeLine)
			failed[e.Step], fell[e.Step] = append(failed[e.Step], why), append(fell[e.Step], fallOf(e, why))
		}
	}
	for _, row := range rows {
		if bare(row) {
			fell[row.ID] = append(fell[row.ID], fall{unproven, string(DoneUnproven)})
		}
		x.Steps = append(x.Steps, RetroStep{
			ID: row.ID, Number: row.Number, Title: row.Title, Status: row.Status, Reason: row.Reason, Proven: row.Proven, Failed: List(failed[row.ID]), fell: fell[row.ID],
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

// UsedBy is what one attempt used.
func UsedBy(u engine.Usage) string {
	tokens := u.Tokens()
	said := Used(tokens, u.CostMicros)
	switch {
	case tokens == nil && u.CostMicros == nil:
	case tokens == nil:
		said += ", tokens unknown"
	case u.CostMicros == nil:
		said += ", cost unknown"
	}
	return said
}

// fall is one time that a step did not pass, or proved nothing.
type fall struct {
	kind engine.Verdict
	why  string
}

// Kinds of falls that are no verdicts.
const (
	unproven  engine.Verdict = "unproven"
	regressed engine.Verdict = "regressed"
)

func fallOf(e engine.StepSettled, why string) fall {
	if e.Status == engine.Regressed {
		return fall{regressed, why}
	}
	return fall{e.Verdict, why}
}

// foretells says which falls a finding warns of. One that is not listed warns of nothing
// that a run can show, so nobody can say that it came true.
var foretells = map[string][]engine.Verdict{
	"PT024": {unproven},                  // a pipe hides a failed command
	"PT025": {unproven},                  // only the last line of a script decides
	"PT026": {regressed},                 // a later step changes what has to fail
	"PT027": {unproven},                  // the files were there before
	"PT029": {engine.Tampered},           // the step makes the file that judges it
	"PT036": {engine.Timeout},            // an agent's limit is shorter than the step's
	"PT037": {engine.Infra},              // a program is not installed
	"PT040": {engine.Inconclusive},       // a command is not there
	"PT041": {engine.Inconclusive},       // it cannot be run
	"PT043": {engine.Fail, engine.Flaky}, // another step was not done yet
	"PT051": {engine.Inconclusive},       // a script outside is missing
	"PT067": {unproven},                  // nothing but a server's word
}

// judge says which findings came true: those of a step that failed in a way which they
// foretell. Findings that foretell nothing are left out of account.
func (x *Retro) judge(findings []verify.Finding) {
	x.Came = []RetroTrue{}
	by := map[string]*RetroStep{}
	for i := range x.Steps {
		by[x.Steps[i].ID] = &x.Steps[i]
	}
	for _, f := range findings {
		kinds, foretold := foretells[f.Code]
		if !foretold {
			continue
		}
		s := by[f.Step]
		n := -1
		if s != nil {
			n = slices.IndexFunc(s.fell, func(o fall) bool { return slices.Contains(kinds, o.kind) })
		}
		if n < 0 {
			x.Others++
			continue
		}
		x.Came = append(x.Came, RetroTrue{f.Code, f.Step, f.Message, s.fell[n].why})
	}
}

// Dearest are the steps on which most was spent, by one measure: those with
// nothing of it are left out.
func (r Retro) Dearest(most int, of func(RetroStep) int64) []RetroStep {
	steps := slices.DeleteFunc(slices.Clone(r.Steps), func(s RetroStep) bool { return of(s) == 0 })
	sort.SliceStable(steps, func(i, j int) bool { return of(steps[i]) > of(steps[j]) })
	return steps[:min(most, len(steps))]
}

// Sum says in a line how the run came out.
func (r Retro) Sum() string {
	h := r.Happened
	return fmt.Sprintf("%d proven, %d unproven, %d left; %s, %s, %d regressed, %s, %s to people",
		h.Proven, h.Unproven, h.Left, Plural(h.Attempts, "attempt", "attempts"), Plural(h.Retries, "retry", "retries"), h.Regressed, Plural(h.Revisions, "revision", "revisions"), Plural(h.Asked, "question", "questions"))
}
