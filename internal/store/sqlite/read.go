package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// page is how many records are read at a time. No connection is held while the
// caller works on them, so that it may read and append inside its loop.
const page = 256

// Read implements [store.Store]. Each record is checked against the one before
// it; the first that does not fit ends the reading with store.ErrCorrupt.
func (s *Store) Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		r := reading{store: s, stream: stream, seq: after, chain: newChain()}
		for more := true; more; {
			records, err := r.next(ctx)
			for _, record := range records {
				if !yield(record, nil) {
					return
				}
			}
			if err != nil {
				yield(engine.Record{}, s.explain(fmt.Sprintf("read %s after %d from", stream, r.seq), err))
				return
			}
			more = len(records) == page
		}
	}
}

// A reading is a place in a stream: the last record that was read, and its link
// of the chain once one has been.
type reading struct {
	store  *Store
	stream string
	seq    uint64
	linked bool
	link   sum
	chain  *chain
}

// next returns the records of one page. With an error, it returns those before.
func (r *reading) next(ctx context.Context) ([]engine.Record, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	var records []engine.Record
	err := each(ctx, r.store.readers, `SELECT seq, at, actor, epoch, type, body, hash
		FROM event WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?`, []any{r.stream, int64(r.seq), page}, func(rows *sql.Rows) error {
		record, err := r.scan(rows)
		if err == nil {
			records = append(records, record)
		}
		return err
	})
	return records, err
}

// begin finds the link of the record that the reading starts after. There may
// be none yet.
func (r *reading) begin(ctx context.Context) error {
	if r.linked || r.seq == 0 {
		r.linked = true
		return nil
	}
	var link []byte
	err := r.store.readers.QueryRowContext(ctx, "SELECT hash FROM event WHERE stream = ? AND seq = ?", r.stream, int64(r.seq)).Scan(&link)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	r.link, r.linked = toSum(link), err == nil
	return err
}

func (r *reading) scan(rows *sql.Rows) (engine.Record, error) {
	e := entry{stream: r.stream}
	var link []byte
	if err := rows.Scan(&e.seq, &e.at, &e.actor, &e.epoch, &e.typ, &e.body, &link); err != nil {
		return engine.Record{}, unreadable(err)
	}
	want := r.chain.link(r.link, &e)
	if e.seq != r.seq+1 || !r.linked {
		return engine.Record{}, fmt.Errorf("%w: record %d is missing", store.ErrCorrupt, r.seq+1)
	}
	if string(link) != string(want[:]) {
		return engine.Record{}, fmt.Errorf("%w: record %d is not what was written", store.ErrCorrupt, e.seq)
	}
	record, err := e.record()
	if err == nil {
		r.seq, r.link = e.seq, want
	}
	return record, err
}

func (e *entry) record() (engine.Record, error) {
	event, err := engine.Decode(e.typ, e.body)
	if err != nil {
		return engine.Record{}, fmt.Errorf("record %d: %w", e.seq, err)
	}
	return engine.Record{
		Stream: e.stream, Seq: e.seq, At: time.UnixMicro(e.at).UTC(),
		Actor: e.actor, Epoch: e.epoch, Event: event,
	}, nil
}

// Snapshot implements [store.Store]. A snapshot that is damaged, or of other
// records than these, is as good as none.
func (s *Store) Snapshot(ctx context.Context, stream string) (uint64, []byte, error) {
	var seq uint64
	var bound, body, link []byte
	err := s.readers.QueryRowContext(ctx, `SELECT s.seq, s.sum, s.body,
		ifnull((SELECT hash FROM event e WHERE e.stream = s.stream AND e.seq = s.seq), zeroblob(32))
		FROM snapshot s WHERE s.stream = ?`, stream).Scan(&seq, &bound, &body, &link)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, s.explain(fmt.Sprintf("read the snapshot of %s from", stream), err)
	}
	if want := seal(toSum(link), body); string(bound) != string(want[:]) {
		return 0, nil, nil
	}
	return seq, body, nil
}

func toSum(link []byte) sum {
	var out sum
	copy(out[:], link)
	return out
}

// Changed implements [store.Store]. The token is the id of a record. It costs
// one look at each record since, or at each stream for the empty token.
func (s *Store) Changed(ctx context.Context, token string) ([]string, string, error) {
	since, err := parseToken(token)
	if err != nil {
		return nil, "", err
	}
	tx, err := s.readers.BeginTx(ctx, nil)
	if err != nil {
		return nil, "", s.explain("read what changed in", err)
	}
	defer tx.Rollback()
	streams, last, err := changed(ctx, tx, since)
	if err != nil {
		return nil, "", s.explain("read what changed in", err)
	}
	return streams, strconv.FormatInt(last, 10), nil
}

func parseToken(token string) (int64, error) {
	if token == "" {
		return 0, nil
	}
	since, err := strconv.ParseInt(token, 10, 64)
	if err != nil || since < 0 {
		return 0, fmt.Errorf("journal: read what changed: token %q is none of this journal's", token)
	}
	return since, nil
}

func changed(ctx context.Context, q querier, since int64) ([]string, int64, error) {
	last, err := lastAnchor(ctx, q)
	if err != nil || last.ID == since {
		return nil, last.ID, err
	}
	query, args := "SELECT stream FROM head WHERE seq > 0 ORDER BY stream", []any(nil)
	if since > 0 {
		query, args = "SELECT DISTINCT stream FROM event WHERE id > ? ORDER BY stream", []any{since}
	}
	streams, err := collect(ctx, q, query, args, scanText)
	return streams, last.ID, err
}

func scanText(rows *sql.Rows) (string, error) {
	var text string
	err := rows.Scan(&text)
	return text, err
}

// batchRows is how many rows are gathered in one piece: a slice of ten thousand
// that grows is copied again and again.
const batchRows = 1024

// collect returns all rows of a query.
func collect[T any](ctx context.Context, q querier, query string, args []any, scan func(*sql.Rows) (T, error)) ([]T, error) {
	var full [][]T
	var last []T
	err := each(ctx, q, query, args, func(rows *sql.Rows) error {
		one, err := scan(rows)
		if err != nil {
			return unreadable(err)
		}
		if len(last) == batchRows {
			full, last = append(full, last), make([]T, 0, batchRows)
		}
		last = append(last, one)
		return nil
	})
	if err != nil || len(full) == 0 {
		return last, err
	}
	return slices.Concat(append(full, last)...), nil
}

// each gives take all rows of a query, one after the other, and ends with its first error.
func each(ctx context.Context, q querier, query string, args []any, take func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
