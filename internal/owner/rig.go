package owner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/tool"
	"github.com/piton-dev/piton/internal/tree"
)

// rig is what effects need. An owner that only takes a request has none.
type rig struct {
	conf  string // hash of the configuration that it was made with
	pool  *proc.Pool
	tree  *tree.Tree
	tools *tool.Registry
	world *effect.World
	used  int // effects that are under way
}

// rigUp makes the owner ready for effects under a configuration. While runs are
// carried on under another one it refuses.
func (o *Owner) rigUp(ctx context.Context, p *api.Product, stream string, parallel int) error {
	o.rigging.Lock()
	defer o.rigging.Unlock()
	hash := p.Settings()
	if o.rig != nil && o.rig.conf == hash {
		return nil
	}
	if o.rig != nil {
		if o.rig.used > 0 || o.carriesOther(stream) {
			return otherRig()
		}
		if err := o.drop(); err != nil {
			return err
		}
	}
	r, err := o.newRig(p, parallel)
	if err != nil {
		return errors.Join(err, r.close())
	}
	r.conf, o.rig = hash, r
	for _, path := range o.prints {
		r.tree.Output(path)
	}
	if err := r.world.Sweep(); err != nil {
		o.say("files of a killed owner are not removed: %v", err)
	}
	o.sayTorn(r.world.Mend(ctx))
	return nil
}

// mayRig refuses a configuration that a task's run could not be carried on under now,
// since something else is carried on under another one.
func (o *Owner) mayRig(p *api.Product, stream string) error {
	o.rigging.Lock()
	defer o.rigging.Unlock()
	asks := stream == engine.WorkspaceStream && o.rig != nil && o.rig.used > 0 // it is not stopped first
	if o.rig != nil && o.rig.conf != p.Settings() && (asks || o.carriesOther(stream)) {
		return otherRig()
	}
	return nil
}

func otherRig() error {
	return conflict("let that end, or cancel it; piton list --status running and piton status show it",
		"the configuration was changed while another run of this workspace, or a request to a model, goes on with the former one")
}

func (o *Owner) newRig(p *api.Product, parallel int) (r *rig, err error) {
	r = &rig{}
	cell, err := o.cell(p)
	if err != nil {
		return r, err
	}
	if r.pool = o.tried.Swap(nil); r.pool == nil {
		if r.pool, err = proc.NewPool(o.proc); err != nil {
			return r, fmt.Errorf("prepare to start processes: %w", err)
		}
	}
	r.pool.Furnish(cell, parallel)
	if r.tree, err = o.openTree(r.pool); err != nil {
		return r, err
	}
	open := func(dir string) (*tool.Registry, error) { return OpenTools(dir, p.Config, p.Env, r.pool) }
	if r.tools, err = open(o.cfg.Place.Dir); err != nil {
		return r, err
	}
	agents := agent.New(agentConfigs(p.Config, o.cfg.Program), r.pool)
	common := &effect.Common{
		State: o.cfg.Place.State, Environ: o.environ, Pool: r.pool, Agents: agents,
		Network: p.Config.Policy.Network, Worktrees: Worktrees(o.cfg.Place), OpenTools: open,
		Object: func(hash string) ([]byte, error) { return o.store.Object(context.Background(), hash) },
		NewRun: p.NewRun, Adopted: o.isAdopted, Say: func(text string) { o.say("%s", text) },
		Draw: func(ctx context.Context, e engine.Effect, r effect.Reporter) effect.Result {
			return o.errand(ctx, p, e, r)
		},
		Made: func(ctx context.Context, dir string, e engine.Effect) (effect.Made, error) {
			return o.made(ctx, p, dir, e)
		},
	}
	common.Arbiter = func(environ []string) (model.Asker, error) { return o.asker(p, "arbiter", p.Config.Arbiter, environ) }
	common.Judge = func(environ []string) (model.Asker, error) { return o.asker(p, "judge", p.Config.Judge, environ) }
	common.Judging, err = judging(p.Config)
	r.world = &effect.World{
		Common: common, Dir: o.cfg.Place.Dir, Tree: r.tree, Tools: r.tools,
		Marked: p.Marked, ElsewhereOwned: o.elsewhereOwned,
	}
	return r, err
}

// judging tells the model that judges from any other, by all that the configuration says
// of it.
func judging(c config.Config) (string, error) {
	m := c.Judge
	m.Time = 0
	text, err := json.Marshal(struct {
		Model config.Model
		Agent config.Agent
	}{m, c.Agents[m.Agent]})
	return string(text), err
}

// drop ends the rig, and removes the worktrees that nobody needs any more. No effect
// is under way.
func (o *Owner) drop() error {
	r := o.rig
	if o.rig = nil; r == nil {
		return nil
	}
	err := r.world.Close()
	if swept := o.sweepAll(context.Background(), r.tree); swept != nil {
		o.say("a worktree is not removed yet; piton gc removes it: %v", swept)
	}
	r.world = nil
	return errors.Join(err, r.close())
}

// unrig ends the rig unless something is carried on.
func (o *Owner) unrig() error {
	o.rigging.Lock()
	defer o.rigging.Unlock()
	return o.drop()
}

func (r *rig) close() error {
	var err error
	if r.world != nil {
		err = r.world.Close()
	}
	if r.tools != nil {
		r.tools.Close()
	}
	if r.tree != nil {
		err = errors.Join(err, r.tree.Close())
	}
	if r.pool != nil {
		r.pool.Close()
	}
	return err
}

// act carries an effect out. There is a rig: effects start only for what is carried.
func (o *Owner) act(ctx context.Context, e engine.Effect, report *run.Reporter) run.Answer {
	o.use(1)
	defer o.use(-1)
	if e.Key.Kind == engine.Draw && e.Key.Run != "" {
		return o.redraw(ctx, e, report)
	}
	r := o.world().Do(ctx, e, report)
	a := run.Answer{Input: r.Input, Err: r.Err}
	for _, body := range r.Bodies {
		a.Objects = append(a.Objects, store.NewObject(body))
	}
	return a
}

// use counts the effects that are under way.
func (o *Owner) use(n int) {
	o.rigging.Lock()
	defer o.rigging.Unlock()
	o.rig.used += n
}

// world is what effects act on. There is a rig.
func (o *Owner) world() *effect.World {
	o.rigging.Lock()
	defer o.rigging.Unlock()
	return o.rig.world
}

// openTree opens the workspace's files. Without a pool it asks git nothing.
func (o *Owner) openTree(pool *proc.Pool) (*tree.Tree, error) {
	place := o.cfg.Place
	git, err := proc.Outside("git", o.cfg.Env, place.Dir)
	if err != nil {
		git = "" // then every file counts, ignored ones too
	}
	return tree.Open(place.Dir, tree.Config{
		Keep: filepath.Join(place.State, "kept"), Quarantine: filepath.Join(place.State, "quarantine"), Git: git, Pool: pool,
	})
}

// withTree opens the workspace's files for as long as do takes.
func (o *Owner) withTree(do func(*tree.Tree) error) error {
	pool, err := proc.NewPool(proc.Config{})
	if err != nil {
		return fmt.Errorf("prepare to start processes: %w", err)
	}
	defer pool.Close()
	t, err := o.openTree(pool)
	if err != nil {
		return err
	}
	defer t.Close()
	return do(t)
}

// LookTools opens the tools of a workspace where no run is carried, with servers that are
// held as they would be in one.
func LookTools(place api.Place, c config.Config, env []string) (r *tool.Registry, end func(), err error) {
	pool, close, err := lookPool(place, c, env, "", len(c.MCPServers) > 0)
	if err != nil {
		return nil, nil, err
	}
	if r, err = OpenTools(place.Dir, c, env, pool); err != nil {
		close()
		return nil, nil, err
	}
	return r, func() {
		r.Close()
		close()
	}, nil
}

// lookPool starts processes where no run is carried; with cell they are held as they would
// be in one.
func lookPool(place api.Place, c config.Config, env []string, piton string, cell bool) (pool *proc.Pool, end func(), err error) {
	if pool, err = proc.NewPool(proc.Config{Idle: 1}); err != nil {
		return nil, nil, err
	}
	if !cell || c.Policy.Isolation == string(proc.LevelNone) {
		return pool, pool.Close, nil
	}
	temp, err := os.MkdirTemp("", "piton-look-")
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	best, _ := pool.Best()
	pool.Furnish(cellOf(place, env, c, piton, best, temp), 1)
	return pool, func() {
		pool.Close()
		_ = proc.RemoveAll(temp)
	}, nil
}

// OpenTools opens the tools of a directory. No server is started by that.
func OpenTools(dir string, c config.Config, env []string, pool *proc.Pool) (*tool.Registry, error) {
	servers := make(map[string]tool.Server, len(c.MCPServers))
	for name, s := range c.MCPServers {
		servers[name] = tool.Server{Command: s.Command, URL: s.URL, Env: s.Env, EnvPass: s.EnvPass, Reads: s.Reads, Login: s.Login, Network: s.Network, Open: s.Isolation == "none"}
	}
	r, err := tool.Open(tool.Config{
		Allow: c.Policy.Allow, Hosts: c.WebFetch.Allow, Servers: servers, Workspace: dir, Environ: env, Pool: pool,
	})
	if err != nil {
		return nil, &api.Problem{Code: api.Invalid, Message: err.Error(), Hint: "correct .piton/config.yaml"}
	}
	return r, nil
}

// made looks at a plan that was made during a run, as a plan is looked at before
// anybody is asked for a yes.
func (o *Owner) made(ctx context.Context, p *api.Product, dir string, e engine.Effect) (effect.Made, error) {
	m, err := p.In(dir).Made(ctx, e.Key.Task, e.Step.Child.Path)
	if err != nil || m.Refused != "" {
		return effect.Made{Refused: m.Refused}, err
	}
	made := effect.Made{Plan: m.Plan, Program: m.Compiled.Program, Agents: m.Agents, Text: string(m.Doc.Source)}
	for _, o := range m.Objects {
		made.Bodies = append(made.Bodies, o.Body)
	}
	if err := o.isolated(p, m.Doc, e.Unsealed); err != nil {
		made.Refused = err.Error()
	}
	return made, nil
}

// mendAlone finishes merges that an owner was killed in.
func (o *Owner) mendAlone(ctx context.Context) error {
	if !tree.Torn(Worktrees(o.cfg.Place)) {
		return nil
	}
	return o.withTree(func(t *tree.Tree) error {
		o.sayTorn(t.Mend(ctx, Worktrees(o.cfg.Place)))
		return nil
	})
}

// sayTorn says which runs do not go on because a merge of theirs is not finished.
func (o *Owner) sayTorn(torn map[string]error) {
	for _, run := range slices.Sorted(maps.Keys(torn)) {
		o.say("run %s cannot continue until its merge is finished: %s; fix that, or cancel the run", run, torn[run].Error())
	}
}

// met keeps what another process of Piton prints from being taken for a change to
// the workspace, where the system says what that process prints to.
func (o *Owner) met(pid int) {
	for _, fd := range []int{1, 2} {
		link := fmt.Sprintf("/proc/%d/fd/%d", pid, fd)
		path, err := os.Readlink(link)
		if err != nil {
			continue
		}
		open, err := os.Stat(link)
		at, missing := os.Lstat(path)
		if err == nil && missing == nil && at.Mode().IsRegular() && os.SameFile(open, at) {
			o.printed(path)
		}
	}
}

// printed keeps a file from being taken for a change.
func (o *Owner) printed(path string) {
	o.rigging.Lock()
	defer o.rigging.Unlock()
	if !slices.Contains(o.prints, path) {
		o.prints = append(o.prints, path)
	}
	if o.rig != nil {
		o.rig.tree.Output(path)
	}
}

// agentConfigs tells package agent what the configuration says of each role.
func agentConfigs(c config.Config, piton string) map[string]agent.Config {
	roles := make(map[string]agent.Config, len(c.Agents))
	for name, a := range c.Agents {
		roles[name] = agent.Config{
			Kind: agent.Kind(a.Kind), Command: a.Command, Prompt: agent.Delivery(a.Prompt), Parse: a.Parse,
			Modes: map[string]string{"read": a.Modes.Read, "edit": a.Modes.Edit, "full": a.Modes.Full}, Mode: a.Mode, Model: a.Model, Tools: a.Tools, Instructions: a.Instructions,
			Env: a.Env, EnvPass: a.EnvPass, Home: agent.Home(a.Home), Login: agent.LoginOf(a.Command, a.Login), Obeyed: agent.ObeyedOf(a.Command, a.Login),
			Network: a.Network, Known: agent.ProgramOf(a.Command).Hosts, Most: c.Policy.Network,
			Price: priceOf(c.Price(name)),
			Time:  a.Limits.Time, Idle: a.Limits.Idle, Grace: a.Stop.CancelGrace + a.Stop.TermGrace, Term: a.Stop.TermGrace,
			Server:      reportServer(a, piton),
			Permissions: []agent.Rules{{Of: "the policy", Text: c.Policy.Permissions}, {Of: "the agent's entry", Text: a.Permissions}},
		}
	}
	return roles
}

// reportServer is the argv of the server that an agent reports with, nil for one that has
// none.
func reportServer(a config.Agent, piton string) []string {
	if a.ReportTools != "on" || piton == "" {
		return nil
	}
	return []string{piton, "mcp", "--step"}
}

// priceOf is a price of the configuration, nil where that has none.
func priceOf(p config.Price, known bool) *agent.Price {
	if !known {
		return nil
	}
	return &agent.Price{In: int64(p.Input), Out: int64(p.Output)}
}
