package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/store"
)

// lockPause is the time between two tries for what somebody holds.
const lockPause = 10 * time.Millisecond

// errHeld is what tryLock answers when somebody else holds the lock.
var errHeld = errors.New("held")

// A lock is the right to write. It ends with the process, and no child of it has it.
// The system knows it by process: whoever closes another file of the same name in
// this process loses it, so that here it is looked up first.
type lock struct{ file *os.File }

var locks struct {
	sync.Mutex
	held []*lock
}

// acquire takes the lock, or fails with store.ErrOwned at once.
func acquire(path string) (*lock, error) {
	locks.Lock()
	defer locks.Unlock()
	if slices.ContainsFunc(locks.held, func(l *lock) bool { return isAt(l.file, path) }) {
		return nil, owned(path, os.Getpid())
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, explain("lock", path, err)
	}
	holder, err := tryLock(f)
	if err == nil && !isAt(f, path) {
		err = errHeld // it was removed under us: another file is the lock now
	}
	if err != nil {
		f.Close()
		if errors.Is(err, errHeld) {
			return nil, owned(path, holder)
		}
		return nil, explain("lock", path, err)
	}
	l := &lock{f}
	locks.held = append(locks.held, l)
	return l, nil
}

func owned(path string, holder int) error {
	who := "another process"
	if holder > 0 {
		who = fmt.Sprintf("process %d", holder)
	}
	return fmt.Errorf("journal: lock %s: %s holds it; send it the command, or end it: %w", path, who, store.ErrOwned)
}

func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// release gives the lock back. Closing the file does that on all systems.
func (l *lock) release() error {
	locks.Lock()
	defer locks.Unlock()
	locks.held = slices.DeleteFunc(locks.held, func(other *lock) bool { return other == l })
	return l.file.Close()
}

// guardPatience is how long a guard is asked for whose holder may just have died: a
// child that it had forked holds it until its program begins.
const guardPatience = time.Second

// acquireGuard locks what another owner of the workspace would lock. It writes
// nothing there, so that anything that can be opened will do.
func acquireGuard(ctx context.Context, path string) (release func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, explain("lock", path, err)
	}
	deadline := time.Now().Add(guardPatience)
	for err = tryGuard(f); errors.Is(err, errHeld); err = tryGuard(f) {
		if time.Now().After(deadline) {
			err = fmt.Errorf("journal: lock %s: %w: end it, or use its state directory (PITON_STATE)", path, store.ErrElsewhere)
			break
		}
		if err = pause(ctx, lockPause); err != nil {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
