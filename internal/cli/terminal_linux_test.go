package cli_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

type terminalKey struct{ name string }

// terminal NAME PROGRAM ARGS... starts a program at a terminal of its own. What
// stands there goes to NAME.out beside the workspace.
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: terminal NAME PROGRAM ARGS...")
	}
	mine, its, err := openTerminal()
	ts.Check(err)
	defer its.Close()
	c := program(ts, args[1:])
	c.Env = append(c.Env, "TERM=xterm", "CI=", "LANG=C.UTF-8")
	c.Stdin, c.Stdout, c.Stderr = its, its, its
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(c.Start())
	ts.Value(processKey{}).(processes)[args[0]] = c
	out := beside(ts, args[0]+".out")
	read := make(chan struct{})
	go func() {
		io.Copy(out, mine) //nolint:errcheck // it ends with the program
		out.Close()
		close(read)
	}()
	ts.Value("env").(*testscript.Env).Values[readKey{args[0]}] = read
	ts.Value("env").(*testscript.Env).Values[terminalKey{args[0]}] = mine
	ts.Defer(func() { mine.Close() })
}

// type NAME TEXT types at a program's terminal; \\n is the return key, and ^C
// that one.
func types(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: type NAME TEXT")
	}
	mine, ok := ts.Value(terminalKey{args[0]}).(*os.File)
	if !ok {
		ts.Fatalf("%s has no terminal", args[0])
	}
	text := []byte(strings.ReplaceAll(args[1], "^C", "\x03"))
	if args[1] == `\n` {
		text = []byte("\r")
	}
	_, err := mine.Write(text)
	ts.Check(err)
}

// openTerminal returns both ends of a new terminal of 100 columns.
func openTerminal() (mine, its *os.File, err error) {
	mine, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(mine.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}); err != nil {
		return nil, nil, err
	}
	its, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	return mine, its, err
}
