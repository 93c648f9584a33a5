package proc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

// A scene is what the attacks of a sealed child are aimed at.
type scene struct {
	Dir  string // state, home, workspace and a socket are in it
	Pid  int    // a process of the same user outside
	Port int
}

func (s scene) at(names ...string) string {
	return filepath.Join(append([]string{s.Dir}, names...)...)
}

func (s scene) seal() *proc.Seal {
	return &proc.Seal{
		Hidden: []string{s.at("state"), s.at("ws", "secret")}, Home: s.at("home"), Visible: []string{s.at("home", "tool"), s.at("ws", "judge")},
		Copied: []string{s.at("home", "cache")}, Writable: []string{s.at("ws"), s.at("home", "login")}, Temp: s.at("temp"),
	}
}

func write(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString("evil")
	f.Close()
	return err
}

func isThere(path string) error {
	_, err := os.Lstat(path)
	return err
}

func reads(path, what string) error {
	text, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(text), what) {
		err = os.ErrNotExist
	}
	return err
}

// inside runs a script in namespaces that the child makes for itself, with all the
// capabilities that it gets there.
func inside(script string) error {
	c := exec.Command("/bin/sh", "-c", script)
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return c.Run()
}

// wanted is what a sealed child must be able to do.
func (s scene) wanted() map[string]error {
	return map[string]error{
		"write into the workspace":    write(s.at("ws", "new")),
		"change a file of it":         write(s.at("ws", "file")),
		"rename in it":                os.Rename(s.at("ws", "new"), s.at("ws", "newer")),
		"read what is visible":        reads(s.at("home", "tool", "bin"), "kept"),
		"read a judge":                reads(s.at("ws", "judge"), "kept"),
		"read a cache":                reads(s.at("home", "cache", "entry"), "kept"),
		"change a cache":              write(s.at("home", "cache", "entry")),
		"write into a cache":          write(s.at("home", "cache", "new")),
		"write a login":               write(s.at("home", "login", "token")),
		"write into the home":         write(s.at("home", "mine")),
		"write a temporary file":      write("/tmp/mine"),
		"write into shared memory":    write("/dev/shm/mine"),
		"write to the null device":    write(os.DevNull),
		"open a terminal":             write("/dev/ptmx"),
		"a namespace of its own":      inside("mount -t tmpfs none /tmp && echo x >/tmp/x"),
		"a bind mount in one":         inside("mount --rbind " + s.at("ws") + " /tmp && echo x >/tmp/x"),
		"a loopback or the network":   dial("tcp", "127.0.0.1:"+strconv.Itoa(s.Port)),
		"see its own process in proc": isThere("/proc/self/status"),
		"one name for /tmp":           oneName("/tmp"),
	}
}

// oneName tells whether a mount has no name on the disk: codex looks for it in this table.
func oneName(at string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); f[4] == at && f[3] != "/" {
			return fmt.Errorf("its name is %s", f[3])
		}
	}
	return nil
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Minute)
	if err == nil {
		c.Close()
	}
	return err
}

// attacks is what it must not.
func (s scene) attacks() map[string]error {
	state, home := s.at("state"), s.at("home")
	of := "/proc/" + strconv.Itoa(s.Pid)
	return map[string]error{
		"see the state":                        isThere(state + "/journal"),
		"write into the state":                 write(state + "/journal"),
		"make a file in the state":             write(state + "/new"),
		"rename the state":                     os.Rename(state, state+".old"),
		"remove the state":                     os.Remove(state),
		"see a key":                            isThere(home + "/.ssh/id"),
		"change a tool":                        write(home + "/tool/bin"),
		"add a tool":                           write(home + "/tool/new"),
		"change a judge":                       write(s.at("ws", "judge")),
		"remove a judge":                       os.Remove(s.at("ws", "judge")),
		"put another in its place":             os.Rename(s.at("ws", "file"), s.at("ws", "judge")),
		"read what is hidden in the workspace": isThere(s.at("ws", "secret", "file")),
		"see others' files":                    isThere(s.at("other")),
		"reach a socket":                       dial("unix", s.at("socket")),
		"reach an abstract socket":             dial("unix", "@piton-seal-"+strconv.Itoa(s.Pid)),
		"reach the socket by another name":     dial("unix", of+"/root"+s.at("socket")),
		"see a process":                        reads(of+"/cmdline", "proc"),
		"read its environment":                 reads(of+"/environ", "SECRET"),
		"read that of its holder":              reads("/proc/1/environ", "PITON"),
		"go through the root of its holder":    isThere("/proc/1/root/" + s.at("state", "journal")),
		"go through its directory":             isThere("/proc/1/cwd/" + s.at("state", "journal")),
		"write its memory":                     write("/proc/1/mem"),
		"kill a process":                       syscall.Kill(s.Pid, 0),
		"stop a process":                       syscall.Kill(s.Pid, syscall.SIGSTOP),
		"trace its holder":                     trace(1),
		"mount over the state":                 unix.Mount("none", state, "tmpfs", 0, ""),
		"unmount the state":                    unix.Unmount(state, unix.MNT_DETACH),
		"unmount the home":                     unix.Unmount(home, unix.MNT_DETACH),
		"unmount the temporary files":          unix.Unmount("/tmp", unix.MNT_DETACH),
		"remount the system":                   unix.Mount("none", "/", "", unix.MS_REMOUNT|unix.MS_BIND, ""),
		"change the root":                      unix.Chroot(s.at("ws")),
		"write into the system":                write("/usr/evil"),
		"write a setting":                      write("/proc/sys/kernel/core_pattern"),
		"join its holder's files":              join("/proc/1/ns/mnt"),
		"a namespace that unmounts":            inside("umount " + state + " && test -e " + state + "/journal"),
		"a namespace that unmounts lazily":     inside("umount -l " + state + "; umount -l /tmp; test -e " + state + "/journal"),
		"a namespace that remounts":            inside("mount -o remount,rw,bind / && touch /usr/evil"),
		"a namespace that remounts a judge":    inside("mount -o remount,rw,bind " + s.at("ws", "judge") + " && echo evil >" + s.at("ws", "judge")),
		"a namespace that binds the system":    inside("mount --rbind / /tmp && test -e /tmp" + state + "/journal"),
		"a device":                             unix.Mknod(s.at("ws", "disk"), unix.S_IFBLK|0o600, 0),
		"open by handle":                       handle(s.at("ws")),
	}
}

func trace(pid int) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func join(file string) error {
	fd, err := unix.Open(file, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Setns(fd, unix.CLONE_NEWNS)
}

func handle(path string) error {
	_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	return err
}

// attack is the child: it says what it could do.
func attack() int {
	var s scene
	if err := json.Unmarshal([]byte(os.Args[1]), &s); err != nil {
		fmt.Println(err)
		return 1
	}
	for what, err := range s.attacks() {
		if err == nil {
			fmt.Println("it can:", what)
		}
	}
	for what, err := range s.wanted() {
		if err != nil {
			fmt.Println("it cannot:", what+":", err)
		}
	}
	for fd := 3; fd < 64; fd++ {
		if link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "/proc/self") && !strings.HasPrefix(link, "/sys/fs/cgroup/") {
			fmt.Println("it has a descriptor of", link)
		}
	}
	return 0
}

// TestSeal has a child attack all that it is kept from.
func TestSeal(t *testing.T) {
	t.Parallel()
	for user, uid := range users() {
		for _, offline := range []string{"", "+offline"} {
			t.Run(user+offline, func(t *testing.T) {
				s := newScene(t, uid)
				text, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				out, err := harness("sealed:"+string(proc.Namespace)+offline, uid, string(text)).Output()
				if err != nil {
					t.Fatal(err, string(out))
				}
				want := ""
				if offline != "" {
					want = "it cannot: a loopback or the network: dial tcp 127.0.0.1:" + strconv.Itoa(s.Port) + ": connect: connection refused\n"
				}
				if string(out) != want {
					t.Errorf("%s", out)
				}
				for _, kept := range []string{"state/journal", "home/.ssh/id", "home/tool/bin", "home/cache/entry", "ws/judge"} {
					if text, err := os.ReadFile(s.at(kept)); err != nil || string(text) != "kept" {
						t.Errorf("%s: %q, %v", kept, text, err)
					}
				}
				for _, gone := range []string{"home/mine", "home/cache/new", "state/new", "home/tool/new"} {
					if _, err := os.Lstat(s.at(gone)); err == nil {
						t.Errorf("%s is there", gone)
					}
				}
				for _, made := range []string{"ws/newer", "home/login/token"} {
					if _, err := os.Lstat(s.at(made)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

func newScene(t *testing.T, uid uint32) scene {
	t.Helper()
	s := scene{Dir: openDir(t), Pid: os.Getpid()}
	if uid == 0 {
		uid = uint32(os.Getuid())
	}
	own := func(path string) {
		if err := os.Chown(path, int(uid), int(uid)); err != nil {
			t.Fatal(err)
		}
	}
	own(s.Dir)
	for _, dir := range []string{"state", "home", "home/.ssh", "home/tool", "home/cache", "home/login", "ws", "ws/secret", "other", "temp"} {
		if err := os.Mkdir(s.at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		own(s.at(dir))
	}
	for _, file := range []string{"state/journal", "home/.ssh/id", "home/tool/bin", "home/cache/entry", "ws/judge", "ws/file", "ws/secret/file"} {
		if err := os.WriteFile(s.at(file), []byte("kept"), 0o644); err != nil {
			t.Fatal(err)
		}
		own(s.at(file))
	}
	for _, listen := range [][2]string{{"unix", s.at("socket")}, {"unix", "@piton-seal-" + strconv.Itoa(s.Pid)}, {"tcp", "127.0.0.1:0"}} {
		l, err := net.Listen(listen[0], listen[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			s.Port = a.Port
		}
	}
	if err := os.Chmod(s.at("socket"), 0o777); err != nil {
		t.Fatal(err)
	}
	return s
}

// sealed runs the child in its seal.
func sealed(p *proc.Pool, offline bool) int {
	if err := p.Sealed(); err != nil {
		fmt.Println(err)
		return 1
	}
	var s scene
	if err := json.Unmarshal([]byte(os.Args[1]), &s); err != nil {
		fmt.Println(err)
		return 1
	}
	r := p.Run(context.Background(), proc.Spec{
		Argv: []string{"/proc/self/exe", os.Args[1]}, Env: append([]string{roleVar + "=attack"}, bareEnv...), Dir: s.at("ws"),
		Offline: offline, Seal: s.seal(),
	})
	fmt.Printf("%s%s", r.Stdout, r.Stderr)
	if status, ok := r.Exited(); !ok || status != 0 {
		fmt.Printf("%+v\n", r)
		return 1
	}
	return 0
}

// TestSealOfTheMachine sees that the child of a seal that names nothing works, and that a
// program in what is hidden is run.
func TestSealOfTheMachine(t *testing.T) {
	p, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	tier.Needs(t, p.Sealed())
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nls "+dir+"; pwd"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := p.Run(t.Context(), proc.Spec{Argv: []string{program}, Dir: "/usr", Env: os.Environ(), Seal: &proc.Seal{}})
	if r.Exit != 0 || r.Stdout.String() != "program\n/usr\n" {
		t.Errorf("%+v\n%s%s", r, r.Stdout, r.Stderr)
	}
	r = p.Run(t.Context(), proc.Spec{Argv: []string{"true"}, Env: os.Environ(), Seal: &proc.Seal{Writable: []string{filepath.Join(dir, "none")}}})
	if status, ok := r.Exited(); !ok || status != 126 {
		t.Errorf("what is to be written and does not exist: %+v", r)
	}
}
