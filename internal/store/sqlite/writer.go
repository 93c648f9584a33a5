package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"

	"github.com/piton-dev/piton/internal/store"
)

// A writer is the one connection that writes. Only who commits uses it.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	epoch uint64
	chain *chain
	heads map[string]head // as committed

	pending  map[string]head // as of the open transaction
	newest   anchor          // the last record that was committed
	next     anchor          // … and that was written
	anchored int64

	doBegin, doCommit, doRollback              *sql.Stmt
	readEpoch, readHead                        *sql.Stmt
	addEvent, setChain, addObject, setSnapshot *sql.Stmt
	rows                                       rowWriter
}

// A head is where a stream's chain ends.
type head struct {
	seq  uint64
	link sum
}

// Statements of the writer. They are given plain contexts: an append that has
// begun is never given up halfway.
func (w *writer) statements() map[**sql.Stmt]string {
	all := map[**sql.Stmt]string{
		&w.doBegin:    "BEGIN IMMEDIATE",
		&w.doCommit:   "COMMIT",
		&w.doRollback: "ROLLBACK",
		&w.readEpoch:  "SELECT epoch FROM meta",
		&w.readHead: `SELECT h.seq, h.hash, ifnull((SELECT e.hash FROM event e WHERE e.stream = h.stream AND e.seq = h.seq), zeroblob(32)),
			(SELECT max(seq) FROM event WHERE stream = h.stream) FROM head h WHERE h.stream = ?`,
		&w.addEvent: "INSERT INTO event(id, stream, seq, at, actor, epoch, type, body, hash) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
		&w.setChain: `INSERT INTO head(stream, seq, hash) VALUES(?, ?, ?)
			ON CONFLICT(stream) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`,
		&w.addObject:   "INSERT INTO object(hash, size, body) VALUES(?, ?, ?) ON CONFLICT(hash) DO NOTHING",
		&w.setSnapshot: "REPLACE INTO snapshot(stream, seq, sum, body) VALUES(?, ?, ?, ?)",
	}
	maps.Copy(all, w.rows.statements())
	return all
}

// newWriter opens the file for writing and reads where it ends.
func (s *Store) newWriter(ctx context.Context) (*writer, error) {
	db, err := openWriter(s.path)
	if err != nil {
		return nil, err
	}
	w := &writer{db: db, chain: newChain(), heads: map[string]head{}, pending: map[string]head{}}
	if err := w.prepare(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *writer) prepare(ctx context.Context) error {
	var err error
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	for stmt, text := range w.statements() {
		if *stmt, err = w.conn.PrepareContext(ctx, text); err != nil {
			return err
		}
	}
	w.newest, err = lastAnchor(ctx, w.conn)
	w.next, w.anchored = w.newest, w.newest.ID
	return err
}

func (w *writer) close() error {
	var closed []error
	for stmt := range w.statements() {
		if *stmt != nil {
			closed = append(closed, (*stmt).Close())
		}
	}
	if w.conn != nil {
		closed = append(closed, w.conn.Close())
	}
	return errors.Join(append(closed, w.db.Close())...)
}

// settle moves what the log holds into the file: without an owner, each process
// that only reads would have to go through the whole log first. It waits for no
// reader. Where it cannot be done the log stays, and is as durable as the file.
func (w *writer) settle() {
	for _, do := range []string{"PRAGMA busy_timeout = 0", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := w.conn.ExecContext(context.Background(), do); err != nil {
			return
		}
	}
}

func (w *writer) begin() error {
	_, err := w.doBegin.Exec()
	return err
}

func (w *writer) commit() error {
	_, err := w.doCommit.Exec()
	return err
}

func (w *writer) rollback() error {
	_, err := w.doRollback.Exec()
	return err
}

// keep makes what was written what is known to be committed.
func (w *writer) keep() {
	maps.Copy(w.heads, w.pending)
	w.newest = w.next
	clear(w.pending)
}

func (w *writer) storedEpoch() (epoch uint64, err error) {
	err = w.readEpoch.QueryRow().Scan(&epoch)
	return epoch, err
}

// nextEpoch counts the epoch up, durably, and gives the file its workspace.
func (w *writer) nextEpoch(ctx context.Context, workspace string) (uint64, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	var epoch uint64
	var known string
	err := w.conn.QueryRowContext(ctx, "SELECT epoch, workspace FROM meta").Scan(&epoch, &known)
	if err == nil && known != "" && known != workspace {
		err = fmt.Errorf("the journal is of the workspace %s, not of %s", known, workspace)
	}
	epoch = max(epoch, w.newest.Epoch) + 1
	if err == nil {
		_, err = w.conn.ExecContext(ctx, "UPDATE meta SET epoch = ?, workspace = ?", int64(epoch), workspace)
	}
	if err != nil {
		return 0, errors.Join(err, w.rollback())
	}
	return epoch, w.commit()
}

// head returns where the stream ends in the open transaction. What is read for
// the first time must agree with the records.
func (w *writer) head(stream string) (head, error) {
	if h, ok := w.pending[stream]; ok {
		return h, nil
	}
	if h, ok := w.heads[stream]; ok {
		return h, nil
	}
	var h head
	var link, recorded []byte
	var last sql.NullInt64
	err := w.readHead.QueryRow(stream).Scan(&h.seq, &link, &recorded, &last)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return head{}, nil
	case err != nil:
		return head{}, err
	case uint64(last.Int64) != h.seq || string(link) != string(recorded) || len(link) != len(h.link):
		return head{}, fmt.Errorf("%w: stream %s ends at %d by its head, at %d by its records", store.ErrCorrupt, stream, h.seq, last.Int64)
	}
	copy(h.link[:], link)
	w.heads[stream] = h
	return h, nil
}

// admit says why the batches must be refused, or that they fit; err is a
// failure to find out.
func (w *writer) admit(batches []prepared) (refusal, err error) {
	var ends map[string]uint64 // of the streams of earlier batches
	for i := range batches {
		b := &batches[i]
		end, known := ends[b.stream]
		if !known {
			h, err := w.head(b.stream)
			if err != nil {
				return nil, err
			}
			end = h.seq
		}
		switch {
		case b.epoch != w.epoch:
			return fmt.Errorf("journal: append to %s under epoch %d: the newest epoch is %d: %w", b.stream, b.epoch, w.epoch, store.ErrFenced), nil
		case b.after != end:
			return fmt.Errorf("journal: append to %s after %d: its head is %d: %w", b.stream, b.after, end, store.ErrConflict), nil
		}
		if len(batches) > 1 {
			ends = put(ends, b.stream, end+uint64(len(b.entries)))
		}
	}
	return nil, nil
}

func put(ends map[string]uint64, stream string, end uint64) map[string]uint64 {
	if ends == nil {
		ends = map[string]uint64{}
	}
	ends[stream] = end
	return ends
}

func (w *writer) writeAll(batches []prepared) error {
	for i := range batches {
		if err := w.write(&batches[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) write(b *prepared) error {
	for _, o := range b.objects {
		if _, err := w.addObject.Exec(o.hash[:], o.size, o.body); err != nil {
			return err
		}
	}
	h, err := w.head(b.stream)
	if err != nil {
		return err
	}
	if err := w.writeEntries(b.entries, &h); err != nil {
		return err
	}
	if len(b.entries) > 0 {
		if _, err := w.setChain.Exec(b.stream, int64(h.seq), h.link[:]); err != nil {
			return err
		}
	}
	w.pending[b.stream] = h
	if err := w.rows.write(b.stream, b.rows); err != nil {
		return err
	}
	return w.writeSnapshot(b, h)
}

func (w *writer) writeEntries(entries []entry, h *head) error {
	for i := range entries {
		e := &entries[i]
		e.id = w.next.ID + 1
		h.seq, h.link = e.seq, w.chain.link(h.link, e)
		_, err := w.addEvent.Exec(e.id, e.stream, int64(e.seq), e.at, e.actor, int64(e.epoch), e.typ, e.body, h.link[:])
		if err != nil {
			return err
		}
		w.next = anchor{ID: e.id, Stream: e.stream, Seq: e.seq, Epoch: e.epoch, Hash: h.link}
	}
	return nil
}

func (w *writer) writeSnapshot(b *prepared, h head) error {
	if b.snapshot == nil {
		return nil
	}
	bound := seal(h.link, b.snapshot)
	_, err := w.setSnapshot.Exec(b.stream, int64(h.seq), bound[:], b.snapshot)
	return err
}
