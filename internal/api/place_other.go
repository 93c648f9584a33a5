//go:build !unix

package api

import "io/fs"

// inode is not to be had here: the path alone names the workspace.
func inode(fs.FileInfo) string { return "" }
