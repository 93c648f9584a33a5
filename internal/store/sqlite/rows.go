package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// A selection grows a query with the conditions that a filter asks for.
type selection struct {
	where []string
	args  []any
}

func (s *selection) and(condition string, args ...any) {
	s.where = append(s.where, condition)
	s.args = append(s.args, args...)
}

func (s *selection) query(from, order string) string {
	if len(s.where) == 0 {
		return from + " " + order
	}
	return from + " WHERE " + strings.Join(s.where, " AND ") + " " + order
}

// Heads implements [store.Store].
func (s *Store) Heads(ctx context.Context, filter store.HeadFilter) ([]engine.HeadRow, error) {
	var sel selection
	sel.and("row IS NOT NULL")
	if filter.Stream != "" {
		sel.and("stream = ?", filter.Stream)
	}
	if n := len(filter.Status); n > 0 {
		sel.and("status IN (?" + strings.Repeat(", ?", n-1) + ")")
		for _, status := range filter.Status {
			sel.args = append(sel.args, string(status))
		}
	}
	limit := filter.Limit
	if limit <= 0 {
		limit = -1
	}
	sel.args = append(sel.args, limit)
	query := sel.query("SELECT row FROM head", "ORDER BY started DESC, stream LIMIT ?")
	heads, err := collect(ctx, s.readers, query, sel.args, scanJSON[engine.HeadRow])
	if err != nil {
		return nil, s.explain("list runs in", err)
	}
	return heads, nil
}

// Items implements [store.Store].
func (s *Store) Items(ctx context.Context, filter store.ItemFilter) ([]engine.ItemRow, error) {
	var sel selection
	if filter.Open {
		sel.and("open = 1")
	}
	if filter.Stream != "" {
		sel.and("stream = ?", filter.Stream)
	}
	if filter.Run != "" {
		sel.and("run = ?", filter.Run)
	}
	query := sel.query("SELECT row FROM item", "ORDER BY opened, stream, item")
	items, err := collect(ctx, s.readers, query, sel.args, scanJSON[engine.ItemRow])
	if err != nil {
		return nil, s.explain("list items in", err)
	}
	return items, nil
}

func scanJSON[T any](rows *sql.Rows) (row T, err error) {
	var text sql.RawBytes
	if err := rows.Scan(&text); err != nil {
		return row, err
	}
	if err := json.Unmarshal(text, &row); err != nil {
		return row, err
	}
	return row, nil
}

// Steps implements [store.Store].
func (s *Store) Steps(ctx context.Context, stream string) ([]engine.StepRow, error) {
	steps, err := collect(ctx, s.readers, `SELECT idx, id, number, title, status, phase, reason, agent,
		attempts, verdict, baseline, started, finished, needs FROM step WHERE stream = ? ORDER BY idx`, []any{stream}, scanStep)
	if err != nil {
		return nil, s.explain("list steps in", err)
	}
	return steps, nil
}

// scanStep scans into plain strings and int64 only: other types cost database/sql
// a conversion of each column.
func scanStep(rows *sql.Rows) (engine.StepRow, error) {
	var r engine.StepRow
	var index, attempts, started, finished int64
	var needs string
	err := rows.Scan(&index, &r.ID, &r.Number, &r.Title, (*string)(&r.Status), (*string)(&r.Phase), &r.Reason, &r.Agent,
		&attempts, (*string)(&r.Verdict), (*string)(&r.Baseline), &started, &finished, &needs)
	r.Index, r.Attempts = int(index), int(attempts)
	r.Started, r.Finished, r.Needs = fromMicros(started), fromMicros(finished), splitNeeds(needs)
	return r, err
}
