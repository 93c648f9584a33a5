package owner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/notes"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/tree"
	"github.com/piton-dev/piton/internal/verify"
)

// saying is a request about a plan on its way.
type saying struct {
	*uses
	api.Saying
	product *api.Product
	doc     *api.Document
	said    api.Said
}

// saying answers a request about a plan. First it puts the revision that the plan's run goes by
// into the document. An owner that was killed may have left that undone. The text before that
// revision is nobody's edit.
func (u *uses) saying(ctx context.Context, q api.Saying, answer func(*saying, context.Context) error) (api.Said, error) {
	p, err := u.Owner.product(ctx, u.caller)
	if err != nil {
		return api.Said{}, err
	}
	if head, err := p.RunOf(ctx, q.Word); err == nil && head.Run != "" && !head.Ended {
		u.rewrite(head.Stream, false)
	}
	s := &saying{uses: u, Saying: q, product: p}
	err = answer(s, ctx)
	return s.said, err
}

// read reads the plan, and begins the answer with it.
func (s *saying) read(ctx context.Context) error {
	doc, err := s.product.Named(ctx, s.Word)
	if err != nil {
		return err
	}
	s.about(doc)
	return nil
}

func (s *saying) about(doc *api.Document) {
	s.doc = doc
	s.said.Path, s.said.Findings = doc.Path, api.Serious(doc.Findings)
	if doc.Plan != nil {
		s.said.Hash = doc.Covers()
	}
}

// fits reports whether the plan verifies and this version can run it; else the
// answer says why not.
func (s *saying) fits(compile func() (api.Compiled, error)) (c api.Compiled, ok bool, err error) {
	if !s.doc.OK() {
		s.said.Needs = api.NeedsFix
		return c, false, nil
	}
	c, err = compile()
	if refusal, refused := errors.AsType[*verify.Refusal](err); refused {
		s.said.Needs, s.said.Findings = api.NeedsOther, refusal.Findings
		return c, false, nil
	}
	return c, err == nil, err
}

// matches refuses another text than the one that was shown, and other settings.
func (s *saying) matches() error {
	if n := len(s.Hash); n > 0 && n < api.LeastHash {
		return api.ShortHash(s.Hash)
	}
	if is := s.doc.Covers(); !strings.HasPrefix(is, s.Hash) {
		return conflict("look at it again: piton diff shows the changes", "%s has the hash %s, not %s", s.doc.Path, is, s.Hash)
	}
	if s.Settings != "" && s.Settings != s.product.Settings() {
		return conflict("look at both again: piton config show --origin shows the settings", "the configuration has changed since %s was shown", s.doc.Path)
	}
	return nil
}

// Run brings a plan from its bytes to an open run, or to where a person has to say
// something.
func (u *uses) Run(ctx context.Context, q api.Saying) (api.Said, error) {
	return u.saying(ctx, q, (*saying).run)
}

func (s *saying) run(ctx context.Context) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	pr, err := s.product.ProposalOf(ctx, s.doc)
	if err != nil {
		return err
	}
	if pr != nil && !pr.Head.Ended {
		return s.revise(ctx, pr)
	}
	c, ok, err := s.fits(func() (api.Compiled, error) { return s.product.CompileNext(ctx, s.doc) })
	if !ok {
		return err
	}
	if err := errors.Join(s.matches(), s.able(ctx, c)); err != nil {
		return err
	}
	if err := s.product.Hindrance(ctx, s.doc); err != nil {
		return err
	}
	other, err := s.reconfigured(ctx)
	if err != nil || s.said.Needs != "" {
		return err
	}
	if taken, err := s.takeUp(ctx); taken || err != nil {
		return err
	}
	if err := s.before(ctx); err != nil {
		return err
	}
	yes, err := s.approval(ctx)
	if err != nil || s.said.Needs != "" {
		return err
	}
	if err := other.take(ctx); err != nil {
		return err
	}
	return s.openRun(ctx, yes)
}

// able refuses a plan that this machine cannot run as it asks.
func (s *saying) able(ctx context.Context, c api.Compiled) error {
	if i := slices.IndexFunc(s.doc.Findings, verify.Finding.Absent); i >= 0 {
		f := s.doc.Findings[i]
		return api.Fault(fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message), f.Hint)
	}
	if err := equipped(ctx, s.product, nil, c.All()...); err != nil {
		return err
	}
	if git := s.doc.Facts.Git; git != nil && git.Nobody && slices.ContainsFunc(c.All(), (*engine.Program).Records) {
		return api.Fault("the run would commit to a branch, but git does not know who you are", "run `"+verify.Introduce+"`, or add `commit: none` to the header of the plan")
	}
	return s.Owner.isolated(s.product, s.doc, s.Unsealed)
}

// takeUp goes on with an unfinished run of the same text where a plan that it
// delegates to is another one now: that is for the next run. It reports whether
// there is one.
func (s *saying) takeUp(ctx context.Context) (bool, error) {
	head, err := s.product.RunOf(ctx, s.Word)
	if err != nil || head.Run == "" || head.Ended || head.PlanHash != s.doc.Plan.Hash() {
		return false, err
	}
	r, err := s.product.Revision(ctx, head.Plan)
	if err != nil || r.Drafted.Covers() == s.doc.Covers() {
		return false, err
	}
	s.said.Kept = true
	s.said.Opened, err = s.Resume(ctx, api.Resume{Run: head.Run, Config: s.Config})
	return true, err
}

// before tells of the newest run, where it has done this very text.
func (s *saying) before(ctx context.Context) error {
	head, err := s.product.RunOf(ctx, s.Word)
	if err != nil || head.Status != engine.Done {
		return err
	}
	r, err := s.product.Revision(ctx, head.Plan)
	if err == nil && r.Drafted.Covers() == s.doc.Covers() {
		s.said.Before = &head
	}
	return err
}

// consent is a yes to a plan that the journal does not have yet.
type consent struct{ by, why string }

// approval makes sure that somebody says yes to these bytes; it is nil if somebody
// did. Else the answer says what is needed, and the plan waits in the inbox.
func (s *saying) approval(ctx context.Context) (*consent, error) {
	r, err := s.product.Recorded(ctx, s.doc)
	if err != nil || r != nil && s.product.Approved(r) {
		return nil, err
	}
	if s.said.Weaker, err = s.product.Weakens(ctx, s.doc); err != nil {
		return nil, err
	}
	weaker := len(s.said.Weaker) > 0
	switch {
	case s.Yes && (!weaker || s.Weaker):
		return &consent{s.caller.By, s.Why}, nil
	case s.Yes:
		s.said.Needs = api.NeedsWeaker
	case r.Rejected():
		s.said.Needs = api.NeedsChange
	case weaker:
		s.said.Needs = api.NeedsYes
	default:
		if yes, err := s.byPolicy(ctx, s.doc); yes != nil || err != nil {
			return yes, err
		}
		s.said.Needs = api.NeedsYes
	}
	s.said.Revision, err = s.product.Draft(ctx, s.host, s.doc)
	return nil, err
}

// byPolicy is the yes of the policy; nil where that wants a person's. The answer then
// says what keeps the plan from being of low risk. A policy that came with the workspace
// says nothing before a person has approved the configuration it stands in.
func (s *saying) byPolicy(ctx context.Context, doc *api.Document) (*consent, error) {
	policy := s.product.Config.Policy.Approve
	if policy != engine.Auto && policy != engine.LowRisk {
		return nil, nil
	}
	trusted, err := s.product.Trusted(ctx)
	if s.said.Untrusted = !trusted; err != nil || !trusted {
		return nil, err
	}
	yes, hazards := policyYes(policy, doc)
	s.said.Hazards = hazards
	return yes, nil
}

// policyYes is the yes of a policy to a document; nil with what keeps that from being of
// low risk, or where people decide everything.
func policyYes(policy string, doc *api.Document) (*consent, []verify.Hazard) {
	switch policy {
	case engine.Auto:
		return &consent{by: engine.ByPolicy, why: "policy: approve is auto"}, nil
	case engine.LowRisk:
		if hazards := doc.Hazards(); len(hazards) > 0 {
			return nil, hazards
		}
		return &consent{by: engine.ByPolicy, why: "policy: approve is low-risk, and every step is of low risk"}, nil
	}
	return nil, nil
}

// openRun records the plan and the yes to it, and opens a run.
func (s *saying) openRun(ctx context.Context, yes *consent) error {
	r, err := s.product.Draft(ctx, s.host, s.doc)
	if err != nil {
		return err
	}
	s.said.Revision = r
	by := ""
	switch {
	case s.product.Approved(r):
		by = r.Answer.By
	case yes == nil:
		return conflict("run it again", "the approval of %s has just expired", s.doc.Path)
	default:
		by = yes.by
		if err := s.product.Judge(ctx, s.host, r, true, yes.by, yes.why); err != nil {
			return err
		}
	}
	s.said.Opened, err = s.product.Open(ctx, s.host, s.doc, r, s.opening(consent{by: by}))
	if err != nil {
		return err
	}
	if s.said.Opened.Resumed {
		return s.mended(ctx, s.product, &s.said.Opened)
	}
	s.said.InPlace, s.said.Apart = s.doc.InPlace()
	s.unmark(r.Drafted.Path, r.Drafted.Hash, s.caller.Env)
	return nil
}

// revise lets an unfinished run go on with another text, if somebody says yes to
// the difference.
func (s *saying) revise(ctx context.Context, pr *api.Proposal) error {
	s.about(pr.Doc)
	s.said.Proposal, s.said.Opened = true, api.Opened{Stream: pr.Head.Stream, Run: pr.Head.Run, Resumed: true}
	c, ok, err := s.fits(func() (api.Compiled, error) { return s.product.CompileRevised(ctx, pr) })
	if !ok {
		return err
	}
	if err := errors.Join(s.matches(), s.able(ctx, c)); err != nil {
		return err
	}
	other, err := s.reconfigured(ctx)
	if err != nil || s.said.Needs != "" {
		return err
	}
	yes, err := s.agreed(ctx, pr)
	if err != nil {
		return err
	}
	if yes == nil {
		s.said.Revision, err = s.product.Propose(ctx, s.host, pr)
		return err
	}
	if err := other.take(ctx); err != nil {
		return err
	}
	if s.said.Revision, err = s.product.Revise(ctx, s.host, pr, s.opening(*yes)); err != nil {
		return err
	}
	return s.host.Look(ctx, pr.Head.Stream, func(st *engine.State) { s.said.Opened.After = st.Seq() })
}

// agreed is the yes to a difference; nil where the answer says what is needed.
func (s *saying) agreed(ctx context.Context, pr *api.Proposal) (*consent, error) {
	s.said.Weaker = api.WeakenedLines(pr.Diff)
	weaker := len(s.said.Weaker) > 0
	switch said := s.Yes || s.Hash != ""; {
	case said && (!weaker || s.Weaker):
		return &consent{s.caller.By, s.Why}, nil
	case said:
		s.said.Needs = api.NeedsWeaker
		return nil, nil
	}
	if s.product.Config.Policy.Approve == engine.LowRisk && pr.Was != nil && !weaker {
		if yes, err := s.byPolicy(ctx, pr.Doc); yes != nil || err != nil {
			return yes, err
		}
	}
	s.said.Needs = api.NeedsYes
	return nil, nil
}

// opening is what the api needs to know of this machine for a run.
func (s *saying) opening(yes consent) api.Opening {
	unsealed := ""
	if s.Unsealed {
		unsealed = s.caller.By
	}
	return s.Owner.opening(s.product, yes, unsealed)
}

func (o *Owner) opening(p *api.Product, yes consent, unsealed string) api.Opening {
	return api.Opening{
		By: yes.by, Why: yes.why, Unsealed: unsealed, Isolation: string(o.level(p.Config)),
		Protect: o.protect, Given: o.given, Items: o.items,
	}
}

// items are those of a glob now, in the workspace or in the worktree of a whole run.
func (o *Owner) items(ctx context.Context, run string, apart bool, each *engine.Each) (items []json.RawMessage, err error) {
	err = o.withTree(func(t *tree.Tree) error {
		if apart {
			if t, err = o.treeOf(t, run); err != nil {
				return err
			}
			defer t.Close()
		}
		items, err = effect.Items(ctx, t, each)
		return err
	})
	return items, err
}

// treeOf opens the worktree that a whole run works in.
func (o *Owner) treeOf(t *tree.Tree, run string) (*tree.Tree, error) {
	root := Worktrees(o.cfg.Place)
	if _, err := os.Stat(tree.WorktreeDir(root, run, tree.Run)); err != nil {
		return nil, err
	}
	work, err := t.Worktree(root, run, tree.Run)
	if err != nil {
		return nil, err
	}
	return work.Open()
}

// given is what subscriptions give now.
func (o *Owner) given(ctx context.Context, subs []engine.Subscription) (given []engine.Injected, err error) {
	var contents []notes.Content
	read := func(find func(string) ([]string, error)) error {
		contents, err = notes.Read(o.cfg.Place.Dir, subs, notes.Sources{Find: find, Now: o.cfg.Now()})
		return err
	}
	if slices.ContainsFunc(subs, func(s engine.Subscription) bool { return s.Kind == "file" && notes.IsGlob(s.Ref) }) {
		err = o.withTree(func(t *tree.Tree) error {
			return read(func(glob string) ([]string, error) { return t.Find(ctx, glob, effect.MaxFound) })
		})
	} else {
		err = read(nil)
	}
	for _, c := range contents {
		given = append(given, engine.Injected{Ref: c.Ref, Hash: c.Hash})
	}
	return given, err
}

// Approve records a yes to a plan, or to what changed in it while it runs.
func (u *uses) Approve(ctx context.Context, q api.Saying) (api.Said, error) {
	return u.saying(ctx, q, (*saying).approve)
}

func (s *saying) approve(ctx context.Context) error {
	pr, err := s.find(ctx)
	if err != nil {
		return err
	}
	if pr != nil {
		return s.revise(ctx, pr)
	}
	c, ok, err := s.fits(func() (api.Compiled, error) { return s.product.CompileNext(ctx, s.doc) })
	if !ok {
		return err
	}
	if err := s.matches(); err != nil {
		return err
	}
	other, err := s.reconfigured(ctx)
	if err != nil || s.said.Needs != "" {
		return err
	}
	if other.pending() {
		if err := s.able(ctx, c); err != nil {
			return err
		}
	}
	r, err := s.product.Recorded(ctx, s.doc)
	if err != nil {
		return err
	}
	if r != nil && s.product.Approved(r) {
		s.said.Revision, s.said.Already = r, true
		return errors.Join(other.take(ctx), s.product.Filed(ctx, s.host, r))
	}
	if s.said.Weaker, err = s.product.Weakens(ctx, s.doc); err != nil {
		return err
	}
	said, weaker := s.Yes || s.Hash != "", len(s.said.Weaker) > 0 && !s.Weaker
	if s.said.Revision, err = s.product.Draft(ctx, s.host, s.doc); err != nil {
		return err
	}
	switch {
	case !said:
		s.said.Needs = api.NeedsYes
		return nil
	case weaker:
		s.said.Needs = api.NeedsWeaker
		return nil
	}
	if err := other.take(ctx); err != nil {
		return err
	}
	return s.product.Judge(ctx, s.host, s.said.Revision, true, s.caller.By, s.Why)
}

// find reads the plan that is meant, and returns what it proposes for its run.
func (s *saying) find(ctx context.Context) (*api.Proposal, error) {
	if !s.product.IsPlan(ctx, s.Word) {
		pr, err := s.product.ProposalFor(ctx, s.Word)
		if err != nil || pr != nil {
			return pr, err
		}
		head, err := s.product.Find(ctx, s.Word)
		if err == nil {
			err = conflict("piton history "+head.Run+" lists its revisions", "nothing is proposed for run %s: its plan has not changed since approval", head.Run)
		} else {
			err = s.read(ctx) // it says what is wrong
		}
		return nil, err
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	return s.product.ProposalOf(ctx, s.doc)
}

// Reject records a no.
func (u *uses) Reject(ctx context.Context, q api.Saying) (api.Said, error) {
	return u.saying(ctx, q, (*saying).reject)
}

func (s *saying) reject(ctx context.Context) error {
	pr, err := s.find(ctx)
	if err != nil && api.Explain(err).Code == api.NotFound {
		left, other := s.product.Left(ctx, s.Word)
		if other != nil || left == nil {
			return err
		}
		s.said.Revision = left // its file is gone: there is nothing but what the journal has
		return s.product.Judge(ctx, s.host, left, false, s.caller.By, s.Why)
	}
	if err != nil {
		return err
	}
	if pr != nil {
		s.about(pr.Doc)
		s.said.Proposal, s.said.Opened = true, api.Opened{Stream: pr.Head.Stream, Run: pr.Head.Run}
		s.said.Revision, err = s.product.Propose(ctx, s.host, pr)
	} else if s.doc.Plan == nil {
		s.said.Needs = api.NeedsFix
		return nil
	} else {
		s.said.Revision, err = s.product.Draft(ctx, s.host, s.doc)
	}
	if err != nil {
		return err
	}
	return s.product.Judge(ctx, s.host, s.said.Revision, false, s.caller.By, s.Why)
}

// isolated refuses a plan or policy whose minimum this machine cannot give.
func (o *Owner) isolated(p *api.Product, doc *api.Document, allowed bool) error {
	if allowed {
		return nil
	}
	wants := []string{p.Config.Policy.Isolation}
	for _, d := range append(doc.Below(), doc) {
		if why := d.Facts.Exposed; why != nil && *why != "" {
			return api.Fault(
				d.Path+" has `network: no`, but this machine cannot keep a script off the network: "+*why,
				"--allow-unsealed runs it anyway, recorded in your name; piton doctor says more",
			)
		}
		wants = append(wants, d.Plan.Isolation.Value)
		for _, st := range d.Plan.Steps {
			wants = append(wants, st.Isolation.Value)
			if listed(p.Config, st) {
				wants = append(wants, string(proc.LevelSealed))
			}
		}
	}
	for _, w := range wants {
		if err := o.sealable(p.Config, w, "--allow-unsealed runs it anyway, recorded in your name"); err != nil {
			return err
		}
	}
	return nil
}

// listed reports a step of which something may ask listed hosts only, which nothing but a
// seal can hold.
func listed(c config.Config, s *plan.Step) bool {
	hosts, _ := plan.Hosts(s.Network.Value)
	switch {
	case len(hosts) > 0 || len(c.Policy.Network) > 0:
		return true
	case s.Tool.Set || !s.Plan.IsZero() || !s.Ask.IsZero() || s.Target.Value == "script":
		return false // no agent does it
	}
	if agent, named := c.Agents[s.Target.Value]; named && !s.Fallback.Set {
		return len(agent.Network) > 0
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(c.Agents)), func(a config.Agent) bool { return len(a.Network) > 0 })
}

// sealable refuses a minimum of isolation that this machine cannot give, or that the policy
// takes away; the hint says what can be done.
func (o *Owner) sealable(c config.Config, minimum, hint string) error {
	if minimum != string(proc.LevelSealed) && minimum != string(proc.LevelFenced) {
		return nil
	}
	have := o.level(c)
	if !have.Below(proc.Isolation(minimum)) {
		return nil
	}
	_, why := o.best()
	reason := "the policy says isolation: none"
	if why != nil && c.Policy.Isolation != string(proc.LevelNone) {
		reason = strings.ReplaceAll(why.Error(), "\n", "; ")
	}
	return api.Fault(fmt.Sprintf("isolation %s is required, but there is only %s here: %s", minimum, have, reason), hint)
}

// equipped refuses programs that need what is not on this machine, before anything
// is begun that could not go on. With a state only what is still to be done counts.
func equipped(ctx context.Context, p *api.Product, state *engine.State, programs ...*engine.Program) error {
	if _, err := proc.Bash(p.Env, p.Place.Dir); err != nil && slices.ContainsFunc(programs, shelled) {
		return api.Fault("scripts and contracts run in bash, but there is no bash on PATH outside the workspace, or in /bin", "install bash; piton doctor checks everything that a run needs")
	}
	missing := p.Missing(ctx)
	for _, role := range roles(state, programs...) {
		if program, ok := missing[role]; ok {
			return api.Fault(
				fmt.Sprintf("agent %q needs the program %s, which is not installed (%s)", role, program, p.Config.Origin("agents."+role+".command")),
				"install it, or correct `command:`; piton doctor checks every agent",
			)
		}
	}
	return nil
}

// roles are those of the steps that are still to be worked on; with a nil state,
// of all steps. A step that others can do needs nobody.
func roles(state *engine.State, programs ...*engine.Program) []string {
	var names []string
	for _, p := range programs {
		for i := range p.Len() {
			if state != nil {
				switch state.StepRow(i).Status {
				case engine.Done, engine.Skipped, engine.Waived:
					continue
				}
			}
			if !p.Elective(i) {
				names = append(names, p.Step(i).Role)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// shelled reports whether a step has a script, a contract or a check.
func shelled(p *engine.Program) bool {
	for i := range p.Len() {
		if st := p.Step(i); len(st.Checks) > 0 || st.Role == "script" {
			return true
		}
	}
	return false
}

// protect takes the state of the files that steps guard: of those that a run protects
// already as it was when its base was taken.
func (o *Owner) protect(ctx context.Context, base string, guards []string) (store.Object, error) {
	t, err := o.openTree(nil)
	if err != nil {
		return store.Object{}, err
	}
	defer t.Close()
	if base == "" {
		is, err := t.Base(ctx, guards)
		if err != nil {
			return store.Object{}, err
		}
		return store.NewObject(is.Encode()), nil
	}
	is, err := t.Protect(ctx, guards)
	if err != nil {
		return store.Object{}, err
	}
	was, err := o.baseOf(ctx, base)
	if err != nil {
		return store.Object{}, err
	}
	return store.NewObject(was.Over(is).Encode()), nil
}
