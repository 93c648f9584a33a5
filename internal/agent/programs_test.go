package agent

import (
	"os"
	"strings"
	"testing"
)

// TestPage wants a row of docs/isolation.md for each program.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/isolation.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		program, names := p.Name, p.Login
		if row := "\n| `" + program + "` | `" + strings.Join(names, "`, `") + "` |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/isolation.md has no row %s", row)
		}
	}
}
