package owner

import (
	"context"
	"errors"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/project"
)

// Restore gives a plan document the text of one of its revisions. A text that was
// never recorded is recorded first, so that nothing is lost. That the document has the
// text is recorded after: until then it is what is read there.
func (u *uses) Restore(ctx context.Context, q api.Restore) (api.Restored, error) {
	p, err := u.Owner.product(ctx, u.caller)
	if err != nil {
		return api.Restored{}, err
	}
	r, err := p.Restoring(ctx, q)
	if err != nil {
		return api.Restored{}, err
	}
	done := api.Restored{Path: q.Path, Revision: r.To, Diff: r.Between()}
	if r.Doc != nil && r.Was == nil {
		if r.Was, err = u.keepText(ctx, p, r.Doc); err != nil {
			return done, err
		}
		done.Kept = r.Was
	}
	if r.Was != nil {
		done.Was = r.Was.Drafted.Version
		if !r.Was.Filed {
			if err := p.Filed(ctx, u.host, r.Was); err != nil {
				return done, err
			}
		}
	}
	switch err := project.Restore(r.File, r.Seen(), r.Text); {
	case errors.Is(err, project.ErrChanged):
		return done, conflict("look at it again: piton diff "+q.Path+" shows the changes", "%s was changed meanwhile", q.Path)
	case err != nil:
		return done, api.CannotWrite(q.Path, err)
	}
	if err := p.Filed(ctx, u.host, r.To); err != nil {
		return done, err
	}
	doc, err := p.Read(ctx, q.Path)
	if err != nil {
		return done, err
	}
	pr, err := p.ProposalOf(ctx, doc)
	done.Proposal = pr != nil && !pr.Head.Ended
	return done, err
}

// keepText records the text of a document: for an unfinished run as what is
// proposed to it.
func (u *uses) keepText(ctx context.Context, p *api.Product, doc *api.Document) (*engine.Revision, error) {
	pr, err := p.ProposalOf(ctx, doc)
	switch {
	case err != nil:
		return nil, err
	case pr != nil && !pr.Head.Ended:
		return p.Propose(ctx, u.host, pr)
	}
	return p.Draft(ctx, u.host, doc)
}
