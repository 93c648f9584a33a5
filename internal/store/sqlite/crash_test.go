package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// TestCrashAtEachPoint kills a process the first and the third time that it
// comes to a point, and looks at what it left.
func TestCrashAtEachPoint(t *testing.T) {
	t.Parallel()
	for _, point := range sqlite.Points() {
		for _, nth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s %d", point, nth), func(t *testing.T) {
				t.Parallel()
				dir := scratch(t)
				c := start(t, "crash", dir, point, strconv.Itoa(nth))
				acknowledged := 0
				for c.out.Scan() {
					acknowledged++
				}
				if err := c.Wait(); err == nil || c.err.Len() > 0 {
					t.Fatalf("it was not killed there: %v, %s", err, c.err)
				}
				checkLeft(t, dir, point, acknowledged)
			})
		}
	}
}

// appendUntilCrash takes ownership again and again, and appends two streams and
// a large object at a time; it says so once each is durable.
func appendUntilCrash(args []string) error {
	nth, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	var count atomic.Int64
	s, _, err := sqlite.Open(context.Background(), sqlite.Config{Dir: args[0], Point: func(name string) {
		if name == args[1] && count.Add(1) == int64(nth) {
			kill()
		}
	}})
	if err != nil {
		return err
	}
	for n := range uint64(5) {
		epoch, release, err := s.Own(context.Background(), "workspace")
		if err != nil {
			return err
		}
		if err := s.Append(context.Background(), crashBatch("a", n, epoch), crashBatch("b", n, epoch)); err != nil {
			return err
		}
		fmt.Println(n)
		if err := release(); err != nil {
			return err
		}
	}
	return s.Close()
}

func crashBatch(stream string, n, epoch uint64) store.Batch {
	b := settled(stream, 2*n, epoch, 2)
	b.Objects = []store.Object{largeObject(stream, n)}
	return b
}

func largeObject(stream string, n uint64) store.Object {
	return store.NewObject(bytes.Repeat([]byte(mark(stream, n)), 10_000))
}

func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // until the signal comes
}

// checkLeft wants all that was acknowledged, nothing by halves, and a journal
// that can be gone on with.
func checkLeft(t *testing.T, dir, point string, acknowledged int) {
	t.Helper()
	s := openIn(t, dir)
	defer s.Close()
	if _, err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	appends := acknowledged
	if point == sqlite.PointAppendDone {
		appends++ // durable, though nobody was told
	}
	a, b := len(read(t, s, "a")), len(read(t, s, "b"))
	if a != 2*appends || b != 2*appends {
		t.Errorf("%d and %d records are left of %d appends of 2 and 2", a, b, appends)
	}
	for n := range uint64(a / 2) {
		for _, stream := range []string{"a", "b"} {
			if _, err := s.Object(t.Context(), largeObject(stream, n).Hash); err != nil {
				t.Error(err)
			}
		}
	}
	owners := appends
	if point != sqlite.PointAppendDone && point != sqlite.PointEpochWrite && !strings.HasPrefix(point, "anchor") {
		owners++ // this one appended nothing
	}
	epoch := own(t, s)
	if epoch != uint64(owners)+1 {
		t.Errorf("epoch %d after %d owners", epoch, owners)
	}
	write(t, s, crashBatch("a", uint64(a/2), epoch), crashBatch("b", uint64(b/2), epoch))
}
