package owner

import (
	"context"
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/store"
)

// Archive takes finished runs out of the lists, or puts them back.
func (u *uses) Archive(ctx context.Context, q api.Archive) (api.Archived, error) {
	p, err := u.looking(ctx)
	if err != nil {
		return api.Archived{}, err
	}
	runs, err := u.finished(ctx, p, q)
	if err != nil {
		return api.Archived{}, err
	}
	already, err := p.Archived(ctx)
	if err != nil {
		return api.Archived{}, err
	}
	if u.caller.Again.IsZero() {
		runs = slices.DeleteFunc(runs, func(id string) bool { return slices.Contains(already, id) != q.Back })
	}
	if len(runs) > 0 {
		err = u.host.Submit(ctx, engine.WorkspaceStream, engine.Archive{Runs: runs, Back: q.Back, By: u.caller.By})
	}
	return api.Archived{Runs: runs}, err
}

// finished are the runs that are meant; one that has not ended is refused.
func (u *uses) finished(ctx context.Context, p *api.Product, q api.Archive) ([]string, error) {
	if q.Older == "" {
		head, err := p.Find(ctx, q.Run)
		if err == nil && !head.Ended {
			err = conflict(fmt.Sprintf("piton resume %s continues it, piton cancel %s ends it", head.Run, head.Run), "run %s is not finished", head.Run)
		}
		return []string{head.Run}, err
	}
	age, err := plan.ParseDuration(q.Older)
	if err != nil {
		return nil, &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("--older-than %q is not a duration", q.Older), Hint: "write it like 30d, 12h or 90m"}
	}
	heads, err := u.store.Heads(ctx, store.HeadFilter{Status: []engine.Status{engine.Done, engine.Failed, engine.Cancelled, engine.Superseded}})
	if err != nil {
		return nil, err
	}
	var runs []string
	for _, h := range heads {
		if h.Ended && u.cfg.Now().Sub(h.Finished) > age {
			runs = append(runs, h.Run)
		}
	}
	return runs, nil
}
