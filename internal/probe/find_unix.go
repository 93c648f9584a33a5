//go:build unix

package probe

import "io/fs"

func mayRun(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }
