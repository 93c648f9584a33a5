package owner

import (
	"context"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
)

// trusted reports whether a person has said yes to the configuration that a request is
// carried out with. A yes in the request is recorded.
func (u *uses) trusted(ctx context.Context, p *api.Product, yes api.Consent) (bool, error) {
	trusted, err := p.Trusted(ctx)
	switch {
	case err != nil || trusted:
		return trusted, err
	case !yes.Yes:
		return false, nil
	case yes.Settings != "" && yes.Settings != p.Settings():
		return false, conflict("look at it again: piton config show --origin", "the configuration has changed since it was shown")
	}
	return true, u.host.Submit(ctx, engine.WorkspaceStream, engine.Trust{
		SettingsApproved: engine.SettingsApproved{Config: p.Settings(), By: u.caller.By, Via: u.caller.Via},
	})
}

// trusts refuses a configuration that nobody has said yes to: it may have changed since
// the work was asked for.
func trusts(ctx context.Context, p *api.Product) error {
	trusted, err := p.Trusted(ctx)
	if err == nil && !trusted {
		err = conflict("ask again, and say yes to it", "the configuration of this workspace has changed, and nobody has approved it")
	}
	return err
}
