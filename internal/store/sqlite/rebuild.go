package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/piton-dev/piton/internal/engine"
)

// rebuild makes the rows of all streams from their records, inside the
// transaction that brings the file up to date: the readers see the records as
// they were before it, and records never change. A stream that cannot be
// replayed keeps what it had; the check of the whole journal says why.
func (s *Store) rebuild(ctx context.Context, tx *sql.Tx) error {
	if s.rows == nil {
		return nil
	}
	streams, err := collect(ctx, tx, "SELECT stream FROM head ORDER BY stream", nil, scanText)
	if err != nil {
		return err
	}
	w, err := rowsInto(ctx, tx)
	if err != nil {
		return err
	}
	defer w.close()
	for _, stream := range streams {
		rows, err := s.rows(ctx, s, stream)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue
		}
		if err := w.replace(ctx, tx, stream, rows); err != nil {
			return err
		}
	}
	return nil
}

func scanText(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) }

// rowsInto prepares a writer of rows for one transaction.
func rowsInto(ctx context.Context, tx *sql.Tx) (w rowWriter, err error) {
	for stmt, text := range w.statements() {
		if *stmt, err = tx.PrepareContext(ctx, text); err != nil {
			return w, errors.Join(err, w.close())
		}
	}
	return w, nil
}

func (w rowWriter) close() error {
	var closed []error
	for stmt := range w.statements() {
		if *stmt != nil {
			closed = append(closed, (*stmt).Close())
		}
	}
	return errors.Join(closed...)
}

func (w rowWriter) replace(ctx context.Context, tx *sql.Tx, stream string, rows engine.Rows) error {
	for _, table := range []string{"run", "step", "item", "plan"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE stream = ?", stream); err != nil {
			return err
		}
	}
	made, err := newRows(rows)
	if err != nil {
		return err
	}
	return w.write(stream, made)
}
