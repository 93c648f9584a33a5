//go:build crash

package cli

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

// crashPoint kills this process, as kill -9 does, when as many points have been
// passed as PITON_CRASH_AT says. With PITON_CRASH_LOG it appends the name of
// every point to that file.
var crashPoint = newCrashPoint(os.Getenv("PITON_CRASH_AT"), os.Getenv("PITON_CRASH_LOG"))

func newCrashPoint(at, log string) func(string) {
	limit, _ := strconv.ParseInt(at, 10, 64)
	var passed atomic.Int64
	var names *os.File
	if log != "" {
		names, _ = os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}
	return func(name string) {
		n := passed.Add(1)
		if names != nil {
			fmt.Fprintf(names, "%d %s\n", n, name)
		}
		if limit > 0 && n == limit {
			syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // there is no answer
			select {}
		}
	}
}
