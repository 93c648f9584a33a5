package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leftovers ends the processes that were started with mark in their
// environment and do not end by themselves within the time, and names them.
func leftovers(mark string, within time.Duration) []string {
	var left []string
	for _, pid := range marked(mark) {
		if line, alive := outlives(pid, within); alive {
			left = append(left, line)
		}
	}
	return left
}

// marked are the processes other than this one with mark in their environment.
func marked(mark string) []int {
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	var pids []int
	for _, path := range found {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if env, err := os.ReadFile(path); err == nil && pid != os.Getpid() && bytes.Contains(env, []byte(mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// outlives waits for the end of a process and kills it after the time.
func outlives(pid int, within time.Duration) (line string, alive bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return "", false // it ended just now
	}
	defer unix.Close(fd)
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(within.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if n > 0 || err != nil {
			return "", false
		}
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) //nolint:errcheck // it ended just now
		return fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(args, []byte{0}, []byte{' '})), true
	}
}

// unowned waits until a workspace has no owner, or another one than the process with a
// number. It fails the test where that does not come.
func unowned(t testing.TB, ws string, but int) {
	t.Helper()
	for pid := ownerOf(ws); pid != 0 && (but == 0 || pid == but); pid = ownerOf(ws) {
		if line, alive := outlives(pid, patience); alive {
			t.Fatalf("the owner lives on: %s", line)
		}
	}
}

// ownerOf is the process that owns the workspace; 0 for none.
func ownerOf(workspace string) int {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range found {
		line, _ := os.ReadFile(path)
		if args := bytes.Split(line, []byte{0}); len(args) > 2 && string(args[1]) == "owner" && string(args[2]) == workspace {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			return pid
		}
	}
	return 0
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	mark := "MARK=" + t.TempDir()
	c := exec.Command("sleep", "1000")
	c.Env = append(os.Environ(), mark)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(mark, 0); len(left) != 1 {
		t.Errorf("left: %q", left)
		c.Process.Kill() //nolint:errcheck // it is killed already
	}
	c.Wait() //nolint:errcheck // it was killed
	if left := leftovers(mark, 0); len(left) != 0 {
		t.Errorf("left after the end: %q", left)
	}
}
