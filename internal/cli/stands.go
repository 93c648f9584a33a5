package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

const unsealed = api.Unsealed

// carried asks the owner of the workspace, if there is one. Of one that does not
// answer in time, or cannot say, all is believed.
func (s *session) carried(ctx context.Context) view.Carried {
	streams, err := s.client.Carried(ctx)
	return view.Carried{Streams: streams, All: err != nil && !api.ErrGone(err)}
}

func (s *session) stands(ctx context.Context) (view.Stands, error) {
	asks, err := s.Asks(ctx)
	return view.Stands{Carried: s.carried(ctx), Asks: asks}, err
}

// errNobody says that nobody carries the run on that is watched.
var errNobody = errors.New("nobody carries the run on")

// changes calls each, and again whenever the journal has grown, while somebody
// carries the stream's run on. It fails with errNobody where nobody does.
func (s *session) changes(ctx context.Context, stream string, each func() error) error {
	err := s.client.Watch(ctx, stream, each)
	if err == nil || api.ErrGone(err) && ctx.Err() == nil {
		return cmp.Or(each(), errNobody)
	}
	return err
}
