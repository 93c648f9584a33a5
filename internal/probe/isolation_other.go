//go:build !linux

package probe

import "context"

func landlock() Line {
	return Line{"landlock", Absent, "exists on Linux only", ""}
}

func namespaces(context.Context, Env) Line {
	return Line{"namespaces", Absent, "exist on Linux only", ""}
}
