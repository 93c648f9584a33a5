package probe

import "io/fs"

// mayRun is true: a shell decides by the content, not by a right.
func mayRun(fs.FileInfo) bool { return true }
