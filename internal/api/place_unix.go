//go:build unix

package api

import (
	"fmt"
	"io/fs"
	"syscall"
)

// inode names a directory across renames of its parents.
func inode(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}
