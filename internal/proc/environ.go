package proc

import (
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Environ builds the environment of a child, sorted: from parent (in the form
// of os.Environ) the few names that every program needs and the names in pass,
// then what set says. Everything else is left out, among it all that makes
// programs load or run something (BASH_ENV, LD_PRELOAD, GIT_DIR, PYTHONPATH,
// NODE_OPTIONS, MAKEFLAGS, …). TERM becomes "dumb", and PATH loses empty and
// relative entries, which would find programs in the workspace, also where pass
// or set name it. On Windows names compare without case and what its programs
// cannot live without passes too.
func Environ(parent []string, pass []string, set map[string]string) []string {
	return environ(parent, pass, set, runtime.GOOS == "windows")
}

func environ(parent []string, pass []string, set map[string]string, windows bool) []string {
	key := func(name string) string {
		if windows {
			return strings.ToUpper(name)
		}
		return name
	}
	wanted := map[string]bool{}
	for _, name := range slices.Concat(alwaysPassed(windows), pass) {
		wanted[key(name)] = true
	}
	vars := map[string]string{}
	for _, v := range parent {
		name, _, ok := strings.Cut(v, "=")
		if ok && name != "" && (wanted[key(name)] || strings.HasPrefix(name, "LC_")) {
			vars[key(name)] = v
		}
	}
	vars["TERM"] = "TERM=dumb"
	for name, value := range set {
		vars[key(name)] = name + "=" + value
	}
	if path, ok := vars["PATH"]; ok {
		name, list, _ := strings.Cut(path, "=")
		vars["PATH"] = name + "=" + strings.Join(absoluteDirs(list), string(filepath.ListSeparator))
	}
	return slices.Sorted(maps.Values(vars))
}

func alwaysPassed(windows bool) []string {
	names := []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL"}
	if windows {
		names = append(names, "SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "TEMP", "TMP",
			"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ProgramData",
			"ProgramFiles", "ProgramFiles(x86)", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS")
	}
	return names
}
