package sqlite

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// largest is what an event's body or a snapshot may hold, well under what
// SQLite takes: a batch that is too large is refused and stops nobody else.
const largest = 256 << 20

// A prepared batch is what the writer needs of one, made in the goroutine of
// the caller. Arguments of statements that hold a link see what the writer puts
// into links.
type prepared struct {
	stream   string
	after    uint64
	epoch    uint64
	entries  []entry
	links    []sum    // of the entries
	inserts  []values // of the entries, up to insertRows in each
	end      values   // of the chain
	objects  []values
	rows     []runRows
	snapshot []byte
}

// runRows are the rows of one run. Without a head there are items at most.
type runRows struct {
	head    values
	dropped values // where all steps are replaced
	steps   []values
	marks   []values
	items   []values
	things  []values
	cleared bool // all things of the workspace are replaced

	unmarked values // from where on all marks are replaced
}

func prepare(b store.Batch) (prepared, error) {
	p := prepared{
		stream: b.Stream, after: b.After, epoch: b.Epoch,
		entries:  make([]entry, len(b.Records)),
		links:    make([]sum, len(b.Records)),
		snapshot: b.Snapshot,
	}
	if err := b.Valid(); err != nil {
		return p, err
	}
	if len(b.Snapshot) > largest {
		return p, fmt.Errorf("batch for %s: a snapshot of %d bytes is too large", b.Stream, len(b.Snapshot))
	}
	for i := range b.Records {
		if err := p.entries[i].set(&b.Records[i]); err != nil {
			return p, fmt.Errorf("batch for %s: %w", b.Stream, err)
		}
	}
	p.setEvents()
	for _, o := range b.Objects {
		p.objects = append(p.objects, newObject(o))
	}
	var err error
	p.rows, err = newRows(b.Stream, b.Rows)
	return p, err
}

// link makes the links of the batch's records after the one that from stands for.
func (p *prepared) link(from sum, links *chain) {
	for i := range p.entries {
		from = links.link(from, &p.entries[i])
		p.links[i] = from
	}
}

// setEvents makes the arguments of addEvents, and of what moves the chain's end.
func (p *prepared) setEvents() {
	for at := 0; at < len(p.entries); at += insertRows {
		end := min(at+insertRows, len(p.entries))
		args := make(values, 0, 3+5*(end-at)).and(p.stream, int64(p.entries[at].seq), int64(p.epoch))
		for i := at; i < end; i++ {
			e := &p.entries[i]
			args = args.and(e.at, e.actor, e.typ, e.body, p.links[i][:])
		}
		p.inserts = append(p.inserts, args)
	}
	if n := len(p.entries); n > 0 {
		p.end = list(int64(p.entries[n-1].seq), p.links[n-1][:], p.stream)
	}
}

func (e *entry) set(r *engine.Record) error {
	body, err := engine.Encode(r.Event)
	if err != nil {
		return err
	}
	if len(body) > largest {
		return fmt.Errorf("%s of %d bytes is too large: put the content into an object", r.Event.Type(), len(body))
	}
	*e = entry{
		stream: r.Stream, seq: r.Seq, at: r.At.UnixMicro(),
		actor: r.Actor, epoch: r.Epoch, typ: r.Event.Type(), body: body,
	}
	return nil
}

func newRows(stream string, rows engine.Rows) ([]runRows, error) {
	var all []runRows
	for _, one := range store.ByRun(rows) {
		r, err := newRun(stream, one)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func newRun(stream string, rows engine.Rows) (r runRows, err error) {
	if rows.Head != nil {
		if r.head, err = newHead(stream, *rows.Head); err != nil {
			return r, err
		}
		if rows.All || rows.Anew {
			r.dropped = list(stream, rows.Head.Run)
		}
		if rows.Anew {
			r.unmarked = list(stream, int64(rows.Head.First))
		}
		for i := range rows.Steps {
			r.steps = append(r.steps, newStep(stream, rows.Head.Run, &rows.Steps[i]))
		}
	}
	for i := range rows.Marks {
		r.marks = append(r.marks, newMark(stream, &rows.Marks[i]))
	}
	for _, row := range rows.Items {
		item, err := newItem(stream, row)
		if err != nil {
			return r, err
		}
		r.items = append(r.items, item)
	}
	r.cleared = rows.Anew && stream == engine.WorkspaceStream
	for _, row := range rows.Things {
		r.things = append(r.things, list(row.Of, int64(row.Seq), row.Open, row.Row, string(row.Kind), row.Key))
	}
	return r, nil
}

// newObject trusts that the object's hash has been checked. The body of a large
// one is nil: it is in a file.
func newObject(o store.Object) values {
	hash, body := objectKey(o), o.Body
	switch {
	case isLarge(len(body)):
		body = nil
	case body == nil:
		body = []byte{}
	}
	return list(hash[:], int64(len(o.Body)), body)
}

func newHead(stream string, row engine.HeadRow) (values, error) {
	row.Started, row.Finished = store.Micro(row.Started), store.Micro(row.Finished)
	text, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encode head row of %s: %w", row.Stream, err)
	}
	return list(store.Fold(row.Title), string(text), stream, row.Run, string(row.Shown()), micros(row.Started)), nil
}

func newStep(stream, run string, r *engine.StepRow) values {
	return list(r.ID, r.Number, r.Title, string(r.Status), string(r.Phase), r.Reason, r.Agent, int64(r.Attempts),
		string(r.Verdict), string(r.Baseline), r.Proven, micros(r.Started), micros(r.Finished), joinNeeds(r.Needs), loopText(r.Loop), effortText(r.Effort), bondText(r.Bond),
		stream, run, int64(r.Index))
}

func newItem(stream string, row engine.ItemRow) (values, error) {
	row.Opened = store.Micro(row.Opened)
	if len(row.Choices) == 0 {
		row.Choices = nil
	}
	text, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encode item %s: %w", row.Item, err)
	}
	return list(row.Run, row.Open, micros(row.Opened), string(text), stream, row.Item), nil
}

// micros is a row's time as a column: 0 stands for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// seal binds a snapshot to the record that it stands for.
func seal(link sum, body []byte) sum {
	digest := sha256.New()
	digest.Write(link[:])
	digest.Write(body)
	return sum(digest.Sum(nil))
}

// loopText is how far a loop is, "" for a step that is none.
func loopText(l *engine.LoopRow) string {
	if l == nil {
		return ""
	}
	text, _ := json.Marshal(l) // plain data: it always marshals
	return string(text)
}

// atWork is the bond that most steps have for a while.
const atWork = `{"active":true}`

// bondText is what keeps a step, in one column: "" for nothing, which most have.
func bondText(b engine.Bond) string {
	switch b {
	case engine.Bond{}:
		return ""
	case engine.Bond{Active: true}:
		return atWork
	}
	b.Retry = store.Micro(b.Retry)
	text, _ := json.Marshal(b) // plain data: it always marshals
	return string(text)
}

// Needs are ids of steps; none holds a line break.
func joinNeeds(needs []string) string { return strings.Join(needs, "\n") }

func splitNeeds(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
