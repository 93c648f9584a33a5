package sqlite_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// smallDisk mounts a disk of 4 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := scratch(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small disk needs the right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill appends until the disk is full, and returns how many records were
// acknowledged.
func fill(t *testing.T, s store.Store, epoch, after uint64, add func(*store.Batch)) (uint64, error) {
	t.Helper()
	for n := after; n < after+10_000; n++ {
		b := settled("a", n, epoch, 1)
		add(&b)
		if err := s.Append(t.Context(), b); err != nil {
			return n, err
		}
	}
	t.Fatal("the disk never got full")
	return 0, nil
}

func randomObject(size int) store.Object {
	body := make([]byte, size)
	rand.Read(body)
	return store.NewObject(body)
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"in a commit": 20_000, "in a large object": 300_000} {
		t.Run(name, func(t *testing.T) {
			disk := smallDisk(t)
			ballast := filepath.Join(disk, "ballast")
			writeFile(t, ballast, make([]byte, 1<<20))
			dir := filepath.Join(disk, "state")
			s, epoch := owned(t, dir)
			add := func(b *store.Batch) { b.Objects = []store.Object{randomObject(size)} }

			n, first := fill(t, s, epoch, 0, add)
			if !errors.Is(first, store.ErrFull) || !strings.Contains(first.Error(), "stop and start again") {
				t.Errorf("append: %v, want ErrFull and what to do", first)
			}
			if err := s.Append(t.Context(), settled("b", 0, epoch, 1)); !errors.Is(err, store.ErrFull) || err.Error() != first.Error() {
				t.Errorf("the next append: %v, want the first error again", err)
			}
			if got := len(read(t, s, "a")); got != int(n) {
				t.Errorf("%d records while full, want the %d acknowledged", got, n)
			}
			s.Close() // its anchor may not fit either

			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			s, epoch = owned(t, dir)
			defer s.Close()
			if got := len(read(t, s, "a")); got != int(n) {
				t.Errorf("%d records after reopening, want the %d acknowledged", got, n)
			}
			write(t, s, settled("a", n, epoch, 1))
			if _, err := s.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFullDiskFromTheStart(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	writeFile(t, filepath.Join(disk, "ballast"), make([]byte, 4<<20))
	_, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(disk, "state")})
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("open: %v, want ErrFull", err)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	sample(t, disk)
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	s := openIn(t, disk)
	defer s.Close()
	if n := len(read(t, s, "a")); n != 20 {
		t.Errorf("read %d records, want 20", n)
	}
	if _, err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Own(t.Context(), "workspace"); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("own: %v, want ErrReadOnly", err)
	}
	if err := s.Append(t.Context(), settled("a", 20, 1, 1)); err == nil {
		t.Error("append to a read-only disk succeeded")
	}
	if _, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(disk, "new")}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("begin a journal: %v, want ErrReadOnly", err)
	}
}

// TestUnwritable is what an ordinary user meets.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write anywhere; TestReadOnlyDisk is for it")
	}
	dir := scratch(t)
	sample(t, dir)
	for _, name := range []string{"journal.db", "lock", "."} {
		if err := os.Chmod(filepath.Join(dir, name), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	s := openIn(t, dir)
	defer s.Close()
	if n := len(read(t, s, "a")); n != 20 {
		t.Errorf("read %d records, want 20", n)
	}
	if _, _, err := s.Own(t.Context(), "workspace"); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("own: %v, want ErrReadOnly", err)
	}
}
