//go:build unix && !linux

package cli_test

import "github.com/rogpeppe/go-internal/testscript"

// Scripts that need a terminal are for Linux: other systems open one otherwise.
func terminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("there are no terminals for scripts on this system")
}

func types(ts *testscript.TestScript, neg bool, args []string) { terminal(ts, neg, args) }

func talk(ts *testscript.TestScript, neg bool, args []string) { terminal(ts, neg, args) }
