//go:build unix

package probe

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// runnable returns the file if this process could run it, else "".
func runnable(file string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || unix.Access(file, unix.X_OK) != nil {
		return ""
	}
	return file
}

func mayRun(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }

func sameName(a, b string) bool { return a == b }
