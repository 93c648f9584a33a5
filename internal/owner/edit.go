package owner

import (
	"context"
	"errors"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/project"
)

// Edit gives a plan document another text, whole or not at all, unless somebody else has
// changed it since the person saw it. Nothing is recorded: a text is when it is approved.
func (u *uses) Edit(ctx context.Context, q api.Edit) (api.Edited, error) {
	p, err := u.looking(ctx)
	if err != nil {
		return api.Edited{}, err
	}
	file, seen, err := p.Editing(ctx, q)
	if err != nil {
		return api.Edited{}, err
	}
	switch err := project.Replace(file, seen, q.Text); {
	case errors.Is(err, project.ErrChanged):
		return api.Edited{}, api.Meanwhile(q.Path)
	case err != nil:
		return api.Edited{}, api.CannotWrite(q.Path, err)
	}
	return api.Edited{Seen: api.Digest(q.Text)}, nil
}
