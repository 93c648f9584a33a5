//go:build crash

package owner

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

// Point kills this process, as kill -9 does, when as many points have been passed as
// PITON_CRASH_AT_OWNER says, or PITON_CRASH_AT_CLIENT for any other process, unless
// the file that PITON_CRASH_ONCE names is there: the process makes it before. With
// PITON_CRASH_LOG it appends the name of every point to that file, behind which
// stands "owner" or "client". With PITON_CRASH_BOTH a client that is about to start
// the next owner, after one was killed so, is killed too.
var Point = newPoint()

func newPoint() func(string) {
	who := "client"
	if len(os.Args) > 1 && os.Args[1] == Verb {
		who = "owner"
	}
	at := map[string]string{"owner": "PITON_CRASH_AT_OWNER", "client": "PITON_CRASH_AT_CLIENT"}[who]
	limit, _ := strconv.ParseInt(os.Getenv(at), 10, 64)
	var passed atomic.Int64
	var names *os.File
	if log := os.Getenv("PITON_CRASH_LOG"); log != "" {
		names, _ = os.OpenFile(log+"."+who, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}
	return func(name string) {
		n := passed.Add(1)
		if names != nil {
			fmt.Fprintf(names, "%d %s\n", n, name)
		}
		if limit > 0 && n == limit && once() || name == beforeStart && orphaned() {
			syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // there is no answer
			select {}
		}
	}
}

// orphaned reports whether the owner was killed at a point and this client is to be.
func orphaned() bool {
	if os.Getenv("PITON_CRASH_BOTH") == "" {
		return false
	}
	_, err := os.Stat(os.Getenv("PITON_CRASH_ONCE"))
	return err == nil
}

// once reports whether this is the first process that is killed.
func once() bool {
	mark, err := os.OpenFile(os.Getenv("PITON_CRASH_ONCE"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		mark.Close()
	}
	return err == nil
}
