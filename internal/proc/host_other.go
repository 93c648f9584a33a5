//go:build !linux

package proc

import (
	"errors"
	"runtime"
)

func newHost(c Config) (host, error) {
	if c.Level != "" && c.Level != Group {
		return nil, errors.New("level " + string(c.Level) + " exists on Linux only")
	}
	return groupHost{reason: "no pid namespaces on " + runtime.GOOS}, nil
}
