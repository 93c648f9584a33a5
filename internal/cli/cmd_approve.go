package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/notes"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/tree"
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
		Short: "Say yes to a plan as it stands, or to what changed in it while it runs",
		Long: `Shows the plan, asks, and records your yes to exactly these bytes under the configuration
in force. A changed plan or configuration needs a new one, and so does a run more than
24 hours later. Without a terminal only --yes, or the --hash that was shown, is a yes.

Where a run of the plan is not finished, or has failed, the file is a proposal for it: you
are shown what changed, and your yes makes it the run's next revision. Steps that are proved
and say what they said are carried over, and proved again at the end with all others; what
changed is done again, and its work is stopped if it is under way.`,
		Example: "  piton approve plans/fix.md && piton run plans/fix.md\n  piton approve plans/fix.md --hash 5d41402a   # only what was shown",
		Args:    exactly("a plan or a run", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.approve(c.Context(), args[0], f) },
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "approve without being asked")
	c.Flags().BoolVar(&f.weaker, "weaker", false, "confirm that the plan proves or guards less than before")
	c.Flags().StringVar(&f.hash, "hash", "", "approve only if the plan's hash begins so")
	c.Flags().StringVar(&f.why, "why", "", "the reason, which the journal keeps")
	return c
}

func (a *app) approve(ctx context.Context, word string, f approveFlags) error {
	return a.with(ctx, func(s *session) error {
		if err := a.byPerson(); err != nil {
			return err
		}
		pr, err := s.ProposalFor(ctx, word)
		if err != nil {
			return err
		}
		if pr != nil {
			return s.approveProposal(ctx, pr, f)
		}
		doc, err := s.Read(ctx, word)
		if err != nil {
			if head, other := s.Find(ctx, word); other == nil {
				return &api.Problem{Code: api.Conflict, Message: fmt.Sprintf("nothing is proposed for run %s: its plan is as it was approved", head.Run), Hint: "piton history " + head.Run + " lists its revisions"}
			}
			return err
		}
		return s.approveDocument(ctx, doc, f)
	})
}

// approveDocument shows a plan, and records the yes of whoever gives it.
func (s *session) approveDocument(ctx context.Context, doc *api.Document, f approveFlags) error {
	if _, err := s.fit(doc); err != nil {
		return err
	}
	if err := matches(doc, f.hash); err != nil {
		return err
	}
	r, err := s.approved(ctx, doc)
	if err != nil {
		return err
	}
	if r != nil {
		s.app.report("approve", approvalDocument(doc, r, "", true), s.app.theme(s.app.out).approvedAlready(r, doc.Path))
		return nil
	}
	if err := s.seen(ctx, doc, f); err != nil {
		return s.unanswered(ctx, err, doc, "")
	}
	return s.desk(ctx, func(d api.Desk) error {
		r, err := s.Draft(ctx, d, doc)
		if err != nil {
			return err
		}
		if err := s.Judge(ctx, d, r, true, s.By, f.why); err != nil {
			return err
		}
		s.app.report("approve", approvalDocument(doc, r, "", true), fmt.Sprintf("approved %s (%s), version %d", r.Drafted.Plan, doc.Path, r.Drafted.Version))
		return nil
	})
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
	return fmt.Sprintf("%s is approved already, version %d, by %s on %s", t.line(path), r.Drafted.Version, t.line(r.Answer.By), r.Answered.In(t.zone).Format("2006-01-02 15:04"))
}

// unanswered tells programs of the plan that waits, where that is all that err says.
func (s *session) unanswered(ctx context.Context, err error, doc *api.Document, run string) error {
	if !s.app.json || !waits(err) {
		return err
	}
	r, other := s.Recorded(ctx, doc)
	if other == nil {
		s.app.document("approve", approvalDocument(doc, r, run, false))
	}
	return errors.Join(err, other)
}

// seen returns once a plan was shown and somebody said yes to it.
func (s *session) seen(ctx context.Context, doc *api.Document, f approveFlags) error {
	weaker, err := s.Weakens(ctx, doc)
	if err != nil {
		return err
	}
	printLines(s.app.err, s.app.theme(s.app.err).family(doc))
	s.app.showWeakened(weaker)
	said := f.yes || f.hash != ""
	confirmed := len(weaker) == 0 || f.weaker
	switch {
	case said && confirmed:
		return nil
	case !s.app.asks():
		return errors.Join(ended(exitWaiting), s.await(ctx, doc, said))
	}
	yes, err := s.app.confirm("Approve this plan?")
	if err == nil && !yes {
		s.app.notice("not approved")
		return ended(exitWaiting)
	}
	return err
}

// await records a plan for whoever comes, and says how to answer, also where
// somebody said yes and not that it may ask less.
func (s *session) await(ctx context.Context, doc *api.Document, said bool) error {
	how := fmt.Sprintf("piton approve %s --hash %s", doc.Path, doc.Covers()[:12])
	if said {
		s.app.notice("the plan proves or guards less than before, which a person has to confirm: %s --weaker", how)
	} else {
		s.app.notice("the plan waits for a person's yes: %s", how)
	}
	return s.desk(ctx, func(d api.Desk) error {
		_, err := s.Draft(ctx, d, doc)
		return err
	})
}

// showWeakened calls out where a text proves or guards less than the one before.
func (a *app) showWeakened(lines []string) {
	a.showReasons("WEAKER than before", lines, "piton diff lists all")
}

// matches refuses another text than the one that was shown.
func matches(doc *api.Document, hash string) error {
	if is := doc.Covers(); !strings.HasPrefix(is, hash) {
		return &api.Problem{Code: api.Conflict, Message: fmt.Sprintf("%s has the hash %s, and not %s", doc.Path, is, hash), Hint: "look at it again: piton diff shows what changed"}
	}
	return nil
}

// approveProposal shows what changed in the plan of a run, and makes it the
// run's next revision if somebody says yes.
func (s *session) approveProposal(ctx context.Context, pr *api.Proposal, f approveFlags) error {
	if err := s.sound(pr); err != nil {
		return err
	}
	if err := matches(pr.Doc, f.hash); err != nil {
		return err
	}
	if err := s.agreed(ctx, pr, f); err != nil {
		return s.unanswered(ctx, err, pr.Doc, pr.Head.Run)
	}
	return s.desk(ctx, func(d api.Desk) error {
		r, err := s.Revise(ctx, d, pr, s.revising(), s.By, f.why)
		if err != nil {
			return s.app.runnable(pr.Doc, err)
		}
		s.app.report("approve", approvalDocument(pr.Doc, r, pr.Head.Run, true), fmt.Sprintf("run %s goes on with revision %d of %s: %s", pr.Head.Run, r.Drafted.Version, pr.Doc.Path, pr.Diff.Counts()))
		return s.goOn(ctx, d, pr.Head)
	})
}

// sound refuses a proposal that cannot run.
func (s *session) sound(pr *api.Proposal) error {
	_, err := s.fit(pr.Doc)
	if code, ok := errors.AsType[ended](err); ok && code == exitPlan {
		s.app.notice("run %s goes on with the text that was approved", pr.Head.Run)
	}
	return err
}

// agreed returns once somebody said yes to the difference, and to each way in
// which it asks less.
func (s *session) agreed(ctx context.Context, pr *api.Proposal, f approveFlags) error {
	t := s.app.theme(s.app.err)
	printLines(s.app.err, t.proposal(pr))
	weaker := len(pr.Diff.Weaker) > 0 && !f.weaker
	said := f.yes || f.hash != ""
	if !s.app.asks() {
		if said && !weaker {
			return nil
		}
		return errors.Join(ended(exitWaiting), s.leave(ctx, pr, said))
	}
	questions := []string{fmt.Sprintf("Let run %s go on with it?", pr.Head.Run)}
	if said {
		questions = nil
	}
	if weaker {
		questions = append(questions, "It proves or guards less than before, as marked above. Is that what you want?")
	}
	for _, q := range questions {
		yes, err := s.app.confirm(q)
		if err != nil {
			return err
		}
		if !yes {
			s.app.notice("not approved; run %s goes on with the text that was approved", pr.Head.Run)
			return ended(exitWaiting)
		}
	}
	return nil
}

// leave records the proposal for whoever comes, and says how to answer it.
func (s *session) leave(ctx context.Context, pr *api.Proposal, said bool) error {
	err := s.desk(ctx, func(d api.Desk) error {
		_, err := s.Propose(ctx, d, pr)
		return err
	})
	flags := "--hash " + pr.Doc.Covers()[:12]
	if len(pr.Diff.Weaker) > 0 {
		flags += " --weaker"
	}
	why := "the change waits for a person's yes"
	if said {
		why = "the change proves or guards less than before, which a person has to confirm"
	}
	s.app.notice("%s: piton approve %s %s", why, pr.Doc.Path, flags)
	return err
}

// revising is what the api needs to know of this machine for a revision.
func (s *session) revising() api.Revising {
	return api.Revising{
		Isolation: unsealed, Unsealed: s.unsealed, Protect: s.protectBeside, Executables: s.executables,
		Given: func(subs []engine.Subscription) ([]engine.Injected, error) {
			contents, err := notes.Read(s.Place.Dir, subs, notes.Sources{})
			var given []engine.Injected
			for _, c := range contents {
				given = append(given, engine.Injected{Ref: c.Ref, Hash: c.Hash})
			}
			return given, err
		},
	}
}

// protectBeside takes the state of guarded files: of those that a run protects
// already as it was when that was taken.
func (s *session) protectBeside(ctx context.Context, base string, guards []string) (store.Object, error) {
	now, err := s.protect(ctx, guards)
	if err != nil || base == "" {
		return now, err
	}
	body, err := s.store.Object(ctx, base)
	if err != nil {
		return store.Object{}, err
	}
	was, err := tree.DecodeBase(body)
	if err != nil {
		return store.Object{}, err
	}
	is, err := tree.DecodeBase(now.Body)
	if err != nil {
		return store.Object{}, err
	}
	return store.NewObject(was.Over(is).Encode()), nil
}

func (a *app) rejectCmd() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use:   "reject PLAN|RUN",
		Short: "Say no to a plan as it stands, or to what changed in it while it runs",
		Long: `Records your no to exactly these bytes. A run goes on with the text that was approved, and
what was proposed is not shown again before the file changes once more.`,
		Example: "  piton reject plans/fix.md --why \"not now\"",
		Args:    exactly("a plan or a run", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.reject(c.Context(), args[0], why) },
	}
	c.Flags().StringVar(&why, "why", "", "the reason, which the journal keeps")
	return c
}

func (a *app) reject(ctx context.Context, word, why string) error {
	return a.with(ctx, func(s *session) error {
		pr, err := s.ProposalFor(ctx, word)
		if err != nil {
			return err
		}
		draft := func(d api.Desk) (*engine.Revision, error) { return s.Propose(ctx, d, pr) }
		if pr == nil {
			doc, err := s.Read(ctx, word)
			if err != nil {
				return err
			}
			if doc.Plan == nil {
				return a.refuse(doc)
			}
			draft = func(d api.Desk) (*engine.Revision, error) { return s.Draft(ctx, d, doc) }
		}
		return s.desk(ctx, func(d api.Desk) error {
			r, err := draft(d)
			if err != nil {
				return err
			}
			if err := s.Judge(ctx, d, r, false, s.By, why); err != nil {
				return err
			}
			text := fmt.Sprintf("rejected %s (%s), version %d", r.Drafted.Plan, r.Drafted.Path, r.Drafted.Version)
			if pr != nil {
				text += fmt.Sprintf("; run %s goes on as it was approved", pr.Head.Run)
			}
			a.did("reject", r.Drafted.Plan, text)
			return nil
		})
	})
}
