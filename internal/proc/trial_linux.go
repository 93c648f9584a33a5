package proc

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// trialProgram stands for the program of a child that only tries its seal.
const trialProgram = "/piton-trial"

// tried ends this process well if the seal holds: what is hidden in dir is not there, the
// system cannot be changed, and there is no capability left.
func tried(dir string) error {
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return fmt.Errorf("what is hidden can be seen: %w", errors.Join(err, os.ErrExist))
	}
	var flags unix.Statfs_t
	if err := unix.Statfs("/usr", &flags); err != nil || flags.Flags&unix.ST_RDONLY == 0 {
		return errors.New("the system can be changed")
	}
	var held [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &held[0]); err != nil || held[0].Permitted&^(1<<unix.CAP_SETFCAP)|held[1].Permitted != 0 {
		return errors.New("there are capabilities left")
	}
	os.Exit(0)
	return nil
}
