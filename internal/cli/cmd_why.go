package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) whyCmd() *cobra.Command {
	var runID string
	c := &cobra.Command{
		Use:     "why STEP | why RUN STEP",
		Example: "  piton why deploy\n  piton why 7f3a21 deploy\n  piton why 3 --run 7f3a21 --json",
		Short:   "Explain why a step passed, failed or waits",
		Long: `Explains the status of a step. Of one that waits: what it waits for, and which verb helps. Of one
that failed: how its checks ended, and what comes next. Of a blocked one: which step blocks it. Of
one that is done: which results prove it, with their numbers in the journal, and which files the
checks opened; or who waived or skipped it, and why.

Below that stands where this comes from: the revision of the plan and who approved it, and what
people answered. Then come the files, outputs, topics and memories that the newest prompt held, with
their hashes, and the frames that the step was given and left.`,
		Args: atLeast("a step", 1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 && runID == "" {
				runID, args = args[0], args[1:]
			}
			if len(args) > 1 {
				return misuse(fmt.Sprintf("piton why takes a run and a step; %q is too much", args[len(args)-1]), "piton why RUN STEP, or piton why STEP --run RUN")
			}
			return a.why(c.Context(), runID, args[0])
		},
	}
	c.Flags().StringVar(&runID, "run", "", "the run, instead of the newest")
	return c
}

func (a *app) why(ctx context.Context, prefix, word string) error {
	return a.looking(ctx, func(s *session) error {
		head, err := s.Find(ctx, prefix)
		step := ""
		if err == nil {
			head, step, err = s.Step(ctx, head, word)
		}
		if isNotFound(err) && prefix == "" {
			r, st, other := s.Planned(ctx, word)
			if other == nil && r != nil {
				a.showPlanned(r, st)
				return nil
			}
			return errors.Join(err, other)
		}
		if err != nil {
			return err
		}
		x, err := view.Explain(ctx, s.reader(), head, step)
		if err != nil {
			return err
		}
		a.prints("why", x.Document(), func(t theme) []string { return t.why(x) })
		return nil
	})
}

// showPlanned says why nothing of a plan has begun.
func (a *app) showPlanned(r *engine.Revision, st *plan.Step) {
	row := engine.StepRow{ID: st.ID.Value, Number: st.Number, Title: st.Title.Value, Status: engine.Pending}
	d := view.Why{RunStatus: view.PlanStatus(r), Step: view.StepOf(row), Items: []view.Item{}, Proof: []map[string]any{}, Next: view.ToRun(r)}
	d.Plan = &view.InboxOf(nil, []*engine.Revision{r}, nil).Plans[0]
	a.prints("why", d, func(t theme) []string { return t.unrun(r, a.now()) })
}
