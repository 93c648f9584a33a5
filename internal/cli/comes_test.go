//go:build unix

package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rogpeppe/go-internal/testscript"
)

// patience ends what hangs.
const patience = 5 * time.Minute

// comes waits until is says yes. It asks whenever a file at or below one of dirs changes, and
// now and then for what no file tells. It reports no after patience.
func comes(t testing.TB, is func() bool, dirs ...string) bool {
	t.Helper()
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, dir := range dirs {
		below(w, dir)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	untold := time.NewTicker(time.Second)
	defer untold.Stop()
	for !is() {
		for told := false; !told; {
			select {
			case e := <-w.Events:
				if e.Has(fsnotify.Create) {
					below(w, e.Name)
				}
				told = !silent(e.Name)
			case <-w.Errors: // some were lost
				told = true
			case <-untold.C:
				told = true
			case <-late.C:
				return is()
			}
		}
	}
	return true
}

// below watches a directory and those in it.
func below(w *fsnotify.Watcher, dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // what is gone by now says nothing
		if err == nil && d.IsDir() {
			_ = w.Add(path)
		}
		return nil
	})
}

// silent reports whether looking at a journal changes this file.
func silent(name string) bool { return strings.HasSuffix(name, "-shm") }

// until PROGRAM ARGS... runs a program until it succeeds, whenever a file changes. It looks for
// files, and for what is in them, by itself.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: until PROGRAM ARGS...")
	}
	look, err := looks(ts, args)
	ts.Check(err)
	if !comes(ts.Value("env").(*testscript.Env).T().(testing.TB), look, ts.Getenv("WORK")) {
		ts.Fatalf("still not: %q", args)
	}
}

// looks is what until asks.
func looks(ts *testscript.TestScript, args []string) (func() bool, error) {
	switch {
	case args[0] == "test" && len(args) == 3 && (args[1] == "-e" || args[1] == "-f"):
		return func() bool { _, err := os.Stat(ts.MkAbs(args[2])); return err == nil }, nil
	case args[0] == "grep" && len(args) > 2:
		args = args[len(args)-2:]
		wanted, err := regexp.Compile("(?m)" + args[0])
		return func() bool {
			text, err := os.ReadFile(ts.MkAbs(args[1]))
			return err == nil && wanted.Match(text)
		}, err
	default:
		return func() bool { return ts.Exec(args[0], args[1:]...) == nil }, nil
	}
}
