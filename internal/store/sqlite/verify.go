package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/store"
)

// A Report is what Verify found.
type Report struct {
	Events  int // records that were checked, of all streams
	Streams int
	Objects int
	Faults  []Fault // the first ones, in the order of the records; empty = all is well
}

// A Fault is one thing that is not as it was written.
type Fault struct {
	ID     int64  // the record's place among all; 0 = no record
	Stream string // "" = no stream
	Seq    uint64
	Object string // hash; "" = no object
	What   string
}

func (f Fault) String() string {
	text := f.What
	switch {
	case f.Object != "":
		text = fmt.Sprintf("object %s: %s", f.Object, text)
	case f.ID != 0:
		text = fmt.Sprintf("record %d (%s %d): %s", f.ID, f.Stream, f.Seq, text)
	case f.Stream != "":
		text = fmt.Sprintf("stream %s: %s", f.Stream, text)
	}
	return plain(text)
}

// faultLimit is how many faults a report names.
const faultLimit = 20

func (r *Report) add(f Fault) {
	if len(r.Faults) < faultLimit {
		r.Faults = append(r.Faults, f)
	}
}

// Verify checks everything that is stored: each record against the chain of its
// stream, ids without gaps, heads, the anchor, the hash of each object, the
// tables' text, and SQLite's own integrity check. It may run beside an owner
// and then judges what was there when it began. With faults it returns an error
// that wraps store.ErrCorrupt and names the first. It reads the whole journal:
// about a second for 200,000 records.
//
// It does not look at rows, which only who knows the events can judge (see
// store.Rows), and does not see a cut of the tail that is younger
// than the anchor, which is at most a second.
func (s *Store) Verify(ctx context.Context) (Report, error) {
	v := &verification{store: s, chain: newChain(), ends: map[string]head{}}
	err := v.run(ctx)
	if err == nil && len(v.report.Faults) > 0 {
		err = fmt.Errorf("%w: %s", store.ErrCorrupt, v.report.Faults[0])
	}
	if err != nil {
		return v.report, s.explain("verify", err)
	}
	return v.report, nil
}

type verification struct {
	store  *Store
	report Report
	chain  *chain
	ends   map[string]head // as far as was read
	last   int64           // id
}

// run does what it can: damage to the file's pages ends one part, not all.
func (v *verification) run(ctx context.Context) error {
	want, err := v.store.readAnchor() // before the file: it is never newer
	if err := v.note("", err); err != nil {
		return err
	}
	if err := v.note("", v.store.checkWorkspace(ctx)); err != nil {
		return err
	}
	tx, err := v.store.readers.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	parts := []struct {
		what  string
		check func(context.Context, querier) error
	}{
		{"read records", v.records},
		{"read heads", v.heads},
		{"compare the anchor", func(ctx context.Context, q querier) error { return checkAnchor(ctx, q, want) }},
		{"read objects", v.objects},
		{"read the tables' text", v.schema},
		{"check the pages", v.pages},
	}
	for _, part := range parts {
		if err := v.note(part.what, part.check(ctx, tx)); err != nil {
			return err
		}
	}
	return nil
}

// note makes a fault of damage; another error stays one.
func (v *verification) note(what string, err error) error {
	if err == nil {
		return nil
	}
	if class, _ := classify(err); !errors.Is(class, store.ErrCorrupt) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), store.ErrCorrupt.Error()+": ")
	if what != "" {
		text = fmt.Sprintf("%s: %s", what, text)
	}
	if what == "read records" {
		text += fmt.Sprintf(" (after record %d)", v.last)
	}
	v.report.add(Fault{What: text})
	return nil
}

func (v *verification) records(ctx context.Context, q querier) error {
	return each(ctx, q, "SELECT id, stream, seq, at, actor, epoch, type, body, hash FROM event ORDER BY id", nil, func(rows *sql.Rows) error {
		var e entry
		var link []byte
		err := rows.Scan(&e.id, &e.stream, &e.seq, &e.at, &e.actor, &e.epoch, &e.typ, &e.body, &link)
		if err != nil {
			return unreadable(err)
		}
		v.record(&e, link)
		return nil
	})
}

// record checks one record and goes on from what it says, so that one change
// is one fault.
func (v *verification) record(e *entry, link []byte) {
	before := v.ends[e.stream]
	want := v.chain.link(before.link, e)
	switch {
	case e.id != v.last+1:
		v.blame(e, fmt.Sprintf("the records from %d on are missing before it", v.last+1))
	case e.seq != before.seq+1:
		v.blame(e, fmt.Sprintf("it follows %d of its stream", before.seq))
	case string(link) != string(want[:]):
		v.blame(e, "it is not what was written")
	}
	v.last = e.id
	v.ends[e.stream] = head{seq: e.seq, link: toSum(link)}
	v.report.Events++
}

func (v *verification) blame(e *entry, what string) {
	v.report.add(Fault{ID: e.id, Stream: e.stream, Seq: e.seq, What: what})
}

func (v *verification) heads(ctx context.Context, q querier) error {
	rows, err := q.QueryContext(ctx, "SELECT stream, seq, hash FROM head ORDER BY stream")
	if err != nil {
		return err
	}
	defer rows.Close()
	v.report.Streams = len(v.ends)
	for rows.Next() {
		var stream string
		var seq uint64
		var link []byte
		if err := rows.Scan(&stream, &seq, &link); err != nil {
			return unreadable(err)
		}
		if got := v.ends[stream]; got.seq != seq || toSum(link) != got.link {
			v.report.add(Fault{Stream: stream, Seq: seq, What: fmt.Sprintf("its head is record %d, and its last record is %d, or another one", seq, got.seq)})
		}
		delete(v.ends, stream)
	}
	if err := rows.Err(); err != nil {
		return err // the heads that are left are not known
	}
	for stream := range v.ends {
		v.report.add(Fault{Stream: stream, What: "it has records and no head"})
	}
	return nil
}

func (v *verification) objects(ctx context.Context, q querier) error {
	return each(ctx, q, "SELECT hash, size, body FROM object ORDER BY id", nil, func(rows *sql.Rows) error {
		var hash, body []byte
		var size int
		if err := rows.Scan(&hash, &size, &body); err != nil {
			return unreadable(err)
		}
		return v.object(toSum(hash), size, body)
	})
}

func (v *verification) object(key sum, size int, body []byte) error {
	v.report.Objects++
	var err error
	if isLarge(size) {
		body, err = v.store.largeObject(key)
	} else {
		_, err = checked(key, body)
	}
	if err == nil && len(body) != size {
		err = fmt.Errorf("%w: it has %d bytes instead of %d", store.ErrCorrupt, len(body), size)
	}
	if errors.Is(err, store.ErrCorrupt) {
		what := strings.TrimPrefix(err.Error(), store.ErrCorrupt.Error()+": ")
		v.report.add(Fault{Object: hex.EncodeToString(key[:]), What: what})
		return nil
	}
	return err
}

// schema compares the tables and triggers with those of a new file.
func (v *verification) schema(ctx context.Context, q querier) error {
	want, err := freshTables(ctx)
	if err != nil {
		return err
	}
	got, err := tables(ctx, q)
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		v.report.add(Fault{What: "the tables or triggers are not those of this version"})
	}
	is, err := version(ctx, q)
	if err == nil && is != schemaVersion() {
		v.report.add(Fault{What: otherVersion})
	}
	return err
}

func (v *verification) pages(ctx context.Context, q querier) error {
	found, err := collect(ctx, q, "PRAGMA integrity_check(5)", nil, scanText)
	if err != nil {
		return err
	}
	for _, text := range found {
		if text != "ok" {
			v.report.add(Fault{What: "page check: " + text})
		}
	}
	return nil
}
