package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
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

// is asks for a column that has a value, unless that is "".
func (s *selection) is(column, value string) {
	if value != "" {
		s.and(column+" = ?", value)
	}
}

// begins asks for a column that begins with prefix, unless that is "".
func (s *selection) begins(column, prefix string) {
	if prefix == "" {
		return
	}
	s.and(column+" >= ?", prefix)
	if end := after(prefix); end != "" {
		s.and(column+" < ?", end)
	}
}

// among asks for a column that has one of some values, unless there are none.
func among[T any](s *selection, column string, values []T) {
	if len(values) == 0 {
		return
	}
	s.and(column + " IN (?" + strings.Repeat(", ?", len(values)-1) + ")")
	for _, value := range values {
		s.args = append(s.args, value)
	}
}

func (s *selection) query(from, order string) string {
	if len(s.where) == 0 {
		return from + " " + order
	}
	return from + " WHERE " + strings.Join(s.where, " AND ") + " " + order
}

func limit(n int) string {
	if n <= 0 {
		return ""
	}
	return " LIMIT " + strconv.Itoa(n)
}

// rowWriter holds the statements that write rows. Most of what a run's head says
// is no news to the indexes: they are left alone where status and start stay.
type rowWriter struct {
	run, step, item, thing upsert
	dropSteps, dropThings  statement
	addMark, dropMarks     statement
}

func (w *rowWriter) statements() map[*statement]string {
	return map[*statement]string{
		&w.run.update: "UPDATE run SET title = ?, row = ? WHERE stream = ? AND run = ? AND status = ? AND started = ?",
		&w.run.add: `INSERT INTO run(title, row, stream, run, status, started, n)
			VALUES(?, ?, ?, ?, ?, ?, (SELECT ifnull(max(n), 0) + 1 FROM run WHERE stream = ?3))
			ON CONFLICT(stream, run) DO UPDATE SET status = excluded.status, started = excluded.started,
			title = excluded.title, row = excluded.row`,
		&w.step.update: `UPDATE step SET id = ?, number = ?, title = ?, status = ?, phase = ?, reason = ?, agent = ?, attempts = ?,
			verdict = ?, baseline = ?, proven = ?, started = ?, finished = ?, needs = ?, loop = ?, effort = ?, bond = ? WHERE stream = ? AND run = ? AND idx = ?`,
		&w.step.add: `INSERT INTO step(id, number, title, status, phase, reason, agent, attempts, verdict, baseline, proven,
			started, finished, needs, loop, effort, bond, stream, run, idx) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&w.item.update:  "UPDATE item SET run = ?, open = ?, opened = ?, row = ? WHERE stream = ? AND item = ?",
		&w.item.add:     "INSERT INTO item(run, open, opened, row, stream, item) VALUES(?, ?, ?, ?, ?, ?)",
		&w.thing.update: "UPDATE thing SET owner = ?, seq = ?, open = ?, row = ? WHERE kind = ? AND name = ?",
		&w.thing.add:    "INSERT INTO thing(owner, seq, open, row, kind, name) VALUES(?, ?, ?, ?, ?, ?)",
		&w.dropSteps:    "DELETE FROM step WHERE stream = ? AND run = ?",
		&w.addMark:      "REPLACE INTO mark(stream, step, seq, frame, failed, was, now) VALUES(?, ?, ?, ?, ?, ?, ?)",
		&w.dropMarks:    "DELETE FROM mark WHERE stream = ? AND seq >= ?",
		&w.dropThings:   "DELETE FROM thing",
	}
}

func (w *rowWriter) write(rows []runRows) error {
	for i := range rows {
		if err := w.writeRun(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *rowWriter) writeRun(r *runRows) error {
	if r.head != nil {
		if err := w.run.exec(r.head); err != nil {
			return err
		}
	}
	if err := w.writeSteps(r); err != nil {
		return err
	}
	if err := w.writeMarks(r); err != nil {
		return err
	}
	for _, item := range r.items {
		if err := w.item.exec(item); err != nil {
			return err
		}
	}
	return w.writeThings(r)
}

// writeSteps writes over the steps that are given, or over all of the run.
func (w *rowWriter) writeSteps(r *runRows) error {
	if r.dropped == nil {
		for _, step := range r.steps {
			if err := w.step.exec(step); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := w.dropSteps.exec(r.dropped); err != nil {
		return err
	}
	for _, step := range r.steps {
		if _, err := w.step.add.exec(step); err != nil {
			return err
		}
	}
	return nil
}

func (w *rowWriter) writeMarks(r *runRows) error {
	if r.unmarked != nil {
		if _, err := w.dropMarks.exec(r.unmarked); err != nil {
			return err
		}
	}
	for _, mark := range r.marks {
		if _, err := w.addMark.exec(mark); err != nil {
			return err
		}
	}
	return nil
}

func (w *rowWriter) writeThings(r *runRows) error {
	if r.cleared {
		if _, err := w.dropThings.exec(nil); err != nil {
			return err
		}
	}
	for _, thing := range r.things {
		if err := w.thing.exec(thing); err != nil {
			return err
		}
	}
	return nil
}

// Heads implements [store.Store].
func (s *Store) Heads(ctx context.Context, filter store.HeadFilter) ([]engine.HeadRow, error) {
	sel := headSelection(filter)
	order := "ORDER BY started DESC, stream, n DESC"
	if filter.Stream != "" {
		order = "ORDER BY n DESC"
	}
	query := sel.query("SELECT row FROM run", order+limit(filter.Limit))
	heads, err := collect(ctx, s.readers, query, sel.args, scanJSON[engine.HeadRow])
	if err != nil {
		return nil, s.explain("list runs in", err)
	}
	return heads, nil
}

func headSelection(filter store.HeadFilter) *selection {
	var sel selection
	sel.is("stream", filter.Stream)
	if filter.Under != "" {
		sel.begins("stream", engine.ChildTask(filter.Under, ""))
	}
	if filter.Top {
		sel.and("json_extract(row, '$.parent') IS NULL")
	}
	sel.is("run", filter.Run)
	sel.begins("run", filter.Prefix)
	if filter.Title != "" {
		sel.and("instr(title, ?) > 0", store.Fold(filter.Title))
	}
	among(&sel, "status", filter.Status)
	return &sel
}

// after is the first text behind all that begin with prefix, "" where there is
// none.
func after(prefix string) string {
	b := []byte(prefix)
	for len(b) > 0 && b[len(b)-1] == 0xff {
		b = b[:len(b)-1]
	}
	if len(b) > 0 {
		b[len(b)-1]++
	}
	return string(b)
}

// Items implements [store.Store].
func (s *Store) Items(ctx context.Context, filter store.ItemFilter) ([]engine.ItemRow, error) {
	sel := itemSelection(filter)
	order := "" // all of them are sorted faster here
	if filter.Limit > 0 {
		order = "ORDER BY opened, stream, length(item), item" + limit(filter.Limit)
	}
	items, err := collect(ctx, s.readers, sel.query("SELECT row FROM item", order), sel.args, scanJSON[engine.ItemRow])
	if err != nil {
		return nil, s.explain("list items in", err)
	}
	slices.SortFunc(items, store.CompareItems)
	return items, nil
}

// CountItems implements [store.Store].
func (s *Store) CountItems(ctx context.Context, filter store.ItemFilter) (n int, err error) {
	sel := itemSelection(filter)
	if err := s.readers.QueryRowContext(ctx, sel.query("SELECT count(*) FROM item", ""), sel.args...).Scan(&n); err != nil {
		return 0, s.explain("count items in", err)
	}
	return n, nil
}

func itemSelection(filter store.ItemFilter) *selection {
	var sel selection
	if filter.Open {
		sel.and("open = 1")
	}
	sel.is("stream", filter.Stream)
	sel.is("run", filter.Run)
	return &sel
}

// Things implements [store.Store].
func (s *Store) Things(ctx context.Context, filter store.ThingFilter) ([]engine.ThingRow, error) {
	sel, order := thingSelection(filter), "ORDER BY kind, seq, name"
	if filter.Newest {
		order = "ORDER BY kind DESC, seq DESC, name DESC LIMIT 1"
	}
	things, err := collect(ctx, s.readers, sel.query("SELECT kind, name, owner, seq, open, row FROM thing", order), sel.args, scanThing)
	if err != nil {
		return nil, s.explain("list what the workspace has in", err)
	}
	return things, nil
}

func thingSelection(filter store.ThingFilter) *selection {
	var sel selection
	sel.is("kind", string(filter.Kind))
	sel.is("name", filter.Key)
	sel.begins("name", filter.Prefix)
	sel.is("owner", filter.Of)
	if filter.Open {
		sel.and("open = 1")
	}
	return &sel
}

func scanThing(rows *sql.Rows) (r engine.ThingRow, err error) {
	var seq, open int64
	err = rows.Scan((*string)(&r.Kind), &r.Key, &r.Of, &seq, &open, &r.Row)
	r.Seq, r.Open = uint64(seq), open == 1
	return r, err
}

func scanJSON[T any](rows *sql.Rows) (row T, err error) {
	var text sql.RawBytes
	if err = rows.Scan(&text); err == nil {
		err = json.Unmarshal(text, &row)
	}
	return row, err
}

// Steps implements [store.Store].
func (s *Store) Steps(ctx context.Context, filter store.StepFilter) ([]engine.StepRow, error) {
	sel := stepSelection(filter)
	columns, scan := `idx, id, number, title, status, phase, reason, agent,
		attempts, verdict, baseline, proven, started, finished, needs, loop, effort, bond`, scanStep
	if filter.Brief {
		columns, scan = "idx, id, status, needs, bond", scanBrief
	}
	steps, err := collect(ctx, s.readers, sel.query("SELECT "+columns+" FROM step", "ORDER BY idx"+limit(filter.Limit)), sel.args, scan)
	if err != nil {
		return nil, s.explain("list steps in", err)
	}
	return steps, nil
}

// scanBrief scans what [store.Briefly] leaves of a row.
func scanBrief(rows *sql.Rows) (engine.StepRow, error) {
	var r engine.StepRow
	var index int64
	var needs, bond string
	err := rows.Scan(&index, &r.ID, (*string)(&r.Status), &needs, &bond)
	r.Index, r.Needs = int(index), splitNeeds(needs)
	if err == nil && bond != "" {
		err = json.Unmarshal([]byte(bond), &r.Bond)
	}
	return r, err
}

// CountSteps implements [store.Store].
func (s *Store) CountSteps(ctx context.Context, filter store.StepFilter) (n int, err error) {
	sel := stepSelection(filter)
	if err := s.readers.QueryRowContext(ctx, sel.query("SELECT count(*) FROM step", ""), sel.args...).Scan(&n); err != nil {
		return 0, s.explain("count steps in", err)
	}
	return n, nil
}

func stepSelection(filter store.StepFilter) *selection {
	var sel selection
	sel.and("stream = ?", filter.Stream)
	sel.and("run = ?", filter.Run)
	among(&sel, "id", filter.IDs)
	among(&sel, "idx", filter.At)
	sel.is("status", string(filter.Status))
	if filter.Word != "" {
		sel.and("(number = ? OR id >= ? AND id < ?)", filter.Word, filter.Word, after(filter.Word))
	}
	if filter.Left {
		sel.and("status NOT IN (?, ?, ?)")
		for _, status := range store.Past {
			sel.args = append(sel.args, string(status))
		}
	}
	return &sel
}

// scanStep scans into plain strings and int64 only: other types cost database/sql
// a conversion of each column.
func scanStep(rows *sql.Rows) (engine.StepRow, error) {
	var r engine.StepRow
	var index, attempts, proven, started, finished int64
	var needs, loop, effort, bond string
	err := rows.Scan(&index, &r.ID, &r.Number, &r.Title, (*string)(&r.Status), (*string)(&r.Phase), &r.Reason, &r.Agent,
		&attempts, (*string)(&r.Verdict), (*string)(&r.Baseline), &proven, &started, &finished, &needs, &loop, &effort, &bond)
	r.Index, r.Attempts, r.Proven = int(index), int(attempts), proven == 1
	r.Started, r.Finished, r.Needs = fromMicros(started), fromMicros(finished), splitNeeds(needs)
	if err == nil && loop != "" {
		err = json.Unmarshal([]byte(loop), &r.Loop)
	}
	if err == nil && effort != "" {
		r.Effort, err = parseEffort(effort)
	}
	if err == nil && bond != "" {
		err = json.Unmarshal([]byte(bond), &r.Bond)
	}
	return r, err
}
