package api

import (
	"context"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// A Desk is the owner's journal: it takes every change. It returns when the change
// is durable, or with the reason why it was refused. It is safe for concurrent use.
// Only the owner's process has one; everybody else sends [Uses] to the owner.
type Desk interface {
	// Submit hands an input to a stream.
	Submit(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error
}
