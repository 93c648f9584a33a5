package owner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/notes"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/tool"
	"github.com/piton-dev/piton/internal/verify"
)

// Plan asks for a plan of a request. The client carries the workspace's own work then.
func (u *uses) Plan(ctx context.Context, q api.Planning) (api.Planned, error) {
	p, err := u.planner(ctx, "nobody can make a plan of a request", "piton new makes a plan to fill in")
	if err != nil {
		return api.Planned{}, err
	}
	switch {
	case strings.TrimSpace(q.Request) == "":
		return api.Planned{}, &api.Problem{Code: api.Invalid, Message: "the request is empty", Hint: `say what is wanted: piton plan "Fix the login timeout"`}
	case len(q.Request) > api.MaxRequest:
		return api.Planned{}, &api.Problem{
			Code: api.Invalid, Message: fmt.Sprintf("the request has %d bytes; at most %d are allowed", len(q.Request), api.MaxRequest),
			Hint: "put what is long into a file of the workspace, and name that",
		}
	case q.Link != "" && !api.IsLink(q.Link):
		return api.Planned{}, &api.Problem{Code: api.Invalid, Message: "the link of the request is no address of a page", Hint: "leave it out"}
	}
	question, given, err := question(ctx, p, q)
	if err != nil {
		return api.Planned{}, err
	}
	asking, err := p.Asking(q, question)
	if err != nil {
		return api.Planned{}, err
	}
	asking.Memories = given
	return u.ask(ctx, p, p.Config.Planner, asking, q.Consent)
}

// ask has a question put to a model as an errand, unless nobody has approved the
// configuration that names it.
func (u *uses) ask(ctx context.Context, p *api.Product, m config.Model, q api.Question, yes api.Consent) (planned api.Planned, err error) {
	planned.Who = whoIs(m)
	if trusted, err := u.trusted(ctx, p, yes); err != nil || !trusted {
		planned.Needs = api.NeedsYes
		return planned, err
	}
	if err := u.mayRig(p, engine.WorkspaceStream); err != nil {
		return planned, err
	}
	planned.Errand, planned.Known, err = p.Ask(ctx, u.host, q)
	return planned, err
}

// whoIs says for people who is asked.
func whoIs(m config.Model) string {
	if m.Agent != "" {
		return fmt.Sprintf("agent %q", m.Agent)
	}
	return fmt.Sprintf("model %q", m.Model)
}

// planner is the product, once its planner can be asked. Where none is configured, the
// error says what nobody can do then, and what can be done instead.
func (u *uses) planner(ctx context.Context, without, instead string) (*api.Product, error) {
	p, err := u.Owner.product(ctx, u.caller)
	if err != nil {
		return nil, err
	}
	if p.Config.Planner.None() {
		return nil, &api.Problem{
			Code: api.Invalid, Message: "no planner is configured, so " + without,
			Hint: "in .piton/config.yaml, name an agent, as in `planner: {agent: coder}`, or a model, as in `planner: {api: openai, base_url: \"http://127.0.0.1:11434/v1\", model: qwen3}`; " + instead,
		}
	}
	return p, u.canAsk(ctx, p, "planner", p.Config.Planner)
}

// canAsk refuses a model that could not be asked on this machine.
func (u *uses) canAsk(ctx context.Context, p *api.Product, role string, m config.Model) error {
	if program, missing := p.Missing(ctx)[m.Agent]; missing && m.Agent != "" {
		return api.Fault(
			fmt.Sprintf("the %s is agent %q, which needs the program %s, and that is not installed", role, m.Agent, program),
			"install it, or correct `command:`; piton doctor checks every agent",
		)
	}
	_, err := keyOf(p.Env, m)
	return err
}

// keyOf is the key of an endpoint in the environment of who asks.
func keyOf(environ []string, m config.Model) (string, error) {
	if m.KeyEnv == "" {
		return "", nil
	}
	for _, pair := range slices.Backward(environ) {
		if name, value, _ := strings.Cut(pair, "="); name == m.KeyEnv && value != "" {
			return value, nil
		}
	}
	return "", &api.Problem{Code: api.Invalid, Message: "the key of the model is not in the environment: " + m.KeyEnv + " is not set", Hint: "set it, or name another variable with `key_env`"}
}

// Withdraw takes an errand back.
func (u *uses) Withdraw(ctx context.Context, q api.Withdrawal) (api.Withdrawal, error) {
	p, err := u.looking(ctx)
	if err != nil {
		return q, err
	}
	row, err := p.ErrandOf(ctx, q.Errand)
	if err != nil {
		return q, err
	}
	q.Errand = row.Asked.Errand
	drop := engine.ErrandDropped{Errand: q.Errand, By: u.caller.By}
	switch {
	case row.Withdrawn != "" && u.before(ctx, engine.WorkspaceStream, func(e engine.Event) bool { return e == engine.Event(drop) }):
		return q, nil
	case row.Withdrawn != "":
		return q, conflict("piton log "+q.Errand+" shows it", "errand %s was withdrawn by %s already", q.Errand, row.Withdrawn)
	case row.Over():
		return q, conflict("piton log "+q.Errand+" shows it", "errand %s has ended already", q.Errand)
	}
	return q, u.host.Submit(ctx, engine.WorkspaceStream, engine.Withdraw{ErrandDropped: drop})
}

// unerrand lets go of the workspace's own work where none is left.
func (o *Owner) unerrand() {
	err := o.releaseBy(engine.WorkspaceStream, o.host.ReleaseDone)
	if err != nil && !errors.Is(err, run.ErrLive) {
		o.say("%v", err)
	}
}

// question is the whole text that a planner is asked. Servers of tools are not started
// for it: of those only the names are known that a plan can use anyway. Given are the names
// of the memories in it.
func question(ctx context.Context, p *api.Product, q api.Planning) (text string, given []string, err error) {
	in := prompt.Planning{Request: q.Request, Comments: q.Comments, Owner: p.By, Constraints: q.Constraints}
	in.Workspace, in.Agents = surroundings(ctx, p)
	in.Memories, given = memories(p.Place.Dir, notes.About{Text: strings.Join(append([]string{q.Request}, q.Constraints...), "\n")})
	if in.Refused, err = refused(ctx, p, "", func(i engine.IntentOpened) bool { return i.Prompt == q.Request }); err != nil {
		return "", nil, err
	}
	in.Tools, err = Functions(p.Place.Dir, p.Env)
	return prompt.Plan(in), given, err
}

// refused is what a planner is told of the texts of some intents that a person refused:
// the newest one itself too, unless it is shown anyway.
func refused(ctx context.Context, p *api.Product, shown string, of func(engine.IntentOpened) bool) (all []prompt.Refusal, err error) {
	found, err := p.Refused(ctx, of)
	for _, r := range found {
		all = append(all, prompt.Refusal{Version: r.Drafted.Version, Changes: r.Drafted.Changes, Why: r.Answer.Why})
	}
	if err != nil || len(all) == 0 {
		return all, err
	}
	if newest := found[len(found)-1].Drafted.Source; newest != shown {
		text, err := p.Store.Object(ctx, newest)
		all[len(all)-1].Text = string(text)
		return all, err
	}
	return all, nil
}

// memories are those that are of use for what a planner is asked, and their names. A
// planner can do without.
func memories(dir string, about notes.About) (all []prompt.Content, names []string) {
	known, err := notes.Memories(dir)
	if err != nil {
		return nil, nil
	}
	fit, _ := notes.Matching(known, about)
	for _, m := range fit {
		all, names = append(all, prompt.Content(m.Content())), append(names, m.Name)
	}
	return all, names
}

// surroundings are what a model is told of the workspace and of who works there.
func surroundings(ctx context.Context, p *api.Product) (prompt.Workspace, []prompt.Role) {
	return prompt.Workspace(probe.Look(ctx, probe.Env{Workspace: p.Place.Dir, Environ: p.Env, Config: p.Config})), rolesOf(p.Config)
}

// rolesOf are the agents that a step may name, in the order in which a model is told of them.
func rolesOf(c config.Config) (all []prompt.Role) {
	names := slices.Sorted(maps.Keys(c.Agents))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(c, a), rank(c, b)) })
	for _, name := range names {
		all = append(all, prompt.Role{Name: name, When: c.Agents[name].When, Shell: c.Agents[name].Kind == config.Shell})
	}
	return all
}

// rank puts the default agent first and those that run scripts last.
func rank(c config.Config, name string) int {
	switch {
	case name == c.DefaultAgent:
		return 0
	case c.Agents[name].Kind == config.Shell:
		return 2
	}
	return 1
}

// Functions are the built-in tools in the form in which models are told of functions.
func Functions(dir string, env []string) ([]prompt.Function, error) {
	r, err := tool.Open(tool.Config{Workspace: dir, Environ: env})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return FunctionsOf(r.Builtin()), nil
}

// FunctionsOf are tools in the form in which models are told of functions.
func FunctionsOf(tools []tool.Definition) (all []prompt.Function) {
	for _, d := range tools {
		parameters := d.Input
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object"}`)
		}
		all = append(all, prompt.Function{Type: "function", Function: prompt.FunctionBody{Name: d.Name, Description: d.Description, Parameters: parameters}})
	}
	return all
}

// asker is who answers the questions of a role of the product, such as "planner".
func (o *Owner) asker(p *api.Product, role string, m config.Model, environ []string) (model.Asker, error) {
	if m.None() {
		return nil, fmt.Errorf("no %s is configured", role)
	}
	world := o.world()
	if m.Agent != "" {
		return model.Agent{Roles: world.Agents, Role: m.Agent, Environ: environ, Time: m.Time, Scratch: world.Scratch}, nil
	}
	key, err := keyOf(environ, m)
	if err != nil {
		return nil, err
	}
	return model.Endpoint{
		API: model.API(m.API), BaseURL: m.BaseURL, Model: m.Model, Key: key, KeyName: m.KeyEnv, Time: m.Time,
		Price: priceOf(p.Config.ModelPrice(m.Model)),
	}, nil
}

// reader is the asker of a role that looks around in the workspace, in a copy of it.
func (o *Owner) reader(p *api.Product, role string, m config.Model, environ []string) (model.Asker, error) {
	ask, err := o.asker(p, role, m, environ)
	if a, is := ask.(model.Agent); is {
		return reading{a, p}, nil
	}
	return ask, err
}

// draw has the planner make a plan of a request, change one, or propose contracts.
func (w *errand) draw(ctx context.Context) (in engine.Ended, bodies [][]byte, err error) {
	p, asked := w.product, w.asked
	job, err := w.job(ctx)
	if err != nil {
		return in, nil, err
	}
	var was *plan.Plan
	if asked.Source != "" {
		if was, err = w.was(ctx); err != nil {
			return in, nil, err
		}
		job.Judges = slices.Insert(job.Judges, 0, within(was, asked))
	}
	out, err := planner.Run(ctx, job)
	if err != nil || ctx.Err() != nil {
		return in, nil, errors.Join(err, ctx.Err())
	}
	if len(asked.Contracts) > 0 {
		out = contracted(ctx, p, was, asked.Contracts, out)
	}
	in, bodies, err = w.ended(out.How, out.Ended, out.Usage, out)
	if err != nil || out.Source == nil || asked.Source != "" && !out.OK() || len(asked.Contracts) > 0 {
		return in, bodies, err
	}
	draft, objects, err := p.Drawn(ctx, asked, out.Source, out.Reasoning, out.Changes)
	in.Draft = draft
	for _, object := range objects {
		bodies = append(bodies, object.Body)
	}
	return in, bodies, err
}

// job is the planner's work on the question. A draft is verified, and what it would prove
// is tried.
func (w *errand) job(ctx context.Context) (job planner.Job, err error) {
	p := w.product
	text, err := w.question(ctx)
	if err != nil {
		return job, err
	}
	asker, err := w.reader(p, "planner", p.Config.Planner, w.environ)
	if err != nil {
		return job, err
	}
	ask, err := w.remembering(ctx, asker, w.effect, w.report)
	job = planner.Job{Ask: ask, Prompt: text, Log: w.logFile(), Judges: []planner.Judge{verifies(p), tries(p, w.world(), w.environ)}}
	if p.Config.Planner.Agent == "" {
		job.Schema = planner.Schema
	}
	return job, err
}

// verifies judges a draft as every plan is.
func verifies(p *api.Product) planner.Judge {
	return func(ctx context.Context, source []byte) ([]verify.Finding, bool, error) {
		return p.Verify(ctx, planner.Name, source).Findings, false, nil
	}
}
