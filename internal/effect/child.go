package effect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// Made is a plan that was made during a run, as it stands when the step that is
// delegated to it is due.
type Made struct {
	Plan    engine.SubPlan
	Program *engine.Program
	Agents  map[string]string // configurations of the agents that it uses
	Bodies  [][]byte          // contents that it names by hash
	Text    string            // for people
	Refused string            // why it cannot run
}

// opening makes the run of the step's sub-plan ready: of the text that was
// approved with the plan, or of what was made since, which a person has to see.
func (w *World) opening(ctx context.Context, e engine.Effect, in *engine.Prepared) ([][]byte, error) {
	made, err := w.approved(e)
	unseen, reason := false, ""
	if !e.Step.Child.Pinned() {
		made, err = w.Made(ctx, w.Dir, e)
		unseen, reason = true, "it was not there when the plan was approved"
	}
	if err != nil {
		return nil, err
	}
	in.Preview = &engine.Preview{
		Args: made.Plan.Source, Must: unseen, Low: !unseen, Reason: reason, Hash: made.Plan.Hash, Refused: made.Refused, Context: cut(made.Text, maxPlanShown),
	}
	if made.Refused != "" {
		in.Preview.Hash = digest([]byte(made.Refused))
		return made.Bodies, nil
	}
	base, err := w.Tree.Base(ctx, slices.Concat(made.Program.Guards(), e.Protects, e.Step.Protects))
	if err != nil {
		return nil, fmt.Errorf("look at the protected files: %w", err)
	}
	run, err := w.NewRun(ctx)
	if err != nil {
		return nil, err
	}
	body := base.Encode()
	in.Child = &engine.Opening{Run: run, Plan: made.Plan, Program: made.Program, Agents: made.Agents, Base: digest(body)}
	return append(made.Bodies, body), nil
}

// approved is the plan that was approved together with the step.
func (w *World) approved(e engine.Effect) (Made, error) {
	c := e.Step.Child
	if !c.Pinned() {
		return Made{}, nil
	}
	source, err := w.Object(c.Source)
	body, other := w.Object(c.Program)
	if err := errors.Join(err, other); err != nil {
		return Made{}, fmt.Errorf("read the plan %s: %w", c.Path, err)
	}
	program, err := engine.DecodeProgram(body)
	made := Made{Plan: *c, Program: program}
	if e.Step.Approval != "" {
		made.Text = string(source)
	}
	return made, err
}
