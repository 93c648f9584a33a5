// Package store keeps the journal: what it means to append to it and to read it,
// whatever lies below.
//
// A [Batch] carries the facts, the objects that they name and the rows that lists show.
// One [Store.Append] makes all of it durable, or none of it. Whatever is shown, started or
// acknowledged waits until Append has returned nil.
//
// A store must never learn what an event means, change or drop a record, or answer an
// append before it is durable.
package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// Errors that callers branch on. Each arrives wrapped in a text that says what
// failed, where, and what to do; test for them with errors.Is.
var (
	// ErrConflict: the stream's head is not Batch.After. Nothing of that
	// Append was written; read what is new and decide again.
	ErrConflict = errors.New("the stream has moved on")
	// ErrFenced: the batch's epoch is not the one that owns the workspace
	// now, or nobody owns it. Stop: somebody else goes on with the work.
	ErrFenced = errors.New("no longer the owner")
	// ErrOwned: another live process owns the workspace. Send it the command
	// instead, or wait for it to end.
	ErrOwned = errors.New("owned by another process")
	// ErrElsewhere: another live process owns the workspace, and keeps its state in
	// another place.
	ErrElsewhere = errors.New("owned by a process that keeps its state elsewhere")
	// ErrNotFound: there is no such object.
	ErrNotFound = errors.New("not found")
	// ErrFull: the disk is full. Free space, then open the store again.
	ErrFull = errors.New("disk full")
	// ErrReadOnly: the store may be read and not written.
	ErrReadOnly = errors.New("read-only")
	// ErrCorrupt: what is stored is not what was written.
	ErrCorrupt = errors.New("corrupt journal")
	// ErrVersion: another version of the program wrote the store.
	ErrVersion = errors.New("written by another version")
)

// An Object is content that events name by its hash: plan documents, programs,
// prompts, output.
type Object struct {
	Hash string // SHA-256 of Body in lower-case hexadecimal
	Body []byte
}

// NewObject returns body with its hash. It costs one pass over body.
func NewObject(body []byte) Object {
	sum := sha256.Sum256(body)
	return Object{Hash: hex.EncodeToString(sum[:]), Body: body}
}

// A Batch is what one turn of one stream adds. The store keeps nothing of the
// batch's memory after Append has returned.
type Batch struct {
	Stream string
	// After is the sequence of the stream's last record: 0 for a new stream.
	// If the stream's head is another, Append fails with ErrConflict.
	After uint64
	// Epoch is the ownership, from Own, under which all Records were made.
	Epoch uint64
	// Records have Seq After+1, After+2 … and this batch's Stream and Epoch.
	// At is kept to the microsecond: truncate it BEFORE the record is applied
	// to a state that replay must reach again. There may be no records, where
	// only objects, rows or a snapshot are to be kept.
	Records []engine.Record
	// Objects are durable no later than the records that name them. An object
	// that is there already costs little.
	Objects []Object
	// Rows replace the rows of the same key: heads by stream and run, steps
	// by run and index, items by id, marks by record, things of the workspace by kind and key. Those of earlier runs are written first;
	// a run that is new to the stream becomes its newest.
	Rows engine.Rows
	// Snapshot, unless nil, is the core's disposable state after the last
	// record (after After, if there is none). Only the newest of each stream
	// is kept.
	Snapshot []byte
}

// Last is the sequence of the stream once the batch is written.
func (b Batch) Last() uint64 { return b.After + uint64(len(b.Records)) }

// Valid reports what a caller did wrong in making the batch. Append calls it.
// It costs one hash over each object.
func (b Batch) Valid() error {
	if b.Stream == "" {
		return errors.New("batch has no stream")
	}
	for i, r := range b.Records {
		if err := b.validRecord(r, b.After+1+uint64(i)); err != nil {
			return err
		}
	}
	if len(b.Rows.Things) > 0 && b.Stream != engine.WorkspaceStream {
		return fmt.Errorf("batch for %s: only the workspace has things", b.Stream)
	}
	for _, rows := range ByRun(b.Rows) {
		if err := b.validRows(rows); err != nil {
			return err
		}
	}
	for _, o := range b.Objects {
		if want := NewObject(o.Body).Hash; o.Hash != want {
			return fmt.Errorf("batch for %s: object %q has the hash %s", b.Stream, o.Hash, want)
		}
	}
	return nil
}

func (b Batch) validRows(rows engine.Rows) error {
	switch {
	case rows.Head != nil && rows.Head.Stream != b.Stream:
		return fmt.Errorf("batch for %s: head row is of stream %q", b.Stream, rows.Head.Stream)
	case rows.Head == nil && len(rows.Steps) > 0:
		return fmt.Errorf("batch for %s: steps without the head row of their run", b.Stream)
	}
	if rows.Head == nil && len(rows.Marks) > 0 {
		return fmt.Errorf("batch for %s: marks without the head row of their run", b.Stream)
	}
	for _, item := range rows.Items {
		if item.Stream != b.Stream {
			return fmt.Errorf("batch for %s: item %s is of stream %q", b.Stream, item.Item, item.Stream)
		}
	}
	return nil
}

// ByRun takes rows apart: one of each run, the oldest first, none with Earlier.
func ByRun(rows engine.Rows) []engine.Rows {
	all := append([]engine.Rows(nil), rows.Earlier...)
	rows.Earlier = nil
	return append(all, rows)
}

// Rows reads all rows of a stream, those of its newest run last.
func Rows(ctx context.Context, s Store, stream string) (rows engine.Rows, err error) {
	if stream == engine.WorkspaceStream {
		if rows.Things, err = s.Things(ctx, ThingFilter{}); err == nil {
			rows.Items, err = s.Items(ctx, ItemFilter{Stream: stream})
		}
		return rows, err
	}
	heads, err := s.Heads(ctx, HeadFilter{Stream: stream})
	if err != nil || len(heads) == 0 {
		return rows, err
	}
	slices.Reverse(heads)
	sort.SliceStable(heads, func(i, j int) bool { return heads[i].First < heads[j].First })
	var all []engine.Rows
	for n, head := range heads {
		rows := engine.Rows{Head: &head}
		if rows.Steps, err = s.Steps(ctx, StepFilter{Stream: stream, Run: head.Run}); err != nil {
			return engine.Rows{}, err
		}
		if rows.Items, err = s.Items(ctx, ItemFilter{Stream: stream, Run: head.Run}); err != nil {
			return engine.Rows{}, err
		}
		before := uint64(0)
		if n+1 < len(heads) {
			before = heads[n+1].First
		}
		if rows.Marks, err = s.Marks(ctx, stream, head.First, before); err != nil {
			return engine.Rows{}, err
		}
		all = append(all, rows)
	}
	newest := all[len(all)-1]
	if len(all) > 1 {
		newest.Earlier = all[:len(all)-1]
	}
	return newest, nil
}

func (b Batch) validRecord(r engine.Record, seq uint64) error {
	switch {
	case r.Seq != seq:
		return fmt.Errorf("batch for %s: record has seq %d in the place of %d", b.Stream, r.Seq, seq)
	case r.Stream != b.Stream:
		return fmt.Errorf("batch for %s: record %d is of stream %q", b.Stream, seq, r.Stream)
	case r.Epoch != b.Epoch:
		return fmt.Errorf("batch for %s: record %d has epoch %d, the batch %d", b.Stream, seq, r.Epoch, b.Epoch)
	case r.Event == nil:
		return fmt.Errorf("batch for %s: record %d has no event", b.Stream, seq)
	}
	return nil
}

// Micro returns t as a store gives it back: to the microsecond, in UTC. The
// zero time stays zero.
func Micro(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

// HeadFilter selects head rows. The zero value selects all.
type HeadFilter struct {
	Stream string          // only this stream's
	Under  string          // only those of tasks that carry out steps of this stream's, and of theirs
	Top    bool            // only those that carry out no step of another run
	Run    string          // only the run of this id
	Prefix string          // only runs whose id begins so
	Status []engine.Status // shown as any of these (see engine.HeadRow.Shown); empty = any
	Title  string          // only runs whose title contains it, in capitals or not
	Limit  int             // at most so many; 0 = no limit
}

// Fold returns a title as HeadFilter.Title is compared with it.
func Fold(title string) string { return strings.ToLower(title) }

// StepFilter selects the step rows of a run.
type StepFilter struct {
	Stream string
	Run    string
	IDs    []string      // only these; empty = all
	At     []int         // only those at these indexes; empty = all
	Status engine.Status // only those that stand so; "" = all
	Word   string        // only those with this id or number, or with an id that begins so
	Left   bool          // only those that are neither done nor waived nor skipped
	Brief  bool          // rows as [Briefly] leaves them, which cost less
	Limit  int           // at most so many; 0 = no limit
}

// Briefly is what is left of a row where only that is asked for which says what keeps whom.
func Briefly(r engine.StepRow) engine.StepRow {
	return engine.StepRow{Index: r.Index, ID: r.ID, Status: r.Status, Needs: r.Needs, Bond: r.Bond}
}

// Fits reports whether the filter selects a row of its run.
func (f StepFilter) Fits(r engine.StepRow) bool {
	return (len(f.IDs) == 0 || slices.Contains(f.IDs, r.ID)) &&
		(len(f.At) == 0 || slices.Contains(f.At, r.Index)) &&
		(f.Status == "" || r.Status == f.Status) &&
		(f.Word == "" || r.Number == f.Word || strings.HasPrefix(r.ID, f.Word)) &&
		(!f.Left || !slices.Contains(Past, r.Status))
}

// Past are the statuses of steps of which nothing is left to do.
var Past = []engine.Status{engine.Done, engine.Waived, engine.Skipped}

// ItemFilter selects items. The zero value selects all.
type ItemFilter struct {
	Open   bool   // only those that wait for an answer
	Stream string // only this stream's
	Run    string // only this run's
	Limit  int    // at most so many, the oldest; 0 = no limit
}

// CompareItems orders items: the oldest first.
func CompareItems(a, b engine.ItemRow) int {
	return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.Stream, b.Stream), len(a.Item)-len(b.Item), cmp.Compare(a.Item, b.Item))
}

// ThingFilter selects things of the workspace. The zero value selects all.
type ThingFilter struct {
	Kind   engine.Thing
	Key    string // only the one with this key
	Prefix string // only those whose key begins so
	Of     string // only what belongs to this
	Open   bool   // only those that are open
	Newest bool   // only the last
}

// MarkFilter selects marked records: those about a step, or, with Frames or Newest, those
// that add frames.
type MarkFilter struct {
	Stream string
	Steps  []string      // of these steps; of "", and where none is named, frames that no step produced, and what opened, revised or configured a run
	Frames engine.Window // of ids
	Newest int           // so many of the newest frames, in place of Frames
	Failed bool          // those by which an attempt did not pass, of all steps
	From   uint64        // only this record and those after it
	Before uint64        // only those before it; 0 = all
}

// Marked is a record with its mark.
type Marked struct {
	engine.Record
	Mark engine.Mark
}

// A Store is the journal of one workspace. All methods may be called from
// several goroutines at once, and reading never waits for writing. Strings and
// slices that are returned belong to the caller.
type Store interface {
	// Append writes all batches or none, and returns when they are durable.
	// Batches may be of several streams; two of the same stream follow each
	// other in order. It fails with ErrConflict, ErrFenced, ErrFull,
	// ErrReadOnly or ErrCorrupt; after a refusal (the first two, or an
	// invalid batch) the store goes on, after any other failure it refuses
	// all further appends with that first error, and the process stops and
	// opens it again. A cancelled ctx is heeded until writing begins; from
	// then on Append returns what really happened.
	Append(ctx context.Context, batches ...Batch) error

	// Read yields the stream's records after the sequence after, in order.
	// An error comes as the last pair, with a zero record. An unknown stream
	// yields nothing. The caller may append, or read again, inside the loop;
	// records appended meanwhile may or may not be yielded. Events come as
	// engine.Decode makes them: RunOpened without its compiled program.
	Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error]

	// Snapshot returns the newest snapshot of the stream and the sequence
	// that it stands for, or 0, nil, nil where none can be used; Read goes on
	// after that sequence.
	Snapshot(ctx context.Context, stream string) (seq uint64, body []byte, err error)

	// Changed returns the streams that got records since token was given
	// out, and the next token. The empty token stands for the beginning. It
	// is a hint for whoever follows the journal: it may name too many
	// streams, never too few. Tokens are opaque and outlive a reopening.
	Changed(ctx context.Context, token string) (streams []string, next string, err error)

	// Heads returns the rows of runs, the newest start first, and of one
	// stream's that started together the one that came later. Of a single
	// stream the one that came later is always first, whatever the clock said. A
	// stream that never got one has none. With a limit, or for one run, it costs no more
	// for all the runs that it does not return, unless titles are looked
	// through.
	Heads(ctx context.Context, filter HeadFilter) ([]engine.HeadRow, error)

	// Items returns items, the oldest first.
	Items(ctx context.Context, filter ItemFilter) ([]engine.ItemRow, error)

	// CountItems is how many rows Items returns without a limit.
	CountItems(ctx context.Context, filter ItemFilter) (int, error)

	// Steps returns step rows of a run of the stream, by index.
	Steps(ctx context.Context, filter StepFilter) ([]engine.StepRow, error)

	// CountSteps is how many rows Steps returns without a limit.
	CountSteps(ctx context.Context, filter StepFilter) (int, error)

	// Marks returns the marks of the stream's records from one on, and before another, in
	// their order; before 0 is to the end.
	Marks(ctx context.Context, stream string, from, before uint64) ([]engine.Mark, error)

	// Marked returns marked records in their order. The cost is that of what it
	// returns. Events come as those of Read.
	Marked(ctx context.Context, filter MarkFilter) ([]Marked, error)

	// Things returns the rows of what the workspace has, by kind, in the order in which
	// it began. The cost is that of what it returns.
	Things(ctx context.Context, filter ThingFilter) ([]engine.ThingRow, error)

	// Object returns the body with this hash, having hashed it: ErrNotFound
	// if there is none, ErrCorrupt if it is not what was stored.
	Object(ctx context.Context, hash string) ([]byte, error)

	// Own makes this store the workspace's only writer until release, and
	// returns the new epoch: greater than each before, and durable. It fails
	// with ErrOwned while another owner lives. The first Own names the
	// store's workspace; another name is refused later. Call release once,
	// when no Append is under way; Close releases too.
	Own(ctx context.Context, workspace string) (epoch uint64, release func() error, err error)

	// Close ends the store; nothing may be called after it. It is not
	// allowed while calls are under way.
	Close() error
}
