package probe

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// runnable returns the file, with the ending that makes it a program, if there
// is one, else "".
func runnable(file string) string {
	endings := []string{".com", ".exe", ".bat", ".cmd"}
	for _, ending := range endings {
		if strings.EqualFold(filepath.Ext(file), ending) {
			endings = []string{""}
			break
		}
	}
	for _, ending := range endings {
		if info, err := os.Stat(file + ending); err == nil && info.Mode().IsRegular() {
			return file + ending
		}
	}
	return ""
}

// mayRun is true: a shell decides by the content, not by a right.
func mayRun(fs.FileInfo) bool { return true }

func sameName(a, b string) bool { return strings.EqualFold(a, b) }
