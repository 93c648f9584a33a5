//go:build !unix

package api

import "io/fs"

// ours cannot be told here.
func ours(fs.FileInfo) bool { return true }

// inode is not to be had here: the path alone names the workspace.
func inode(fs.FileInfo) string { return "" }
