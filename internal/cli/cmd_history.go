package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) historyCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "history PLAN|RUN",
		Short:   "List the revisions of a plan: who, when, why, and what changed",
		Long:    "Lists every text of the plan that was approved, rejected or proposed, the oldest first.\npiton diff PLAN@1 PLAN@2 compares two of them.",
		Example: "  piton history plans/fix.md",
		Args:    exactly("a plan or a run", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.history(c.Context(), args[0]) },
	}
}

func (a *app) history(ctx context.Context, word string) error {
	return a.looking(ctx, func(s *session) error {
		all, err := s.History(ctx, word)
		if err != nil {
			return err
		}
		a.prints("history", map[string]any{"revisions": view.RevisionsOf(all)}, func(t theme) (lines []string) {
			for _, e := range all {
				lines = append(lines, t.revision(e)...)
			}
			return lines
		})
		return nil
	})
}

// madeBy is whose text a revision is: that of a planner is not of who asked for it.
func madeBy(p engine.PlanDrafted) string {
	if p.Errand != "" {
		return "the planner, for " + p.By
	}
	return p.By
}

// revision is one entry of a history.
func (t theme) revision(e api.Entry) []string {
	p := e.Drafted
	state, tone := "waits for approval", warnTone
	if e.Answer != nil {
		state, tone = fmt.Sprintf("%s by %s, %s", view.PlanStatus(e.Revision), t.line(e.Answer.By), e.Answered.In(t.zone).Format("2006-01-02 15:04")), okTone
		if !e.Answer.Yes {
			tone = badTone
		}
	}
	lines := t.sides(cell{fmt.Sprintf("%d  %s", p.Version, t.line(p.Title)), plainTone}, cell{state, tone})
	about := []string{"by " + t.line(madeBy(p)) + ", " + e.At.In(t.zone).Format("2006-01-02 15:04"), "hash " + p.Hash[:min(12, len(p.Hash))]}
	if len(e.Runs) > 0 {
		about = append(about, "run "+t.line(strings.Join(e.Runs, ", ")))
	}
	if p.Changes != "" {
		about = append(about, t.line(p.Changes))
	}
	lines = append(lines, t.under(3, idleTone, strings.Join(about, " · "))...)
	if p.Reason != "" {
		lines = append(lines, t.under(3, idleTone, "reason: "+t.one(p.Reason))...)
	}
	for _, h := range e.Branches {
		text := "run " + h.Run + " waits on branch " + h.Branch.Name
		if b := h.Branch; !b.Waits {
			text = fmt.Sprintf("run %s landed by %s, %s: commit %s on branch %s", h.Run, b.By, b.At.In(t.zone).Format("2006-01-02 15:04"), b.Commit[:min(10, len(b.Commit))], b.Name)
		}
		lines = append(lines, t.under(3, idleTone, t.line(text))...)
	}
	if e.Answer != nil && e.Answer.Why != "" {
		lines = append(lines, t.under(3, idleTone, "why: "+t.line(e.Answer.Why))...)
	}
	for _, c := range view.RevisionsOf([]api.Entry{e})[0].Taken {
		lines = append(lines, t.under(3, idleTone, fmt.Sprintf("run %s: %s, by %s, %s", t.line(c.Run), t.one(c.Text), t.line(c.By), time.Time(c.At).In(t.zone).Format("2006-01-02 15:04")))...)
	}
	for _, w := range p.Weakened {
		lines = append(lines, t.under(3, warnTone, weakened(w)+": "+t.line(w))...)
	}
	return lines
}
