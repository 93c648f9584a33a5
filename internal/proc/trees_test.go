package proc

import (
	"slices"
	"testing"
)

// What a directory of PATH belongs to can be seen: the programs of npm are links into the
// packages beside them.
func TestTrees(t *testing.T) {
	home := t.TempDir()
	tests := map[string][]string{
		"/opt/go/bin":                     {"/opt/go"},
		"/usr/games":                      {"/usr/games"},
		home + "/bin":                     {home + "/bin"},
		"/srv/agents/node_modules/.bin":   {"/srv/agents/node_modules"},
		home + "/tools/node_modules/.bin": {home + "/tools/node_modules"},
		"/srv/work/node_modules/.bin":     nil,
	}
	for dir, want := range tests {
		if got := trees([]string{dir}, home, "/srv/work"); !slices.Equal(got, want) {
			t.Errorf("%s belongs to %q, want %q", dir, got, want)
		}
	}
}
