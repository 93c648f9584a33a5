package proc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fenceName is the name of a process that gives up the right to write before it becomes
// the program of a child.
const fenceName = "piton-fence"

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

// fence puts a process before the program that fences itself in and then becomes it.
func fence(o order, writable []string) (order, error) {
	if err := Fenced(); err != nil {
		return order{}, err
	}
	argv := append([]string{fenceName, strconv.Itoa(len(writable))}, writable...)
	argv = append(append(argv, o.path), o.argv...)
	return order{path: "/proc/self/exe", argv: argv, dir: o.dir, env: o.env}, nil
}

// init turns this process into such a one. Whoever starts it by that name himself can
// do nothing by it but lose rights.
func init() {
	if len(os.Args) < 4 || os.Args[0] != fenceName {
		return
	}
	runtime.LockOSThread()
	fmt.Fprintln(os.Stderr, "piton:", enclose(os.Args[1:]))
	os.Exit(126)
}

// enclose returns only if it fails.
func enclose(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || len(args) < n+3 {
		return errNonsense
	}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&unix.LandlockRulesetAttr{Handled_access_fs: changes})), unsafe.Sizeof(unix.LandlockRulesetAttr{}), 0)
	if errno != 0 {
		return fmt.Errorf("make the rules of a fence: %w", errno)
	}
	for _, dir := range args[1 : n+1] {
		if err := allow(rules, dir, changes); err != nil {
			return err
		}
	}
	if err := allow(rules, os.DevNull, changesFile); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return fmt.Errorf("close the fence: %w", errno)
	}
	path, argv := args[n+1], args[n+2:]
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// allow gives rights back at a path and below it.
func allow(rules uintptr, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("leave %s writable: %w", path, err)
	}
	defer unix.Close(fd)
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("leave %s writable: %w", path, errno)
	}
	return nil
}
