package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// talk CODE TALK PROGRAM ARGS... runs a program at a terminal of 80 columns
// and talks to it as the file TALK says, line by line: "> TEXT" types a line,
// "< TEXT" waits until the text is on the screen, after what was waited for
// before, and "^D" is the key. What was on the screen goes to stdout.
func talk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: talk CODE TALK PROGRAM ARGS...")
	}
	master, slave, err := openTerminal()
	ts.Check(err)
	defer master.Close()
	ts.Check(unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	c := program(ts, args[2:])
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(c.Start())
	slave.Close()
	late := time.AfterFunc(patience, func() { c.Process.Kill() }) //nolint:errcheck // it ended just now
	defer late.Stop()
	seen := make(chan []byte)
	go read(master, seen)
	screen, failed := converse(master, seen, ts.ReadFile(args[1]))
	err = c.Wait()
	plain := strings.ReplaceAll(screen, "\r\n", "\n")
	fmt.Fprint(ts.Stdout(), plain)
	ts.Logf("[screen]\n%s", plain)
	if failed != "" {
		ts.Fatalf("%s", failed)
	}
	if code := exitCode(err); strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func read(master *os.File, seen chan<- []byte) {
	defer close(seen)
	for {
		buf := make([]byte, 4096)
		n, err := master.Read(buf)
		if n > 0 {
			seen <- buf[:n]
		}
		if err != nil {
			return // the program is gone
		}
	}
}

// converse returns what was on the screen, and what was waited for in vain.
func converse(master *os.File, seen <-chan []byte, script string) (screen, failed string) {
	var all bytes.Buffer
	at := 0
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "^D":
			master.WriteString("\x04") //nolint:errcheck // the program is gone: its exit code says so
		case strings.HasPrefix(line, ">"):
			master.WriteString(strings.TrimPrefix(line[1:], " ") + "\n") //nolint:errcheck // the same
		case strings.HasPrefix(line, "< "):
			want := line[2:]
			for !strings.Contains(all.String()[at:], want) {
				b, more := <-seen
				if !more {
					return all.String(), fmt.Sprintf("the screen never showed %q", want)
				}
				all.Write(b)
			}
			at += strings.Index(all.String()[at:], want) + len(want)
		}
	}
	for b := range seen {
		all.Write(b)
	}
	return all.String(), ""
}
