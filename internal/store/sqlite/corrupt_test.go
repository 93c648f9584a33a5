package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// sample writes 20 records into each of three streams, with objects, and closes
// the journal, so that all is in its one file.
func sample(t testing.TB, dir string) {
	t.Helper()
	s, epoch := owned(t, dir)
	for n := range uint64(20) {
		var batches []store.Batch
		for _, stream := range []string{"a", "b", "c"} {
			b := settled(stream, n, epoch, 1)
			b.Rows.Head = &engine.HeadRow{Stream: stream, Run: "r", Status: engine.Running, Settled: int(n)}
			batches = append(batches, b)
		}
		batches[0].Objects = []store.Object{store.NewObject([]byte("small " + mark("object", n)))}
		write(t, s, batches...)
	}
	last := store.Batch{Stream: "a", After: 20, Epoch: epoch, Objects: []store.Object{largeObject("large", 0)}}
	write(t, s, last)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// inspect verifies what may be damaged.
func inspect(t testing.TB, dir string) (sqlite.Report, error) {
	t.Helper()
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Inspect: true})
	if err != nil {
		return sqlite.Report{}, err
	}
	defer s.Close()
	return s.Verify(t.Context())
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVerifySound(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	sample(t, dir)
	report, err := inspect(t, dir)
	want := sqlite.Report{Events: 60, Streams: 3, Objects: 21}
	if diff := cmp.Diff(want, report); diff != "" || err != nil {
		t.Errorf("%v, report (- want, + got):\n%s", err, diff)
	}
}

// TestVerifyNamesTheRecord flips one bit in the body of each record in turn. A
// body may also lie about where its page once was; a flip there harms nothing.
func TestVerifyNamesTheRecord(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	sample(t, dir)
	path := filepath.Join(dir, "journal.db")
	good := readFile(t, path)
	for id := range int64(60) {
		stream, seq := string(rune('a'+id%3)), uint64(id/3+1)
		want := []sqlite.Fault{{ID: id + 1, Stream: stream, Seq: seq, What: "it is not what was written"}}
		found := 0
		for _, at := range places(good, mark(stream, seq)) {
			bad := bytes.Clone(good)
			bad[at] ^= 1
			writeFile(t, path, bad)
			report, err := inspect(t, dir)
			if errors.Is(err, store.ErrCorrupt) && slices.Equal(report.Faults, want) {
				found++
			} else if err != nil {
				t.Errorf("flipped in %s %d: %v, %v", stream, seq, report.Faults, err)
			}
		}
		if found != 1 {
			t.Errorf("flipped in %s %d: found %d times, want once", stream, seq, found)
		}
	}
}

func places(text []byte, mark string) []int {
	var all []int
	for at := 0; ; at++ {
		next := bytes.Index(text[at:], []byte(mark))
		if next < 0 {
			return all
		}
		at += next
		all = append(all, at)
	}
}

// TestFlippedBitsAnywhere flips bits all over the file. Each must be found, or
// have left every record and object as it was.
func TestFlippedBitsAnywhere(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	sample(t, dir)
	path := filepath.Join(dir, "journal.db")
	good := readFile(t, path)
	want := contents(t, dir)
	found := 0
	const stride = 997
	for at := 0; at < len(good); at += stride {
		bad := bytes.Clone(good)
		bad[at] ^= 1 << (at % 8)
		writeFile(t, path, bad)
		if _, err := inspect(t, dir); err != nil {
			found++
		} else if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
			t.Errorf("bit %d of byte %d was flipped, and Verify found nothing:\n%s", at%8, at, diff)
		}
	}
	if total := len(good) / stride; found == 0 || found > total {
		t.Errorf("found %d of %d", found, total)
	}
}

// contents reads all records, or says at which it had to stop.
// Pages of zeros, and letters that a terminal obeys: it is damage, and is told in text.
func TestSpoiledAnywhere(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	sample(t, dir)
	path := filepath.Join(dir, "journal.db")
	good := readFile(t, path)
	step := max(1, len(good)/60)
	for at := 0; at < len(good); at += step {
		for _, spoil := range []string{strings.Repeat("\x00", 4096), "\x1b", "\x1b[2J\x9b\x07"} {
			bad := bytes.Clone(good)
			copy(bad[at:], spoil)
			writeFile(t, path, bad)
			s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
			if err == nil {
				_, err = s.Verify(t.Context())
				s.Close()
			}
			if err == nil {
				continue // nothing counts there
			}
			if !known(err) {
				t.Errorf("%q at %d: %v", spoil[:1], at, err)
			}
			if strings.ContainsFunc(err.Error(), unicode.IsControl) || !utf8.ValidString(err.Error()) {
				t.Errorf("%q at %d is told as %q", spoil[:1], at, err)
			}
		}
	}
}

// A journal of another workspace is refused, and no sound one.
func TestOtherWorkspace(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	sample(t, dir)
	for _, inspect := range []bool{false, true} {
		s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Workspace: "another", Inspect: inspect})
		if err == nil {
			_, err = s.Verify(t.Context())
			s.Close()
		}
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "not of another") {
			t.Errorf("inspect %t: %v", inspect, err)
		}
	}
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Workspace: "workspace"})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func contents(t testing.TB, dir string) map[string][]engine.Record {
	t.Helper()
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Inspect: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := map[string][]engine.Record{}
	for _, stream := range []string{"a", "b", "c"} {
		all[stream] = read(t, s, stream)
	}
	return all
}

// TestVerifyTampering changes the journal by SQL, as somebody would who wants
// not to be seen.
func TestVerifyTampering(t *testing.T) {
	t.Parallel()
	unlocked := "DROP TRIGGER event_keeps; DROP TRIGGER event_stays;"
	locked := `CREATE TRIGGER event_keeps BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events never change'); END;
		CREATE TRIGGER event_stays BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are never removed'); END`
	tests := []struct{ name, sql, want string }{
		{"a verdict changed", unlocked + "UPDATE event SET body = CAST(replace(CAST(body AS TEXT), 'pass', 'fail') AS BLOB) WHERE id = 7;" + locked, "record 7 (a 3): it is not what was written"},
		{"another time", unlocked + "UPDATE event SET at = at + 1 WHERE id = 8;" + locked, "record 8 (b 3): it is not what was written"},
		{"another actor", unlocked + "UPDATE event SET actor = 'me' WHERE id = 9;" + locked, "record 9 (c 3): it is not what was written"},
		{"another epoch", unlocked + "UPDATE event SET epoch = 9 WHERE id = 9;" + locked, "record 9 (c 3): it is not what was written"},
		{"another type", unlocked + "UPDATE event SET type = 'command' WHERE id = 9;" + locked, "record 9 (c 3): it is not what was written"},
		{"moved to another stream", unlocked + "UPDATE event SET stream = 'd' WHERE id = 60;" + locked, "record 60 (d 20): it follows 0 of its stream"},
		{"two swapped", unlocked + "UPDATE event SET seq = 99 WHERE id = 4; UPDATE event SET seq = 2 WHERE id = 7; UPDATE event SET seq = 3 WHERE id = 4;" + locked, "record 4 (a 3): it follows 1 of its stream"},
		{"one removed", unlocked + "DELETE FROM event WHERE id = 30;" + locked, "record 31 (a 11): the records from 30 on are missing before it"},
		{"the first removed", unlocked + "DELETE FROM event WHERE id = 1;" + locked, "record 2 (b 1): the records from 1 on are missing before it"},
		{"the last removed", unlocked + "DELETE FROM event WHERE id = 60;" + locked, "stream c: its head is record 20, and its last record is 19"},
		{"the end removed with its heads", unlocked + "DELETE FROM event WHERE id > 57; UPDATE head SET seq = 19, hash = (SELECT hash FROM event e WHERE e.stream = head.stream AND e.seq = 19);" + locked, "its end was cut: the anchor names record 60 (c 20), the last one here is 57 (c 19)"},
		{"a head removed", "DELETE FROM head WHERE stream = 'b'", "stream b: it has records and no head"},
		{"an object changed", "UPDATE object SET body = x'78' WHERE id = 3", "the object's content is not what was stored"},
		{"an object's size changed", "UPDATE object SET size = size + 1 WHERE id = 3", "it has 21 bytes instead of 22"},
		{"triggers removed", unlocked, "the tables or triggers are not those of this version"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := scratch(t)
			sample(t, dir)
			tamper(t, dir, test.sql)
			report, err := inspect(t, dir)
			if !errors.Is(err, store.ErrCorrupt) || len(report.Faults) == 0 || !strings.Contains(report.Faults[0].String(), test.want) {
				t.Errorf("%v, faults %v, want %q", err, report.Faults, test.want)
			}
		})
	}
}

func tamper(t testing.TB, dir, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "journal.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

func TestEventsAreAppendOnly(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	sample(t, dir)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "journal.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{"UPDATE event SET at = 0 WHERE id = 1", "DELETE FROM event WHERE id = 60"} {
		if _, err := db.Exec(query); err == nil {
			t.Errorf("%s was done", query)
		}
	}
}

// TestReadStopsAtDamage reads a stream with a spoilt record: all before it, then
// the error. It is far from the end, so that Open cannot see it.
func TestReadStopsAtDamage(t *testing.T) {
	t.Parallel()
	for want, query := range map[string]string{
		"record 5 is not what was written": "DROP TRIGGER event_keeps; UPDATE event SET actor = 'me' WHERE stream = 'b' AND seq = 5",
		"record 5 is missing":              "DROP TRIGGER event_stays; DELETE FROM event WHERE stream = 'b' AND seq = 5",
	} {
		dir := scratch(t)
		sample(t, dir)
		tamper(t, dir, query)
		s := openIn(t, dir)
		defer s.Close()
		var seqs []uint64
		var got error
		for r, err := range s.Read(t.Context(), "b", 1) {
			if got = err; err == nil {
				seqs = append(seqs, r.Seq)
			}
		}
		if !slices.Equal(seqs, []uint64{2, 3, 4}) || !errors.Is(got, store.ErrCorrupt) || !strings.Contains(got.Error(), want) {
			t.Errorf("read %v, then %v, want %s", seqs, got, want)
		}
	}
}

func TestOpenChecksTheTail(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"changed": "DROP TRIGGER event_keeps; UPDATE event SET actor = 'me' WHERE id = 59",
		"missing": "DROP TRIGGER event_stays; DELETE FROM event WHERE id = 56",
		"head":    "UPDATE head SET seq = 19 WHERE stream = 'b'",
	} {
		t.Run(name, func(t *testing.T) {
			dir := scratch(t)
			sample(t, dir)
			tamper(t, dir, query)
			if _, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir}); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("open: %v, want ErrCorrupt", err)
			}
		})
	}
}

// TestHeadIsCheckedBeforeAppending has damage too old for the tail's check.
func TestHeadIsCheckedBeforeAppending(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	s, epoch := owned(t, dir)
	write(t, s, settled("old", 0, epoch, 3), settled("new", 0, epoch, 100))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tamper(t, dir, "UPDATE head SET seq = 2 WHERE stream = 'old'")
	s, epoch = owned(t, dir)
	defer s.Close()
	first := s.Append(t.Context(), settled("old", 2, epoch, 1))
	if !errors.Is(first, store.ErrCorrupt) {
		t.Fatalf("append: %v, want ErrCorrupt", first)
	}
	if err := s.Append(t.Context(), settled("new", 100, epoch, 1)); !errors.Is(err, store.ErrCorrupt) || err.Error() != first.Error() {
		t.Errorf("append after a failure: %v, want the first error", err)
	}
	if n := len(read(t, s, "new")); n != 100 {
		t.Errorf("read %d records after a failure, want 100", n)
	}
}

func TestDamagedSnapshotIsNone(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	s, epoch := owned(t, dir)
	b := settled("a", 0, epoch, 3)
	b.Snapshot = []byte("state")
	write(t, s, b)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"UPDATE snapshot SET seq = 2", "UPDATE snapshot SET seq = 3, body = x'78'"} {
		tamper(t, dir, query)
		s = openIn(t, dir)
		if seq, body, err := s.Snapshot(t.Context(), "a"); seq != 0 || body != nil || err != nil {
			t.Errorf("%s: %d, %q, %v; want none", query, seq, body, err)
		}
		s.Close()
	}
}

func TestLargeObjects(t *testing.T) {
	t.Parallel()
	hash := largeObject("large", 0).Hash
	for name, damage := range map[string]func(string) error{
		"changed": func(path string) error { return os.WriteFile(path, largeObject("small", 0).Body, 0o600) },
		"cut":     func(path string) error { return os.Truncate(path, 100) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := scratch(t)
			sample(t, dir)
			if err := damage(filepath.Join(dir, "objects", hash[:2], hash[2:])); err != nil {
				t.Fatal(err)
			}
			report, err := inspect(t, dir)
			if !errors.Is(err, store.ErrCorrupt) || len(report.Faults) != 1 || report.Faults[0].Object != hash {
				t.Errorf("verify: %v, %v", report.Faults, err)
			}
			s := openIn(t, dir)
			defer s.Close()
			if _, err := s.Object(t.Context(), hash); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("read it: %v, want ErrCorrupt", err)
			}
		})
	}
}

// TestNoJournal opens what is none: an error that wraps ErrCorrupt, each time.
func TestNoJournal(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	sample(t, dir)
	path := filepath.Join(dir, "journal.db")
	good := readFile(t, path)
	for name, text := range map[string][]byte{
		"text":         []byte(strings.Repeat("this is no database\n", 1000)),
		"short":        []byte("SQLite"),
		"empty":        {},
		"half":         good[:len(good)/2],
		"one page":     good[:4096],
		"no header":    append(make([]byte, 100), good[100:]...),
		"zeros":        make([]byte, len(good)),
		"another page": append(bytes.Clone(good[:4096]), bytes.Repeat([]byte{0xff}, len(good)-4096)...),
	} {
		t.Run(name, func(t *testing.T) {
			writeFile(t, path, text)
			s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
			if err == nil {
				_, err = s.Verify(t.Context())
				s.Close()
			}
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("got %v, want ErrCorrupt", err)
			}
		})
	}
	t.Run("removed", func(t *testing.T) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir}); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("got %v, want ErrCorrupt", err)
		}
	})
}

func TestOldFile(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	sample(t, dir)
	path := filepath.Join(dir, "journal.db")
	old := readFile(t, path)
	s, epoch := owned(t, dir)
	write(t, s, settled("a", 20, epoch, 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, old)
	if _, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("open: %v, want ErrCorrupt", err)
	}
	report, err := inspect(t, dir)
	if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(report.Faults[0].What, "the anchor names record 61 (a 21), the last one here is 60 (c 20)") {
		t.Errorf("verify: %v, %v", report.Faults, err)
	}
	if err := os.Remove(filepath.Join(dir, "anchor")); err != nil {
		t.Fatal(err)
	}
	openIn(t, dir).Close() // somebody chose to go on with what is left
}

// crashed copies the files of a journal that is open, as a power cut would
// leave them: the log has records that the file has not.
func crashed(t testing.TB, anchored bool) string {
	t.Helper()
	from, to := scratch(t), scratch(t)
	s, epoch := owned(t, from)
	defer s.Close()
	for n := range uint64(20) {
		write(t, s, settled("a", n, epoch, 1), settled("b", n, epoch, 1))
	}
	for _, name := range []string{"journal.db", "journal.db-wal"} {
		writeFile(t, filepath.Join(to, name), readFile(t, filepath.Join(from, name)))
	}
	if anchored {
		s.Close()
		writeFile(t, filepath.Join(to, "anchor"), readFile(t, filepath.Join(from, "anchor")))
	}
	return to
}

func TestLogRemoved(t *testing.T) {
	t.Parallel()
	dir := crashed(t, true)
	if err := os.Remove(filepath.Join(dir, "journal.db-wal")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("open: %v, want ErrCorrupt", err)
	}
}

// TestTornLog cuts the log at many places. Without an anchor, what is left must
// be a sound beginning; with one, any loss must show.
func TestTornLog(t *testing.T) {
	t.Parallel()
	bare, anchored := crashed(t, false), crashed(t, true)
	good := readFile(t, filepath.Join(bare, "journal.db-wal"))
	for at := len(good); at > 0; at -= len(good)/60 + 7 {
		if n, err := opened(t, bare, good[:at]); err != nil && n > 0 {
			t.Errorf("log of %d bytes: %v", at, err)
		}
	}
	good = readFile(t, filepath.Join(anchored, "journal.db-wal"))
	if n, err := opened(t, anchored, good); n != 40 || err != nil {
		t.Errorf("whole log: %d records, %v", n, err)
	}
	for at := len(good) - 4096; at > 0; at -= len(good)/20 + 7 {
		if _, err := opened(t, anchored, good[:at]); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("log of %d bytes: %v, want ErrCorrupt", at, err)
		}
	}
}

// opened opens a copy of the journal in dir with another log, and returns how
// many records there are. Both streams were always written together.
func opened(t testing.TB, dir string, log []byte) (int, error) {
	t.Helper()
	to := scratch(t)
	writeFile(t, filepath.Join(to, "journal.db"), readFile(t, filepath.Join(dir, "journal.db")))
	writeFile(t, filepath.Join(to, "journal.db-wal"), log)
	if text, err := os.ReadFile(filepath.Join(dir, "anchor")); err == nil {
		writeFile(t, filepath.Join(to, "anchor"), text)
	}
	return soundPrefix(t.Context(), to)
}

// soundPrefix opens and verifies a journal in which the streams a and b were
// always written together, and returns how many records it has.
func soundPrefix(ctx context.Context, dir string) (int, error) {
	s, _, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	report, err := s.Verify(ctx)
	if err != nil {
		return report.Events, err
	}
	counts := map[string]int{}
	for _, stream := range []string{"a", "b"} {
		for r, err := range s.Read(ctx, stream, 0) {
			if err != nil {
				return report.Events, err
			}
			counts[stream]++
			if want := mark(stream, r.Seq); r.Event.(engine.StepSettled).Step != want {
				return report.Events, errors.New("record of another content: " + want)
			}
		}
	}
	if counts["a"] != counts["b"] || counts["a"]+counts["b"] != report.Events {
		return report.Events, errors.New("half a transaction")
	}
	return report.Events, nil
}

// FuzzOpen spoils a journal and its log. It must be refused, or what is left
// must be a sound beginning of what was written; nothing may panic.
func FuzzOpen(f *testing.F) {
	dir := crashed(f, false)
	db, log := readFile(f, filepath.Join(dir, "journal.db")), readFile(f, filepath.Join(dir, "journal.db-wal"))
	merged := scratch(f)
	writeFile(f, filepath.Join(merged, "journal.db"), db)
	writeFile(f, filepath.Join(merged, "journal.db-wal"), log)
	tamper(f, merged, "PRAGMA wal_checkpoint(TRUNCATE)")
	whole := readFile(f, filepath.Join(merged, "journal.db"))

	f.Add(false, uint32(0), []byte{1}, uint32(0))
	f.Add(false, uint32(18), []byte{3, 3}, uint32(0))
	f.Add(true, uint32(4096+20), []byte("garbage"), uint32(10))
	f.Add(true, uint32(24+24+4096), []byte{0xff}, uint32(5000))
	f.Add(false, uint32(4096*3+8), bytes.Repeat([]byte{0x80}, 64), uint32(4096))
	f.Fuzz(func(t *testing.T, inLog bool, at uint32, text []byte, cut uint32) {
		to := scratch(t)
		if inLog {
			writeFile(t, filepath.Join(to, "journal.db"), db)
			writeFile(t, filepath.Join(to, "journal.db-wal"), spoil(log, at, text, cut))
		} else {
			writeFile(t, filepath.Join(to, "journal.db"), spoil(whole, at, text, cut))
		}
		n, err := soundPrefix(t.Context(), to)
		if err == nil && n > 40 {
			t.Errorf("%d records out of 40", n)
		}
		if err != nil && !known(err) {
			t.Errorf("open: %v, of no known kind", err)
		}
	})
}

// spoil puts text at a place and cuts some bytes off the end.
func spoil(good []byte, at uint32, text []byte, cut uint32) []byte {
	bad := bytes.Clone(good[:len(good)-int(cut)%len(good)])
	copy(bad[int(at)%len(bad):], text)
	return bad
}

func known(err error) bool {
	return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrVersion)
}

// A journal that has lost its epoch is damaged, and not another's.
func TestAppendWithoutEpoch(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	s, epoch := owned(t, dir)
	defer s.Close()
	tamper(t, dir, "DELETE FROM meta")
	if err := s.Append(t.Context(), settled("a", 0, epoch, 1)); !errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFenced) {
		t.Errorf("append: %v, want ErrCorrupt", err)
	}
	if err := s.Append(t.Context(), settled("a", 0, epoch, 1)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("append once more: %v, want ErrCorrupt", err)
	}
}
