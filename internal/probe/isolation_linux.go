package probe

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/piton-dev/piton/internal/proc"
)

// minLandlock is the first version of Landlock that keeps signals and abstract
// sockets inside, which fencing needs.
const minLandlock = 6

func landlock() Line {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno != 0:
		return Line{"landlock", Absent, "the kernel does not offer it", ""}
	case abi < minLandlock:
		return Line{"landlock", Absent, fmt.Sprintf("version %d; fencing needs %d", abi, minLandlock), ""}
	}
	return Line{Check: "landlock", Status: OK, Text: fmt.Sprintf("version %d", abi)}
}

// namespaces starts a shell in new user and process namespaces, which is the
// only way to know.
func namespaces(ctx context.Context, env Env) Line {
	file := find("sh", proc.SearchPath(env.Environ))
	if file == "" {
		return Line{"namespaces", Absent, "cannot be tried without sh", ""}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "-c", ":")
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Run(); err != nil {
		return Line{"namespaces", Absent, "user namespaces are refused: " + err.Error(), "see kernel.apparmor_restrict_unprivileged_userns and user.max_user_namespaces"}
	}
	return Line{Check: "namespaces", Status: OK, Text: "user and process namespaces"}
}
