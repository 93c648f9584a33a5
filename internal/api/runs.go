package api

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// Opening says how a run is opened, or goes on with another text.
type Opening struct {
	Isolation string // the level in force
	Unsealed  string // who allowed less than the minimum asked for, "" for nobody
	By, Why   string // who said yes, and why
	// Protect returns the state of the files that steps guard, as an object to pin:
	// those of the base as they are there, the others as they are now.
	Protect func(ctx context.Context, base string, guards []string) (store.Object, error)
	// Given says what is injected now for subscriptions.
	Given func(ctx context.Context, subs []engine.Subscription) ([]engine.Injected, error)
	// Items says for what items of a glob a step is now, in the workspace or in the
	// worktree that the whole run works in.
	Items func(ctx context.Context, run string, apart bool, each *engine.Each) ([]json.RawMessage, error)
}

// taskOf is the stream of an intent's task.
func taskOf(intent string) string { return "t-" + strings.TrimPrefix(intent, "i-") }

// Open opens a run of an approved revision, or finds the unfinished one of the
// same bytes. The caller activates it.
func (p *Product) Open(ctx context.Context, desk Desk, d *Document, r *engine.Revision, o Opening) (Opened, error) {
	return again(func() (Opened, error) { return p.open(ctx, desk, d, r, o) })
}

func (p *Product) open(ctx context.Context, desk Desk, d *Document, r *engine.Revision, o Opening) (Opened, error) {
	stream := taskOf(r.Drafted.Intent)
	state, err := run.Load(ctx, p.Store, stream)
	if err != nil {
		return Opened{}, err
	}
	if err := hindrance(state, d); err != nil {
		return Opened{}, err
	}
	if state.Live() {
		return Opened{Stream: stream, Run: state.Run().Run, Resumed: true, After: state.Seq()}, nil
	}
	in, objects, err := p.opening(ctx, d, r, o)
	if err != nil {
		return Opened{}, err
	}
	if state.Task() == "" {
		in.Task = &engine.TaskOpened{Task: stream, Intent: r.Drafted.Intent}
	}
	if err := desk.Submit(ctx, stream, in, objects...); err != nil {
		return Opened{}, err
	}
	return Opened{Stream: stream, Run: in.Run.Run, After: state.Seq()}, nil
}

// Hindrance reports why no run of the document can be opened, or taken up, now.
func (p *Product) Hindrance(ctx context.Context, d *Document) error {
	head, err := p.runOf(ctx, d)
	if err != nil || head.Run == "" {
		return err
	}
	state, err := run.Load(ctx, p.Store, head.Stream)
	if err != nil {
		return err
	}
	return hindrance(state, d)
}

func hindrance(state *engine.State, d *Document) error {
	old := state.Run()
	if !state.Live() || old.PlanHash == d.Plan.Hash() {
		return nil
	}
	return &Problem{
		Code: Conflict, Message: fmt.Sprintf("run %s of an earlier text of %s is not finished", old.Run, d.Path),
		Hint: fmt.Sprintf("piton approve %s continues with the new text, piton resume %s with the old one; piton cancel %s ends it", engine.ShellWord(d.Path), old.Run, old.Run),
	}
}

func (p *Product) opening(ctx context.Context, d *Document, r *engine.Revision, o Opening) (engine.Open, []store.Object, error) {
	c, err := p.Compile(d, r.Drafted.Plan)
	if err != nil {
		return engine.Open{}, nil, err
	}
	program := c.Program
	id, err := p.NewRun(ctx)
	if err != nil {
		return engine.Open{}, nil, err
	}
	base, err := o.Protect(ctx, "", program.Guards())
	if err != nil {
		return engine.Open{}, nil, err
	}
	open := engine.RunOpened{
		Run: id, Plan: r.Drafted.Plan, Version: r.Drafted.Version, Title: program.Title(), Path: r.Drafted.Path, PlanHash: r.Drafted.Hash, Source: r.Drafted.Source,
		Program: program.Hash(), Compiled: program, Config: p.Settings(), Agents: p.pins(c.All()...),
		Policy:    p.policy(),
		Workspace: p.Place.Dir, Isolation: o.Isolation, Unsealed: o.Unsealed, ApprovedBy: o.By, Base: base.Hash,
	}
	return engine.Open{Run: open, By: p.By}, append(c.objects(), base, store.NewObject(config.Text(p.Config))), nil
}

// policy is the part of the configuration that decides how a run goes on.
func (p *Product) policy() engine.Policy {
	pol := p.Config.Policy
	return engine.Policy{
		MaxParallel: pol.MaxParallel, Baseline: pol.Baseline == "on", Ratchet: pol.Ratchet == "end", Unmetered: pol.Unmetered, Unproven: pol.Unproven,
		Approve: pol.Approve, Planner: !p.Config.Planner.None(), Arbiter: !p.Config.Arbiter.None(), Extract: !p.Config.Extraction.None(), Frames: pol.Frames, PermissionWait: pol.PermissionWait,
		Bounds: engine.Bounds{Attempts: pol.MaxAttempts, Failures: pol.MaxFailures},
	}
}

// pins names the configuration of every agent that the programs may use.
func (p *Product) pins(programs ...*engine.Program) map[string]string {
	var roles []string
	for _, program := range programs {
		for i := range program.Len() {
			roles = append(roles, program.Step(i).Role, program.Step(i).Fallback)
		}
		for _, a := range program.Agents() {
			roles = append(roles, a.Role)
		}
	}
	return p.pinsOf(slices.Values(roles))
}

// pinsOf names the configuration in force of some agents.
func (p *Product) pinsOf(roles iter.Seq[string]) map[string]string {
	pins := map[string]string{}
	for role := range roles {
		if hash, ok := config.AgentHash(p.Config, role); ok {
			pins[role] = hash
		}
	}
	return pins
}

// Pinned reports whether the configuration in force is still the one that the
// run was opened with.
func (p *Product) Pinned(r engine.RunOpened) error {
	if r.Config == p.Settings() {
		return nil
	}
	return &Problem{
		Code: Conflict, Message: "the configuration is not the one that run " + r.Run + " was approved with",
		Hint: "piton resume " + r.Run + " shows what is different, and asks whether the run may go on with it",
	}
}

// Reconfigured is a configuration that a run was not approved with, or files that judge its
// work and changed while nothing of it was at work.
type Reconfigured struct {
	Run    string `json:"run"`
	Config string `json:"config"` // a hash of it all, for a yes to it
	// Changes are for the person who is asked, a line each: they name the programs that
	// would be started, and are not kept.
	Changes []string      `json:"changes,omitempty"`
	Files   []ChangedFile `json:"files,omitempty"`
}

// A ChangedFile is a protected file that is not what the run knows.
type ChangedFile struct {
	engine.Change
	Lines string `json:"lines,omitempty"` // its changed lines as git writes them, where it is text
}

// Bounds of how much another configuration may differ: a person sees all that they take.
const (
	maxReconfigured     = 100     // differences
	maxReconfiguredLine = 2 << 10 // bytes of one
)

// Reconfigured is the configuration in force, with what is different in it from the one
// that the run was approved with.
func (p *Product) Reconfigured(ctx context.Context, r engine.RunOpened) (*Reconfigured, error) {
	changes, err := p.changes(ctx, r, func(d config.Difference) string { return d.Shown })
	return &Reconfigured{Run: r.Run, Changes: changes}, err
}

// changes says how the configuration in force differs from the one of a run, a line each.
func (p *Product) changes(ctx context.Context, r engine.RunOpened, line func(config.Difference) string) ([]string, error) {
	was, err := p.Store.Object(ctx, r.Config)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of run %s: %w", r.Run, err)
	}
	var lines []string
	for _, d := range config.Differences(was, p.Config) {
		lines = append(lines, line(d))
	}
	long := slices.ContainsFunc(lines, func(l string) bool { return len(l) > maxReconfiguredLine })
	if long || len(lines) > maxReconfigured {
		return nil, &Problem{
			Code: Conflict, Message: fmt.Sprintf("the configuration differs from that of run %s in %d settings, which is more than can be shown at once", r.Run, len(lines)),
			Hint: "put the former one back, or cancel the run with piton cancel " + r.Run + " and run the plan again",
		}
	}
	return lines, nil
}

// Configure lets the newest run of a task go on under the configuration in force, and with
// files as they are now. Protect returns the files that its steps guard, with these and the
// configuration's own as they are now. Unsealed is who allowed less isolation than the
// configuration asks for, "" for nobody.
func (p *Product) Configure(ctx context.Context, desk Desk, stream, unsealed string, files []engine.Change, protect func(ctx context.Context, base string) (store.Object, error)) error {
	state, err := run.Load(ctx, p.Store, stream)
	if err != nil {
		return err
	}
	now := state.Run()
	pinned, policy := p.Pinned(now) == nil, now.Policy
	if pinned && len(files) == 0 {
		return nil
	}
	if !pinned {
		policy = p.policy()
	}
	changes, err := p.changes(ctx, now, func(d config.Difference) string { return d.Recorded })
	if err != nil {
		return err
	}
	base, err := protect(ctx, now.Base)
	if err != nil {
		return err
	}
	return desk.Submit(ctx, stream, engine.Configure{RunConfigured: engine.RunConfigured{
		Run: now.Run, Was: now.Config, Config: p.Settings(), Changes: changes, Agents: p.pinsOf(maps.Keys(now.Agents)), Policy: policy, Base: base.Hash, Files: files, By: p.By, Via: p.Via,
		Unsealed: unsealed,
	}}, base, store.NewObject(config.Text(p.Config)))
}

// Order gives a command to a run.
func (p *Product) Order(ctx context.Context, desk Desk, head engine.HeadRow, c engine.Command) error {
	c.By = p.By
	return desk.Submit(ctx, head.Stream, engine.Order{Command: c, Run: head.Run})
}

// Reply answers an item by a choice, with a text or a value: of a, the rest is
// filled in. What a question puts out is stored.
func (p *Product) Reply(ctx context.Context, desk Desk, it engine.ItemRow, a engine.ItemAnswered) error {
	a.Item, a.By, a.Via = it.Item, p.By, p.Via
	if args, err := engine.Canonical(a.Args); err == nil {
		a.Args = args // else it is refused where the schema is known
	}
	var stored []store.Object
	switch {
	case it.Tool != "" && len(a.Args) > 0:
		stored = append(stored, store.NewObject(a.Args))
	case it.Kind == engine.Question:
		stored = append(stored, store.NewObject(a.Output()))
	}
	return desk.Submit(ctx, it.Stream, engine.Reply{ItemAnswered: a}, stored...)
}
