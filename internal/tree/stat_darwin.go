package tree

import (
	"io/fs"
	"syscall"
)

// openFlags keep a pipe that took the place of a file from blocking its reader.
const openFlags = syscall.O_NONBLOCK

// identify returns what the file system knows of a file. ok is false where
// there is no change time, which nobody can set.
func identify(info fs.FileInfo) (id identity, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, false
	}
	return identity{
		dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mode: uint32(st.Mode),
		mtime: st.Mtimespec.Nano(), ctime: st.Ctimespec.Nano(),
	}, true
}
