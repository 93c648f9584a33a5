//go:build bench

package append_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// BenchmarkOneCaller appends a typical turn, and commits the same rows by plain
// SQL with the same synchronisation, in turns. It reports both medians and
// their ratio.
func BenchmarkOneCaller(b *testing.B) {
	s, epoch := ownedStore(b)
	plain := openPlain(b)
	var ours, theirs []time.Duration
	for n := uint64(0); b.Loop(); n++ {
		batch := turn("task", n, epoch)
		if n%2 == 0 { // neither always comes first
			theirs = append(theirs, timed(func() error { return plain.commit(batch) }, b))
		}
		ours = append(ours, timed(func() error { return s.Append(context.Background(), batch) }, b))
		if n%2 == 1 {
			theirs = append(theirs, timed(func() error { return plain.commit(batch) }, b))
		}
	}
	ours50, theirs50 := median(ours), median(theirs)
	b.ReportMetric(micros(ours50), "append-p50-µs")
	b.ReportMetric(micros(theirs50), "plain-p50-µs")
	b.ReportMetric(float64(ours50)/float64(theirs50), "ratio")
}

// BenchmarkManyCallers lets 64 goroutines append to 64 streams and then one do
// the same work, and reports how many times faster it goes. Three iterations
// are the first growth of the log, where each sync costs more and one caller
// alone loses most; some two hundred show what stays. Both sides of an
// iteration meet a journal of the same size.
func BenchmarkManyCallers(b *testing.B) {
	const callers = 64
	s, epoch := ownedStore(b)
	var alone, together time.Duration
	for n := uint64(0); b.Loop(); n++ {
		together += timed(func() error { return appendTogether(s, n, epoch, callers) }, b)
		alone += timed(func() error { return appendAlone(s, n, epoch, callers) }, b)
	}
	each := time.Duration(b.N * callers * turnsEach)
	b.ReportMetric(micros(alone/each), "alone-µs")
	b.ReportMetric(micros(together/each), "together-µs")
	b.ReportMetric(float64(alone)/float64(together), "ratio")
}

// turnsEach is how many turns a caller takes in one iteration.
const turnsEach = 16

func appendTogether(s store.Store, n, epoch uint64, callers int) error {
	errs := make(chan error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() { errs <- appendTurns(s, fmt.Sprintf("together-%d", i), n, epoch) })
	}
	group.Wait()
	for range callers {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func appendAlone(s store.Store, n, epoch uint64, callers int) error {
	for i := range callers {
		if err := appendTurns(s, fmt.Sprintf("alone-%d", i), n, epoch); err != nil {
			return err
		}
	}
	return nil
}

func appendTurns(s store.Store, stream string, n, epoch uint64) error {
	for k := range uint64(turnsEach) {
		if err := s.Append(context.Background(), turn(stream, n*turnsEach+k, epoch)); err != nil {
			return err
		}
	}
	return nil
}

func ownedStore(b *testing.B) (store.Store, uint64) {
	s, _, err := sqlite.Open(b.Context(), sqlite.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	epoch, _, err := s.Own(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	return s, epoch
}

// turn is the n-th of a stream: what ends a step, about 400 bytes a record.
func turn(stream string, n, epoch uint64) store.Batch {
	step := fmt.Sprintf("step-%d", n%50)
	output := strings.Repeat("f", 64)
	events := []engine.Event{
		engine.CheckEnded{
			Step: step, Attempt: 1, Phase: engine.Verifying, Check: "tests pass", Required: true, Command: output,
			Env: output, Verdict: engine.Pass, Ms: 1234, Output: output, Size: 4096, Isolation: "sealed",
		},
		engine.StepSettled{Step: step, Attempt: 1, Status: engine.Done, Verdict: engine.Pass, Proven: true, Reason: strings.Repeat("r", 250)},
		engine.WorkDispatched{
			Step: "next", Attempt: 1, N: 1, Kind: engine.AgentWork, Role: "coder", Prompt: output,
			Injected: []engine.Injected{{Ref: "notes/a", Hash: output}, {Ref: "notes/b", Hash: output}}, Tree: output,
		},
	}
	at := time.Unix(1_800_000_000, 0).UTC()
	batch := store.Batch{Stream: stream, After: 3 * n, Epoch: epoch}
	for i, e := range events {
		batch.Records = append(batch.Records, engine.Record{
			Stream: stream, Seq: 3*n + uint64(i) + 1, At: at, Actor: engine.Harness, Epoch: epoch, Event: e,
		})
	}
	batch.Rows = engine.Rows{
		Head:  &engine.HeadRow{Stream: stream, Run: "run", Title: "A plan", Status: engine.Running, Started: at, Total: 50, Settled: int(n % 50)},
		Steps: []engine.StepRow{{Index: int(n % 50), ID: step, Title: "A step", Status: engine.Done, Attempts: 1, Verdict: engine.Pass, Started: at, Finished: at}},
	}
	return batch
}

// plain is a journal as one would write it by hand: one connection, prepared
// statements, one transaction a turn, FULL synchronisation. It has no chain, no
// checks and no objects.
type plain struct {
	begin, commitAll, event, step, head *sql.Stmt
}

func openPlain(b *testing.B) *plain {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "plain.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(4000)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	conn, err := db.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	_, err = conn.ExecContext(b.Context(), `
		CREATE TABLE event(id INTEGER PRIMARY KEY, stream TEXT, seq INTEGER, at INTEGER, actor TEXT, epoch INTEGER, type TEXT, body BLOB, hash BLOB, UNIQUE(stream, seq)) STRICT;
		CREATE TABLE head(stream TEXT PRIMARY KEY, row TEXT) STRICT, WITHOUT ROWID;
		CREATE TABLE step(stream TEXT, idx INTEGER, row TEXT, PRIMARY KEY(stream, idx)) STRICT, WITHOUT ROWID`)
	if err != nil {
		b.Fatal(err)
	}
	return &plain{
		begin:     prepare(b, conn, "BEGIN IMMEDIATE"),
		commitAll: prepare(b, conn, "COMMIT"),
		event:     prepare(b, conn, "INSERT INTO event(stream, seq, at, actor, epoch, type, body, hash) VALUES(?, ?, ?, ?, ?, ?, ?, ?)"),
		step:      prepare(b, conn, "REPLACE INTO step VALUES(?, ?, ?)"),
		head:      prepare(b, conn, "REPLACE INTO head VALUES(?, ?)"),
	}
}

func prepare(b *testing.B, conn *sql.Conn, query string) *sql.Stmt {
	stmt, err := conn.PrepareContext(b.Context(), query)
	if err != nil {
		b.Fatal(err)
	}
	return stmt
}

// commit leaves the transaction open if it fails; so ends the benchmark.
func (p *plain) commit(batch store.Batch) error {
	if _, err := p.begin.Exec(); err != nil {
		return err
	}
	for _, r := range batch.Records {
		body, err := engine.Encode(r.Event)
		if err != nil {
			return err
		}
		hash := sha256.Sum256(body)
		_, err = p.event.Exec(r.Stream, int64(r.Seq), r.At.UnixMicro(), r.Actor, int64(r.Epoch), r.Event.Type(), body, hash[:])
		if err != nil {
			return err
		}
	}
	if err := p.rows(batch); err != nil {
		return err
	}
	_, err := p.commitAll.Exec()
	return err
}

func (p *plain) rows(batch store.Batch) error {
	head, err := json.Marshal(batch.Rows.Head)
	if err != nil {
		return err
	}
	step, err := json.Marshal(batch.Rows.Steps[0])
	if err != nil {
		return err
	}
	if _, err := p.step.Exec(batch.Stream, batch.Rows.Steps[0].Index, string(step)); err != nil {
		return err
	}
	_, err = p.head.Exec(batch.Stream, string(head))
	return err
}

func timed(do func() error, b *testing.B) time.Duration {
	start := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
