package proc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

// hostile is a tree of which every process wants to live on. Each holds the
// witness open as descriptor 9; those that stay say so there once. The last line
// is the child itself.
const hostile = `
exec 9>"$1"
sh -c 'echo plain >&9; exec sleep 1000' &
setsid sh -c 'echo session >&9; exec sleep 1000' >/dev/null 2>&1 </dev/null &
( setsid sh -c 'sleep 1000 & echo daemon >&9; sleep 1000; :' & ) &
( trap "" TERM INT HUP; echo deaf >&9; while :; do sleep 0.1; done ) &
env -i /bin/sh -c 'trap "" TERM HUP; echo bare >&9; while :; do /bin/sleep 0.1; done' &
sh -c 'hop() { hop & exit 0; }; echo hopper >&9; hop' &
setsid sh -c 'hop() { sleep 0.001; hop & exit 0; }; echo traveller >&9; hop' &
W='setsid sh -c "$W" & exit'; export W; sh -c "echo wanderer >&9; $W" &
echo child >&9
`

// calm is a tree for tests that stop the holder: nobody buries its dead then, and
// the processes of the hostile one that die all the time would fill the machine.
const calm = `exec 9>"$1"; trap "" TERM; sleep 1000 & setsid sleep 1000 & echo >&9; wait`

const hostileSize = 9 // lines on the witness

// A witness is a FIFO that ends for its reader when the last process that has it
// open is dead.
type witness struct {
	t     *testing.T
	path  string
	file  *os.File
	lines *bufio.Reader
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	path := filepath.Join(openDir(t), "witness")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &witness{t, path, file, bufio.NewReader(file)}
}

// openDir is a directory that any user may use.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "proc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// await reads n lines.
func (w *witness) await(n int) []string {
	w.t.Helper()
	w.opened()
	w.file.SetReadDeadline(time.Now().Add(time.Minute))
	var lines []string
	for range n {
		line, err := w.lines.ReadString('\n')
		if err != nil {
			w.t.Fatalf("the tree came up as %q only: %v", lines, err)
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// opened waits until somebody has the FIFO open for writing.
func (w *witness) opened() {
	w.t.Helper()
	poll := []unix.PollFd{{Fd: int32(w.rawFD()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 60_000)
		if err == nil && n == 1 {
			return
		}
		if !errors.Is(err, unix.EINTR) {
			w.t.Fatalf("nobody opened the witness: %v", err)
		}
	}
}

func (w *witness) rawFD() (fd int) {
	raw, err := w.file.SyscallConn()
	if err == nil {
		err = raw.Control(func(n uintptr) { fd = int(n) })
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return fd
}

// ended fails unless all writers are dead at this very moment, and returns how many lines
// they had left.
func (w *witness) ended() (lines int) {
	w.t.Helper()
	buf := make([]byte, 1000)
	n, err := unix.Read(w.rawFD(), buf)
	for n > 0 && err == nil {
		lines += bytes.Count(buf[:n], []byte("\n"))
		n, err = unix.Read(w.rawFD(), buf)
	}
	if err != nil {
		w.t.Errorf("somebody of the tree lives (%d, %v): %s", n, err, w.owners())
	}
	if owners := w.owners(); len(owners) > 0 {
		w.t.Errorf("processes of the tree: %s", owners)
	}
	return lines
}

// ends waits for the last writer's death.
func (w *witness) ends() {
	w.t.Helper()
	w.file.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, w.lines); err != nil {
		w.t.Fatalf("%v: %s", err, w.owners())
	}
}

// owners lists the processes that have the witness open for writing. For reading it is open
// here, and in a copy of this process that a test beside this one is about to make a holder.
func (w *witness) owners() (owners []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		pid := strings.Split(link, "/")[2]
		if target, err := os.Readlink(link); err == nil && target == w.path && writes(link) {
			cmd, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			owners = append(owners, pid+": "+strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return owners
}

// writes reports whether a descriptor, as /proc/1/fd/2, is open for writing.
func writes(link string) bool {
	info, _ := os.ReadFile(strings.Replace(link, "/fd/", "/fdinfo/", 1))
	_, rest, _ := strings.Cut(string(info), "flags:")
	flags, err := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 8, 64)
	return err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY
}

func hostileSpec(w *witness, then string) proc.Spec {
	return proc.Spec{Argv: []string{"sh", "-c", hostile + then, "hostile", w.path}, Env: bareEnv}
}

var treeLevels = []proc.Level{proc.Namespace, proc.Subreaper}

// places are the levels, with the network and without.
var places = []string{"namespace", "namespace+offline", "subreaper", "subreaper+offline"}

func eachTreeLevel(t *testing.T, test func(t *testing.T, p *proc.Pool)) {
	for _, level := range treeLevels {
		t.Run(string(level), func(t *testing.T) {
			test(t, newPool(t, proc.Config{Level: level}))
		})
	}
}

func TestNothingOutlivesTheChild(t *testing.T) {
	eachTreeLevel(t, func(t *testing.T, p *proc.Pool) {
		for _, tt := range []struct {
			name, then string
			exit       int
			signal     string
		}{
			{"exit", `read go <"$1.go"; exit 3`, 3, ""},
			{"signal", `read go <"$1.go"; kill -9 $$`, -1, "SIGKILL"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				w := newWitness(t)
				if err := unix.Mkfifo(w.path+".go", 0o600); err != nil {
					t.Fatal(err)
				}
				result := make(chan proc.Result)
				go func() { result <- p.Run(context.Background(), hostileSpec(w, tt.then)) }()
				w.await(hostileSize)
				if err := os.WriteFile(w.path+".go", []byte("go\n"), 0); err != nil {
					t.Fatal(err)
				}
				r := <-result
				w.ended()
				if r.Exit != tt.exit || r.Signal != tt.signal || r.Err != nil || r.Leftover < hostileSize-3 {
					t.Errorf("%+v", r)
				}
				if r := p.Run(context.Background(), sh("exit 4")); r.Exit != 4 {
					t.Errorf("next run: %+v", r)
				}
			})
		}
	})
}

func TestNothingOutlivesATimeout(t *testing.T) {
	t.Parallel()
	eachTreeLevel(t, func(t *testing.T, p *proc.Pool) {
		// A tree that is not up when its time is over gets twice as long.
		for d := 300 * time.Millisecond; d < time.Minute; d *= 2 {
			w := newWitness(t)
			spec := hostileSpec(w, "wait")
			spec.Timeout, spec.Grace = d, 10*time.Millisecond
			r := p.Run(context.Background(), spec)
			up := w.ended()
			if !r.TimedOut || r.Err != nil || up == hostileSize && r.Leftover == 0 {
				t.Errorf("%+v", r)
			}
			if up == hostileSize {
				return
			}
		}
		t.Error("the tree never came up")
	})
}

func TestNothingOutlivesACancel(t *testing.T) {
	eachTreeLevel(t, func(t *testing.T, p *proc.Pool) {
		w := newWitness(t)
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan proc.Result)
		go func() { result <- p.Run(ctx, hostileSpec(w, "wait")) }()
		w.await(hostileSize)
		begun := time.Now()
		cancel()
		r := <-result
		t.Logf("dead after %v", time.Since(begun))
		w.ended()
		if !r.Cancelled || r.Err != nil || r.Leftover < hostileSize-3 {
			t.Errorf("%+v", r)
		}
	})
}

func TestForkStorm(t *testing.T) {
	t.Parallel()
	children := tier.Draws(50, 200)
	eachTreeLevel(t, func(t *testing.T, p *proc.Pool) {
		w := newWitness(t)
		r := p.Run(context.Background(), proc.Spec{Env: bareEnv, Argv: []string{
			"sh", "-c", `exec 9>"$1"; i=0; while [ $i -lt $2 ]; do i=$((i+1)); sleep 1000 & done; exit 2`, "sh", w.path, strconv.Itoa(children),
		}})
		w.ended()
		if r.Exit != 2 || r.Leftover != children {
			t.Errorf("%+v", r)
		}
	})
}

// playHarness runs a tree at a level until it is killed, or a child that shows
// what it has inherited.
func playHarness(role string) int {
	what, level, _ := strings.Cut(role, ":")
	level, offline := strings.CutSuffix(level, "+offline")
	switch what {
	case "talk":
		return talk(os.Args[1:])
	case "attack":
		return attack()
	case "escape":
		return escape()
	case "refused":
		return refuseNetworks()
	}
	p, err := proc.NewPool(proc.Config{Level: proc.Level(level)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer p.Close()
	switch what {
	case "sealed":
		return sealed(p, offline)
	case "gated":
		return gated(p)
	}
	spec := sh("grep -E '^(SigIgn|SigBlk|Cap(Inh|Prm|Eff|Amb))' /proc/self/status; ulimit -c")
	switch what {
	case "hostile":
		spec.Argv = []string{"sh", "-c", hostile + "wait", "hostile", os.Args[1]}
	case "calm":
		spec.Argv = []string{"sh", "-c", calm, "calm", os.Args[1]}
	case "talker":
		spec.Argv = append([]string{"/proc/self/exe"}, os.Args[1:]...)
		spec.Env = append(spec.Env, roleVar+"=talk")
	case "script":
		spec = sh(os.Args[1])
	case "timed":
		spec = sh(os.Args[1])
		if spec.Timeout, err = time.ParseDuration(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	spec.Offline = offline
	r := p.Run(context.Background(), spec)
	fmt.Print(r.Stdout.String())
	if r.TimedOut {
		fmt.Print("timed out")
	}
	if r.Err != nil {
		fmt.Fprintln(os.Stderr, r.Err)
	}
	return r.Exit
}

// A child that ended in time did so, whatever its harness could see meanwhile.
func TestHarnessThatIsStopped(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			// A child that is not up when its time is over gets twice as long.
			d := 300 * time.Millisecond
			for !endsWhileStopped(t, level, d) {
				if d *= 2; d > time.Minute {
					t.Fatal("the child never came up")
				}
			}
		})
	}
}

// endsWhileStopped has a child that has so much time end while its harness is stopped for
// longer. It answers false where that was not to be had.
func endsWhileStopped(t *testing.T, level proc.Level, within time.Duration) bool {
	t.Helper()
	dir := openDir(t)
	begun := time.Now()
	cmd := harness("timed:"+string(level), 0, "cd "+dir+"; touch ready; until test -e go; do sleep 0.01; done; touch done; exit 3", within.String())
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	appears := func(name string) bool {
		for ; ; runtime.Gosched() {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return true
			}
			select {
			case <-ended:
				return false
			default:
			}
		}
	}
	if !appears("ready") {
		return false
	}
	cmd.Process.Signal(syscall.SIGSTOP)
	stopped := time.Now()
	if stopped.Sub(begun) >= within { // its time may have been over before
		cmd.Process.Kill()
		<-ended
		return false
	}
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o600)
	if !appears("done") {
		t.Fatal("the child was ended")
	}
	<-time.After(time.Until(stopped.Add(within + 200*time.Millisecond)))
	cmd.Process.Signal(syscall.SIGCONT)
	<-ended
	if cmd.ProcessState.ExitCode() != 3 || out.String() != "" {
		t.Errorf("exit %d, %q", cmd.ProcessState.ExitCode(), out.String())
	}
	return true
}

// harness starts this program as a harness, for another user if uid is not 0.
func harness(role string, uid uint32, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(slices.Clone(bareEnv), roleVar+"="+role, "TMPDIR=/tmp")
	cmd.Stderr = os.Stderr
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		cmd.Dir = "/"
	}
	return cmd
}

const nobody = 65534

// users are root and somebody else where the test runs as root.
func users() map[string]uint32 {
	if os.Getuid() == 0 {
		return map[string]uint32{"root": 0, "nobody": nobody}
	}
	return map[string]uint32{"user": 0}
}

func TestNothingOutlivesTheHarness(t *testing.T) {
	t.Parallel()
	rounds := tier.Draws(1, 5)
	for user, uid := range users() {
		for _, place := range places {
			t.Run(user+"/"+place, func(t *testing.T) {
				var took []time.Duration
				for range rounds {
					w := newWitness(t)
					h := harness("hostile:"+place, uid, w.path)
					if err := h.Start(); err != nil {
						t.Fatal(err)
					}
					w.await(hostileSize)
					begun := time.Now()
					h.Process.Kill()
					w.ends()
					took = append(took, time.Since(begun))
					h.Wait()
					w.ended()
				}
				t.Logf("all dead after %v", took)
			})
		}
	}
}

// holdersBelow lists the holders that are children of a process.
func holdersBelow(t *testing.T, pid int) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(lists) == 0 {
		t.Fatal("no lists of children", err)
	}
	for _, file := range lists {
		list, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(list)) {
			cmd, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if child, err := strconv.Atoi(field); err == nil && strings.HasPrefix(string(cmd), "piton-hold") {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

func TestHolderIsKilledFromOutside(t *testing.T) {
	kill := func(sig syscall.Signal, of func(t *testing.T) []int) func(t *testing.T) {
		return func(t *testing.T) {
			for _, pid := range of(t) {
				if err := unix.Kill(pid, sig); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	outer := func(t *testing.T) []int { return holdersBelow(t, os.Getpid()) }
	inner := func(t *testing.T) (pids []int) {
		for _, pid := range outer(t) {
			pids = append(pids, holdersBelow(t, pid)...)
		}
		return pids
	}
	for _, tt := range []struct {
		name  string
		level proc.Level
		kill  func(t *testing.T)
	}{
		{"namespace", proc.Namespace, kill(unix.SIGKILL, outer)},
		{"guard", proc.Subreaper, kill(unix.SIGKILL, outer)},
		{"guard is asked to end", proc.Subreaper, kill(unix.SIGTERM, outer)},
		{"subreaper", proc.Subreaper, kill(unix.SIGKILL, inner)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPool(t, proc.Config{Level: tt.level})
			w := newWitness(t)
			result := make(chan proc.Result)
			go func() { result <- p.Run(context.Background(), hostileSpec(w, "wait")) }()
			w.await(hostileSize)
			tt.kill(t)
			r := <-result
			w.ended()
			if _, ok := r.Exited(); ok || !errors.Is(r.Err, proc.ErrLost) {
				t.Errorf("%+v", r)
			}
			if r := p.Run(context.Background(), sh("exit 4")); r.Exit != 4 || r.Err != nil {
				t.Errorf("next run: %+v", r)
			}
			tt.kill(t) // the idle one
			if r := p.Run(context.Background(), sh("exit 4")); r.Exit != 4 && !errors.Is(r.Err, proc.ErrLost) {
				t.Errorf("run after an idle holder died: %+v", r)
			}
		})
	}
}

// innerHolder is the one of these holders, or below it, that starts children.
func innerHolder(t *testing.T, holders []int, level proc.Level) int {
	t.Helper()
	if level == proc.Subreaper && len(holders) == 1 {
		holders = holdersBelow(t, holders[0])
	}
	if len(holders) != 1 {
		t.Fatalf("holders: %v", holders)
	}
	return holders[0]
}

func TestNothingOutlivesTheHarnessOfAStoppedHolder(t *testing.T) {
	for _, level := range treeLevels {
		t.Run(string(level), func(t *testing.T) {
			w := newWitness(t)
			h := harness("calm:"+string(level), 0, w.path)
			if err := h.Start(); err != nil {
				t.Fatal(err)
			}
			w.await(1)
			unix.Kill(innerHolder(t, holdersBelow(t, h.Process.Pid), level), unix.SIGSTOP)
			h.Process.Kill()
			w.ends()
			h.Wait()
		})
	}
}

func TestStoppedHolderIsLost(t *testing.T) {
	t.Parallel()
	for _, level := range treeLevels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			p := newPool(t, proc.Config{Level: level})
			p.SetPatience(3 * time.Second)
			holders := p.Holders()
			w := newWitness(t)
			spec := proc.Spec{Argv: []string{"sh", "-c", calm, "calm", w.path}, Env: bareEnv}
			ctx, cancel := context.WithCancel(context.Background())
			result := make(chan proc.Result)
			go func() { result <- p.Run(ctx, spec) }()
			w.await(1)
			unix.Kill(innerHolder(t, holders, level), unix.SIGSTOP)
			cancel()
			r := <-result
			w.ended()
			if !r.Cancelled || !errors.Is(r.Err, proc.ErrLost) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// With one process of a subreaper holder killed and the other stopped nobody is
// left to hunt the tree. That is beyond this level, but it is not kept quiet.
func TestSurvivorsAreAdmitted(t *testing.T) {
	t.Parallel()
	p := newPool(t, proc.Config{Level: proc.Subreaper})
	p.SetPatience(100 * time.Millisecond)
	holders := p.Holders()
	w := newWitness(t)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan proc.Result)
	go func() {
		result <- p.Run(ctx, proc.Spec{Argv: []string{"sh", "-c", calm, "calm", w.path}, Env: bareEnv})
	}()
	w.await(1)
	inner := innerHolder(t, holders, proc.Subreaper)
	unix.Kill(inner, unix.SIGSTOP)
	unix.Kill(holders[0], unix.SIGKILL)
	cancel()
	r := <-result
	if !errors.Is(r.Err, proc.ErrLost) || !strings.Contains(r.Err.Error(), "may still live") {
		t.Errorf("%+v", r)
	}
	unix.Kill(inner, unix.SIGCONT) // it finds that it is alone
	w.ends()
}

func TestChildAttacksItsParent(t *testing.T) {
	t.Parallel()
	eachTreeLevel(t, func(t *testing.T, p *proc.Pool) {
		r := p.Run(context.Background(), sh("for s in HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM TSTP TTIN XCPU; do kill -$s $PPID; done; exit 5"))
		if r.Exit != 5 || r.Err != nil {
			t.Errorf("signals: %+v", r)
		}
		w := newWitness(t)
		r = p.Run(context.Background(), hostileSpec(w, "kill -9 $PPID; exit 0"))
		w.ended()
		status, ok := r.Exited()
		switch p.Level() {
		case proc.Namespace:
			if !ok || status != 0 { // the first process of a namespace does not die of it
				t.Errorf("%+v", r)
			}
		case proc.Subreaper:
			if ok || !errors.Is(r.Err, proc.ErrLost) {
				t.Errorf("%+v", r)
			}
		}
		if r := p.Run(context.Background(), sh("exit 4")); r.Exit != 4 {
			t.Errorf("next run: %+v", r)
		}
	})
}
