//go:build unix

package notes_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/piton-dev/piton/internal/notes"
)

func TestReadDoesNotWaitForPipes(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	got, err := notes.Read(dir, file("pipe"), notes.Sources{})
	must(t, err)
	if c := got[0]; !c.Missing || c.Reason != "it is neither a file nor a directory" {
		t.Errorf("a pipe gave %+v", c)
	}
}
