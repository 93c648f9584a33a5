//go:build !unix

package tree

import (
	"cmp"
	"os"
	"slices"
)

// ofSystem reports the directories that the system and installers fill.
func ofSystem(dir string) bool {
	roots := [...]string{cmp.Or(os.Getenv("SystemRoot"), `C:\Windows`), cmp.Or(os.Getenv("ProgramFiles"), `C:\Program Files`)}
	return slices.ContainsFunc(roots[:], func(root string) bool { return liesIn(root, dir) })
}
