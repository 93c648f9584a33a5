//go:build unix

package tree_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

func TestScanSpecialFiles(t *testing.T) {
	w := newWorkspace(t, "a 1")
	if err := syscall.Mkfifo(w.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat("d/", 150)
	w.do(deep + "x 1")
	before := w.scan(nil)
	if got := before.Files["pipe"]; got != "o:p" {
		t.Errorf("a pipe is %q", got)
	}
	top := strings.Repeat("d/", 101)
	if got := before.Files[strings.TrimSuffix(top, "/")]; got != "d" || len(before.Files) != 3 {
		t.Errorf("what lies too deep is %q, of %d files", got, len(before.Files))
	}
	w.do("rm pipe\npipe 1\nrm d")
	w.want(tree.Diff(before, w.scan(&before)), "removed "+strings.TrimSuffix(top, "/")+"\ntype pipe")
}
