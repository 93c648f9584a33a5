package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/store"
)

// lockPause is how long to wait between two tries for a lock whose holder is
// gone.
const lockPause = 10 * time.Millisecond

// errHeld is what tryLock answers when somebody else holds the lock.
var errHeld = errors.New("held")

// A lock is the right to write. It lasts no longer than the process; the file
// stays.
type lock struct{ file *os.File }

// acquire takes the lock. A live holder is an error at once. A holder that is
// gone may have left the lock with a child that it had forked and that has not
// yet begun its program, so then acquire tries again for as long as retry.
func acquire(ctx context.Context, path string, retry time.Duration) (*lock, error) {
	deadline := time.Now().Add(retry)
	for {
		held, holder, err := try(path)
		switch {
		case err != nil:
			return nil, explain("lock", path, err)
		case held != nil:
			return held, nil
		case holder.alive():
			return nil, fmt.Errorf("journal: lock %s: process %d holds it; send it the command, or end it: %w", path, holder.pid, store.ErrOwned)
		case time.Now().After(deadline):
			return nil, fmt.Errorf("journal: lock %s: still held after %s, and its holder %q cannot be seen from here: %w", path, retry, holder, store.ErrOwned)
		}
		if err := pause(ctx, lockPause); err != nil {
			return nil, fmt.Errorf("journal: lock %s: %w", path, err)
		}
	}
}

// try returns the lock, or its holder as far as that can be told.
func try(path string) (*lock, process, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, process{}, err
	}
	err = tryLock(f)
	if errors.Is(err, errHeld) {
		defer f.Close()
		holder, err := readHolder(f)
		return nil, holder, err
	}
	if err == nil && !isAt(f, path) {
		f.Close() // it was removed under us: another file is the lock now
		return nil, process{}, nil
	}
	if err == nil {
		err = writeHolder(f)
	}
	if err != nil {
		f.Close()
		return nil, process{}, err
	}
	return &lock{f}, process{}, nil
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
	cleared := l.file.Truncate(0)
	return errors.Join(cleared, l.file.Close())
}

func writeHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(self().String()+"\n"), 0)
	return err
}

// readHolder answers with the zero process if the file does not say: its
// holder is about to write, or to release.
func readHolder(f *os.File) (process, error) {
	text, err := io.ReadAll(io.LimitReader(f, 128))
	if err != nil {
		return process{}, err
	}
	number, started, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return process{}, nil
	}
	return process{pid: pid, started: started}, nil
}

// A process is told from a later one of the same number by when it started, in
// whatever words the system has for that.
type process struct {
	pid     int
	started string
}

func self() process {
	started, _ := startOf(os.Getpid())
	return process{pid: os.Getpid(), started: started}
}

func (p process) String() string {
	return strings.TrimSpace(strconv.Itoa(p.pid) + " " + p.started)
}

// alive reports whether p surely runs.
func (p process) alive() bool {
	if p.pid <= 0 {
		return false
	}
	started, runs := startOf(p.pid)
	return runs && started == p.started
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
