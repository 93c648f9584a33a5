//go:build unix

package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/api"
)

// A state directory that others can enter, that is another user's, or that is none, is refused.
func TestStateIsPrivate(t *testing.T) {
	for name, c := range map[string]struct {
		mode  os.FileMode
		owner int
		want  string
	}{
		"ours": {0o700, os.Geteuid(), ""}, "open": {0o777, os.Geteuid(), "mode 0777"}, "to be read": {0o750, os.Geteuid(), "mode 0750"},
		"another's": {0o700, 4711, "another user"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.owner != os.Geteuid() && os.Geteuid() != 0 {
				t.Skip("only root gives directories away")
			}
			dir := t.TempDir()
			p, err := api.Locate(dir, map[string]string{"PITON_STATE": t.TempDir()})
			if err != nil || p.Private() != nil {
				t.Fatal(err, p.Private())
			}
			for _, do := range []func() error{
				func() error { return os.Mkdir(p.State, 0o700) },
				func() error { return os.Chmod(p.State, c.mode) },
				func() error { return os.Chown(p.State, c.owner, -1) },
			} {
				if err := do(); err != nil {
					t.Fatal(err)
				}
			}
			err = p.Private()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	p := api.Place{State: filepath.Join(t.TempDir(), "link")}
	if err := os.Symlink(t.TempDir(), p.State); err != nil {
		t.Fatal(err)
	}
	if err := p.Private(); err == nil {
		t.Error("a link is taken")
	}
}
