package probe

import (
	"runtime"
	"testing"

	"github.com/piton-dev/piton/internal/durable"
)

func TestDisk(t *testing.T) {
	fs, ok := durable.VolumeOf(t.TempDir())
	if !ok && (runtime.GOOS == "linux" || runtime.GOOS == "darwin") {
		t.Fatal("nothing is known of the file system of a directory")
	}
	if ok && fs.Free == 0 {
		t.Errorf("no space is left: %+v", fs)
	}
	if _, ok := durable.VolumeOf("/none/at/all"); ok {
		t.Error("a directory that does not exist has a file system")
	}
	for n, want := range map[uint64]string{0: "0 MiB", 5 << 20: "5 MiB", 3 << 30: "3.0 GiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %s, want %s", n, got, want)
		}
	}
}
