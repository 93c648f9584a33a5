package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// errands shows what is under way where no plan has run yet; where nothing is, it
// fails as none did.
func (s *session) errands(ctx context.Context, none error) error {
	rows, err := s.Underway(ctx)
	if err != nil || len(rows) == 0 {
		return errors.Join(err, none)
	}
	s.app.prints("errands", map[string]any{"errands": view.ErrandsOf(rows)}, func(t theme) []string { return t.underway(rows) })
	return nil
}

// underway names errands, and where more of them is.
func (t theme) underway(rows []engine.ErrandRow) []string {
	var lines []string
	for _, r := range rows {
		text := fmt.Sprintf("%s is under way, asked by %s", errandWords(r.Asked), t.line(r.Asked.By))
		lines = append(lines, t.under(0, plainTone, fmt.Sprintf("%s: %s; piton log %s shows it", r.Asked.Errand, text, r.Asked.Errand))...)
	}
	return lines
}

// errandWords says what an errand is about.
func errandWords(a engine.ErrandAsked) string {
	of := ""
	if a.Path != "" {
		of = " of " + a.Path
	}
	switch {
	case a.Kind == engine.ReviewWork:
		return "a review" + of
	case a.Kind == engine.ExtractWork:
		return "what run " + a.Run + " teaches"
	case len(a.Contracts) > 0:
		return "contracts" + of
	case a.Source != "":
		return "a revision" + of
	}
	return "a plan"
}

// errandLog prints what was asked for an errand, and answered: of each time that
// it was begun, the oldest first.
func (s *session) errandLog(ctx context.Context, args []string) error {
	if len(args) > 1 {
		return misuse(fmt.Sprintf("%s is an errand, which has no steps", args[0]), "piton log "+args[0])
	}
	row, err := s.ErrandOf(ctx, args[0])
	if err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(s.Place.State, "attempts", "*", row.Asked.Errand+".*.log"))
	if err != nil {
		return err
	}
	slices.SortFunc(logs, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
	var text strings.Builder
	for _, log := range logs {
		name, err := filepath.Rel(s.Place.State, log)
		if err == nil {
			err = s.copyLog(&text, name)
		}
		if err != nil {
			return err
		}
	}
	if s.app.json {
		s.app.document("log", map[string]any{"errand": view.ErrandOf(row), "text": text.String()})
		return nil
	}
	printLines(s.app.out, s.app.theme(s.app.out).errand(row))
	_, err = plainWriter{s.app.out}.Write([]byte(text.String()))
	if len(logs) == 0 {
		s.app.notice("nothing was written yet, or gc has removed it")
	}
	return err
}

// errand says in a line how an errand stands.
func (t theme) errand(r engine.ErrandRow) []string {
	switch {
	case r.Withdrawn != "":
		return t.under(0, warnTone, fmt.Sprintf("%s: %s was withdrawn by %s", r.Asked.Errand, errandWords(r.Asked), t.line(r.Withdrawn)))
	case r.Ended == nil:
		return t.underway([]engine.ErrandRow{r})
	case r.Ended.How == engine.Exited && r.Ended.Reason == "":
		return t.under(0, boldTone, fmt.Sprintf("%s: %s, asked by %s: ended", r.Asked.Errand, errandWords(r.Asked), t.line(r.Asked.By)))
	}
	return t.under(0, warnTone, fmt.Sprintf("%s: %s: %s", r.Asked.Errand, errandWords(r.Asked), t.line(strings.TrimSpace(string(r.Ended.How)+" "+r.Ended.Reason))))
}
