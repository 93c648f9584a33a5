//go:build unix

// Command forward stands for piton in scripts: the test process carries the call out, with
// the files of this process. See here_test.go.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

func main() {
	os.Exit(forward())
}

func forward() int {
	self, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return failed(err)
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(filepath.Dir(self), "sock"), Net: "unix"})
	if err != nil {
		return failed(err)
	}
	if _, _, err := c.WriteMsgUnix([]byte{0}, syscall.UnixRights(0, 1, 2), nil); err != nil {
		return failed(err)
	}
	call := map[string]any{"args": os.Args[1:], "dir": dir, "env": os.Environ()}
	if err := json.NewEncoder(c).Encode(call); err != nil {
		return failed(err)
	}
	var code int
	if err := json.NewDecoder(c).Decode(&code); err != nil {
		return failed(err)
	}
	return code
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "forward:", err)
	return 99
}
