package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// Forms of the findings.
const (
	formText  = "text"
	formJSON  = "json"
	formSARIF = "sarif"
)

// stdinName is how the plan on standard input is called in findings.
const stdinName = "<stdin>"

func (a *app) verifyCmd() *cobra.Command {
	format, explain := "", ""
	var by secondReader
	c := &cobra.Command{
		Use:   "verify PLAN...",
		Short: "Check plans and list what is wrong, like a compiler",
		Long: `Prints every finding with its line and column. Runs and records nothing. PLAN is a file, - for
standard input, a run, or a revision: 7f3a21@2, fix.md@1.

With --review the configured reviewer, an agent or a model, reads the plans too. What it says is
printed as advice, with its reason. The journal keeps it: the same text is not asked about twice.

Exit code 0 if no plan has an error, 4 if one has, 2 if one cannot be read. Advice does not change
it; where there is no review, it is 9 or 6.`,
		Example: `  piton verify plans/fix.md
  piton verify plans/*.md --format sarif > findings.sarif
  cat plan.md | piton verify -
  piton verify plans/fix.md --review
  piton verify --explain PT012`,
		Args: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("explain") {
				return atMost("no plan with --explain", 0)(c, args)
			}
			return atLeast("a plan", 1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("explain") {
				return a.explain(explain)
			}
			form, err := a.form(c, format)
			if err != nil {
				return err
			}
			if (by.again || by.yes) && !by.wanted {
				return usage(c, errors.New("--again and --yes are for --review"))
			}
			return a.verify(c.Context(), args, form, by)
		},
	}
	c.Flags().StringVar(&format, "format", formText, "output format: text, json or sarif (2.1.0)")
	c.Flags().BoolVar(&by.wanted, "review", false, "have the configured reviewer read the plans, too")
	c.Flags().BoolVarP(&by.yes, "yes", "y", false, "approve the configuration of this workspace, which says who the reviewer is")
	c.Flags().BoolVar(&by.again, "again", false, "ask the reviewer even if the journal has what was said of this text")
	c.Flags().StringVar(&explain, "explain", "", "explain a rule, by its id or name, instead of reading a plan")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{formText, formJSON, formSARIF}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("explain", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		for _, r := range verify.Rules() {
			ids = append(ids, r.ID+"\t"+r.Title)
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

// form is the form of the findings that --format and --json ask for.
func (a *app) form(c *cobra.Command, format string) (string, error) {
	switch {
	case !slices.Contains([]string{formText, formJSON, formSARIF}, format):
		return "", usage(c, fmt.Errorf("there is no format %q; write text, json or sarif", format))
	case a.json && c.Flags().Changed("format") && format != formJSON:
		return "", usage(c, fmt.Errorf("--json and --format %s contradict each other", format))
	case a.json:
		return formJSON, nil
	}
	a.json = format == formJSON // for the error, if there is one
	return format, nil
}

// secondReader says whether the reviewer is asked.
type secondReader struct{ wanted, again, yes bool }

// verify needs no journal: it works where no state can be written. All plans
// are read before anything is printed, so that what is printed is about all.
func (a *app) verify(ctx context.Context, paths []string, form string, by secondReader) error {
	product, err := a.reader()
	if err != nil {
		return err
	}
	var docs []*api.Document
	seen := map[string]bool{}
	for _, path := range paths {
		if seen[path] {
			continue
		}
		seen[path] = true
		doc, err := a.readOne(ctx, product, path)
		if err != nil {
			return err
		}
		docs = append(docs, doc)
	}
	bad := 0
	for _, doc := range docs {
		if !doc.OK() {
			bad++
			a.noteTasks(doc)
		}
	}
	var reviews []view.Review
	code := exitDone
	if by.wanted {
		if reviews, code, err = a.reviews(ctx, docs, by); err != nil {
			return err
		}
	}
	if err := a.findings(docs, form, bad, reviews); err != nil {
		return err
	}
	switch {
	case bad > 0:
		return ended(exitPlan)
	case code != exitDone:
		return ended(code)
	}
	if form == formText && product.Config.Policy.Approve == engine.LowRisk {
		for _, doc := range docs {
			a.showHazards(doc.Hazards())
		}
	}
	return nil
}

// reader is the product without its journal: it can read and verify plans.
func (a *app) reader() (*api.Product, error) {
	if a.server != "" {
		s, err := a.reach(context.Background())
		if err != nil {
			return nil, err
		}
		return s.Product, nil
	}
	place, conf, err := a.here(nil)
	if err != nil {
		return nil, err
	}
	return a.product(place, conf), nil
}

// readerToLook is reader also where the configuration has mistakes.
func (a *app) readerToLook() (*api.Product, error) {
	if a.server != "" {
		return a.reader()
	}
	place, err := a.place()
	if err != nil {
		return nil, err
	}
	return a.product(place, a.readable(place)), nil
}

func (a *app) product(place api.Place, conf config.Config) *api.Product {
	return &api.Product{Place: place, Config: conf, Here: a.dir, Env: a.env, Version: Version(), Now: a.now}
}

// readOne reads a plan from a file, or from standard input for "-".
func (a *app) readOne(ctx context.Context, product *api.Product, path string) (*api.Document, error) {
	if path != "-" {
		doc, err := product.Read(ctx, path)
		if err == nil || a.isPath(path) {
			return doc, err
		}
		kept, other := a.recorded(ctx, path)
		if kept != nil || other != nil {
			return kept, other
		}
		return nil, err
	}
	source, err := a.source(path)
	if err != nil {
		return nil, err
	}
	return product.Verify(ctx, stdinName, source), nil
}

// recorded is the text that a run goes by, or that a revision is, under the name that it
// was asked for; nil where the journal has none of that name. The error is about a revision
// that is not there.
func (a *app) recorded(ctx context.Context, word string) (doc *api.Document, err error) {
	a.look(ctx, func(s *session) {
		_, _, kept, wrong := s.OfWord(ctx, word)
		if wrong != nil || kept == nil {
			if api.IsRevision(word) {
				err = wrong
			}
			return
		}
		for i := range kept.Findings {
			if kept.Findings[i].File == kept.Path {
				kept.Findings[i].File = word
			}
		}
		kept.Path, doc = word, kept
	})
	return doc, err
}

// findings prints what is wrong with the documents, in the order they were named.
func (a *app) findings(docs []*api.Document, form string, bad int, reviews []view.Review) error {
	switch form {
	case formJSON:
		d := view.FindingsOf(docs...)
		d.Reviews = reviews
		a.document("findings", d)
		return nil
	case formSARIF:
		return view.WriteSARIF(a.out, Version(), docs, reviews...)
	}
	for i, doc := range docs {
		a.showFindings(a.out, doc.Findings)
		if i < len(reviews) {
			a.showReview(reviews[i])
		}
	}
	switch {
	case len(docs) > 1 && bad > 0:
		a.notice("%d of %d plans have errors", bad, len(docs))
	case len(docs) > 1:
		a.notice("%d plans: no errors", len(docs))
	case bad == 0 && !docs[0].Runnable():
		a.notice("%s: no errors; this version cannot run it", docs[0].Path)
	case bad == 0:
		said := docs[0].Path + ": no errors"
		if len(docs[0].Hazards()) == 0 {
			said += "; low risk"
		}
		if where := docs[0].Where(); where != "" {
			said += "; " + where
		}
		a.notice("%s", said)
	}
	return nil
}

// explain prints the page of a rule.
func (a *app) explain(name string) error {
	rule, ok := verify.RuleOf(strings.TrimSpace(name))
	if !ok {
		hint := strings.TrimSpace(verify.NearestRule(name) + " docs/findings.md lists them all")
		return misuse(fmt.Sprintf("there is no rule %q", name), hint)
	}
	a.report("verify", view.RuleOf(rule), strings.TrimSuffix(rule.Page(), "\n"))
	return nil
}
