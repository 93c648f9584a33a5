package api

// Nested reports a process in a pid namespace below this one's.
func Nested(pid int) bool { return nested(pid) }
