package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/store"
)

// An anchor names the newest record of all streams. Kept beside the file, it
// shows when records at the file's end are missing. It may be older than the
// file, never newer. Ids have no gaps, so ID is also the number of records.
type anchor struct {
	ID     int64  `json:"id"`
	Stream string `json:"stream"`
	Seq    uint64 `json:"seq"`
	Epoch  uint64 `json:"epoch"`
	Hash   string `json:"hash"` // in hexadecimal
}

func decodeAnchor(text []byte) (a anchor, err error) {
	if err := json.Unmarshal(text, &a); err != nil {
		return anchor{}, err
	}
	if link, err := hex.DecodeString(a.Hash); err != nil || len(link) != len(sum{}) || a.ID <= 0 {
		return anchor{}, errors.New("it names no record")
	}
	return a, nil
}

func (s *Store) anchorPath() string { return filepath.Join(s.dir, "anchor") }

// readAnchor returns the zero anchor where there is none.
func (s *Store) readAnchor() (anchor, error) {
	text, err := os.ReadFile(s.anchorPath())
	if errors.Is(err, os.ErrNotExist) {
		return anchor{}, nil
	}
	if err != nil {
		return anchor{}, explain("read", s.anchorPath(), err)
	}
	a, err := decodeAnchor(text)
	if err != nil {
		return anchor{}, fmt.Errorf("journal: read %s: %w: %w: check the journal with fsck, then remove this file", s.anchorPath(), store.ErrCorrupt, err)
	}
	return a, nil
}

// querier is what reads: a pool, a connection or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// lastAnchor returns the anchor that the file itself would give, zero for an
// empty one.
func lastAnchor(ctx context.Context, q querier) (anchor, error) {
	return anchorAt(ctx, q, "SELECT id, stream, seq, epoch, hash FROM event ORDER BY id DESC LIMIT 1")
}

func anchorAt(ctx context.Context, q querier, query string, args ...any) (anchor, error) {
	var a anchor
	var link []byte
	err := q.QueryRowContext(ctx, query, args...).Scan(&a.ID, &a.Stream, &a.Seq, &a.Epoch, &link)
	if errors.Is(err, sql.ErrNoRows) {
		return anchor{}, nil
	}
	a.Hash = hex.EncodeToString(link)
	return a, err
}

// checkAnchor compares an anchor, read BEFORE the file, with the file.
func checkAnchor(ctx context.Context, q querier, want anchor) error {
	if want.ID == 0 {
		return nil
	}
	got, err := anchorAt(ctx, q, "SELECT id, stream, seq, epoch, hash FROM event WHERE id = ?", want.ID)
	switch {
	case err != nil:
		return err
	case got.ID == 0:
		last, err := lastAnchor(ctx, q)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: its end was cut: the anchor names record %d (%s %d), the last one here is %d (%s %d)",
			store.ErrCorrupt, want.ID, want.Stream, want.Seq, last.ID, last.Stream, last.Seq)
	case got != want:
		return fmt.Errorf("%w: record %d is %s %d with another hash than the anchor's, which names %s %d",
			store.ErrCorrupt, got.ID, got.Stream, got.Seq, want.Stream, want.Seq)
	}
	return nil
}

// anchorEvery is the least time between two writings of the anchor: what a cut
// tail may lose without showing.
const anchorEvery = time.Second

// An anchorer writes the anchor some time after a commit, in a goroutine of its
// own. Without commits it does nothing.
type anchorer struct {
	path  string
	point func(string)
	ours  func() bool // nil, or whether the journal beside it still is the one that is written

	mu     sync.Mutex
	newest anchor
	timer  *time.Timer // nil: nothing to write
	closed bool

	writing sync.Mutex
	written anchor
}

// note takes the newest record that is durable. It never waits for a writing.
func (a *anchorer) note(newest anchor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.newest = newest
	if a.timer == nil && !a.closed {
		a.timer = time.AfterFunc(anchorEvery, a.later)
	}
}

// later runs when a second is over. What cannot be written now is tried again
// after the next commit, or by close, which says so.
func (a *anchorer) later() {
	a.mu.Lock()
	a.timer = nil
	closed := a.closed
	a.mu.Unlock()
	if !closed {
		a.write()
	}
}

func (a *anchorer) write() error {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	newest := a.newest
	a.mu.Unlock()
	if newest == a.written || a.ours != nil && !a.ours() {
		return nil
	}
	text, err := json.Marshal(newest)
	if err == nil {
		err = durable.Replace(a.path, append(text, '\n'), 0o600, stages(a.point, PointAnchorWrite, PointAnchorRename, PointAnchorDone))
	}
	if err == nil {
		a.written = newest
	}
	return err
}

// close writes what is left.
func (a *anchorer) close() error {
	a.mu.Lock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.mu.Unlock()
	if err := a.write(); err != nil {
		return explain("write", a.path, err)
	}
	return nil
}
