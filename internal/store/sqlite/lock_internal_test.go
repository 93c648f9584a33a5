package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

func TestAlive(t *testing.T) {
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	started, _ := startOf(ended.Process.Pid)
	gone := process{pid: ended.Process.Pid, started: started}
	if err := ended.Wait(); err != nil {
		t.Fatal(err)
	}
	reused := self()
	reused.started += "0"
	for _, test := range []struct {
		what string
		p    process
		want bool
	}{
		{"this process", self(), true},
		{"one that ended", gone, false},
		{"one whose number was given to this one", reused, false},
		{"nobody", process{}, false},
		{"a group", process{pid: -1}, false},
	} {
		if got := test.p.alive(); got != test.want {
			t.Errorf("%s (%s): alive is %t", test.what, test.p, got)
		}
	}
}

func TestRemovedLockIsNone(t *testing.T) {
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
	db, err := openWriter(filepath.Join(t.TempDir(), "x.db"))
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
