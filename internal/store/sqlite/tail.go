package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/piton-dev/piton/internal/store"
)

// tailLength is how many of the newest records are checked at each opening.
const tailLength = 32

// checkTail checks the anchor and the newest records, each against the one
// before it in its stream and the last one of a stream against its head.
func (s *Store) checkTail(ctx context.Context) error {
	want, err := s.readAnchor() // before the file: it is never newer
	if err != nil {
		return err
	}
	tx, err := s.readers.BeginTx(ctx, nil)
	if err != nil {
		return s.explain("check", err)
	}
	defer tx.Rollback()
	if err := checkAnchor(ctx, tx, want); err != nil {
		return s.explain("check", err)
	}
	if err := checkNewest(ctx, tx); err != nil {
		return s.explain("check", err)
	}
	return nil
}

func checkNewest(ctx context.Context, q querier) error {
	ends, links := map[string]bool{}, newChain()
	return each(ctx, q, `
		SELECT e.id, e.stream, e.seq, e.at, e.actor, e.epoch, e.type, e.body, e.hash,
			(SELECT p.hash FROM event p WHERE p.stream = e.stream AND p.seq = e.seq - 1),
			ifnull((SELECT h.seq FROM head h WHERE h.stream = e.stream), 0),
			(SELECT h.hash FROM head h WHERE h.stream = e.stream)
		FROM event e ORDER BY e.id DESC LIMIT ?`, []any{tailLength}, func(rows *sql.Rows) error { return checkOne(rows, links, ends) })
}

// checkOne checks one of the newest records; ends holds the streams seen.
func checkOne(rows *sql.Rows, links *chain, ends map[string]bool) error {
	var e entry
	var link, before, headLink []byte
	var headSeq uint64
	err := rows.Scan(&e.id, &e.stream, &e.seq, &e.at, &e.actor, &e.epoch, &e.typ, &e.body, &link, &before, &headSeq, &headLink)
	if err != nil {
		return unreadable(err)
	}
	switch want := links.link(toSum(before), &e); {
	case e.seq > 1 && before == nil:
		return fault(&e, "the record before it is missing")
	case string(link) != string(want[:]):
		return fault(&e, "it is not what was written")
	case !ends[e.stream] && (headSeq != e.seq || string(headLink) != string(link)):
		return fault(&e, fmt.Sprintf("the stream's head is %d", headSeq))
	}
	ends[e.stream] = true
	return nil
}

func fault(e *entry, what string) error {
	return fmt.Errorf("%w: record %d (%s %d): %s", store.ErrCorrupt, e.id, e.stream, e.seq, what)
}
