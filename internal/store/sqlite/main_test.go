package sqlite_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tier"
)

// roles are what a child process of the tests does: the test binary runs
// itself with the name of one in its environment, and its arguments after it.
func roles() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"own":    ownUntilKilled,
		"crash":  appendUntilCrash,
		"follow": followUntil,
		"hold":   holdUntilEOF,
		"leave":  leaveLockToChild,
	}
}

const roleVariable = "SQLITE_TEST_ROLE"

func TestMain(m *testing.M) {
	role, ok := roles()[os.Getenv(roleVariable)]
	if !ok {
		flag.Parse()
		tier.Rapid(50, 100)
		os.Exit(m.Run())
	}
	if err := role(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A child is such a process. It lives until its input ends, or the test does.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err *strings.Builder
}

func start(t *testing.T, role string, args ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0], args...), err: &strings.Builder{}}
	c.Env = append(os.Environ(), roleVariable+"="+role)
	c.Stderr = c.err
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewScanner(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c
}

// expect waits for a line.
func (c *child) expect(t *testing.T, line string) {
	t.Helper()
	if !c.out.Scan() || c.out.Text() != line {
		c.Process.Kill()
		c.Wait()
		t.Fatalf("child said %q, want %q; %v; %s", c.out.Text(), line, c.out.Err(), c.err)
	}
}
