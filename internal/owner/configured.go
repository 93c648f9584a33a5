package owner

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/tree"
)

// configuring is a run on its way to the configuration in force, and to the files that judge
// as they are now. The zero value is one that goes by them already.
type configuring struct {
	*uses
	product *api.Product
	streams []string // of the run and of those that carry out its steps; the run itself is the last: it says that all is done
	carried bool     // under the former configuration
	by      string   // who allowed less isolation than the configuration asks for, "" for nobody
	files   refiled
	asks    *api.Reconfigured // nobody has said yes; this is different
}

// pending reports whether a person has said yes, and nothing is done yet.
func (c *configuring) pending() bool { return len(c.streams) > 0 && c.asks == nil }

// take records the yes, and lets the runs go on. It is for when nothing else can be
// refused any more.
func (c *configuring) take(ctx context.Context) error {
	if !c.pending() {
		return nil
	}
	if c.carried {
		if err := c.release(c.streams[len(c.streams)-1]); err != nil {
			return err
		}
	}
	if _, err := c.trusted(ctx, c.product, api.Consent{Yes: true, Settings: c.product.Settings()}); err != nil {
		return err
	}
	for _, stream := range c.streams {
		if err := c.product.Configure(ctx, c.host, stream, c.by, c.files.changes, c.renewed); err != nil {
			return err
		}
	}
	c.streams = nil
	return nil
}

// configured looks whether a run goes by the configuration in force and knows the files that
// judge as they are: yes is the hash of what a person was shown the difference to. Where
// nobody has said yes it has that difference, unless a yes would be refused now. The runs that
// carry out its steps follow. Unsealed says that the person allows less isolation.
func (u *uses) configured(ctx context.Context, p *api.Product, stream, yes string, unsealed bool) (*configuring, error) {
	var now engine.RunOpened
	var steps []engine.Delegation
	var guarded engine.Guarded
	working := ""
	err := u.host.Look(ctx, stream, func(s *engine.State) {
		now, steps, working, guarded = s.Run(), s.Delegations(), s.Working(), s.Guarded()
	})
	if err != nil {
		return &configuring{}, err
	}
	other := p.Pinned(now) != nil
	carried := slices.Contains(u.host.Carried(), stream)
	below, cut, err := u.below(ctx, steps)
	if err != nil {
		return nil, err
	}
	c := &configuring{uses: u, product: p, carried: carried && other}
	if unsealed {
		c.by = u.caller.By
	}
	step := cmp.Or(working, cut)
	idle := step == ""
	if carried {
		if idle, err = u.waits(ctx, stream); err != nil {
			return nil, err
		}
	}
	if other {
		if err := u.mayConfigure(p, now, stream, c, idle); err != nil {
			return nil, err
		}
		if !idle {
			return nil, conflict("put "+config.File+" back as it was, then piton resume "+now.Run+"; or piton cancel "+now.Run,
				"the configuration has changed, and step %q was at work when its owner died: the step may have changed it, so no yes can take it", step)
		}
	}
	if c.files, err = u.refiled(ctx, guarded, idle, other); err != nil {
		return nil, err
	}
	if !other && len(c.files.changes) == 0 {
		return &configuring{}, nil
	}
	hash := p.Settings() + c.files.hash()
	switch {
	case yes == "":
		if c.asks, err = p.Reconfigured(ctx, now); err == nil {
			c.asks.Config, c.asks.Files = hash, c.files.shown
		}
	case yes != hash:
		err = conflict("look at it again: piton config show --origin", "what the run goes by has changed since it was shown")
	}
	c.streams = append(below, stream)
	return c, err
}

// mayConfigure reports why a run cannot go on under the configuration in force yet,
// whatever a person says.
func (u *uses) mayConfigure(p *api.Product, now engine.RunOpened, stream string, c *configuring, idle bool) error {
	if c.carried && !idle {
		return conflict("piton pause "+now.Run+", and give the same command again when its steps have ended", "run %s is at work under the former configuration", now.Run)
	}
	if err := u.mayRig(p, stream); err != nil {
		return err
	}
	if cmp.Or(now.Unsealed, c.by) != "" {
		return nil
	}
	return u.sealable(p.Config, p.Config.Policy.Isolation, "piton run "+now.Path+" --allow-unsealed goes on anyway, recorded in your name; or put "+config.File+" back as it was")
}

// below lists the tasks of the runs that carry out steps and have not ended, and of the
// runs that carry out theirs. Working is a step of them whose work is under way.
func (u *uses) below(ctx context.Context, steps []engine.Delegation) (streams []string, working string, _ error) {
	for _, d := range steps {
		child, err := run.Load(ctx, u.store, d.Task)
		if err != nil {
			return nil, "", err
		}
		if !child.Live() {
			continue
		}
		more, works, err := u.below(ctx, child.Delegations())
		if err != nil {
			return nil, "", err
		}
		streams, working = append(append(streams, more...), d.Task), cmp.Or(working, works, child.Working())
	}
	return streams, working, nil
}

// refiled are the protected files that a person changed while nothing of a run was at work.
// What its steps have left is none of theirs.
type refiled struct {
	changes []engine.Change // without the configuration's own files where that is another one
	shown   []api.ChangedFile
	is      *tree.Base // they and the configuration's own, as they are now
}

// hash names them as they are now; "" is none.
func (r refiled) hash() string {
	if len(r.changes) == 0 {
		return ""
	}
	return "+" + store.NewObject(r.is.Encode()).Hash
}

func (r refiled) takes(path string) bool {
	return config.IsFile(path) || slices.ContainsFunc(r.changes, func(c engine.Change) bool { return c.Path == path })
}

// refiled compares the workspace with what a run knows of it. While the run is not idle,
// nobody could tell whose doing a change is.
func (u *uses) refiled(ctx context.Context, g engine.Guarded, idle, other bool) (r refiled, err error) {
	was, err := u.baseOf(ctx, g.Base)
	if err != nil {
		return r, err
	}
	for _, hash := range g.Judges {
		body, err := u.store.Object(ctx, hash)
		if err != nil {
			return r, err
		}
		g.Guards = append(slices.Clip(g.Guards), strings.Split(string(body), "\n")...)
	}
	err = u.withTree(func(t *tree.Tree) error {
		if idle {
			if r.changes, err = was.Changed(ctx, t, g.Guards, g.Moved); err != nil {
				return err
			}
			r.changes = slices.DeleteFunc(r.changes, func(c engine.Change) bool { return g.Left[c.Path] || other && config.IsFile(c.Path) })
		}
		keys := config.Files()
		for _, c := range r.changes {
			keys = append(keys, c.Path)
		}
		if r.is, err = t.Protect(ctx, keys); err != nil {
			return err
		}
		for _, c := range r.changes {
			f := api.ChangedFile{Change: c}
			if !config.IsFile(c.Path) { // it may hold secrets
				f.Lines = t.Lines(was, r.is, c.Path)
			}
			r.shown = append(r.shown, f)
		}
		return nil
	})
	return r, err
}

func (o *Owner) baseOf(ctx context.Context, hash string) (*tree.Base, error) {
	body, err := o.store.Object(ctx, hash)
	if err != nil {
		return nil, err
	}
	return tree.DecodeBase(body)
}

// renewed is a base with the files that are taken as they are now.
func (c *configuring) renewed(ctx context.Context, base string) (store.Object, error) {
	was, err := c.baseOf(ctx, base)
	if err != nil {
		return store.Object{}, err
	}
	return store.NewObject(was.Renew(c.files.is, c.files.takes).Encode()), nil
}

// reconfigured looks whether the unfinished run of the plan goes by the configuration in
// force. Where a person has yet to say that it may, the answer says how that differs.
func (s *saying) reconfigured(ctx context.Context) (*configuring, error) {
	head, err := s.product.RunOf(ctx, s.Word)
	if err != nil || head.Run == "" || head.Ended || head.Parent.Run != "" {
		return &configuring{}, nil //nolint:nilerr // what is wrong with the word is said elsewhere
	}
	c, err := s.configured(ctx, s.product, head.Stream, s.Config, s.Unsealed)
	if err == nil && c.asks != nil {
		s.said.Needs, s.said.Opened = api.NeedsConfig, api.Opened{Stream: head.Stream, Run: head.Run, Resumed: true, Reconfigured: c.asks}
	}
	return c, err
}
