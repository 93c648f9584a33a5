package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/api"
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

// underway names errands, and where more is said of each.
func (t theme) underway(rows []engine.ErrandRow) []string {
	var lines []string
	for _, r := range rows {
		lines = append(lines, t.under(0, plainTone, fmt.Sprintf("%s is under way: %s; piton log %s shows more", r.Asked.Errand, t.request(r.Asked), r.Asked.Errand))...)
	}
	return lines
}

// request says who asked for an errand, and for what.
func (t theme) request(a engine.ErrandAsked) string {
	return fmt.Sprintf("%s asked for %s", t.line(a.By), t.line(errandWords(a)))
}

// errandWords says what an errand is to bring.
func errandWords(a engine.ErrandAsked) string {
	of := ""
	if a.Path != "" {
		of = " of " + a.Path
	}
	switch {
	case a.Kind == engine.ReviewWork:
		return "a review" + of
	case a.Kind == engine.ExtractWork:
		return "what run " + a.Run + " taught"
	case len(a.Contracts) > 0:
		return "contracts" + of
	case a.Source != "":
		return "a revision" + of
	}
	return "a plan"
}

// errandLog prints the questions and the answers of an errand: of each time that it
// was begun, the oldest first. A word that names none fails as no run and no step did.
func (s *session) errandLog(ctx context.Context, args []string, none error) error {
	row, err := s.ErrandOf(ctx, args[0])
	switch {
	case err != nil && !api.IsErrand(args[0]):
		return none
	case len(args) > 1:
		return misuse(fmt.Sprintf("%s is an errand, which has no steps", args[0]), "piton log "+args[0])
	case err != nil:
		return err
	}
	logs, err := fs.Glob(os.DirFS(s.Place.State), "attempts/*/"+row.Asked.Errand+".*.log")
	if err != nil {
		return err
	}
	slices.SortFunc(logs, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	text := bounded{left: maxErrandText}
	to := io.Writer(&text)
	if !s.app.json {
		printLines(s.app.out, s.app.theme(s.app.out).errand(row))
		to = plainWriter{s.app.out}
	}
	for _, log := range logs {
		if err := s.copyLog(to, log); err != nil {
			return err
		}
	}
	switch {
	case s.app.json:
		s.app.document("log", map[string]any{"errand": view.ErrandOf(row), "text": text.String(), "cut": text.cut})
	case len(logs) == 0:
		s.app.notice("nothing was written yet, or gc has removed it")
	}
	return nil
}

// withdraw takes back the errand that a word names. One that names none fails as no run did.
func (s *session) withdraw(ctx context.Context, word string, none error) error {
	if p := api.Explain(none); p.Code != api.NotFound || word == "" {
		return none
	}
	w, err := s.client.Withdraw(ctx, api.Withdrawal{Errand: word})
	switch {
	case err != nil && api.Explain(err).Code == api.NotFound && !api.IsErrand(word):
		return none
	case err != nil:
		return err
	}
	s.app.did(string(engine.DoCancel), w.Errand, "errand "+w.Errand+": withdrawn")
	return nil
}

// maxErrandText is how much of an errand's logs a document has; without --json all is printed.
const maxErrandText = 16 << 20

// bounded keeps the first bytes that are written to it.
type bounded struct {
	strings.Builder
	left int
	cut  bool // there were more
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.Builder.Write(p[:n])
	b.left, b.cut = b.left-n, b.cut || n < len(p)
	return len(p), nil
}

// errand says in a line how an errand stands.
func (t theme) errand(r engine.ErrandRow) []string {
	switch {
	case r.Withdrawn != "":
		return t.under(0, warnTone, fmt.Sprintf("%s was withdrawn by %s: %s", r.Asked.Errand, t.line(r.Withdrawn), t.request(r.Asked)))
	case r.Ended == nil:
		return t.underway([]engine.ErrandRow{r})
	case r.Ended.How == engine.Exited && r.Ended.Reason == "":
		return t.under(0, boldTone, fmt.Sprintf("%s has ended: %s", r.Asked.Errand, t.request(r.Asked)))
	}
	return t.under(0, warnTone, fmt.Sprintf("%s has ended: %s; %s", r.Asked.Errand, t.request(r.Asked), t.line(strings.TrimSpace(string(r.Ended.How)+" "+r.Ended.Reason))))
}
