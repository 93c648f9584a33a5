package durable

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// VolumeOf looks at the file system of a directory.
func VolumeOf(dir string) (Volume, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Volume{}, false
	}
	kind, network := kindOf(int64(s.Type))
	return Volume{Kind: kind, Network: network, Free: s.Bavail * uint64(s.Bsize)}, true
}

// kindOf names a file system, and reports whether its locks or syncing are not
// those of a local disk.
func kindOf(magic int64) (string, bool) {
	switch uint32(magic) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS", true
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "SMB", true
	case unix.FUSE_SUPER_MAGIC:
		return "FUSE", true
	case unix.V9FS_MAGIC:
		return "9P", true
	case unix.CEPH_SUPER_MAGIC:
		return "Ceph", true
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "AFS", true
	case unix.CODA_SUPER_MAGIC:
		return "Coda", true
	}
	return fmt.Sprintf("%#x", uint32(magic)), false
}
