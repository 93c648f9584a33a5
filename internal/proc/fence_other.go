//go:build !linux

package proc

import (
	"errors"
	"runtime"
)

// Fenced says why children cannot be kept from writing, see [Spec.Writable].
func Fenced() error {
	return errors.New("children cannot be kept from writing on " + runtime.GOOS)
}

func fence(order, []string) (order, error) { return order{}, Fenced() }
