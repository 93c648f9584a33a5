package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/view"
)

// reviews are what the reviewer says of each plan.
func (a *app) reviews(ctx context.Context, docs []*api.Document, by secondReader) (all []view.Review, code int, err error) {
	err = a.acting(ctx, func(s *session) error {
		for _, doc := range docs {
			r, of, err := s.review(ctx, doc, by)
			if err != nil {
				return err
			}
			all, code = append(all, r), max(code, of)
		}
		return nil
	})
	return all, code, err
}

// review has one plan read. The code is 0, or that of a review which there is not.
func (s *session) review(ctx context.Context, doc *api.Document, by secondReader) (r view.Review, code int, err error) {
	who, row, err := s.errand(ctx, question{
		what: "to read " + doc.Path, role: "the reviewer", model: s.Config.Reviewer, yes: by.yes,
		ask: func(yes api.Consent) (api.Planned, error) {
			return s.client.Review(ctx, api.Reviewing{Name: doc.Path, Source: doc.Source, Again: by.again, Consent: yes})
		},
	})
	if err != nil {
		return r, 0, err
	}
	r = view.Review{File: doc.Path, By: who, Advice: []view.Remark{}}
	if reason := row.Ended.Reason; reason != "" || row.Ended.How != engine.Exited {
		if r.Ended, code = &reason, exitDiverging; row.Ended.How != engine.Exited {
			code = exitMachine
		}
		return r, code, nil
	}
	body, err := s.Store.Object(ctx, row.Ended.Output)
	if err != nil {
		return r, 0, fmt.Errorf("read what the reviewer said: %w", err)
	}
	var said planner.Review
	if err := json.Unmarshal(body, &said); err != nil {
		return r, 0, fmt.Errorf("read what the reviewer said: %w", err)
	}
	for _, x := range said.Advice {
		r.Advice = append(r.Advice, view.Remark{Severity: view.IsAdvice, Line: x.Line, Step: x.Step, Message: x.Text, Reason: x.Reason})
	}
	return r, 0, nil
}

// showReview prints advice as findings are printed, with who gave it.
func (a *app) showReview(r view.Review) {
	t := a.theme(a.out)
	for _, x := range r.Advice {
		at := t.line(r.File)
		if x.Line > 0 {
			at += fmt.Sprintf(":%d:1", x.Line)
		}
		printLines(a.out, []string{
			fmt.Sprintf("%s: %s %s", at, t.paint(youTone, view.IsAdvice+":"), t.line(x.Message)),
			t.paint(idleTone, "    "+t.line(x.Reason+" ("+r.By+")")),
		})
	}
	switch {
	case r.Ended != nil:
		a.notice("%s: there is no review: %s", r.File, *r.Ended)
	case len(r.Advice) == 0:
		a.notice("%s: %s finds nothing to say", r.File, r.By)
	}
}
