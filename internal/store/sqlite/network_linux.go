package sqlite

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// shared names the kinds of file system whose locks or syncs may reach no
// further than this machine.
func shared(kind int64) string {
	switch uint32(kind) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.CIFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "SMB"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.FUSE_SUPER_MAGIC:
		return "FUSE"
	}
	return ""
}

// networkWarning says what a person should know of where dir lies.
func networkWarning(dir string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return ""
	}
	kind := shared(int64(fs.Type))
	if kind == "" {
		return ""
	}
	return fmt.Sprintf("%s is on a %s file system: its locks and syncs may not hold; put the state on a local disk", dir, kind)
}
