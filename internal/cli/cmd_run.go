package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/tree"
	"github.com/piton-dev/piton/internal/verify"
)

// runFlags are what run and resume share.
type runFlags struct {
	yes      bool
	weaker   bool
	noWait   bool
	wait     bool
	detach   bool
	dryRun   bool
	unsealed bool
}

func (a *app) runCmd() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run PLAN",
		Short: "Verify a plan, ask for your yes, and run it to the end",
		Long: `Verifies the plan, asks for your approval unless these very bytes were approved
already, and runs it. An unfinished run of the same bytes is taken up again.

Ctrl-C stops gently, and pressed twice at once; what was proved is kept: piton resume goes on.
At a terminal q leaves the run to itself: it goes on with all that is under way. So it
does when the terminal is closed or its connection lost; elsewhere that stops it gently.`,
		Example: "  piton run plans/fix.md\n  piton run plans/fix.md --yes --no-wait   # in a script",
		Args:    exactly("a plan", 1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.owning(f, func() error { return a.run(c.Context(), args[0], f) })
		},
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "approve the plan, as you; its steps still ask where they say so")
	c.Flags().BoolVar(&f.weaker, "weaker", false, "with --yes: confirm that the plan proves or guards less than before")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "verify, show what would run, and start nothing")
	c.Flags().BoolVar(&f.detach, "detach", false, "go on in the background, in a session of its own")
	c.Flags().BoolVar(&f.unsealed, "allow-unsealed", false, "run below the isolation that plan or policy ask for; recorded with your name")
	a.waitFlags(c, &f)
	return c
}

func (a *app) waitFlags(c *cobra.Command, f *runFlags) {
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "end with exit code 3 when only people can go on (default without a terminal)")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for people even without a terminal")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if f.wait && f.noWait {
			return usage(c, errors.New("--wait and --no-wait contradict each other"))
		}
		return nil
	}
}

func (a *app) resumeCmd() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:     "resume [RUN]",
		Short:   "Go on from the last proof, also after a crash",
		Long:    "Goes on with a run that was interrupted, paused or failed. Steps whose proof is in the\njournal do not run again.",
		Example: "  piton resume\n  piton resume 7f3a21",
		Args:    atMost("a run", 1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.owning(f, func() error { return a.resume(c.Context(), first(args), f) })
		},
	}
	c.Flags().BoolVar(&f.detach, "detach", false, "go on in the background, in a session of its own")
	a.waitFlags(c, &f)
	return c
}

// owning does what may make this process the owner of a run: in one that can be
// left, where a person at a terminal may want to.
func (a *app) owning(f runFlags, do func() error) error {
	if a.front == nil && !a.json && !f.detach && !f.dryRun && a.live() && isTerminal(a.in) && a.mayFront() {
		return a.inFront()
	}
	return do()
}

func (a *app) run(ctx context.Context, path string, f runFlags) error {
	return a.with(ctx, func(s *session) error {
		if err := a.byPerson(); err != nil {
			return err
		}
		a.idleKeys(s.Config)
		doc, err := s.Read(ctx, path)
		if err != nil {
			return err
		}
		compiled, err := s.fit(doc)
		if err != nil {
			return err
		}
		if f.dryRun {
			return a.showPlan(doc)
		}
		if err := s.able(ctx, doc, compiled, f); err != nil {
			return err
		}
		if done, err := s.revise(ctx, path, f); done || err != nil {
			return err
		}
		if done, err := s.takeUp(ctx, path, doc, f); done || err != nil {
			return err
		}
		yes, err := s.approval(ctx, doc, f)
		if waits(err) {
			return errors.Join(err, s.unapproved(ctx, doc, compiled.Program))
		}
		if err != nil {
			return err
		}
		return s.drive(ctx, f, func(d api.Desk) (api.Opened, error) { return s.openRun(ctx, d, doc, yes) })
	})
}

// able refuses a plan that this machine cannot run as it asks.
func (s *session) able(ctx context.Context, doc *api.Document, c api.Compiled, f runFlags) error {
	if err := s.equipped(ctx, nil, c.All()...); err != nil {
		return err
	}
	s.parallel = min(c.Program.Parallel(), s.Config.Policy.MaxParallel)
	if f.unsealed {
		s.unsealed = s.By
	}
	return s.isolated(doc)
}

// revise asks for a yes to the difference where a run of the plan is not
// finished, and goes on with that. It reports whether there is one.
func (s *session) revise(ctx context.Context, path string, f runFlags) (bool, error) {
	pr, err := s.ProposalFor(ctx, path)
	if err != nil || pr == nil || pr.Head.Ended {
		return false, err
	}
	yes, err := s.consented(ctx, pr, f)
	if waits(err) && s.app.json {
		return true, errors.Join(err, s.app.showStatus(ctx, s, pr.Head))
	}
	if err != nil {
		return true, err
	}
	return true, s.drive(ctx, f, func(d api.Desk) (api.Opened, error) {
		_, err := s.Revise(ctx, d, pr, s.revising(), yes.by, yes.why)
		if err == nil {
			s.app.notice("run %s goes on with revision %d", pr.Head.Run, pr.Revision)
		}
		return api.Opened{Stream: pr.Head.Stream, Run: pr.Head.Run, Resumed: true}, err
	})
}

// consented is the yes to what a plan proposes for its run: a person's, or of a
// plan of low risk the policy's.
func (s *session) consented(ctx context.Context, pr *api.Proposal, f runFlags) (*consent, error) {
	if s.Config.Policy.Approve == engine.LowRisk && !f.yes && pr.Was != nil && len(pr.Diff.Weaker) == 0 {
		if yes := s.byPolicy(pr.Doc); yes != nil {
			printLines(s.app.err, s.app.theme(s.app.err).proposal(pr))
			return yes, nil
		}
	}
	return &consent{by: s.By}, s.agreed(ctx, pr, approveFlags{yes: f.yes, weaker: f.weaker})
}

// takeUp goes on with an unfinished run of the same text where a plan that it
// delegates to is another one now: that is for the next run. It reports whether
// there is one.
func (s *session) takeUp(ctx context.Context, path string, doc *api.Document, f runFlags) (bool, error) {
	head, err := s.RunOf(ctx, path)
	if err != nil || head.Run == "" || head.Ended || head.PlanHash != doc.Plan.Hash() {
		return false, err
	}
	r, _, err := s.Kept(ctx, head.Plan)
	if err != nil || r.Drafted.Covers() == doc.Covers() {
		return false, err
	}
	s.app.notice("plans that %s delegates to have changed since run %s was approved; it goes on with what was, and the next run takes them", doc.Path, head.Run)
	return true, s.app.resume(ctx, head.Run, f)
}

// unapproved tells programs of the run that waits for a yes to its plan.
func (s *session) unapproved(ctx context.Context, doc *api.Document, p *engine.Program) error {
	if !s.app.json {
		return nil
	}
	r, err := s.Recorded(ctx, doc)
	if err != nil {
		return err
	}
	s.app.document("run", unapprovedDocument(r, p, s.Place.Dir))
	return nil
}

// consent is a yes to a plan that the journal does not have yet.
type consent struct{ by, why string }

// openRun brings a plan from its bytes to an open run.
func (s *session) openRun(ctx context.Context, d api.Desk, doc *api.Document, yes *consent) (api.Opened, error) {
	r, err := s.Draft(ctx, d, doc)
	if err != nil {
		return api.Opened{}, err
	}
	by := ""
	switch {
	case s.Approved(r):
		by = r.Answer.By
	case yes == nil:
		return api.Opened{}, &api.Problem{Code: api.Conflict, Message: "the approval of " + doc.Path + " has just run out", Hint: "run it again"}
	default:
		by = yes.by
		if err := s.Judge(ctx, d, r, true, yes.by, yes.why); err != nil {
			return api.Opened{}, err
		}
	}
	opened, err := s.Open(ctx, d, doc, r, api.Opening{Isolation: unsealed, Unsealed: s.unsealed, By: by, Protect: s.protect, Executables: s.executables})
	if err == nil && opened.Resumed {
		s.app.notice("taking up unfinished run %s", opened.Run)
	}
	return opened, err
}

// approval makes sure that somebody says yes to these bytes; it is nil if
// somebody did. While it asks, this process owns nothing: other runs come and
// go, and no answer, nor the lack of one, touches them.
func (s *session) approval(ctx context.Context, doc *api.Document, f runFlags) (*consent, error) {
	r, err := s.Recorded(ctx, doc)
	switch {
	case err != nil:
		return nil, err
	case r != nil && s.Approved(r):
		return nil, nil
	}
	weaker, err := s.Weakens(ctx, doc)
	if err != nil {
		return nil, err
	}
	if f.yes && (len(weaker) == 0 || f.weaker) {
		s.app.showWeakened(weaker)
		return &consent{by: s.By}, nil
	}
	if len(weaker) == 0 && !r.Rejected() {
		if yes := s.byPolicy(doc); yes != nil {
			return yes, nil
		}
	}
	draft := func(d api.Desk) error {
		_, err := s.Draft(ctx, d, doc)
		return err
	}
	if err := s.desk(ctx, draft); err != nil {
		return nil, err
	}
	s.app.showWeakened(weaker)
	switch {
	case s.app.asks():
		return s.ask(doc)
	case f.yes:
		s.app.notice("the plan proves or guards less than before, which a person has to confirm: piton run %s --yes --weaker", doc.Path)
	case r.Rejected():
		s.app.notice("%s", s.app.theme(s.app.err).rejected(r, doc.Path))
	default:
		s.app.notice("the plan waits for a person's yes: piton approve %s, or piton run --yes", doc.Path)
	}
	return nil, ended(exitWaiting)
}

// byPolicy is the yes of the policy, nil where that wants a person's: it is then
// said what keeps the plan from being of low risk.
func (s *session) byPolicy(doc *api.Document) *consent {
	switch s.Config.Policy.Approve {
	case "auto":
		return &consent{by: engine.ByPolicy, why: "policy: approve is auto"}
	case engine.LowRisk:
		hazards := doc.Hazards()
		if len(hazards) == 0 {
			return &consent{by: engine.ByPolicy, why: "policy: approve is low-risk, and every step is of low risk"}
		}
		s.app.showHazards(hazards)
	}
	return nil
}

// showHazards says why the policy does not say yes.
func (a *app) showHazards(hazards []verify.Hazard) {
	lines := make([]string, len(hazards))
	for i, h := range hazards {
		lines[i] = h.String()
	}
	a.showReasons("not of low risk", lines, "--json lists all")
}

// reasonsShown is how many reasons of a kind are said.
const reasonsShown = 5

// showReasons says the first reasons, each behind what it is one for, and how many
// more there are; all says where those are.
func (a *app) showReasons(what string, reasons []string, all string) {
	t := a.theme(a.err)
	for _, r := range reasons[:min(len(reasons), reasonsShown)] {
		a.notice("%s: %s", what, t.line(r))
	}
	if more := len(reasons) - reasonsShown; more > 0 {
		a.notice("%s: %d more reasons like these; %s", what, more, all)
	}
}

// rejected says who said no to a text, and what can be done.
func (t theme) rejected(r *engine.Revision, path string) string {
	text := fmt.Sprintf("%s said no to this text of %s on %s", t.line(r.Answer.By), t.line(path), r.Answered.In(t.zone).Format("2006-01-02 15:04"))
	if why := t.line(r.Answer.Why); why != "" {
		text += ": " + why
	}
	return text + fmt.Sprintf("; change it, or say yes after all: piton approve %s", t.line(path))
}

// ask shows the plan to whoever sits here and asks for a yes.
func (s *session) ask(doc *api.Document) (*consent, error) {
	printLines(s.app.err, s.app.theme(s.app.err).family(doc))
	yes, err := s.app.confirm("Run this plan?")
	if err != nil {
		return nil, err
	}
	if !yes {
		s.app.notice("not approved; nothing was started")
		return nil, ended(exitWaiting)
	}
	return &consent{by: s.By}, nil
}

func (a *app) confirm(question string) (bool, error) {
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && line == "" {
		return false, nil // the terminal went away: no answer is no yes
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// isolated refuses a plan or policy whose minimum this machine cannot give.
func (s *session) isolated(doc *api.Document) error {
	least := s.Config.Policy.Isolation
	var wants []string
	for _, d := range append(doc.Below(), doc) {
		if why := d.Facts.Exposed; why != nil && *why != "" && s.unsealed == "" {
			return &fault{
				text: d.Path + " has `network: no`, and this machine cannot keep a script from the network: " + *why,
				hint: "--allow-unsealed runs it all the same, and records that you said so; piton doctor says more",
			}
		}
		wants = append(wants, d.Plan.Isolation.Value)
		for _, st := range d.Plan.Steps {
			wants = append(wants, st.Isolation.Value)
		}
	}
	for _, w := range append(wants, least) {
		if (w == "sealed" || w == "fenced") && s.unsealed == "" {
			return &fault{
				text: "isolation " + w + " is asked for, and this version of piton can only run unsealed",
				hint: "--allow-unsealed runs it all the same, and records that you said so",
			}
		}
	}
	return nil
}

func (a *app) resume(ctx context.Context, prefix string, f runFlags) error {
	return a.with(ctx, func(s *session) error {
		head, state, err := s.unfinished(ctx, prefix)
		if err != nil {
			return err
		}
		if err := s.Pinned(state.Run()); err != nil {
			return err
		}
		s.noticeChange(head)
		if err := s.equipped(ctx, state, state.Program()); err != nil {
			return err
		}
		s.known = state
		return s.drive(ctx, f, func(d api.Desk) (api.Opened, error) {
			if head.Status == engine.Paused || head.Ended {
				if err := s.Order(ctx, d, head, engine.Command{Verb: engine.DoResume}); err != nil {
					return api.Opened{}, err
				}
			}
			return api.Opened{Stream: head.Stream, Run: head.Run, Resumed: true}, nil
		})
	})
}

// unfinished finds a run that can go on: of one that carries out a step, that at
// the top.
func (s *session) unfinished(ctx context.Context, prefix string) (engine.HeadRow, *engine.State, error) {
	head, err := s.Find(ctx, prefix)
	if err != nil {
		return head, nil, err
	}
	if head.Parent.Run != "" && !head.Ended {
		top, err := s.Top(ctx, head)
		if err != nil {
			return head, nil, err
		}
		s.app.notice("run %s is carried out for run %s, which goes on", head.Run, top.Run)
		head = top
	}
	if head.Ended && head.Status != engine.Failed {
		return head, nil, &api.Problem{Code: api.Conflict, Message: fmt.Sprintf("run %s is %s", head.Run, head.Status), Hint: "piton run PLAN opens a new run"}
	}
	state, err := run.Load(ctx, s.store, head.Stream)
	if err != nil {
		return head, nil, err
	}
	if newest := state.Run().Run; newest != head.Run {
		return head, nil, &api.Problem{Code: api.Conflict, Message: fmt.Sprintf("run %s is over, and run %s is the newest of this plan", head.Run, newest), Hint: "piton resume " + newest}
	}
	return head, state, nil
}

func (s *session) protect(ctx context.Context, guards []string) (store.Object, error) {
	t, err := s.tree(nil)
	if err != nil {
		return store.Object{}, err
	}
	defer t.Close()
	base, err := t.Protect(ctx, guards)
	if err != nil {
		return store.Object{}, err
	}
	return store.NewObject(base.Encode()), nil
}

// executables says which files the commands of the program's checks stand for.
func (s *session) executables(p *engine.Program) map[string]string {
	path := tree.NewExecutables(proc.SearchPath(s.Env))
	found := map[string]string{}
	for i := range p.Len() {
		path.Add(found, check.Executables(p.Step(i).Checks))
	}
	return found
}
