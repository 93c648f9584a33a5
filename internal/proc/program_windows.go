package proc

import (
	"errors"
	"os/exec"
)

// findProgram looks a name up as this process would, with PATHEXT; a relative
// find is an error there.
func findProgram(name string, _ []string) (string, error) {
	file, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil
	}
	return file, err
}
