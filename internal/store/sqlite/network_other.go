//go:build !linux

package sqlite

// networkWarning cannot tell here.
func networkWarning(string) string { return "" }
