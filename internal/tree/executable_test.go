//go:build unix

package tree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

func TestExecutables(t *testing.T) {
	w := newWorkspace(t, "a/\nb/tool !one\nb/text one")
	path := tree.NewExecutables([]string{w.path("a"), w.path("b"), "/usr/bin", "/bin"})
	one := path.Find("tool")
	if tree.FileOf(one) != w.path("b/tool") || !strings.Contains(one, " x:") {
		t.Errorf("found %q", one)
	}
	system := path.Find("sh")
	if system != "/usr/bin/sh" && system != "/bin/sh" || tree.FileOf(system) != system {
		t.Errorf("found %q for sh", system)
	}
	if got := path.Find("text") + path.Find("nothing"); got != "" {
		t.Errorf("found %q, which cannot be run", got)
	}
	if abs := path.Find(w.path("b/tool")); abs != one || path.Find("/usr/bin/env") != "" {
		t.Errorf("absolute: %q, and %q", abs, path.Find("/usr/bin/env"))
	}
	w.do("b/tool !two")
	if two := path.Find("tool"); two == one || tree.FileOf(two) != tree.FileOf(one) {
		t.Errorf("after a change %q, before %q", two, one)
	}
	w.do("b/tool !one\na/sh !mine")
	if path.Find("tool") != one || tree.FileOf(path.Find("sh")) != w.path("a/sh") {
		t.Errorf("as before %q; before the system's own %q", path.Find("tool"), path.Find("sh"))
	}
	if err := os.Chmod(w.path("b/tool"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := path.Find("tool"); got != "" {
		t.Errorf("found %q, which may not be run any more", got)
	}
}

// A path of the system's own directories costs nothing.
func TestExecutablesOfTheSystem(t *testing.T) {
	path := tree.NewExecutables([]string{"/usr/bin", "/bin"})
	if allocs := testing.AllocsPerRun(10, func() { path.Find("sh"); path.Find("/usr/bin/env") }); path.Find("sh") != "" || allocs > 0 {
		t.Errorf("found %q, %v allocations", path.Find("sh"), allocs)
	}
	w := newWorkspace(t, "b/tool !one")
	if is := path.Find(w.path("b/tool")); tree.FileOf(is) != w.path("b/tool") || is == w.path("b/tool") {
		t.Errorf("an absolute path is found as %q", is)
	}
	if late := tree.NewExecutables([]string{"/usr/bin", filepath.Join(t.TempDir(), "bin")}); late.Find("sh") != "/usr/bin/sh" && late.Find("sh") != "" {
		t.Errorf("found %q", late.Find("sh"))
	}
}

// The system's is what whoever runs this cannot change.
func TestOfSystem(t *testing.T) {
	mine := t.TempDir()
	locked, led := filepath.Join(mine, "locked"), filepath.Join(mine, "led")
	if err := errors.Join(os.Mkdir(locked, 0o555), os.Symlink("/usr/bin", led)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{
		"/usr/bin": true, "/usr/lib": true,
		mine: false, filepath.Join(mine, "none", "bin"): false, locked: false, led: false, "": false, "bin": false, "/tmp/none/bin": false,
	} {
		if got := tree.OfSystem(dir); got != want {
			t.Errorf("%q is the system's: %t", dir, got)
		}
	}
	for _, dir := range []string{"/usr/local/bin", "/opt/homebrew/bin", "/opt"} {
		if os.Geteuid() == 0 && tree.OfSystem(dir) {
			t.Errorf("%q is the system's to root", dir)
		}
	}
}
