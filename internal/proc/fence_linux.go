package proc

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a fence takes away, but below the directories that stay writable.
const (
	changesFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	changes     = changesFile | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// fenceable is the first version of Landlock that covers all of these: that of Linux 6.2.
const fenceable = 3

// Fenced says why children cannot be kept from writing, see [Spec.Writable]; nil if they
// can.
func Fenced() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno != 0:
		return fmt.Errorf("this system has no Landlock: %w", errno)
	case version < fenceable:
		return errors.New("the Landlock of this system does not cover truncation: Linux 6.2 or newer is needed")
	}
	return nil
}

// enclose takes away the right to change files but below some directories.
func enclose(writable []string) error {
	rules, err := ruleset(changes)
	if err != nil {
		return fmt.Errorf("make the rules of a fence: %w", err)
	}
	for _, dir := range writable {
		if err := allow(rules, dir, changes); err != nil {
			return err
		}
	}
	if err := allow(rules, os.DevNull, changes); err != nil {
		return err
	}
	return restrict(rules)
}

// scoped is the first version of Landlock that keeps a process from the signals and the
// abstract sockets of those outside: that of Linux 6.12.
const scoped = 6

// closeScope keeps a process from others, where the system can do that. It may still
// mount in namespaces that it makes, as one that is kept from changing files may not.
func closeScope() error {
	if landlock() < scoped {
		return nil
	}
	rules, err := ruleset(0)
	if err != nil {
		return fmt.Errorf("make the rules of a scope: %w", err)
	}
	return restrict(rules)
}

// landlock is the version of Landlock that there is; 0 is none.
func landlock() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// ruleset makes rules that forbid what they handle.
func ruleset(handled uint64) (uintptr, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled}
	size := unsafe.Offsetof(attr.Handled_access_net)
	if landlock() >= scoped {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL, unsafe.Offsetof(attr.Quiet_access_fs)
	}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return 0, errno
	}
	return rules, nil
}

func restrict(rules uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return fmt.Errorf("close the fence: %w", errno)
	}
	return unix.Close(int(rules))
}

// allow gives rights back at a path and below it.
func allow(rules uintptr, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("leave %s writable: %w", path, err)
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return fmt.Errorf("leave %s writable: %w", path, err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= changesFile
	}
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("leave %s writable: %w", path, errno)
	}
	return nil
}
