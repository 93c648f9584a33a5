//go:build !linux

package proc

import "errors"

type doorway struct{}

func newDoorway(*order) (*doorway, error) { return nil, errors.ErrUnsupported }

func (*doorway) serve(Gate) {}
func (*doorway) close()     {}
