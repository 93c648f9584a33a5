package owner

import (
	"cmp"
	"context"
	"slices"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/tree"
)

// configuring is a run on its way to the configuration in force. The zero value is one
// that goes by it already.
type configuring struct {
	*uses
	product *api.Product
	streams []string // of the run and of those that carry out its steps; the run itself is the last: it says that all is done
	carried bool
	by      string            // who allowed less isolation than the configuration asks for, "" for nobody
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
		if err := c.release(ctx, c.streams[len(c.streams)-1]); err != nil {
			return err
		}
	}
	if _, err := c.trusted(ctx, c.product, api.Consent{Yes: true, Settings: c.product.Settings()}); err != nil {
		return err
	}
	for _, stream := range c.streams {
		if err := c.product.Configure(ctx, c.host, stream, c.by, c.protectConfig); err != nil {
			return err
		}
	}
	c.streams = nil
	return nil
}

// configured looks whether a run goes by the configuration in force: yes is the hash of
// the one that a person was shown the difference to. Where nobody has said yes it has
// that difference, unless a yes would be refused now. The runs that carry out its steps
// follow. Unsealed says that the person allows less isolation.
func (u *uses) configured(ctx context.Context, p *api.Product, stream, yes string, unsealed bool) (*configuring, error) {
	var now engine.RunOpened
	var steps []engine.Delegation
	working := ""
	err := u.host.Look(ctx, stream, func(s *engine.State) { now, steps, working = s.Run(), s.Delegations(), s.Working() })
	if err != nil || p.Pinned(now) == nil {
		return &configuring{}, err
	}
	c := &configuring{uses: u, product: p, carried: slices.Contains(u.host.Carried(), stream)}
	if unsealed {
		c.by = u.caller.By
	}
	if err := u.mayConfigure(ctx, p, now.Run, stream, c.carried); err != nil {
		return nil, err
	}
	if cmp.Or(now.Unsealed, c.by) == "" {
		if err := u.sealable(p.Config, p.Config.Policy.Isolation, "piton run "+now.Path+" --allow-unsealed goes on anyway, recorded in your name; or put "+config.File+" back as it was"); err != nil {
			return nil, err
		}
	}
	below, cut, err := u.below(ctx, steps)
	if err != nil {
		return nil, err
	}
	if step := cmp.Or(working, cut); step != "" && !c.carried {
		return nil, conflict("put "+config.File+" back as it was, then piton resume "+now.Run+"; or piton cancel "+now.Run,
			"the configuration has changed, and step %q was at work when its owner died: the step may have changed it, so no yes can take it", step)
	}
	switch {
	case yes == "":
		c.asks, err = p.Reconfigured(ctx, now)
	case yes != p.Settings():
		err = conflict("look at it again: piton config show --origin", "the configuration has changed since it was shown")
	}
	c.streams = append(below, stream)
	return c, err
}

// mayConfigure reports why a run cannot go on under the configuration in force yet,
// whatever a person says.
func (u *uses) mayConfigure(ctx context.Context, p *api.Product, name, stream string, carried bool) error {
	if carried {
		idle, err := u.waits(ctx, stream)
		if err != nil {
			return err
		}
		if !idle {
			return conflict("piton pause "+name+", and give the same command again when its steps have ended", "run %s is at work under the former configuration", name)
		}
	}
	return u.mayRig(p, stream)
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

// protectConfig is the state of the files that steps guard, with those of the
// configuration as they are now.
func (u *uses) protectConfig(ctx context.Context, base string) (store.Object, error) {
	body, err := u.store.Object(ctx, base)
	if err != nil {
		return store.Object{}, err
	}
	was, err := tree.DecodeBase(body)
	if err != nil {
		return store.Object{}, err
	}
	t, err := u.openTree(nil)
	if err != nil {
		return store.Object{}, err
	}
	defer t.Close()
	is, err := t.Protect(ctx, config.Files())
	if err != nil {
		return store.Object{}, err
	}
	return store.NewObject(was.Renew(is, config.IsFile).Encode()), nil
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
