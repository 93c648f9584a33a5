package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/piton-dev/piton/internal/store"
)

// A writer is the one connection that writes. Only who commits uses it.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	epoch uint64
	chain *chain

	heads map[string]head // as committed; of the streams that were written last

	pending  map[string]head // as of the open transaction
	newest   anchor          // the last record that was committed
	next     anchor          // … and that was written
	anchored int64

	doBegin, doCommit, doRollback statement
	readEpoch, readHead           statement
	addEvents                     [insertRows]statement // by the number of records
	chainEnd                      upsert
	addObject, setSnapshot        statement
	rows                          rowWriter
}

// insertRows is how many records a statement adds at most: what most appends
// have.
const insertRows = 4

// A head is where a stream's chain ends.
type head struct {
	seq  uint64
	link sum
}

func (w *writer) statements() map[*statement]string {
	all := map[*statement]string{
		&w.doBegin:    "BEGIN IMMEDIATE",
		&w.doCommit:   "COMMIT",
		&w.doRollback: "ROLLBACK",
		&w.readEpoch:  "SELECT epoch FROM meta",
		&w.readHead: `SELECT h.seq, h.hash, ifnull((SELECT e.hash FROM event e WHERE e.stream = h.stream AND e.seq = h.seq), zeroblob(32)),
			ifnull((SELECT max(seq) FROM event WHERE stream = h.stream), 0) FROM head h WHERE h.stream = ?`,
		&w.chainEnd.update: "UPDATE head SET seq = ?, hash = ? WHERE stream = ?",
		&w.chainEnd.add:    "INSERT INTO head(seq, hash, stream) VALUES(?, ?, ?)",
		&w.addObject:       "INSERT INTO object(hash, size, body) VALUES(?, ?, ?) ON CONFLICT(hash) DO NOTHING",
		&w.setSnapshot:     "REPLACE INTO snapshot(stream, seq, sum, body) VALUES(?, ?, ?, ?)",
	}
	for i := range w.addEvents {
		all[&w.addEvents[i]] = addEvents(i + 1)
	}
	maps.Copy(all, w.rows.statements())
	return all
}

// addEvents adds records that follow each other in their stream. SQLite gives
// the ids: each is one more than the greatest. A failure ends the transaction;
// told so, SQLite keeps no copy of each page to undo the statement alone.
func addEvents(n int) string {
	rows := []string{"(?, ?, ?, ?, ?, ?, ?, ?)"}
	for i := 1; i < n; i++ {
		rows = append(rows, fmt.Sprintf("(?1, ?2 + %d, ?3, ?, ?, ?, ?, ?)", i))
	}
	return "INSERT OR FAIL INTO event(stream, seq, epoch, at, actor, type, body, hash) VALUES" + strings.Join(rows, ", ")
}

// newWriter opens the file for writing and reads where it ends.
func (s *Store) newWriter(ctx context.Context) (*writer, error) {
	db, err := openWriter(s.path, s.retry)
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
	if err := prepareAll(ctx, w.conn, w.statements()); err != nil {
		return err
	}
	w.newest, err = lastAnchor(ctx, w.conn)
	w.next, w.anchored = w.newest, w.newest.ID
	return err
}

func (w *writer) close() error {
	var closed []error
	if w.conn != nil {
		closed = append(closed, closeAll(w.conn, w.statements()), w.conn.Close())
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
	_, err := w.doBegin.exec(nil)
	return err
}

func (w *writer) commit() error {
	_, err := w.doCommit.exec(nil)
	return err
}

func (w *writer) rollback() error {
	_, err := w.doRollback.exec(nil)
	return err
}

// knownHeads is how many streams' ends are kept in memory: those of the tasks that
// one owner carries on are far fewer.
const knownHeads = 4096

// keep makes what was written what is known to be committed.
func (w *writer) keep() {
	w.learn(w.pending)
	w.newest = w.next
	clear(w.pending)
}

// learn keeps where streams end. Those that it forgets are read again.
func (w *writer) learn(heads map[string]head) {
	if len(w.heads)+len(heads) > knownHeads {
		clear(w.heads)
	}
	maps.Copy(w.heads, heads)
}

func (w *writer) storedEpoch() (uint64, error) {
	var row [1]driver.Value
	found, err := w.readEpoch.row(nil, row[:])
	if err == nil && !found {
		err = fmt.Errorf("%w: its epoch is gone", store.ErrCorrupt)
	}
	epoch, _ := row[0].(int64)
	return uint64(epoch), err
}

// nextEpoch counts the epoch up, durably, and gives the file its workspace.
func (w *writer) nextEpoch(ctx context.Context, workspace string) (uint64, error) {
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // nothing, once it is committed
	var epoch uint64
	var known string
	if err := tx.QueryRowContext(ctx, "SELECT epoch, workspace FROM meta").Scan(&epoch, &known); err != nil {
		return 0, err
	}
	if known != "" {
		if err := sameWorkspace(known, workspace); err != nil {
			return 0, err
		}
	}
	epoch = max(epoch, w.newest.Epoch) + 1
	if _, err := tx.ExecContext(ctx, "UPDATE meta SET epoch = ?, workspace = ?", int64(epoch), workspace); err != nil {
		return 0, err
	}
	return epoch, tx.Commit()
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
	var row [4]driver.Value
	if found, err := w.readHead.row(list(stream), row[:]); err != nil || !found {
		return head{}, err
	}
	seq, _ := row[0].(int64)
	link, _ := row[1].([]byte)
	recorded, _ := row[2].([]byte)
	last, _ := row[3].(int64)
	h := head{seq: uint64(seq), link: toSum(link)}
	if last != seq || !bytes.Equal(link, recorded) || len(link) != len(h.link) {
		return head{}, fmt.Errorf("%w: stream %s ends at %d by its head, at %d by its records", store.ErrCorrupt, stream, seq, last)
	}
	w.learn(map[string]head{stream: h})
	return h, nil
}

// admit says why the batches must be refused, or that they fit; err is a
// failure to find out.
func (w *writer) admit(batches []prepared) (refusal, err error) {
	ends := map[string]uint64{} // of the streams of earlier batches
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
		ends[b.stream] = end + uint64(len(b.entries))
	}
	return nil, nil
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
		if _, err := w.addObject.exec(o); err != nil {
			return err
		}
	}
	h, err := w.head(b.stream)
	if err != nil {
		return err
	}
	if len(b.entries) > 0 {
		if err := w.writeEntries(b, &h); err != nil {
			return err
		}
	}
	w.pending[b.stream] = h
	if err := w.rows.write(b.rows); err != nil {
		return err
	}
	return w.writeSnapshot(b, h)
}

// writeEntries moves h to the last of the batch's records.
func (w *writer) writeEntries(b *prepared, h *head) error {
	b.link(h.link, w.chain)
	*h = head{seq: b.after + uint64(len(b.entries)), link: b.links[len(b.links)-1]}
	var id int64
	for i, args := range b.inserts {
		rows := min(insertRows, len(b.entries)-i*insertRows)
		result, err := w.addEvents[rows-1].exec(args)
		if err != nil {
			return err
		}
		if id, err = result.LastInsertId(); err != nil {
			return err
		}
	}
	w.next = anchor{ID: id, Stream: b.stream, Seq: h.seq, Epoch: b.epoch, Hash: hex.EncodeToString(h.link[:])}
	return w.chainEnd.exec(b.end)
}

func (w *writer) writeSnapshot(b *prepared, h head) error {
	if b.snapshot == nil {
		return nil
	}
	bound := seal(h.link, b.snapshot)
	_, err := w.setSnapshot.exec(list(b.stream, int64(h.seq), bound[:], b.snapshot))
	return err
}
