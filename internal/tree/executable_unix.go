//go:build unix

package tree

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// ofSystem reports a directory in which whoever runs this can change nothing:
// it, and all that it lies in, belong to others and cannot be written. Root can
// write everywhere, and would have every program compared; to root, those of a
// short list are the system's where nobody else can write them. That somebody
// with root's rights changes one of these goes unnoticed.
func ofSystem(dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	if os.Geteuid() == 0 {
		return ofRoot(dir)
	}
	led, err := filepath.EvalSymlinks(dir)
	return ofOthers(dir) && (err != nil || ofOthers(led))
}

// ofOthers looks at a directory and all above it. What is not there can be made
// where the one above it can be written.
func ofOthers(dir string) bool {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && (owner(info) == os.Geteuid() || unix.Access(dir, unix.W_OK) == nil) {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

func ofRoot(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || owner(info) != 0 || info.Mode()&0o022 != 0 {
		return false
	}
	roots := [...]string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/nix/store", "/System"}
	return slices.ContainsFunc(roots[:], func(root string) bool { return liesIn(root, dir) })
}

func owner(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
