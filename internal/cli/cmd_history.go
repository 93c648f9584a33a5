package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
)

func (a *app) historyCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "history PLAN|RUN",
		Short:   "The revisions of a plan: who, when, why, and what changed",
		Long:    "Lists every text of the plan that was approved, rejected or proposed, the oldest first.\nEach is kept: piton diff PLAN@1 PLAN@2 compares two of them.",
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
		if a.json {
			docs := []revisionDoc{}
			for _, e := range all {
				docs = append(docs, revisionDocument(e))
			}
			a.document("history", map[string]any{"revisions": docs})
			return nil
		}
		t := a.theme(a.out)
		for _, e := range all {
			printLines(a.out, t.revision(e))
		}
		return nil
	})
}

// revisionDoc is one revision for programs.
type revisionDoc struct {
	ID         string   `json:"id"`
	Version    int      `json:"version"`
	Previous   string   `json:"previous"`
	Path       string   `json:"path"`
	Title      string   `json:"title"`
	Hash       string   `json:"hash"`
	By         string   `json:"by"`
	At         stamp    `json:"at"`
	Answer     *string  `json:"answer"` // approved, rejected, null while it waits
	AnsweredBy string   `json:"answered_by"`
	AnsweredAt stamp    `json:"answered_at"`
	Why        string   `json:"why"`
	Changes    string   `json:"changes"`
	Weakened   []string `json:"weakened"`
	Runs       []string `json:"runs"`
}

func revisionDocument(e api.Entry) revisionDoc {
	p := e.Drafted
	d := revisionDoc{
		ID: p.Plan, Version: p.Version, Previous: p.Previous, Path: p.Path, Title: p.Title, Hash: p.Hash, By: p.By, At: stamp(e.At),
		Changes: p.Changes, Weakened: list(p.Weakened), Runs: list(e.Runs),
	}
	if e.Answer != nil {
		word := string(planStatus(e.Revision))
		d.Answer, d.AnsweredBy, d.AnsweredAt, d.Why = &word, e.Answer.By, stamp(e.Answered), e.Answer.Why
	}
	return d
}

// revision is one entry of a history.
func (t theme) revision(e api.Entry) []string {
	p := e.Drafted
	state, tone := "waits for a yes or no", warnTone
	if e.Answer != nil {
		state, tone = fmt.Sprintf("%s by %s, %s", planStatus(e.Revision), t.line(e.Answer.By), e.Answered.In(t.zone).Format("2006-01-02 15:04")), okTone
		if !e.Answer.Yes {
			tone = badTone
		}
	}
	lines := []string{t.sides(cell{fmt.Sprintf("%d  %s", p.Version, t.line(p.Title)), plainTone}, cell{state, tone})}
	about := []string{"by " + t.line(p.By) + ", " + e.At.In(t.zone).Format("2006-01-02 15:04"), "hash " + p.Hash[:min(12, len(p.Hash))]}
	if len(e.Runs) > 0 {
		about = append(about, "run "+t.line(strings.Join(e.Runs, ", ")))
	}
	if p.Changes != "" {
		about = append(about, t.line(p.Changes))
	}
	lines = append(lines, t.under(3, idleTone, strings.Join(about, " · "))...)
	if e.Answer != nil && e.Answer.Why != "" {
		lines = append(lines, t.under(3, idleTone, "why: "+t.line(e.Answer.Why))...)
	}
	for _, w := range p.Weakened {
		lines = append(lines, t.under(3, warnTone, "weaker: "+t.line(w))...)
	}
	return lines
}
