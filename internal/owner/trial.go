package owner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/egress"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/verify"
)

// tried is the code of what was seen when the contracts of a draft were tried.
const tried = "baseline"

// trialTime is that of all contracts of a draft.
const trialTime = 2 * time.Minute

// trial runs the contracts of one draft before the work, as a run would, so that one
// that proves nothing goes back to the planner before a person sees it.
//
// Nobody has said yes to these commands. So they run in a copy of the workspace, can
// change nothing but that copy and a home and temporary directory of their own, and reach
// no network; where a machine cannot do that, nothing is tried, and that is said.
type trial struct {
	product *api.Product
	world   *effect.World
	environ []string
	doc     *api.Document
	found   []verify.Finding
	back    bool
	dir     string // the copy; "" while there is none
}

// tries judges a draft by what its contracts say before the work.
func tries(p *api.Product, w *effect.World, environ []string) planner.Judge {
	return func(ctx context.Context, source []byte) ([]verify.Finding, bool, error) {
		t := &trial{product: p, world: w, environ: environ, doc: p.Verify(ctx, planner.Name, source)}
		c, err := p.Compile(t.doc, planner.Name)
		if refusal, refused := errors.AsType[*verify.Refusal](err); refused {
			return refusal.Findings, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		err = t.run(ctx, c.Program)
		return t.found, t.back, err
	}
}

func (t *trial) run(ctx context.Context, program *engine.Program) error {
	var steps []*engine.Step
	for i := range program.Len() {
		if s := program.Step(i); triable(s) {
			steps = append(steps, s)
		}
	}
	if len(steps) == 0 || t.product.Config.Policy.Baseline == "off" {
		return nil
	}
	if exposed := t.world.Pool.Holds(); exposed != nil {
		t.note(nil, "the contracts were not tried before the work: this machine cannot confine them: "+exposed.Error())
		return nil
	}
	scratch, done, err := t.world.Scratch()
	if err != nil {
		return err
	}
	defer done()
	if t.dir, err = filepath.EvalSymlinks(scratch); err != nil {
		return err
	}
	t.dir = filepath.Join(t.dir, "work")
	defer os.RemoveAll(t.dir)
	if err := copyWorkspace(ctx, t.product, t.dir); err != nil {
		t.note(nil, "the contracts were not tried before the work: "+err.Error())
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	alone := func() (proc.Gate, error) { return egress.For(egress.Rules{Step: "no"}) }
	for _, s := range steps {
		results := check.Run(ctx, check.Job{
			Step: s, Phase: engine.Baseline, Run: "plan", Attempt: 1, Workspace: t.dir, Environ: t.environ,
			Pool: t.world.Pool, Gate: alone,
			Room: &proc.Room{Dir: t.dir, Writable: []string{t.dir}, Fixed: true},
		})
		if ctx.Err() != nil {
			t.note(s, "its contract, and those after it, were not tried: the time for that is over")
			return nil
		}
		t.judge(s, results)
	}
	return nil
}

// triable reports whether the checks of a step can be tried. What they get of other steps,
// or of an item, is not there yet.
func triable(s *engine.Step) bool {
	return len(s.Checks) > 0 && s.Rerunnable && s.Each == nil && len(s.Reads) == 0
}

// judge says what the checks of a step, tried before any work, tell of them.
//
//   - All that are required pass: they prove nothing of the step, wherever it stands,
//     unless it says that they are to hold before and after.
//   - One does not end: it would not after the work either.
//   - A command is missing. That is the plan's fault only for a step that needs no other,
//     and only where the command is no path: an earlier step may bring the program, and
//     the step itself may make the file.
//
// Anything else is what a contract is to say before the work.
func (t *trial) judge(s *engine.Step, results []engine.CheckEnded) {
	passed := true
	for i, r := range results {
		if !s.Checks[i].Required {
			continue
		}
		passed = passed && r.Verdict == engine.Pass
		name, missing := strings.CutPrefix(r.Reason, "command not found: ")
		switch {
		case r.Verdict == engine.Timeout:
			t.warn(s, r.Check+": it did not end, tried before the work: "+r.Reason, "a contract must end by itself within its time")
		case r.Verdict == engine.Inconclusive && missing && len(s.Needs) == 0 && !strings.Contains(name, "/"):
			t.warn(s, r.Check+": it cannot start, tried before the work: "+r.Reason, "use a command that is installed, or give the step that brings it first")
		case r.Verdict == engine.Infra:
			t.note(s, r.Check+": it could not be tried before the work: "+r.Reason)
		}
	}
	if passed && s.Expect != engine.ExpectGreen {
		t.warn(s, "the contract passes already, before any work, so it proves nothing of the step",
			"let it test what is missing now; where it must hold before and after, say `**expect:** green`")
	}
}

// warn is a finding for which the draft goes back.
func (t *trial) warn(s *engine.Step, message, hint string) {
	t.add(s, verify.Warning, message, hint)
	t.back = true
}

// note tells a person what was not tried.
func (t *trial) note(s *engine.Step, message string) { t.add(s, verify.Note, message, "") }

func (t *trial) add(s *engine.Step, severity verify.Severity, message, hint string) {
	f := verify.Finding{Code: tried, Severity: severity, File: planner.Name, Line: 1, Column: 1, Message: message, Hint: hint}
	if s != nil {
		f.Step = s.ID
		if i := slices.IndexFunc(t.doc.Plan.Steps, func(o *plan.Step) bool { return o.ID.Value == s.ID }); i >= 0 {
			at := t.doc.Plan.Steps[i]
			f.Line, f.Column = at.Pos.Line, at.Pos.Column
			if c := at.Contract; c != nil && c.Command.Pos.IsValid() {
				f.Line, f.Column = c.Command.Pos.Line, c.Command.Pos.Column
			}
		}
	}
	t.found = append(t.found, f)
}
