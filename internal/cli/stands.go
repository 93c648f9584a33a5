package cli

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

const unsealed = api.Unsealed

// ownerPatience is how long an owner is waited for that may be about to answer, or
// to begin.
const (
	ownerPause    = 20 * time.Millisecond
	ownerPatience = 5 * time.Second
)

// carried asks the owner of the workspace, if there is one. Of one that does not
// answer in time, or cannot say, all is believed.
func (s *session) carried(ctx context.Context) view.Carried {
	ctx, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
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
// carries the stream's run on. One that takes the run over soon after its owner has
// died is followed too. It fails with errNobody where nobody carries it on.
func (s *session) changes(ctx context.Context, stream string, each func() error) error {
	for until := time.Now(); ctx.Err() == nil; time.Sleep(ownerPause) {
		err := s.client.Watch(ctx, stream, func() error {
			until = time.Now().Add(ownerPatience)
			return each()
		})
		switch {
		case err == nil:
			return cmp.Or(each(), errNobody)
		case !api.ErrGone(err):
			return err
		case time.Now().After(until):
			return cmp.Or(each(), errNobody)
		}
	}
	return ctx.Err()
}
