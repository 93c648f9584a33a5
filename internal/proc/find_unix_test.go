//go:build unix

package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"a/x/": 0, "a/text": 0o644, "b/x": 0o755, "b/bash": 0o755, "c/x": 0o755} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.Mkdir(file, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(root, name) }
	dirs := SearchPath([]string{"PATH=/none", "path=/other", "PATH=" + at("a") + ":b::" + at("b") + ":" + at("c")})
	for _, tt := range []struct {
		name, want string
		err        error
	}{
		{name: "x", want: at("b/x")},
		{name: "text", err: fs.ErrPermission},
		{name: "none", err: fs.ErrNotExist},
		{name: "", err: fs.ErrNotExist},
		{name: "./x", err: fs.ErrNotExist},
		{name: at("c/x"), want: at("c/x")},
		{name: at("a/text"), err: fs.ErrPermission},
	} {
		if got, err := Find(tt.name, dirs); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%q is %q, %v", tt.name, got, err)
		}
	}
	path := []string{"PATH=" + strings.Join(dirs, ":")}
	if got, err := Bash(path, at("a")); got != at("b/bash") || err != nil {
		t.Errorf("bash is %q, %v", got, err)
	}
	for _, workspace := range []string{root, "/"} {
		if got, err := Bash(path, workspace); got != "/bin/bash" || err != nil {
			t.Errorf("bash of others than the workspace %s is %q, %v", workspace, got, err)
		}
	}
}

// TestOutside: a PATH that leads into the workspace through a link leads into it.
func TestOutside(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"work/bin", "own"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "git"), []byte("#!/bin/sh\n"), 0o755); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "work", "bin"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + filepath.Join(root, "link") + ":" + filepath.Join(root, "own")
	got, err := Outside("git", []string{path}, filepath.Join(root, "work"))
	if want := filepath.Join(root, "own", "git"); err != nil || got != want {
		t.Errorf("git is %q, %v; want %q", got, err, want)
	}
}
