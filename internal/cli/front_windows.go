package cli

import (
	"errors"
	"os"
)

// front is the process that the shell waits for: on this system always the one
// that owns the run.
type front struct{}

// mayFront: no process can go on without the one that the shell waits for.
func (*app) mayFront() bool { return false }

func behindFront() *front { return nil }

func (*front) leave(*os.File) error {
	return errors.New("there is no other process in front of this one")
}

func (*front) gone() bool { return false }

// inFront is never asked for on this system.
func (*app) inFront() error { return errors.New("there is no process to put in front") }
