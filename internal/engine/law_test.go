package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tier"
)

// moment is a journal at a telling place, and what a forger would add to it.
type moment struct {
	name  string
	plan  []engine.Step
	until func(d *desk) // what happens first
	forge map[string]engine.Event
}

// moments are forgeries that Apply must see through, whatever wrote them.
func moments() []moment {
	now := dawn
	settled := func(s engine.Status, change ...func(*engine.StepSettled)) engine.Event {
		e := engine.StepSettled{Step: "a", Attempt: 1, Status: s, Verdict: engine.Pass}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	by := func(name string) func(*engine.StepSettled) { return func(e *engine.StepSettled) { e.By = name } }
	check := func(phase engine.Phase, change ...func(*engine.CheckEnded)) engine.Event {
		e := engine.CheckEnded{Step: "a", Attempt: 1, Phase: phase, Check: engine.Contract, Required: true, Verdict: engine.Pass}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	looks := func(change ...func(*engine.PreviewMade)) engine.Event {
		e := engine.PreviewMade{Step: "a", Attempt: 1, Preview: engine.Preview{Args: "args", Low: true, Hash: "h"}}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	call := plain("a")
	call.Kind, call.Tool, call.Checks, call.Holds = engine.Tool, "write_file", nil, false
	once := plain("a")
	once.Rerunnable = false
	return []moment{
		{"before the work", []engine.Step{plain("a"), after(plain("b"), 0)}, func(d *desk) {}, map[string]engine.Event{
			"done":                    settled(engine.Done),
			"waived by the harness":   settled(engine.Waived),
			"waived by nobody":        settled(engine.Waived, by("ann")),
			"skipped and counts":      settled(engine.Skipped, func(e *engine.StepSettled) { e.Satisfies = true }),
			"skipped":                 settled(engine.Skipped),
			"failed":                  settled(engine.Failed),
			"waiting":                 settled(engine.Waiting),
			"regressed":               settled(engine.Regressed),
			"pending":                 settled(engine.Pending),
			"pending by the harness":  settled(engine.Pending, by(engine.Harness)),
			"running":                 settled(engine.Running),
			"running later":           settled(engine.Running, func(e *engine.StepSettled) { e.RetryAt = &now }),
			"an unknown status":       settled("odd"),
			"an unknown step":         engine.StepSettled{Step: "x", Status: engine.Done},
			"verified":                check(engine.Verifying),
			"proved again":            check(engine.Ratchet),
			"another attempt's check": check(engine.Baseline, func(e *engine.CheckEnded) { e.Attempt = 2 }),
			"another check":           check(engine.Baseline, func(e *engine.CheckEnded) { e.Check = "lint" }),
			"an optional contract":    check(engine.Baseline, func(e *engine.CheckEnded) { e.Required = false }),
			"another wanted code":     check(engine.Baseline, func(e *engine.CheckEnded) { e.Want, e.Exit = 1, 1 }),
			"passed by another code":  check(engine.Baseline, func(e *engine.CheckEnded) { e.Exit = 1 }),
			"passed by a signal":      check(engine.Baseline, func(e *engine.CheckEnded) { e.Signal = "killed" }),
			"an unknown verdict":      check(engine.Baseline, func(e *engine.CheckEnded) { e.Verdict = engine.Flaky }),
			"work that is not ready":  engine.WorkDispatched{Step: "b", Attempt: 1, N: 1, Kind: engine.AgentWork},
			"work of another kind":    engine.WorkDispatched{Step: "a", Attempt: 1, N: 1, Kind: engine.ScriptWork},
			"checks as work":          engine.WorkDispatched{Step: "a", Attempt: 1, N: 1, Kind: engine.ContractWork},
			"another attempt":         engine.WorkDispatched{Step: "a", Attempt: 2, N: 1, Kind: engine.AgentWork},
			"a later start":           engine.WorkDispatched{Step: "a", Attempt: 1, N: 2, Kind: engine.AgentWork},
			"the end of no work":      engine.WorkEnded{Step: "a", Attempt: 1, N: 1, Kind: engine.AgentWork, How: engine.Exited},
			"a question":              engine.ItemOpened{Item: "i", Step: "a", Kind: engine.Escalation},
			"a question for a yes":    engine.ItemOpened{Item: "i", Step: "a", Kind: engine.Approval},
			"an answer":               engine.ItemAnswered{Item: "i", Choice: "waive", By: "ann"},
			"the end":                 engine.RunEnded{Status: engine.Done},
			"an unknown end":          engine.RunEnded{Status: engine.Running},
			"another run":             engine.RunOpened{Run: "r2"},
			"another task":            engine.TaskOpened{Task: "other"},
			"a command on no step":    engine.Command{Verb: engine.DoSkip, Step: "x", By: "ann"},
			"an unknown command":      engine.Command{Verb: "dance", By: "ann"},
			"a plan":                  engine.PlanDrafted{Plan: "p"},
			"nothing":                 nil,
		}},
		{"before the call", []engine.Step{call}, func(d *desk) {}, map[string]engine.Event{
			"a call nobody looked at":  engine.WorkDispatched{Step: "a", Attempt: 1, N: 1, Kind: engine.ToolWork, Prompt: "args"},
			"done without a call":      settled(engine.Done),
			"a look at another try":    looks(func(e *engine.PreviewMade) { e.Attempt = 2 }),
			"a yes that nobody gave":   looks(func(e *engine.PreviewMade) { e.Must = true }),
			"a look at another step":   looks(func(e *engine.PreviewMade) { e.Step = "b" }),
			"a question about no look": engine.ItemOpened{Item: "i", Step: "a", Kind: engine.Approval},
		}},
		{"while a yes is wanted", []engine.Step{call}, func(d *desk) {
			d.admit(engine.Prepared{Key: d.state.Effects()[0].Key, Preview: &engine.Preview{Args: "args", Must: true, Hash: "h"}})
		}, map[string]engine.Event{
			"the call":                engine.WorkDispatched{Step: "a", Attempt: 1, N: 1, Kind: engine.ToolWork, Prompt: "args"},
			"a no with other words":   engine.ItemAnswered{Item: "r1/1", Choice: engine.ChooseDeny, Args: json.RawMessage(`{}`), By: "ann"},
			"another look":            looks(),
			"done":                    settled(engine.Done),
			"skipped by nobody's no":  settled(engine.Skipped, by("ann")),
			"a fault without a fault": engine.WorkEnded{Step: "a", Attempt: 1, N: 1, Kind: engine.ToolWork, How: engine.NoStart},
		}},
		{"while it calls", []engine.Step{call}, func(d *desk) { d.pass(1) }, map[string]engine.Event{
			"another call":              engine.WorkDispatched{Step: "a", Attempt: 1, N: 2, Kind: engine.ToolWork, Prompt: "args"},
			"another look":              looks(),
			"done":                      settled(engine.Done),
			"the work of an agent ends": engine.WorkEnded{Step: "a", Attempt: 1, N: 1, Kind: engine.AgentWork, How: engine.Exited},
		}},
		{"while it works", []engine.Step{plain("a")}, func(d *desk) { d.pass(1) }, map[string]engine.Event{
			"done":                   settled(engine.Done),
			"verified":               check(engine.Verifying),
			"a second start":         engine.WorkDispatched{Step: "a", Attempt: 1, N: 2, Kind: engine.AgentWork},
			"the end of another":     engine.WorkEnded{Step: "a", Attempt: 1, N: 2, Kind: engine.AgentWork, How: engine.Exited},
			"the end of other work":  engine.WorkEnded{Step: "a", Attempt: 1, N: 1, Kind: engine.ContractWork, How: engine.Exited},
			"an end nobody knows":    engine.WorkEnded{Step: "a", Attempt: 1, N: 1, Kind: engine.AgentWork, How: "odd"},
			"the end of the run":     engine.RunEnded{Status: engine.Failed},
			"the run done":           engine.RunEnded{Status: engine.Done},
			"a skip without a word":  settled(engine.Skipped, by("ann")),
			"a failure without eyes": settled(engine.Failed),
		}},
		{"after the work", []engine.Step{plain("a")}, func(d *desk) { d.pass(2) }, map[string]engine.Event{
			"done without a check":   settled(engine.Done),
			"the baseline again":     check(engine.Baseline),
			"a contradiction":        check(engine.Verifying, func(e *engine.CheckEnded) { e.Verdict, e.Exit, e.Same = engine.Fail, 1, true; e.Attempt = 2 }),
			"more reruns":            check(engine.Verifying, func(e *engine.CheckEnded) { e.Reruns = make([]engine.Verdict, engine.MaxReruns+1) }),
			"a rerun of no verdict":  check(engine.Verifying, func(e *engine.CheckEnded) { e.Reruns = []engine.Verdict{"odd"} }),
			"checks as work":         engine.WorkDispatched{Step: "a", Attempt: 1, N: 2, Kind: engine.ContractWork},
			"the work again":         engine.WorkDispatched{Step: "a", Attempt: 1, N: 2, Kind: engine.AgentWork},
			"an older owner's check": nil,
		}},
		{"after checks that failed", []engine.Step{plain("a")}, func(d *desk) {
			d.pass(2)
			d.hold = true
			d.answer(engine.Fail)
		}, map[string]engine.Event{
			"done":                            settled(engine.Done),
			"regressed":                       settled(engine.Regressed),
			"pending":                         settled(engine.Pending, by(engine.Harness)),
			"done by a person without a word": settled(engine.Done, by("ann")),
		}},
		{"after checks that passed", []engine.Step{plain("a")}, func(d *desk) {
			d.baseline(engine.Pass)
			d.pass(1)
			d.hold = true
			d.answer(engine.Pass)
		}, map[string]engine.Event{
			"proven, and was never red": settled(engine.Done, func(e *engine.StepSettled) { e.Proven = true }),
			"another attempt":           settled(engine.Done, func(e *engine.StepSettled) { e.Attempt = 2 }),
			"done and tried again":      settled(engine.Done, func(e *engine.StepSettled) { e.RetryAt = &now }),
			"failed":                    settled(engine.Failed),
			"running later":             settled(engine.Running, func(e *engine.StepSettled) { e.RetryAt = &now }),
		}},
		{"when a person was asked", []engine.Step{asking(plain("a"))}, func(d *desk) {
			d.pass(2)
			d.answer(engine.Fail)
			d.hold = true
			d.admit(engine.Reply{ItemAnswered: engine.ItemAnswered{Item: "r1/1", Choice: engine.ChooseRetry, By: "ann"}})
		}, map[string]engine.Event{
			"done":                  settled(engine.Done),
			"done by the person":    settled(engine.Done, by("ann")),
			"waived instead":        settled(engine.Waived, by("ann")),
			"skipped instead":       settled(engine.Skipped, by("ann")),
			"proven by the way":     settled(engine.Pending, by("ann"), func(e *engine.StepSettled) { e.Proven = true }),
			"done with a step left": engine.RunEnded{Status: engine.Done},
			"a second question":     engine.ItemOpened{Item: "r1/2", Step: "a", Kind: engine.Escalation},
			"the same question":     engine.ItemOpened{Item: "r1/1", Step: "a", Kind: engine.Escalation},
			"an answer not offered": engine.ItemAnswered{Item: "r1/1", Choice: "approve", By: "ann"},
		}},
		{"after the end", []engine.Step{plain("a")}, func(d *desk) { d.pass(3) }, map[string]engine.Event{
			"the end again":      engine.RunEnded{Status: engine.Failed},
			"work":               engine.WorkDispatched{Step: "a", Attempt: 1, N: 2, Kind: engine.AgentWork},
			"a settling":         settled(engine.Failed),
			"a command":          engine.Command{Verb: engine.DoResume, By: "ann"},
			"a retry":            engine.Command{Verb: engine.DoRetry, Step: "a", By: "ann"},
			"a run without plan": engine.RunOpened{Run: "r2", Program: "h"},
		}},
		{"in a round", []engine.Step{plain("a")}, func(d *desk) { d.pass(3) }, map[string]engine.Event{
			"regressed":          settled(engine.Regressed),
			"done":               settled(engine.Done),
			"waiting":            settled(engine.Waiting),
			"another day":        settled(engine.Done, func(e *engine.StepSettled) { e.RetryAt = &now }),
			"verified":           check(engine.Verifying),
			"the end":            engine.RunEnded{Status: engine.Done},
			"the work once more": engine.WorkDispatched{Step: "a", Attempt: 1, N: 2, Kind: engine.AgentWork},
		}},
		{"while it waits", []engine.Step{plain("a")}, func(d *desk) {
			d.pass(2)
			d.answer(engine.Infra)
		}, map[string]engine.Event{
			"verified":       check(engine.Verifying),
			"done":           settled(engine.Done),
			"waiting longer": settled(engine.Running, func(e *engine.StepSettled) { e.RetryAt = &now }),
			"by the harness": settled(engine.Running, by(engine.Harness)),
		}},
		{"after its work was lost", []engine.Step{plain("a")}, func(d *desk) {
			d.pass(1)
			d.epoch++
			d.admit(begun)
		}, map[string]engine.Event{
			"the baseline again": check(engine.Baseline),
			"verified":           check(engine.Verifying),
			"the first start":    engine.WorkDispatched{Step: "a", Attempt: 1, N: 1, Kind: engine.AgentWork},
		}},
		{"checks that run once", []engine.Step{once}, func(d *desk) { d.pass(2) }, map[string]engine.Event{
			"done":             settled(engine.Done),
			"a second start":   engine.WorkDispatched{Step: "a", Attempt: 1, N: 3, Kind: engine.ContractWork},
			"the baseline":     check(engine.Baseline),
			"the end of other": engine.WorkEnded{Step: "a", Attempt: 1, N: 2, Kind: engine.AgentWork, How: engine.Exited},
		}},
	}
}

func asking(p engine.Step) engine.Step {
	p.OnFail.Retries = 0
	return p
}

// pass lets the next effects pass.
func (d *desk) pass(times int) {
	for range times {
		d.admit(success(d.state.Effects()[0]))
	}
}

// answer answers the checks that are asked for.
func (d *desk) answer(v engine.Verdict) {
	e := d.state.Effects()[0]
	d.admit(engine.Checked{Key: e.Key, Checks: answers(e.Step, "", v)})
}

// baseline answers the checks before the work, and lets it begin.
func (d *desk) baseline(v engine.Verdict) {
	e := d.state.Effects()[0]
	d.admit(engine.Prepared{Key: e.Key, Checks: answers(e.Step, "", v)})
}

// TestLaws forges records. Apply refuses each, says at which record, and a
// state to which the same was not done goes on.
func TestLaws(t *testing.T) {
	for _, m := range moments() {
		for name, forged := range m.forge {
			t.Run(m.name+"/"+name, func(t *testing.T) {
				d := at(t, m)
				r := engine.Record{Stream: "task", Seq: d.state.Seq() + 1, At: d.now, Epoch: d.epoch, Event: forged}
				if name == "an older owner's check" {
					r.Epoch, r.Event = 0, engine.CheckEnded{Step: "a", Attempt: 1, Phase: engine.Verifying, Check: engine.Contract, Required: true, Verdict: engine.Pass}
				}
				err := d.state.Apply(r)
				if err == nil || !strings.Contains(err.Error(), "stream task, record ") {
					t.Fatalf("%+v is taken: %v\n%s", forged, err, lines(d.journal))
				}
			})
		}
	}
}

// at is a desk at the moment.
func at(t *testing.T, m moment) *desk {
	d := newDesk()
	d.begin()
	p, err := engine.NewProgram(engine.Definition{Plan: "p", Parallel: 1, Steps: m.plan})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.admit(engine.Open{By: "ann", Task: &engine.TaskOpened{Task: "task"}, Run: engine.RunOpened{
		Run: "r1", Program: p.Hash(), Compiled: p, Policy: engine.Policy{MaxParallel: 1, Baseline: true, Ratchet: m.name == "in a round"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m.until(d)
	if err := d.settled(); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestOrderOfRecords: a gap, a repetition, an older owner and one that never
// began are not taken.
func TestOrderOfRecords(t *testing.T) {
	pause := engine.Command{Verb: engine.DoPause, By: "ann"}
	for name, change := range map[string]func(r *engine.Record){
		"a gap":                     func(r *engine.Record) { r.Seq++ },
		"a repetition":              func(r *engine.Record) { r.Seq-- },
		"an older owner":            func(r *engine.Record) { r.Epoch-- },
		"an owner that never began": func(r *engine.Record) { r.Epoch++ },
	} {
		d := at(t, moments()[0])
		r := engine.Record{Stream: "task", Seq: d.state.Seq() + 1, At: d.now.Add(time.Second), Epoch: d.epoch, Event: pause}
		change(&r)
		if err := d.state.Apply(r); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestCommandBetweenFacts gives commands between two records of the stories, in the
// gate between any two, in the middle of turns too. The indexes stay true, and what
// follows leads to a journal that stands up to the auditor.
func TestCommandBetweenFacts(t *testing.T) {
	t.Parallel()
	for j, journal := range journals(t) {
		every := tier.Draws(7, 1)
		for n := j % every; n < len(journal); n += every {
			for _, c := range []engine.Command{{Verb: engine.DoCancel}, {Verb: engine.DoRetry, Step: "a", From: true}, {Verb: engine.DoWaive, Step: "b", Why: "x"}} {
				s, err := replay(journal[:n+1])
				if err != nil {
					t.Fatal(err)
				}
				d := newDesk()
				d.state, d.journal, d.now, d.epoch = s, slices.Clone(journal[:n+1]), journal[n].At, journal[n].Epoch
				c.By = "ann"
				if _, err := d.admit(engine.Order{Command: c}); err != nil {
					continue
				}
				if err := audit(d.journal); d.broken != nil || err != nil {
					t.Fatalf("%s after record %d: %v %v\n%s", c.Verb, n+1, d.broken, err, lines(d.journal))
				}
			}
		}
	}
}
