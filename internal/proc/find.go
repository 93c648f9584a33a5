package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// SearchPath lists the directories of PATH in which the programs of a run are
// looked for. Relative and empty entries, which lead into the working directory,
// are left out, as [Environ] leaves them out; what is there twice is there once.
func SearchPath(environ []string) []string {
	dirs := absoluteDirs(Variable(environ, "PATH"))
	var once []string
	for _, dir := range dirs {
		if !slices.Contains(once, dir) {
			once = append(once, dir)
		}
	}
	return once
}

// absoluteDirs splits a PATH, without the entries that depend on the working
// directory.
func absoluteDirs(list string) (dirs []string) {
	for _, dir := range filepath.SplitList(list) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Variable returns the last value of a name in an environment, in the form of
// os.Environ; "" if it is not set. On Windows names compare without case.
func Variable(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if n, value, ok := strings.Cut(environ[i], "="); ok && sameName(n, name) {
			return value
		}
	}
	return ""
}

// IsBare reports the name of a program that is looked for on PATH: one without
// a directory.
func IsBare(name string) bool {
	return name != "" && name == filepath.Base(name) && !strings.Contains(name, "/")
}

// Find returns the first file of a bare name in dirs that this process may run,
// or the file of an absolute path, on Windows with the ending that makes it a
// program. The error is fs.ErrNotExist, or fs.ErrPermission where files of that
// name may not be run; any other path is no file.
func Find(name string, dirs []string) (string, error) {
	return find(name, dirs, func(string) bool { return false })
}

// find is [Find], without what lies in directories that are left out. Only of
// those that have such a program that is asked, for it takes a look at every link.
func find(name string, dirs []string, leftOut func(dir string) bool) (string, error) {
	switch {
	case filepath.IsAbs(name):
		return runnable(name)
	case !IsBare(name):
		return "", fmt.Errorf("find program: %q is relative: %w", name, fs.ErrNotExist)
	}
	var denied error
	for _, dir := range dirs {
		file, err := runnable(filepath.Join(dir, name))
		if err == nil && !leftOut(dir) {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			denied = err
		}
	}
	if denied != nil {
		return "", fmt.Errorf("find program: %w", denied)
	}
	path := strings.Join(dirs, string(filepath.ListSeparator))
	return "", fmt.Errorf("find program: %q is in no directory of PATH (%s): %w", name, path, fs.ErrNotExist)
}

// Bash returns the absolute path of the shell that runs contracts and commands:
// the first on PATH of environ that the workspace does not provide, else that in
// /bin.
func Bash(environ []string, workspace string) (string, error) {
	file, err := Outside("bash", environ, workspace)
	if err != nil {
		file, err = Find("bash", []string{"/bin"})
	}
	return file, err
}

// Outside returns the absolute path of a program whose answers the harness trusts:
// the first on PATH of environ that the workspace does not provide.
func Outside(name string, environ []string, workspace string) (string, error) {
	return find(name, SearchPath(environ), func(dir string) bool { return Within(workspace, dir) })
}

// Within reports whether a file lies in a directory, or is it. Links are followed.
func Within(dir, file string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(file))
	return err == nil && filepath.IsLocal(rel)
}

func resolved(file string) string {
	if at, err := filepath.EvalSymlinks(file); err == nil {
		return at
	}
	return filepath.Clean(file)
}
