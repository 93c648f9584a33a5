package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestRemovedLockIsNone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed here")
	}
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !isAt(f, path) {
		t.Error("it is not where it was made")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if isAt(f, path) {
		t.Error("it is where nothing is")
	}
	other, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if isAt(f, path) {
		t.Error("it is where another file is")
	}
}

// TestWriterSyncs: no test here cuts the power, so what makes commits durable
// is at least asked for.
func TestWriterSyncs(t *testing.T) {
	t.Parallel()
	db, err := openWriter(filepath.Join(t.TempDir(), "x.db"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "fullfsync": "1", "checkpoint_fullfsync": "1"} {
		var got string
		if err := db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", pragma, got, err, want)
		}
	}
}
