//go:build !linux && !darwin

package tree

import "io/fs"

const openFlags = 0

// identify knows no change time here, so every file is read each time.
func identify(fs.FileInfo) (identity, bool) { return identity{}, false }
