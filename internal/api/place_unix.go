//go:build unix

package api

import (
	"fmt"
	"io/fs"
	"syscall"
)

// inode tells a directory from one that stands in its place later.
func inode(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}
