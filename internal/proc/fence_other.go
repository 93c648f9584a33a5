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

func stage(_ order, s Spec) (order, error) {
	if s.Seal != nil {
		return order{}, errors.New("children cannot be sealed on " + runtime.GOOS)
	}
	return order{}, Fenced()
}

const trialProgram = "/piton-trial"
