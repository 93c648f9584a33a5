package owner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/notes"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// byPlanner is who makes the revisions that a run asks for.
const byPlanner = "planner"

// plannerLog is what the log of a revision is called beside those of steps, of which
// none has such an id.
const plannerLog = "+planner"

// redrawing is a revision of a run's plan on its way from the planner.
type redrawing struct {
	*Owner
	product  *api.Product
	effect   engine.Effect
	head     engine.HeadRow
	form     form.Form // of the plan document
	plan     string    // its text, in Markdown
	done     []string  // ids of the steps whose proof stands
	recalled []string  // names of the memories that the planner was given
	drawn    *api.Redrawn
}

// redraw makes a revision for a run whose steps failed, or for which a person wants
// one. It writes no file, and approves nothing but what the policy does.
func (o *Owner) redraw(ctx context.Context, e engine.Effect, r effect.Reporter) run.Answer {
	began := o.cfg.Now()
	in, objects, err := o.revision(ctx, e, r)
	switch {
	case ctx.Err() != nil:
		in.How, in.Reason, in.Drawn, in.Draft = engine.Stopped, "stopped by Piton", nil, nil
	case err != nil:
		in.How, in.Reason, in.Drawn, in.Draft = engine.NoStart, err.Error(), nil, nil
	}
	in.Key, in.Ms = e.Key, o.cfg.Now().Sub(began).Milliseconds()
	return run.Answer{Input: in, Objects: objects}
}

func (o *Owner) revision(ctx context.Context, e engine.Effect, r effect.Reporter) (engine.Ended, []store.Object, error) {
	d := &redrawing{Owner: o, effect: e}
	if err := d.read(ctx); err != nil {
		return engine.Ended{}, nil, err
	}
	question, err := d.question(ctx)
	if err != nil {
		return engine.Ended{}, nil, err
	}
	log := effect.LogFile(e.Key.Run, plannerLog, e.Key.Attempt, e.Key.N)
	asker, err := o.reader(d.product, "planner", d.product.Config.Planner, o.environ(e.Key.Task))
	if err != nil {
		return engine.Ended{}, nil, err
	}
	remembers, err := o.remembering(ctx, asker, e, r)
	if err != nil {
		return engine.Ended{}, nil, err
	}
	job := planner.Job{
		Ask: remembers, Prompt: question, Log: filepath.Join(o.cfg.Place.State, log), Judges: []planner.Judge{d.judge}, Abort: true,
	}
	if d.product.Config.Planner.Agent == "" {
		job.Schema = planner.RevisionSchema
	}
	out, err := planner.Run(ctx, job)
	in := engine.Ended{WorkEnded: engine.WorkEnded{How: out.How, Usage: out.Usage, Log: log}}
	switch {
	case err != nil:
		return in, nil, err
	case out.Abort != "":
		in.Drawn = &engine.Drawn{Abort: out.Abort}
		return in, nil, nil
	case d.drawn == nil || !out.OK():
		in.Reason = failed(out)
		return in, nil, nil
	}
	drawn := d.drawn
	if drawn.Draft.Reason = out.Reasoning; e.Asked { // the person's words are the reason
		drawn.Draft.Reason = strings.TrimSpace(e.Note + "\n\n" + out.Reasoning)
	}
	if out.Changes != "" {
		drawn.Draft.Changes += ": " + out.Changes
	}
	in.How, in.Draft = engine.Exited, &drawn.Draft
	in.Drawn = &engine.Drawn{
		Plan: drawn.Draft.Plan, Version: drawn.Draft.Version, Changes: drawn.Draft.Changes, Reason: out.Reasoning, Weakened: drawn.Draft.Weakened,
	}
	if in.Yes = drawn.Yes; drawn.Yes != nil {
		in.Revise = &drawn.Revise
	}
	return in, drawn.Objects, nil
}

// mostSaid is how much is repeated of what a planner said instead of a plan, in bytes.
const mostSaid = 300

// failed says why no revision came, with the first things that are wrong, and with what
// the planner said instead of a plan.
func failed(out planner.Outcome) string {
	const most = 3
	var why strings.Builder
	why.WriteString(out.Ended)
	n := 0
	for _, f := range out.Findings {
		if f.Severity != verify.Error {
			continue
		}
		if n++; n > most {
			break
		}
		if f.Code == "" {
			why.WriteString("; " + f.Message)
			continue
		}
		why.WriteString("; " + f.String())
	}
	if out.Said != "" {
		said := strings.Join(strings.Fields(proc.Plain([]byte(out.Said))), " ")
		if len(said) > mostSaid {
			said = strings.ToValidUTF8(said[:mostSaid], "") + "…"
		}
		why.WriteString("; the planner's words: " + said)
	}
	return why.String()
}

// read reads the text that the run goes by.
func (d *redrawing) read(ctx context.Context) (err error) {
	d.product, err = d.Owner.product(ctx, api.Caller{By: byPlanner, Via: byPlanner, Dir: d.cfg.Place.Dir, Env: d.environ(d.effect.Key.Task)})
	if err != nil {
		return err
	}
	if d.head, err = d.product.Find(ctx, d.effect.Key.Run); err != nil {
		return err
	}
	if err := d.pinned(ctx); err != nil {
		return err
	}
	source, err := d.store.Object(ctx, d.head.Source)
	if err != nil {
		return fmt.Errorf("read the bytes of plan %s: %w", d.head.Plan, err)
	}
	doc := api.Parse(d.head.Path, source)
	if doc.Plan == nil {
		return fmt.Errorf("this version cannot read the text of plan %s", d.head.Plan)
	}
	d.form, d.plan = doc.Form.Form, string(source)
	if d.form != form.Markdown {
		text, _, err := doc.Form.Write(form.Markdown)
		if err != nil {
			return fmt.Errorf("show plan %s to the planner: %w", d.head.Plan, err)
		}
		d.plan = string(text)
	}
	if n := len(d.plan); n > prompt.MaxDraft {
		return fmt.Errorf("the plan has %d bytes; a planner is shown at most %d", n, prompt.MaxDraft)
	}
	return nil
}

// pinned refuses another configuration than the run was approved with: it may name
// another planner.
func (d *redrawing) pinned(ctx context.Context) error {
	var refused error
	err := d.host.Look(ctx, d.effect.Key.Task, func(s *engine.State) { refused = d.product.Pinned(s.Run()) })
	return errors.Join(err, refused)
}

// question is what the planner is asked.
func (d *redrawing) question(ctx context.Context) (string, error) {
	in := prompt.Revision{Plan: d.plan, Why: d.effect.Note, Asked: d.effect.Asked, Advised: d.effect.Advised, Only: d.effect.Only, Failures: d.effect.Failures}
	in.Memories, d.recalled = memories(d.cfg.Place.Dir, notes.About{Title: d.effect.Title, Text: d.plan + "\n" + d.effect.Note})
	now, err := d.product.Revision(ctx, d.head.Plan)
	if err != nil {
		return "", err
	}
	if in.Refused, err = refused(ctx, d.product, d.head.Source, func(i engine.IntentOpened) bool { return i.ID == now.Drafted.Intent }); err != nil {
		return "", err
	}
	in.Agents = rolesOf(d.product.Config)
	d.rigging.Lock()
	in.Tools = FunctionsOf(d.rig.tools.Builtin())
	d.rigging.Unlock()
	for r, err := range run.ReadRun(ctx, d.store, d.head) {
		if err != nil {
			return "", err
		}
		if e, ok := r.Event.(engine.WorkEnded); ok {
			in.Discoveries = append(in.Discoveries, e.Discoveries...)
		}
	}
	steps, err := d.store.Steps(ctx, store.StepFilter{Stream: d.head.Stream, Run: d.head.Run})
	for _, st := range steps {
		if st.Status == engine.Done {
			in.Done = append(in.Done, st.ID)
			d.done = in.Done
		}
	}
	return prompt.Replan(in), err
}

// judge looks at what the planner wrote as at what a person has edited, and keeps it
// if it may become the next revision.
func (d *redrawing) judge(ctx context.Context, source []byte) ([]verify.Finding, bool, error) {
	d.drawn = nil
	source, wrong := d.inForm(source)
	if wrong != "" {
		return finding(wrong), true, nil
	}
	pr, err := d.product.Redraft(ctx, d.head, source)
	switch {
	case err != nil:
		return nil, false, err
	case pr == nil:
		return finding("somebody has said no to this very text"), true, nil
	case !pr.Doc.OK():
		return pr.Doc.Findings, true, nil
	case pr.Diff.Empty():
		return finding("nothing is changed: this is the plan that the run goes by"), true, nil
	}
	if d.effect.Only != "" {
		if found := strays(pr.Was, pr.Doc.Plan, d.effect.Only); len(found) > 0 {
			return found, true, nil
		}
	}
	if d.effect.Advised {
		if found := undone(pr.Diff, d.done); len(found) > 0 {
			return found, true, nil
		}
	}
	r, err := d.product.Redraw(ctx, pr, d.opening(d.product, d.yes(pr), ""))
	if refusal, ok := errors.AsType[*verify.Refusal](err); ok {
		return refusal.Findings, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	if err := equipped(ctx, d.product, nil, r.Revise.Run.Compiled); err != nil {
		return finding(err.Error()), true, nil
	}
	r.Draft.Informed(d.recalled)
	d.drawn = &r
	return pr.Doc.Findings, false, nil
}

// undone are the steps that are done, and that a revision changes or leaves out though
// nothing failed.
func undone(diff verify.Difference, done []string) (found []verify.Finding) {
	for _, c := range diff.Steps {
		if c.How != verify.Moved && slices.Contains(done, c.ID) {
			found = append(found, finding(fmt.Sprintf("step %q is %s, but it is done and no step failed; leave it word for word as it is", c.ID, c.How))...)
		}
	}
	return found
}

// inForm is the planner's Markdown in the form of the plan document.
func (d *redrawing) inForm(source []byte) (text []byte, wrong string) {
	if d.form == form.Markdown {
		return source, ""
	}
	doc, _ := form.Read(d.head.Path, source)
	if doc.Plan == nil {
		return source, ""
	}
	text, losses, err := doc.Write(d.form)
	switch {
	case err != nil:
		return nil, fmt.Sprintf("the form %s of the plan document cannot hold it: %v", d.form, err)
	case len(losses) > 0:
		return nil, fmt.Sprintf("the form %s of the plan document cannot hold this: %s", d.form, losses[0])
	}
	return text, ""
}

func finding(text string) []verify.Finding {
	return []verify.Finding{{Severity: verify.Error, File: planner.Name, Line: 1, Column: 1, Message: text}}
}

// yes is that of the policy; nobody's where people have to be asked.
func (d *redrawing) yes(pr *api.Proposal) consent {
	if yes, _ := policyYes(d.product.Config.Policy.Approve, pr.Doc); yes != nil {
		return *yes
	}
	return consent{}
}

// rewrite puts the revision that a run goes by, if a planner made it, into the plan
// document. A document that a person has changed stays as it is: then its text is a
// proposal for the run.
func (o *Owner) rewrite(stream string, tell bool) {
	ctx := context.Background()
	var now engine.RunOpened
	if err := o.host.Look(ctx, stream, func(s *engine.State) { now = s.Run() }); err != nil || now.Revises == "" || now.Parent.Task != "" {
		return
	}
	p, err := o.base.For(ctx, api.Caller{By: engine.Harness, Env: o.environ(stream)}, config.Default())
	if err != nil {
		return
	}
	r, hashes, err := p.Replaces(ctx, now)
	if err != nil || r == nil {
		return
	}
	text, err := o.store.Object(ctx, now.Source)
	if err != nil {
		o.say("%s does not show revision %d: %v", now.Path, now.Version, err)
		return
	}
	file, err := p.File(ctx, engine.HeadRow{Stream: stream, Path: now.Path})
	written := false
	if err == nil {
		written, err = project.Rewrite(o.cfg.Place.State, file, hashes, r.Answered, text)
	}
	switch {
	case err != nil:
		o.say("%s does not show revision %d: %v", now.Path, now.Version, err)
	case written:
		if err := p.Filed(ctx, o.host, r); err != nil {
			o.say("%v", err)
		}
	case tell:
		o.say("%s was changed meanwhile and keeps that text; run %s goes on with revision %d, which piton show %s shows", now.Path, now.Run, now.Version, now.Run)
	}
}
