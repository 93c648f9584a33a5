package sqlite

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestSharedFileSystems(t *testing.T) {
	smb2 := uint32(unix.SMB2_SUPER_MAGIC)
	for kind, want := range map[int64]string{
		unix.NFS_SUPER_MAGIC:  "NFS",
		int64(smb2):           "SMB",
		int64(int32(smb2)):    "SMB", // as a 32-bit machine has it
		unix.V9FS_MAGIC:       "9p",
		unix.FUSE_SUPER_MAGIC: "FUSE",
		unix.EXT4_SUPER_MAGIC: "",
		unix.TMPFS_MAGIC:      "",
	} {
		if got := shared(kind); got != want {
			t.Errorf("%#x: %q, want %q", kind, got, want)
		}
	}
	if warning := networkWarning(t.TempDir()); warning != "" {
		t.Logf("the tests' own directory: %s", warning)
	}
}
