package cli

import (
	"runtime/debug"
	"strings"
)

// Version is the version of this program, as the toolchain recorded it: that of the module that
// was installed, or of the commit that was built. Processes of different versions do not share
// the ownership of a workspace.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return versionOf(info)
	}
	return unversioned
}

// unversioned is the version of a program that was built of no commit, such as a test.
const unversioned = "devel"

func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; strings.HasPrefix(v, "v") {
		return v[1:]
	}
	return unversioned
}
