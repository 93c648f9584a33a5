//go:build unix

package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/api"
)

// A state directory with a long path has its socket, too, and whoever uses that
// leaves no more than one link, which may be used again.
func TestSocketBelowALongPath(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	p := api.Place{State: filepath.Join(t.TempDir(), strings.Repeat("long", 30))}
	if err := os.Mkdir(p.State, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := api.Listen(p, (&owner{}).serving())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3 {
		if _, err := api.Dial(p, "1.0", nil, nil).Carried(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := api.LinkTo(p.State); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 1 {
		t.Fatalf("left are %v, %v", left, err)
	}
	link := filepath.Join(tmp, left[0].Name())
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if at, err := api.LinkTo(p.State); err == nil {
		t.Errorf("somebody else's %s is used", at)
	}
}
