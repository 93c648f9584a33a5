package sqlite

import (
	"fmt"
	"os"
	"strings"
)

// startOf returns the process's start in ticks since the machine's, and whether
// it runs. One that has ended and that nobody has waited for does not run.
func startOf(pid int) (string, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The second field is the program's name in parentheses, with anything in it.
	_, rest, found := cutLast(string(text), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return "", false
	}
	state, started := fields[0], fields[19]
	return started, state != "Z" && state != "X"
}

func cutLast(text, sep string) (before, after string, found bool) {
	at := strings.LastIndex(text, sep)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(sep):], true
}
