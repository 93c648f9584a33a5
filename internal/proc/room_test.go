package proc_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/proc"
)

// TestPage wants the page to name what of a home is seen, all of it in one line.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/isolation.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{proc.Tools, proc.Settings, proc.Secrets} {
		if line := "`" + strings.Join(names, "`, `") + "`."; !strings.Contains(string(page), line[:len(line)-1]) {
			t.Errorf("docs/isolation.md does not have: %s", line)
		}
		if !slices.IsSorted(names) {
			t.Errorf("not sorted: %v", names)
		}
	}
}
