package tool

import (
	"context"
	"math"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Progress is what a tool says while it works: a claim.
type Progress struct {
	Percent *float64 // 0 to 100; nil where it did not say how much there is
	Text    string   // plain text of one line or more; may be empty
}

type progressKey struct{}

// WithProgress returns a context whose calls hand on what the tool says while it
// works. tell may be called from another goroutine, and must return soon.
func WithProgress(ctx context.Context, tell func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// tellers are the calls of a server that want to hear of progress, by token.
type tellers struct {
	mu   sync.Mutex
	last int
	live map[string]func(Progress)
}

// begin gives a call a token of its own, or "" where nobody listens.
func (t *tellers) begin(ctx context.Context) (token string, end func()) {
	tell, ok := ctx.Value(progressKey{}).(func(Progress))
	if !ok {
		return "", nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live == nil {
		t.live = map[string]func(Progress){}
	}
	t.last++
	token = strconv.Itoa(t.last)
	t.live[token] = tell
	return token, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.live, token)
	}
}

// heard hands a notification to the call it belongs to.
func (t *tellers) heard(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	t.mu.Lock()
	tell := t.live[token]
	t.mu.Unlock()
	p := Progress{Percent: percent(r.Params.Progress, r.Params.Total), Text: bounded(r.Params.Message, maxMessage)}
	if tell != nil && p != (Progress{}) {
		tell(p)
	}
}

// percent is how much of the total is done, nil where that cannot be told.
func percent(done, total float64) *float64 {
	share := 100 * done / total
	if total <= 0 || math.IsNaN(share) || share < 0 || share > 100 {
		return nil
	}
	return &share
}
