package owner

import (
	"context"
	"fmt"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
)

// uses are the use cases for one caller.
type uses struct {
	*Owner
	caller api.Caller
}

func (o *Owner) uses(c api.Caller) api.Uses { return &uses{o, c} }

// product is what a request is carried out with: the configuration is read anew.
func (o *Owner) product(ctx context.Context, c api.Caller) (*api.Product, error) {
	if c.Env == nil {
		c.Env = o.cfg.Env // nobody's request
	}
	conf, err := api.Configuration(config.Sources{
		WorkspaceDir: o.cfg.Place.Dir, UserDir: config.UserDir(c.Env), Env: c.Env, Flags: c.Flags,
	})
	if err != nil {
		return nil, err
	}
	return o.base.For(ctx, c, conf)
}

// looking is product for a request that starts no work: a mistake in the
// configuration does not keep anybody from stopping a run.
func (u *uses) looking(ctx context.Context) (*api.Product, error) {
	return u.base.For(ctx, u.caller, config.Default())
}

func conflict(hint, format string, args ...any) error {
	return &api.Problem{Code: api.Conflict, Message: fmt.Sprintf(format, args...), Hint: hint}
}
