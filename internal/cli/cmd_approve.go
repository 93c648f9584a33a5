package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// approveFlags say how a yes is given where nobody can be asked.
type approveFlags struct {
	yes    bool
	weaker bool
	hash   string
	why    string
}

func (a *app) approveCmd() *cobra.Command {
	var f approveFlags
	c := &cobra.Command{
		Use:   "approve PLAN|RUN",
		Short: "Approve a plan, or a change to a running plan",
		Long: `Shows the plan, asks, and records your approval of exactly this text with this configuration. It
expires after 24 hours, and when the plan or the configuration changes. Without a terminal, pass
--yes or the --hash that was shown.

If a run of the plan is unfinished or failed, Piton shows what changed in the file, and your
approval makes it the run's next revision. Unchanged, proven steps are kept and checked again
at the end. Changed steps run again.`,
		Example: "  piton approve plans/fix.md && piton run plans/fix.md\n  piton approve plans/fix.md --hash 5d41402abc4b   # only the text that was shown",
		Args:    exactly("a plan or a run", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.approve(c.Context(), args[0], f) },
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "approve without being asked")
	c.Flags().BoolVar(&f.weaker, "weaker", false, "confirm that the plan proves or guards less than before")
	c.Flags().StringVar(&f.hash, "hash", "", "approve only if the plan's hash begins with this: at least 12 digits")
	whyFlag(c, &f.why, "why", "text", "the reason, which is recorded")
	return c
}

func (a *app) approve(ctx context.Context, word string, f approveFlags) error {
	return a.acting(ctx, func(s *session) error {
		pr, err := s.ProposalFor(ctx, word)
		if err != nil {
			return err
		}
		if pr != nil {
			return s.approveProposal(ctx, word, pr, f)
		}
		doc, err := s.Named(ctx, word)
		if err != nil {
			if head, other := s.Find(ctx, word); other == nil {
				return &api.Problem{Code: api.Conflict, Message: fmt.Sprintf("nothing is proposed for run %s: its plan has not changed since approval", head.Run), Hint: "piton history " + head.Run + " lists its revisions"}
			}
			return err
		}
		return s.approveDocument(ctx, doc, f)
	})
}

// approveDocument shows a plan, and records the yes of whoever gives it.
func (s *session) approveDocument(ctx context.Context, doc *api.Document, f approveFlags) error {
	if !doc.OK() {
		return s.app.refuse(doc)
	}
	r, err := s.approved(ctx, doc)
	if err != nil {
		return err
	}
	said, err := s.settled(ctx, doc.Path, doc, f, func() error {
		if r != nil {
			return nil
		}
		return s.seen(ctx, doc, f)
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("approved %s (%s), revision %d", said.Revision.Drafted.Plan, doc.Path, said.Revision.Drafted.Version)
	if said.Already {
		text = s.app.theme(s.app.out).approvedAlready(said.Revision, doc.Path)
	}
	s.app.report("approve", view.ApprovalOf(doc, said.Revision, "", true), text)
	s.app.notice("next: piton run %s", engine.ShellWord(doc.Path))
	return nil
}

// settled asks for a yes to a text that can run, and tells the owner what came of it.
// A text that waits for its yes is an error that has been shown.
func (s *session) settled(ctx context.Context, word string, doc *api.Document, f approveFlags, ask func() error) (said api.Said, err error) {
	if doc.Runnable() {
		if err = ask(); err != nil && !waits(err) {
			return said, err
		}
	}
	said, other := s.sayApproved(ctx, word, doc, f, err == nil)
	if other == nil && err != nil && s.app.json {
		s.app.document("approve", view.ApprovalOf(doc, said.Revision, said.Opened.Run, false))
	}
	return said, cmp.Or(other, err)
}

// yes is what somebody says who approves a document that they were shown.
func (s *session) yes(q api.Saying, doc *api.Document) api.Saying {
	q.Yes, q.Weaker, q.Hash, q.Settings = true, true, doc.Covers(), s.Settings()
	return q
}

// sayApproved tells the owner what somebody said to a text that they have seen. A
// plan that it cannot run is refused.
func (s *session) sayApproved(ctx context.Context, word string, doc *api.Document, f approveFlags, yes bool) (api.Said, error) {
	q := api.Saying{Word: word, Why: f.why}
	if yes {
		q = s.yes(q, doc)
		q.Hash = cmp.Or(f.hash, q.Hash)
	}
	point("client before request")
	var said api.Said
	err := s.reconfiguring(f.yes, "", func(config string) (is *api.Reconfigured, err error) {
		q.Config = config
		said, err = s.client.Approve(ctx, q)
		return said.Opened.Reconfigured, err
	})
	point("client after request")
	if err == nil && (said.Needs == api.NeedsFix || said.Needs == api.NeedsOther) {
		err = s.unfit(ctx, word, said)
	}
	return said, err
}

// approved is the revision that has the text of a document and a yes that holds, nil
// for none.
func (s *session) approved(ctx context.Context, doc *api.Document) (*engine.Revision, error) {
	r, err := s.Recorded(ctx, doc)
	if err != nil || r == nil || !s.Approved(r) {
		return nil, err
	}
	return r, nil
}

// approvedAlready says who said yes to a text before.
func (t theme) approvedAlready(r *engine.Revision, path string) string {
	return fmt.Sprintf("%s is approved already, revision %d, by %s on %s", t.line(path), r.Drafted.Version, t.line(r.Answer.By), r.Answered.In(t.zone).Format("2006-01-02 15:04"))
}

// seen returns once a plan was shown and somebody said yes to it.
func (s *session) seen(ctx context.Context, doc *api.Document, f approveFlags) error {
	weaker, err := s.Weakens(ctx, doc)
	if err != nil {
		return err
	}
	s.app.showFindings(s.app.err, api.Serious(doc.Findings))
	printLines(s.app.err, s.app.theme(s.app.err).family(doc))
	s.app.showWeakened(weaker)
	return s.agree(doc, weaker, f, asking{"the plan", "Approve this plan?", "not approved"})
}

// asking is what a person is asked to say yes to, and what a no means.
type asking struct{ what, question, no string }

// agree returns once somebody said yes to what was shown, and to each way in which it
// asks less. Where nobody can be asked it says how to answer.
func (s *session) agree(doc *api.Document, weaker []string, f approveFlags, q asking) error {
	said, less := f.yes || f.hash != "", len(weaker) > 0 && !f.weaker
	switch {
	case said && !less:
		return nil
	case !s.app.asks():
		s.howToAgree(doc, len(weaker) > 0, said, q.what)
		return ended(exitWaiting)
	}
	var questions []string
	if !said {
		questions = append(questions, q.question)
	}
	if less {
		questions = append(questions, "It proves or guards less than before, as marked above. Is that what you want?")
	}
	for _, question := range questions {
		if !s.app.confirm(question) {
			s.app.notice("%s", q.no)
			return ended(exitWaiting)
		}
	}
	return nil
}

// howToAgree says how whoever comes can answer, also where somebody said yes and not
// that it may ask less.
func (s *session) howToAgree(doc *api.Document, weaker, said bool, what string) {
	flags := "--hash " + doc.Covers()[:12]
	if weaker {
		flags += " --weaker"
	}
	why := what + " waits for approval"
	if said {
		why = what + " proves or guards less than before; a person must confirm this"
	}
	s.app.notice("%s: %s %s", why, view.Approving(doc.Path), flags)
}

// showWeakened calls out where a text proves or guards less than the one before.
func (a *app) showWeakened(lines []string) {
	a.showReasons(func(line string) string {
		return strings.Replace(strings.ToUpper(weakened(line)), "WEAKER", "WEAKER than before", 1)
	}, lines, "piton diff lists all")
}

// approveProposal shows what changed in the plan of a run, and makes it the
// run's next revision if somebody says yes.
func (s *session) approveProposal(ctx context.Context, word string, pr *api.Proposal, f approveFlags) error {
	if !pr.Doc.OK() {
		s.app.notice("run %s continues with the approved text", pr.Head.Run)
		return s.app.refuse(pr.Doc)
	}
	said, err := s.settled(ctx, word, pr.Doc, f, func() error { return s.agreed(pr, f) })
	if err != nil {
		return err
	}
	r := said.Revision
	s.app.report("approve", view.ApprovalOf(pr.Doc, r, pr.Head.Run, true), fmt.Sprintf("run %s continues with revision %d of %s: %s", pr.Head.Run, r.Drafted.Version, pr.Doc.Path, pr.Diff.Counts()))
	return s.next(ctx, pr.Head)
}

// agreed returns once somebody said yes to the difference, and to each way in
// which it asks less.
func (s *session) agreed(pr *api.Proposal, f approveFlags) error {
	t := s.app.theme(s.app.err)
	s.app.showFindings(s.app.err, api.Serious(pr.Doc.Findings))
	printLines(s.app.err, t.proposal(pr))
	return s.agree(pr.Doc, api.WeakenedLines(pr.Diff), f, asking{
		"the change", fmt.Sprintf("Let run %s continue with it?", pr.Head.Run),
		fmt.Sprintf("not approved; run %s continues with the approved text", pr.Head.Run),
	})
}

func (a *app) rejectCmd() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use:   "reject PLAN|RUN",
		Short: "Reject a plan, or a change to a running plan",
		Long: `Records that you reject exactly this text. A run continues with its approved text, and does not
propose this text again.`,
		Example: "  piton reject plans/fix.md --why \"not now\"",
		Args:    exactly("a plan or a run", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.reject(c.Context(), args[0], why) },
	}
	whyFlag(c, &why, "why", "text", "the reason, which is recorded")
	return c
}

func (a *app) reject(ctx context.Context, word, why string) error {
	return a.acting(ctx, func(s *session) error {
		said, err := s.client.Reject(ctx, api.Saying{Word: word, Why: why})
		if err != nil {
			return err
		}
		if said.Needs != "" {
			return s.unfit(ctx, word, said)
		}
		r := said.Revision
		text := fmt.Sprintf("rejected %s (%s), revision %d", r.Drafted.Plan, r.Drafted.Path, r.Drafted.Version)
		if said.Proposal {
			text += fmt.Sprintf("; run %s continues with the approved text", said.Opened.Run)
		}
		a.did("reject", r.Drafted.Plan, text)
		return nil
	})
}
