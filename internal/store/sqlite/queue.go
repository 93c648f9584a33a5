package sqlite

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// A queue lets one of the callers of Append commit for all that wait: who comes
// while nobody commits does so at once, in its own goroutine; who comes during
// a commit waits, and the first of them commits for all of them next. Nobody
// ever waits for more to come.
type queue struct {
	mu      sync.Mutex
	waiting []*ticket
	busy    bool // somebody commits, or is about to

	commit sync.Mutex // held during a commit
}

// A ticket is one call of Append.
type ticket struct {
	batches []prepared
	err     error
	leads   bool          // its caller commits for all that wait
	turn    chan struct{} // tells a caller that waits that it leads, or is done
}

// enter commits t with whatever else waits, and returns when it is done.
// commitAll sets the err of each ticket.
func (q *queue) enter(ctx context.Context, t *ticket, commitAll func([]*ticket)) error {
	q.mu.Lock()
	q.waiting = append(q.waiting, t)
	t.leads = !q.busy
	q.busy = true
	if t.leads {
		q.mu.Unlock()
	} else {
		t.turn = make(chan struct{}, 1)
		q.mu.Unlock()
		q.await(ctx, t)
	}
	if t.leads {
		q.lead(t, commitAll)
	}
	return t.err
}

// await returns when t leads, is done, or was taken out of the queue again
// because its caller gave up in time.
func (q *queue) await(ctx context.Context, t *ticket) {
	select {
	case <-t.turn:
		return
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting, t)
	if i >= 0 && !t.leads {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		t.err = fmt.Errorf("journal: append: %w", ctx.Err())
		q.mu.Unlock()
		return
	}
	q.mu.Unlock()
	<-t.turn
}

func (q *queue) lead(own *ticket, commitAll func([]*ticket)) {
	q.commit.Lock()
	q.mu.Lock()
	group := q.waiting
	q.waiting = nil
	q.mu.Unlock()

	commitAll(group)
	q.commit.Unlock()

	for _, t := range group {
		if t != own {
			t.turn <- struct{}{}
		}
	}
	q.handOver()
}

// handOver lets the first of those that wait lead. It comes after all others
// were told: who is told last is scheduled first, and the others prepare what
// comes next meanwhile.
func (q *queue) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.busy = false
		return
	}
	next := q.waiting[0]
	next.leads = true
	next.turn <- struct{}{}
}
