//go:build linux || darwin

package tree

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dataFrom finds the next part of a file that is no hole: from size on if there is none.
func dataFrom(f *os.File, at, size int64) (from, to int64, err error) {
	from, err = f.Seek(at, unix.SEEK_DATA)
	if err == nil {
		to, err = f.Seek(from, unix.SEEK_HOLE)
	}
	switch {
	case err == nil:
		return min(from, size), min(to, size), nil
	case errors.Is(err, syscall.ENXIO):
		return size, size, nil
	case errors.Is(err, syscall.EINVAL), errors.Is(err, errors.ErrUnsupported):
		return at, size, nil
	}
	return at, at, err
}

// identify returns what the file system knows of a file. ok is false where there is
// no change time, which nobody can set.
func identify(info fs.FileInfo) (id identity, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, false
	}
	return identity{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mode: uint32(st.Mode), ctime: changed(st)}, true
}

// holes is how much more a file reads as than it takes up on the disk.
func holes(info fs.FileInfo) int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size() - 512*st.Blocks
}

// move renames base in dir to a name in another directory. moved is false where
// the two are on different file systems.
func move(dir *os.Root, base, toDir, to string) (moved bool, err error) {
	from, err := dir.Open(".")
	if err != nil {
		return false, err
	}
	defer from.Close()
	into, err := os.Open(toDir)
	if err != nil {
		return false, err
	}
	defer into.Close()
	err = unix.Renameat(int(from.Fd()), base, int(into.Fd()), to)
	if errors.Is(err, unix.EXDEV) {
		return false, nil
	}
	return err == nil, err
}
