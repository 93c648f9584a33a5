package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
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
		Short: "Verify a plan, ask for your approval, and run it",
		Long: `Verifies the plan, asks for your approval unless this text is approved already, and runs it. An
unfinished run of the same text continues. If the configuration, or a file that judges the work,
has changed since that run was approved, Piton shows what is different and asks first.

Ctrl-C stops the run cleanly; press it again to kill at once. piton resume continues it. At a
terminal, q detaches and the run goes on, also if the terminal is closed. Without a terminal,
a hangup stops the run cleanly.`,
		Example: "  piton run plans/fix.md\n  piton run plans/fix.md --yes --no-wait   # in a script",
		Args:    exactly("a plan", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], f) },
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "approve the plan, and a changed configuration, in your name; steps with an approval still ask")
	c.Flags().BoolVar(&f.weaker, "weaker", false, "with --yes: confirm that the plan proves or guards less than before")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "verify and show the plan, start nothing")
	c.Flags().BoolVar(&f.unsealed, "allow-unsealed", false, "accept less isolation than plan or policy ask for; recorded in your name")
	a.waitFlags(c, &f)
	return c
}

// waitFlags are those of all verbs by which a run goes on.
func (a *app) waitFlags(c *cobra.Command, f *runFlags) {
	c.Flags().BoolVar(&f.detach, "detach", false, "run in the background")
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "exit with 3 when the run waits for a person (default without a terminal)")
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
		Short:   "Continue a run from the last proof, also after a crash",
		Long:    "Continues a run that was interrupted, paused or failed: RUN, or the newest. If that is\ndone, the newest run that has not ended continues. Steps that have their proof do not run again.\nA step that an environment error stopped, such as a missing login, is tried again at once.\n\nIf the configuration, or a file that judges the work, has changed since the run was approved, Piton\nshows what is different and asks first.",
		Example: "  piton resume\n  piton resume 7f3a21",
		Args:    atMost("a run", 1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.resume(c.Context(), api.Resume{Run: first(args)}, f)
		},
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, configYes)
	a.waitFlags(c, &f)
	return c
}

func (a *app) landCmd() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "land [RUN]",
		Short: "Merge the branch of a run into your checkout",
		Long: `Merges what a run left on its branch: RUN, or the newest that waits for it. A run leaves it there if its
plan says land: no, if you answered leave, or if its merge was aborted. If your checkout has changed since,
the worktree of the run gets the changes first and everything is proven again there. On a conflict your
checkout stays as it is, and the inbox names the files.`,
		Example: "  piton land\n  piton land 7f3a21",
		Args:    atMost("a run", 1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.resume(c.Context(), api.Resume{Run: first(args), Land: true}, f)
		},
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, configYes)
	a.waitFlags(c, &f)
	return c
}

func (a *app) run(ctx context.Context, path string, f runFlags) error {
	return a.acting(ctx, func(s *session) error {
		if f.dryRun {
			return s.dryRun(ctx, path)
		}
		return s.say(ctx, api.Saying{Word: path, Yes: f.yes, Weaker: f.weaker, Unsealed: f.unsealed}, f)
	})
}

// dryRun shows what would run.
func (s *session) dryRun(ctx context.Context, path string) error {
	doc, err := s.Named(ctx, path)
	if err != nil {
		return err
	}
	if _, err := s.fit(doc); err != nil {
		return err
	}
	s.app.prints("plan", view.PlanOf(doc), func(t theme) []string { return t.family(doc) })
	return nil
}

// say has the plan run, and asks for a yes where that is missing. While it asks, no
// owner waits: other runs come and go.
func (s *session) say(ctx context.Context, q api.Saying, f runFlags) error {
	point("client before request")
	var said api.Said
	err := s.reconfiguring(q.Yes, q.Config, func(config string) (is *api.Reconfigured, err error) {
		q.Config = config
		said, err = s.client.Run(ctx, q)
		return said.Opened.Reconfigured, err
	})
	if err != nil {
		return err
	}
	a := s.app
	if was := said.Before; was != nil && q.Hash == "" { // else it was said with the question
		a.notice("note: run %s has done this plan already, %s; nothing in it changed since", was.Run, view.Age(a.now().Sub(was.Finished)))
	}
	switch said.Needs {
	case api.NeedsFix, api.NeedsOther:
		return s.unfit(ctx, q.Word, said)
	case "":
		return s.begin(ctx, said, f)
	}
	a.showFindings(a.err, said.Findings)
	if len(said.Hazards) > 0 {
		a.showHazards(said.Hazards)
	}
	if said.Untrusted {
		a.notice("nobody has approved the configuration of this workspace, so its policy approves nothing; your approval of the plan covers both")
	}
	if said.Proposal {
		return s.sayChange(ctx, q, said, f)
	}
	a.showWeakened(said.Weaker)
	if !a.asks() {
		s.howToApprove(said)
		return cmp.Or(s.unapproved(ctx, q.Word, said), error(ended(exitWaiting)))
	}
	doc, err := s.Named(ctx, q.Word)
	if err != nil {
		return err
	}
	printLines(a.err, a.theme(a.err).family(doc))
	if err := s.agree(doc, nil, approveFlags{}, asking{question: "Run this plan?", no: "not approved; nothing was started"}); err != nil {
		return err
	}
	return s.say(ctx, s.yes(q, doc), f)
}

// begin carries a run on that was opened, and says before what is special about it.
func (s *session) begin(ctx context.Context, said api.Said, f runFlags) error {
	a := s.app
	a.showFindings(a.err, said.Findings)
	if !said.Proposal {
		a.showWeakened(said.Weaker)
	}
	switch o := said.Opened; {
	case said.Kept:
		a.notice("sub-plans of %s have changed since run %s was approved; it continues with the approved ones, and the next run takes the new ones", said.Path, o.Run)
	case said.Proposal:
		a.notice("run %s continues with revision %d", o.Run, said.Revision.Drafted.Version)
	case o.Resumed:
		a.notice("continuing unfinished run %s", o.Run)
	}
	s.noticeRetried(said.Opened)
	if said.InPlace != "" {
		text := "the run works in your files: " + said.InPlace + ". What you change while a step works counts as the step's"
		if said.Apart != "" {
			text += ". For a worktree: " + said.Apart
		}
		a.notice("%s", text)
	}
	return s.carry(ctx, f, said.Opened)
}

// noticeRetried says which steps are tried again that waited because of this machine.
func (s *session) noticeRetried(o api.Opened) {
	if len(o.Retried) > 0 {
		s.app.notice("trying again after an environment error: %s", view.Join(o.Retried))
	}
}

// unfit says why a plan cannot run: to people where notices go, to programs as the
// one document of the verb.
func (s *session) unfit(ctx context.Context, path string, said api.Said) error {
	a := s.app
	if said.Needs == api.NeedsOther {
		a.notice("this version cannot run the plan:")
	}
	if !a.json {
		a.showFindings(a.err, said.Findings)
		return ended(exitPlan)
	}
	doc, err := s.Named(ctx, path)
	if err != nil {
		return err
	}
	if said.Needs == api.NeedsFix {
		return a.refuse(doc)
	}
	return a.stops(view.RefusalOf(doc, &verify.Refusal{Findings: said.Findings}))
}

// howToApprove says how a person can say yes.
func (s *session) howToApprove(said api.Said) {
	switch said.Needs {
	case api.NeedsWeaker:
		s.app.notice("the plan proves or guards less than before; a person must confirm this: piton run %s --yes --weaker", engine.ShellWord(said.Path))
	case api.NeedsChange:
		s.app.notice("%s", s.app.theme(s.app.err).rejected(said.Revision, said.Path))
	default:
		s.app.notice("the plan waits for approval: piton approve %[1]s, or piton run %[1]s --yes", engine.ShellWord(said.Path))
	}
}

// sayChange asks for a yes to what changed in the plan of an unfinished run.
func (s *session) sayChange(ctx context.Context, q api.Saying, said api.Said, f runFlags) error {
	pr, err := s.ProposalFor(ctx, q.Word)
	if err == nil && pr == nil {
		err = &api.Problem{Code: api.Conflict, Message: said.Path + " was changed while it was read", Hint: "say it again: piton run " + engine.ShellWord(said.Path)}
	}
	if err != nil {
		return err
	}
	err = s.agreed(pr, approveFlags{yes: f.yes, weaker: f.weaker})
	if waits(err) && s.app.json {
		return cmp.Or(s.app.showStatus(ctx, s, pr.Head), err)
	}
	if err != nil {
		return err
	}
	return s.say(ctx, s.yes(q, pr.Doc), f)
}

// unapproved tells programs of the run that waits for a yes to its plan.
func (s *session) unapproved(ctx context.Context, path string, said api.Said) error {
	if !s.app.json {
		return nil
	}
	doc, err := s.Named(ctx, path)
	if err != nil {
		return err
	}
	c, err := s.Compile(doc, said.Revision.Drafted.Plan)
	if err == nil {
		s.app.document("run", view.Unapproved(said.Revision, c.Program, s.Place.Dir))
	}
	return err
}

// showHazards says why the policy does not say yes.
func (a *app) showHazards(hazards []verify.Hazard) {
	lines := make([]string, len(hazards))
	for i, h := range hazards {
		lines[i] = h.String()
	}
	a.showReasons(func(string) string { return "not of low risk" }, lines, "--json lists all")
}

// reasonsShown is how many reasons of a kind are said.
const reasonsShown = 5

// showReasons says the first reasons, each behind what it is one for, and how many
// more there are; all says where those are.
func (a *app) showReasons(what func(reason string) string, reasons []string, all string) {
	t := a.theme(a.err)
	for _, r := range reasons[:min(len(reasons), reasonsShown)] {
		a.notice("%s: %s", what(r), t.line(r))
	}
	if more := reasons[min(len(reasons), reasonsShown):]; len(more) > 0 {
		a.notice("%s: %d more reasons like these; %s", what(more[0]), len(more), all)
	}
}

// rejected says who said no to a text, and what can be done.
func (t theme) rejected(r *engine.Revision, path string) string {
	text := fmt.Sprintf("%s said no to this text of %s on %s", t.line(r.Answer.By), t.line(path), r.Answered.In(t.zone).Format("2006-01-02 15:04"))
	if why := t.line(r.Answer.Why); why != "" {
		text += ": " + why
	}
	return text + fmt.Sprintf("; change it, or approve it now: %s", t.line(view.Approving(path)))
}

// confirm asks for a yes. Where the terminal goes away, no answer is none.
func (a *app) confirm(question string) bool {
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	line, _ := bufio.NewReader(a.in).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

func (a *app) resume(ctx context.Context, q api.Resume, f runFlags) error {
	return a.acting(ctx, func(s *session) error { return s.resume(ctx, q, f) })
}

// resume lets a run go on that is there, and carries it on.
func (s *session) resume(ctx context.Context, q api.Resume, f runFlags) error {
	var opened api.Opened
	err := s.reconfiguring(f.yes, "", func(config string) (is *api.Reconfigured, err error) {
		q.Config = config
		opened, err = s.client.Resume(ctx, q)
		return opened.Reconfigured, err
	})
	if err != nil {
		return err
	}
	if opened.Over && q.Land {
		s.app.did("land", opened.Run, "run "+opened.Run+" has landed already")
		return nil
	}
	if opened.For != "" {
		s.app.notice("run %s belongs to run %s, which continues", opened.For, opened.Run)
	}
	head, err := s.Find(ctx, opened.Run)
	if err != nil {
		return err
	}
	s.noticeChange(head)
	s.noticeRetried(opened)
	return s.carry(ctx, f, opened)
}
