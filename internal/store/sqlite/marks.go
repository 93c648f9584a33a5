package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

func newMark(stream string, m *engine.Mark) values {
	return list(stream, m.Step, int64(m.Seq), int64(m.Frame), m.Failed, momentText(m.Was), momentText(m.Is))
}

// momentText is how a step stood, in one column: "" for the zero moment, which most have.
func momentText(m engine.Moment) string {
	if m == (engine.Moment{}) {
		return ""
	}
	text := string(m.Status) + " " + strconv.Itoa(m.Attempts)
	if m.Loop != nil {
		text += " " + loopText(m.Loop)
	}
	return text
}

func parseMoment(text string) (m engine.Moment, err error) {
	if text == "" {
		return m, nil
	}
	status, rest, _ := strings.Cut(text, " ")
	attempts, loop, loops := strings.Cut(rest, " ")
	m.Status = engine.Status(status)
	if m.Attempts, err = strconv.Atoi(attempts); err == nil && loops {
		err = json.Unmarshal([]byte(loop), &m.Loop)
	}
	return m, err
}

// Marks implements [store.Store].
func (s *Store) Marks(ctx context.Context, stream string, from, before uint64) ([]engine.Mark, error) {
	marks, err := collect(ctx, s.readers, `SELECT step, seq, frame, failed, was, now FROM mark
		WHERE stream = ? AND seq >= ? AND seq < ? ORDER BY seq, step`, []any{stream, int64(from), below(before)}, func(rows *sql.Rows) (engine.Mark, error) {
		var m engine.Mark
		err := scanMark(rows, &m)
		return m, err
	})
	if err != nil {
		return nil, s.explain("list marks in", err)
	}
	return marks, nil
}

// below is the bound of a range of sequences, where 0 is none.
func below(seq uint64) int64 {
	if seq == 0 {
		return math.MaxInt64
	}
	return int64(seq)
}

// scanMark scans the columns of a mark, and those behind them.
func scanMark(rows *sql.Rows, m *engine.Mark, more ...any) error {
	var seq, frame, failed int64
	var was, now string
	if err := rows.Scan(append([]any{&m.Step, &seq, &frame, &failed, &was, &now}, more...)...); err != nil {
		return err
	}
	var err error
	m.Seq, m.Frame, m.Failed = uint64(seq), int(frame), failed == 1
	if m.Was, err = parseMoment(was); err == nil {
		m.Is, err = parseMoment(now)
	}
	if err != nil {
		return fmt.Errorf("%w: the mark of record %d: %w", store.ErrCorrupt, m.Seq, err)
	}
	return nil
}

// Marked implements [store.Store]. Each record is checked against the link of the one before
// it, as [Store.Read] does.
func (s *Store) Marked(ctx context.Context, filter store.MarkFilter) ([]store.Marked, error) {
	var sel selection
	sel.and("m.stream = ?", filter.Stream)
	order := "ORDER BY m.seq"
	switch {
	case filter.Newest > 0:
		sel.and("m.frame > 0")
		order = "ORDER BY m.frame DESC" + limit(filter.Newest)
	case filter.Failed:
		sel.and("m.failed = 1")
	case filter.Frames.Len() > 0:
		sel.and("m.frame > 0 AND m.frame >= ? AND m.frame < ?", int64(filter.Frames.Start), int64(filter.Frames.End))
	default:
		steps := filter.Steps
		if len(steps) == 0 {
			steps = []string{""}
		}
		among(&sel, "m.step", steps)
	}
	sel.and("m.seq >= ?", int64(filter.From))
	if filter.Before > 0 {
		sel.and("m.seq < ?", int64(filter.Before))
	}
	query := sel.query(`SELECT m.step, m.seq, m.frame, m.failed, m.was, m.now, ifnull(e.at, 0), ifnull(e.actor, ''), ifnull(e.epoch, 0), ifnull(e.type, ''), e.body, e.hash,
		ifnull((SELECT p.hash FROM event p WHERE p.stream = m.stream AND p.seq = m.seq - 1), zeroblob(32))
		FROM mark m LEFT JOIN event e ON e.stream = m.stream AND e.seq = m.seq`, order)
	links := newChain()
	all, err := collect(ctx, s.readers, query, sel.args, func(rows *sql.Rows) (store.Marked, error) { return scanMarked(rows, filter.Stream, links) })
	if err != nil {
		return nil, s.explain("read marked records of", err)
	}
	if filter.Newest > 0 {
		slices.Reverse(all)
	}
	return all, nil
}

func scanMarked(rows *sql.Rows, stream string, links *chain) (m store.Marked, err error) {
	e := entry{stream: stream}
	var link, before []byte
	if err := scanMark(rows, &m.Mark, &e.at, &e.actor, &e.epoch, &e.typ, &e.body, &link, &before); err != nil {
		return m, err
	}
	e.seq = m.Mark.Seq
	if want := links.link(toSum(before), &e); string(link) != string(want[:]) {
		return m, fmt.Errorf("%w: record %d is not what was written", store.ErrCorrupt, e.seq)
	}
	m.Record, err = e.record()
	return m, err
}

// effortText is what went into a step, in one column: "" for nothing, which is read the ten
// thousand times.
func effortText(e engine.Effort) string {
	if e == (engine.Effort{}) {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d %d %d", e.Attempts, e.WorkMs, e.CheckMs)
	for _, t := range []engine.Told{e.Tokens, e.Cost} {
		if t.Known {
			text.WriteString(" " + strconv.FormatInt(t.N, 10))
		} else {
			text.WriteString(" -")
		}
		if t.Silent > 0 {
			text.WriteString("+" + strconv.Itoa(t.Silent))
		}
	}
	return text.String()
}

func parseEffort(text string) (e engine.Effort, err error) {
	var n [5]engine.Told
	for i := range n {
		var word string
		word, text, _ = strings.Cut(text, " ")
		word, silent, some := strings.Cut(word, "+")
		if some && i > 2 {
			if n[i].Silent, err = strconv.Atoi(silent); err != nil {
				return e, fmt.Errorf("%w: the effort of a step: %w", store.ErrCorrupt, err)
			}
		}
		if word == "-" && i > 2 {
			continue
		}
		if n[i].N, err = strconv.ParseInt(word, 10, 64); err != nil {
			return e, fmt.Errorf("%w: the effort of a step: %w", store.ErrCorrupt, err)
		}
		n[i].Known = true
	}
	return engine.Effort{Attempts: int(n[0].N), WorkMs: n[1].N, CheckMs: n[2].N, Tokens: n[3], Cost: n[4]}, nil
}
