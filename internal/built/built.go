// Package built gives the tests the program piton, built once for all of them.
//
// It is for tests alone. It must never give them a program of other sources than those
// that are tested.
package built

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Piton is the path of the program, linked as it is released. The go command keeps what it
// built and knows when it is stale, so that only the first who asks waits for it. The caller
// must not change the file.
func Piton() (string, error) {
	// The go command keeps the programs of go run, and says where when it starts them. The
	// first time that is where it was linked, which is gone by now.
	for range 3 {
		out, err := exec.Command("go", "run", "-exec", "echo", "-ldflags=-s -w", "github.com/piton-dev/piton/cmd/piton").Output()
		if err != nil {
			if e, ok := errors.AsType[*exec.ExitError](err); ok {
				out = e.Stderr
			}
			return "", fmt.Errorf("build piton: %w\n%s", err, out)
		}
		path := strings.TrimSpace(string(out))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("build piton: the go command does not keep it")
}

// Into puts the program into a directory, and returns its path there: for tests that know
// their processes by where the program lies.
func Into(dir string) (string, error) {
	from, err := Piton()
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "piton")
	if os.Link(from, to) == nil {
		return to, nil
	}
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	return to, errors.Join(err, out.Close())
}
