package cli

import (
	"context"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// redraft has a plan changed as a comment says: that of an unfinished run by a revision of
// the run, any other by a new text of its document.
func (s *session) redraft(ctx context.Context, q api.Redrafting) error {
	head, err := s.RunOf(ctx, q.Path)
	if err == nil && head.Run != "" && !head.Ended {
		return s.app.command(ctx, head.Run, q.Step, engine.Command{Verb: engine.DoReplan, Why: q.Why, Step: q.Step})
	}
	_, row, err := s.errand(ctx, question{
		what: "for a revision of " + q.Path, role: "the planner", model: s.Config.Planner, yes: q.Yes,
		ask: func(yes api.Consent) (api.Planned, error) {
			q.Consent = yes
			return s.client.Redraft(ctx, q)
		},
	})
	if err != nil {
		return err
	}
	doc, err := s.draft(ctx, row)
	if err != nil {
		return err
	}
	was, err := s.Store.Object(ctx, row.Asked.Source)
	if err != nil {
		return err
	}
	if doc.OK {
		_, err := s.client.Restore(ctx, api.Restore{Path: q.Path, Seen: api.Parse(q.Path, was).Plan.Hash(), Plan: row.Plan})
		switch {
		case err != nil && api.Explain(err).Code == api.Conflict:
			return &api.Problem{Code: api.Conflict, Message: q.Path + " was changed meanwhile, so it keeps its text", Hint: "piton show " + row.Plan + " shows the planner's"}
		case err != nil:
			return err
		}
		doc.File = &q.Path
	}
	return s.showRedraft(q, doc, was)
}

// showRedraft shows what a planner made of a document: the difference, or what is wrong.
func (s *session) showRedraft(q api.Redrafting, doc planDoc, was []byte) error {
	a := s.app
	before, after := api.Parse(q.Path, was).Plan, api.Parse(q.Path, []byte(doc.Text)).Plan
	if before != nil && after != nil {
		d := verify.Diff(before, after)
		lines := string(diff.Diff(q.Path, was, q.Path, []byte(doc.Text)))
		changed := view.DiffOf(q.Path, q.Path, lines, d)
		doc.Diff = &changed
		if !a.json {
			t := a.theme(a.out)
			printLines(a.out, append(append(t.changedLines(lines), ""), t.difference(d)...))
		}
	}
	switch {
	case a.json:
		a.document("draft", doc)
	default:
		a.showFindings(a.err, api.Serious(doc.Findings))
		if doc.Ended != "" {
			a.notice("%s", doc.Ended)
		}
		if doc.OK {
			a.notice("%s has the new text; piton plan undo %[2]s takes it back; next: piton review %[2]s, or piton run %[2]s", q.Path, engine.ShellWord(q.Path))
		} else {
			a.notice("the planner's text does not verify; %s keeps its own", q.Path)
		}
	}
	if !doc.OK {
		return ended(exitPlan)
	}
	return nil
}
