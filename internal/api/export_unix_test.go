//go:build unix

package api

// LinkTo returns a short link to a directory.
func LinkTo(dir string) (string, error) { return linkTo(dir) }
