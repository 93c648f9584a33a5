package sqlite

import (
	"context"
	"database/sql"

	"github.com/piton-dev/piton/internal/engine"
)

// rebuild makes the rows of all streams from their records, inside the
// transaction that brings the file up to date: the readers see the records as
// they were before it, and records never change. A stream that cannot be
// replayed keeps what it had; the check of the whole journal says why.
func (s *Store) rebuild(ctx context.Context, conn *sql.Conn, tx *sql.Tx) error {
	if s.rows == nil {
		return nil
	}
	streams, err := collect(ctx, tx, "SELECT stream FROM head ORDER BY stream", nil, scanText)
	if err != nil {
		return err
	}
	var w rowWriter
	defer closeAll(conn, w.statements())
	if err := prepareAll(ctx, conn, w.statements()); err != nil {
		return err
	}
	for _, stream := range streams {
		rows, err := s.rows(ctx, s, stream)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue
		}
		if err := w.replace(ctx, conn, tx, stream, rows); err != nil {
			return err
		}
	}
	return nil
}

func scanText(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) }

func (w *rowWriter) replace(ctx context.Context, conn *sql.Conn, tx *sql.Tx, stream string, rows engine.Rows) error {
	for _, table := range []string{"run", "step", "item", "plan"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE stream = ?", stream); err != nil {
			return err
		}
	}
	made, err := newRows(stream, rows)
	if err != nil {
		return err
	}
	return alone(conn, func() error { return w.write(made) })
}
