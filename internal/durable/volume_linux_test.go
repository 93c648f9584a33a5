package durable

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestRemoteFileSystems(t *testing.T) {
	for magic, want := range map[int64]bool{
		unix.NFS_SUPER_MAGIC: true, unix.FUSE_SUPER_MAGIC: true, unix.V9FS_MAGIC: true,
		unix.EXT4_SUPER_MAGIC: false, unix.TMPFS_MAGIC: false, unix.BTRFS_SUPER_MAGIC: false, unix.OVERLAYFS_SUPER_MAGIC: false,
		int64(int32(-11317950)): true, // CIFS, as 32-bit systems have it
	} {
		if kind, got := kindOf(magic); got != want {
			t.Errorf("%#x (%s): network %v", uint32(magic), kind, got)
		}
	}
}
