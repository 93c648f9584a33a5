package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// runnable returns the file with the ending that makes it a program.
func runnable(file string) (string, error) {
	endings := []string{".com", ".exe", ".bat", ".cmd"}
	if slices.Contains(endings, strings.ToLower(filepath.Ext(file))) {
		endings = []string{""}
	}
	for _, ending := range endings {
		if info, err := os.Stat(file + ending); err == nil && info.Mode().IsRegular() {
			return file + ending, nil
		}
	}
	return "", &fs.PathError{Op: "run", Path: file, Err: fs.ErrNotExist}
}

func sameName(a, b string) bool { return strings.EqualFold(a, b) }
