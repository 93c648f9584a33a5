package telemetry

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// trace makes spans of the records of one task, in their order. A span is made by the record
// that ends it, so that the same journal gives the same spans, whoever reads it and when.
type trace struct {
	seq    uint64 // of the last record
	id     string // of the trace of the newest run: that of the run which it is carried out for in the end
	above  string // span of the step that the run carries out
	opened engine.RunOpened
	began  time.Time // of the run, since it was taken up last; zero while it is over
	ends   int       // how often the run has ended
	steps  map[string]*open
}

// open is a step that is not settled yet.
type open struct {
	began    time.Time
	n        int       // how often it was settled
	work     time.Time // when its newest work began
	given    engine.WorkDispatched
	attempts int
}

// kinds of spans and codes of their status, as the protocol numbers them.
const (
	internal = 1
	isOK     = 1
	isError  = 2
)

func hashed(size int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s\n", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:size])
}

// traceID is the trace of a run, and spanID a span in it: the same in every process.
func traceID(run string) string { return hashed(16, "piton", run) }

func spanID(run string, parts ...string) string {
	return hashed(8, append([]string{"piton", run}, parts...)...)
}

func (t *trace) runSpan() string { return t.nthRun(t.ends) }

// nthRun is the span of a run until it ended for the n-th time: a person took it up again.
func (t *trace) nthRun(n int) string { return spanID(t.opened.Run, "run", strconv.Itoa(n)) }

func stepSpan(run, step string, n int) string { return spanID(run, "step", step, strconv.Itoa(n)) }

// take returns the spans that a record ends, and what it counts. top finds the run that a run is
// carried out for in the end.
func (t *trace) take(r engine.Record, top func(engine.Parent) string) (spans []span, counts []count) {
	t.seq = r.Seq
	if e, ok := r.Event.(engine.RunOpened); ok {
		t.open(e, r.At, top)
		return nil, nil
	}
	if _, epoch := r.Event.(engine.EpochBegan); epoch || t.opened.Run == "" {
		return nil, nil
	}
	if t.began.IsZero() {
		t.began = r.At // somebody took it up again
	}
	switch e := r.Event.(type) {
	case engine.WorkDispatched:
		s := t.step(e.Step, r.At)
		s.work, s.given = r.At, e
		if e.Kind.Effect() == engine.Work {
			s.attempts++
		}
	case engine.WorkEnded:
		return t.workEnded(e, r.At)
	case engine.CheckEnded:
		return t.checkEnded(e, r), used(e.Usage, "chat", "")
	case engine.JudgeVoted:
		return nil, used(e.Usage, "chat", "")
	case engine.ArbiterRuled:
		return nil, used(e.Usage, "chat", "")
	case engine.StepSettled:
		return t.settled(e, r.At)
	case engine.RunEnded:
		return t.runEnded(e, r.At)
	}
	return nil, nil
}

// checkEnded is the span of a check: of its step, or of the run that proves all once more at its end.
func (t *trace) checkEnded(e engine.CheckEnded, r engine.Record) []span {
	began, parent := r.At.Add(-ms(e.Ms)), t.runSpan()
	if e.Phase != engine.Ratchet {
		parent = stepSpan(t.opened.Run, e.Step, t.step(e.Step, began).n)
	}
	x := t.span(
		"check "+e.Check, parent, began, r.At,
		str("piton.step.id", e.Step), str("piton.check.name", e.Check), str("piton.check.phase", string(e.Phase)), str("piton.check.verdict", string(e.Verdict)),
		num("process.exit.code", int64(e.Exit)), flag("piton.check.required", e.Required), num("piton.attempt", int64(e.Attempt)),
	)
	x.SpanID = spanID(t.opened.Run, "check", strconv.FormatUint(r.Seq, 10))
	x.ends(e.Verdict == engine.Pass || e.Phase == engine.Baseline, string(e.Verdict), e.Reason)
	return []span{x}
}

func (t *trace) open(e engine.RunOpened, at time.Time, top func(engine.Parent) string) {
	if e.Revises != "" {
		t.opened.Version, t.opened.Title, t.opened.Compiled = e.Version, e.Title, e.Compiled
		return
	}
	*t = trace{seq: t.seq, opened: e, began: at, steps: map[string]*open{}, id: traceID(e.Run)}
	if e.Parent.Run != "" {
		t.id, t.above = traceID(top(e.Parent)), stepSpan(e.Parent.Run, e.Parent.Step, 0)
	}
}

func (t *trace) step(id string, at time.Time) *open {
	s := t.steps[id]
	if s == nil {
		s = &open{}
		t.steps[id] = s
	}
	if s.began.IsZero() {
		s.began = at
	}
	return s
}

func (t *trace) span(name, parent string, began, ended time.Time, attributes ...attribute) span {
	return span{
		TraceID: t.id, ParentSpanID: parent, Name: name, Kind: internal, Start: nano(began), End: nano(ended),
		Attributes: append(attributes, str("piton.run.id", t.opened.Run)),
	}
}

// ends says how what a span is of came out.
func (x *span) ends(ok bool, kind, why string) {
	if ok {
		x.Status = &status{Code: isOK}
		return
	}
	x.Status = &status{Code: isError, Message: why}
	x.Attributes = append(x.Attributes, str("error.type", cmp.Or(kind, "_OTHER")))
}

// names of the operations of the conventions for generative AI.
var operations = map[engine.WorkKind]string{
	engine.AgentWork: "invoke_agent", engine.ToolWork: "execute_tool", engine.ChildWork: "invoke_workflow", engine.PlanWork: "plan",
}

// workEnded is the span of one attempt, or of work about it.
func (t *trace) workEnded(e engine.WorkEnded, at time.Time) ([]span, []count) {
	s := t.step(e.Step, at)
	if s.work.IsZero() {
		s.work = at.Add(-ms(e.Ms))
	}
	op, subject := operations[e.Kind], s.given.Role
	x := t.span("", stepSpan(t.opened.Run, e.Step, s.n), s.work, at, str("piton.step.id", e.Step), num("piton.attempt", int64(e.Attempt)), str("piton.work.kind", string(e.Kind)))
	if e.Step == "" {
		x.ParentSpanID = t.runSpan()
	}
	x.SpanID = spanID(t.opened.Run, "work", e.Step, strconv.Itoa(s.n), strconv.Itoa(e.Attempt), strconv.Itoa(e.N), string(e.Kind))
	if p := t.planned(e.Step); p != nil && e.Kind == engine.ToolWork {
		subject = p.Tool
		x.Attributes = append(x.Attributes, str("gen_ai.tool.name", p.Tool))
	}
	if e.Kind == engine.AgentWork && subject != "" {
		x.Attributes = append(x.Attributes, str("gen_ai.agent.name", subject))
	}
	x.Name = cmp.Or(op, string(e.Kind))
	if op != "" {
		x.Attributes = append(x.Attributes, str("gen_ai.operation.name", op))
		if subject != "" {
			x.Name += " " + subject
		}
	}
	u := e.Usage
	if u.In != nil {
		x.Attributes = append(x.Attributes, num("gen_ai.usage.input_tokens", *u.In))
	}
	if u.Out != nil {
		x.Attributes = append(x.Attributes, num("gen_ai.usage.output_tokens", *u.Out))
	}
	if u.CostMicros != nil {
		x.Attributes = append(x.Attributes, float("piton.cost_usd", float64(*u.CostMicros)/1e6))
	}
	ok, kind := e.How == engine.Exited && e.Exit == 0 && !e.Failed, string(e.How)
	if e.How == engine.Exited {
		x.Attributes = append(x.Attributes, num("process.exit.code", int64(e.Exit)))
		kind = "exit"
	}
	if e.Kind == engine.ChildWork {
		u = engine.Usage{} // the run that did it tells
	}
	x.ends(ok, kind, e.Reason)
	s.work = time.Time{}
	counts := used(u, cmp.Or(op, string(e.Kind)), s.given.Role)
	if e.Kind.Effect() == engine.Work {
		outcome := "ended"
		if !ok {
			outcome = kind
		}
		counts = append(counts, count{"piton.attempt.duration", at.Sub(nanoTime(x.Start)).Seconds(), []attribute{str("piton.work.kind", string(e.Kind)), str("piton.agent", s.given.Role), str("piton.outcome", outcome)}})
	}
	return []span{x}, counts
}

// planned is a step as its plan has it, nil where that is not known.
func (t *trace) planned(step string) *engine.Step {
	if t.opened.Compiled == nil {
		return nil
	}
	if of, instance := engine.InstanceOf(step); instance {
		step = of
	}
	if i, ok := t.opened.Compiled.Index(step); ok {
		return t.opened.Compiled.Step(i)
	}
	return nil
}

// settled is the span of a step that is over, for this time.
func (t *trace) settled(e engine.StepSettled, at time.Time) ([]span, []count) {
	over := e.Status == engine.Done || e.Status == engine.Failed || e.Status == engine.Skipped || e.Status == engine.Waived
	if !over || e.RetryAt != nil {
		return nil, nil
	}
	s := t.step(e.Step, at)
	x := t.span("step "+e.Step, t.runSpan(), s.began, at,
		str("piton.step.id", e.Step), str("piton.step.status", string(e.Status)), str("piton.step.verdict", string(e.Verdict)), flag("piton.step.proven", e.Proven), num("piton.step.attempts", int64(s.attempts)))
	if p := t.planned(e.Step); p != nil {
		x.Attributes = append(x.Attributes, str("piton.step.title", p.Title), str("piton.step.number", p.Number))
	}
	x.SpanID = stepSpan(t.opened.Run, e.Step, s.n)
	x.ends(e.Status != engine.Failed, string(e.Verdict), e.Reason)
	took := at.Sub(s.began).Seconds()
	*s = open{n: s.n + 1}
	return []span{x}, []count{{"piton.step.duration", took, []attribute{str("piton.step.status", string(e.Status))}}}
}

// runEnded is the span of a run since it was opened, or taken up again.
func (t *trace) runEnded(e engine.RunEnded, at time.Time) ([]span, []count) {
	parent := t.above
	if t.ends > 0 {
		parent = t.nthRun(0)
	}
	x := t.span("invoke_workflow "+t.opened.Title, parent, t.began, at,
		str("gen_ai.operation.name", "invoke_workflow"), str("gen_ai.workflow.name", t.opened.Title), str("piton.plan.path", t.opened.Path), num("piton.plan.version", int64(t.opened.Version)),
		str("piton.run.status", string(e.Status)), num("piton.run.proven", int64(e.Proven)), num("piton.run.unproven", int64(e.Unproven)), num("piton.run.left", int64(e.Left)))
	x.SpanID = t.runSpan()
	x.ends(e.Status != engine.Failed, string(e.Status), e.Reason)
	t.ends++
	t.began = time.Time{}
	return []span{x}, []count{{"piton.runs", 1, []attribute{str("piton.run.status", string(e.Status))}}}
}

// count is something that a metric counts.
type count struct {
	metric     string
	value      float64
	attributes []attribute
}

// used counts what a model, or the agent that asked it, said it used.
func used(u engine.Usage, op, agent string) (counts []count) {
	of := []attribute{str("gen_ai.operation.name", op)}
	if agent != "" {
		of = append(of, str("gen_ai.agent.name", agent))
	}
	for _, k := range []struct {
		kind string
		n    *int64
	}{{"input", u.In}, {"output", u.Out}} {
		if k.n != nil {
			counts = append(counts, count{"gen_ai.client.token.usage", float64(*k.n), append([]attribute{str("gen_ai.token.type", k.kind)}, of...)})
		}
	}
	if u.CostMicros != nil {
		counts = append(counts, count{"piton.cost", float64(*u.CostMicros) / 1e6, of})
	}
	return counts
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
