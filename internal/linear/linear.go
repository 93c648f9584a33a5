// Package linear holds work to a cost that grows as its input does.
//
// It is for tests alone. It must never ask a clock.
package linear

import (
	"runtime"
	"testing"
)

// Memory fails a test where work takes memory worse than linearly. much does the work of
// little on something four times as large. It may allocate some five times as much.
// The count is the same on a busy machine. It is of the whole process, so a test that calls
// this is not parallel.
//
// Work that is worse than linear and allocates nothing never ends where much is large
// enough: the time limit of go test ends it.
func Memory(t testing.TB, little, much func()) {
	t.Helper()
	if a, b := allocated(little), allocated(much); b > 5*a+1<<20 {
		t.Errorf("it allocates %d bytes, and %d bytes for four times as much", a, b)
	}
}

func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
