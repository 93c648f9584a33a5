package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/piton-dev/piton/internal/durable"
)

// At every stage path holds the old text or the new one, and at the end nothing
// else is left.
func TestReplace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := durable.MakeDir(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "f")
	holds := func() string {
		body, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "nothing"
		}
		return string(body)
	}
	var seen []string
	look := func(durable.Stage) error { seen = append(seen, holds()); return nil }
	for _, text := range []string{"one", "two"} {
		if err := durable.Replace(path, []byte(text), 0o640, look); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"nothing", "nothing", "one", "one", "one", "two"}; !slices.Equal(seen, want) {
		t.Errorf("path held %v, want %v", seen, want)
	}
	info, err := os.Stat(path)
	if err != nil || filepath.Separator == '/' && info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Who sees at the last moment that somebody else has written the file stops it: what
// they wrote stays, and nothing else is left.
func TestReplaceStopped(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	stop := errors.New("stop")
	err := durable.Replace(path, []byte("ours"), 0o600, func(s durable.Stage) error {
		if s != durable.Synced {
			return nil
		}
		return errors.Join(stop, os.WriteFile(path, []byte("theirs"), 0o600))
	})
	if body, _ := os.ReadFile(path); !errors.Is(err, stop) || string(body) != "theirs" {
		t.Errorf("%v, and the file holds %q", err, body)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// What cannot take its name leaves nothing behind, and what was there.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := durable.Replace(path, []byte("x"), 0o600, nil); err == nil {
		t.Error("a directory was replaced")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || !left[0].IsDir() {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Only what is a file of bounded size is read.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	if body, err := durable.ReadFile(path, 4); err != nil || string(body) != "1234" {
		t.Errorf("%q, %v", body, err)
	}
	for most, path := range map[int64]string{3: path, 100: dir} {
		if body, err := durable.ReadFile(path, most); !errors.Is(err, durable.ErrNotText) {
			t.Errorf("%s: %q, %v", path, body, err)
		}
	}
	if _, err := durable.ReadFile(path+"x", 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// Who lists the directory of the file never sees its bytes under another name, unless
// they cannot be moved there from elsewhere.
func TestReplaceThrough(t *testing.T) {
	elsewhere := t.TempDir()
	if shm := "/dev/shm"; runtime.GOOS == "linux" {
		dir, err := os.MkdirTemp(shm, "durable")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		elsewhere = dir
	}
	for _, through := range []string{t.TempDir(), elsewhere} {
		dir := t.TempDir()
		path := filepath.Join(dir, "plan.md")
		if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
			t.Fatal(err)
		}
		seen := 0
		look := func(s durable.Stage) error {
			entries, err := os.ReadDir(dir)
			seen = max(seen, len(entries))
			return err
		}
		if err := durable.ReplaceThrough(through, path, []byte("new"), 0o640, look); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(through)
		if err != nil || len(left) > 0 {
			t.Errorf("it left %v, %v", left, err)
		}
		if text, _ := os.ReadFile(path); string(text) != "new" {
			t.Errorf("it has %q", text)
		}
		if seen != 1 && through != elsewhere {
			t.Errorf("%d files stood beside each other", seen)
		}
	}
}
