package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
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
// the caller.
type prepared struct {
	stream   string
	after    uint64
	epoch    uint64
	entries  []entry
	objects  []blob
	rows     []runRows
	snapshot []byte
}

// runRows are the rows of one run. Without a head there are items at most.
type runRows struct {
	all   bool
	head  *headColumns
	steps []engine.StepRow
	items []itemColumns
	plans []planColumns
}

type headColumns struct {
	run, status string
	started     int64
	title       string // as titles are compared
	row         []byte
}

type itemColumns struct {
	item, run string
	open      bool
	opened    int64
	row       []byte
}

// planColumns are a plan that waits; without a row it waits no more.
type planColumns struct {
	plan string
	at   int64
	row  []byte
}

// A blob is an object as its row has it. The body of a large one is nil: it is
// in a file.
type blob struct {
	hash sum
	size int
	body []byte
}

func prepare(b store.Batch) (prepared, error) {
	p := prepared{
		stream: b.Stream, after: b.After, epoch: b.Epoch,
		entries:  make([]entry, len(b.Records)),
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
	return p, p.setRows(b)
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

func (p *prepared) setRows(b store.Batch) error {
	for _, o := range b.Objects {
		p.objects = append(p.objects, newBlob(o))
	}
	var err error
	p.rows, err = newRows(b.Rows)
	return err
}

func newRows(rows engine.Rows) ([]runRows, error) {
	var all []runRows
	for _, one := range store.ByRun(rows) {
		r := runRows{all: one.All, steps: one.Steps}
		if one.Head != nil {
			head, err := newHead(*one.Head)
			if err != nil {
				return nil, err
			}
			r.head = head
		}
		for _, row := range one.Items {
			item, err := newItem(row)
			if err != nil {
				return nil, err
			}
			r.items = append(r.items, item)
		}
		for _, row := range one.Plans {
			plan, err := newPlan(row)
			if err != nil {
				return nil, err
			}
			r.plans = append(r.plans, plan)
		}
		all = append(all, r)
	}
	return all, nil
}

// newBlob trusts that the object's hash has been checked. A nil body would be
// stored as one in a file.
func newBlob(o store.Object) blob {
	b := blob{size: len(o.Body)}
	hex.Decode(b.hash[:], []byte(o.Hash))
	if !isLarge(len(o.Body)) {
		b.body = o.Body
		if b.body == nil {
			b.body = []byte{}
		}
	}
	return b
}

func newHead(row engine.HeadRow) (*headColumns, error) {
	row.Started, row.Finished = store.Micro(row.Started), store.Micro(row.Finished)
	text, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encode head row of %s: %w", row.Stream, err)
	}
	return &headColumns{
		run: row.Run, status: string(row.Shown()), started: micros(row.Started), title: store.Fold(row.Title), row: text,
	}, nil
}

func newItem(row engine.ItemRow) (itemColumns, error) {
	row.Opened = store.Micro(row.Opened)
	if len(row.Choices) == 0 {
		row.Choices = nil
	}
	text, err := json.Marshal(row)
	if err != nil {
		return itemColumns{}, fmt.Errorf("encode item %s: %w", row.Item, err)
	}
	return itemColumns{item: row.Item, run: row.Run, open: row.Open, opened: micros(row.Opened), row: text}, nil
}

func newPlan(row engine.PlanRow) (planColumns, error) {
	p := planColumns{plan: row.Drafted.Plan}
	if !row.Open {
		return p, nil
	}
	row.At = store.Micro(row.At)
	text, err := json.Marshal(row)
	if err != nil {
		return p, fmt.Errorf("encode plan %s: %w", p.plan, err)
	}
	p.at, p.row = micros(row.At), text
	return p, nil
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

// Needs are ids of steps; none holds a line break.
func joinNeeds(needs []string) string { return strings.Join(needs, "\n") }

func splitNeeds(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
