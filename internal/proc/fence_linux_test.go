package proc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

// TestWritable has a child change files inside and outside of where it may.
func TestWritable(t *testing.T) {
	tier.Needs(t, proc.Fenced())
	for _, offline := range []bool{false, true} {
		pool, err := proc.NewPool(proc.Config{Idle: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if exposed := pool.Offline(); offline && exposed != nil {
			t.Log(exposed)
			continue
		}
		in, out := t.TempDir(), t.TempDir()
		kept := filepath.Join(out, "kept")
		if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := pool.Run(t.Context(), proc.Spec{
			Argv: []string{"sh", "-c", `
				echo x >inside && mkdir dir && mv inside dir/ && rm dir/inside || echo "inside: no"
				echo x >/dev/null || echo "null: no"
				for change in "echo x >$1" "echo x >>$1" ": >$1" "rm $1" "mv $1 $1.moved" "ln $1 $1.link" "ln -s x $1.sym" "mkdir $1.dir" "mkfifo $1.fifo" "mv dir $1.dir" "truncate -s 0 $1" "ln $1 linked && echo x >linked"; do
					if sh -c "$change" sh "$1" 2>/dev/null; then echo "$change: done"; fi
				done
				cat "$1"`, "sh", kept},
			Dir: in, Env: os.Environ(), Writable: []string{in}, Offline: offline,
		})
		if status, ok := r.Exited(); !ok || status != 0 || r.Stdout.String() != "kept" {
			t.Errorf("offline %v: %+v: %s%s", offline, r, r.Stdout, r.Stderr)
		}
		if entries, err := os.ReadDir(out); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	}
}

// TestWritableNowhere starts no child where a directory is missing.
func TestWritableNowhere(t *testing.T) {
	tier.Needs(t, proc.Fenced())
	pool, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r := pool.Run(t.Context(), proc.Spec{Argv: []string{"true"}, Env: os.Environ(), Writable: []string{filepath.Join(t.TempDir(), "none")}})
	if status, ok := r.Exited(); !ok || status != 126 {
		t.Errorf("%+v", r)
	}
}
