package proc_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

func TestChildGetsNoDescriptor(t *testing.T) {
	leak, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0) // not close-on-exec, as if inherited
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	for _, level := range treeLevels {
		p := newPool(t, proc.Config{Level: level})
		r := p.Run(context.Background(), sh("ls /proc/self/fd | tr '\\n' ' '; ls -l /proc/$PPID/fd 2>/dev/null"))
		// 3 is the directory that ls reads
		if r.Stdout.String() != "0 1 2 3 " && (os.Getuid() != 0 || !strings.HasPrefix(r.Stdout.String(), "0 1 2 3 ")) {
			t.Errorf("%s: %s", level, r.Stdout)
		}
		if strings.Contains(r.Stdout.String(), "passwd") {
			t.Errorf("%s: the holder kept it: %s", level, r.Stdout)
		}
	}
}

func TestChildHoldsNoLockOfTheHarness(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	lock, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	eachTreeLevel(t, func(t *testing.T, p *proc.Pool) {
		begun := make(chan struct{})
		spec := sh("echo; sleep 1000")
		spec.Tee = writerFunc(func([]byte) { close(begun) })
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go p.Run(ctx, spec)
		<-begun
		lock.Close()
		again, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if err := unix.Flock(int(again.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			t.Errorf("still locked: %v", err)
		}
	})
}

func TestChildHasDefaultSignalsAndNoCapabilities(t *testing.T) {
	t.Parallel()
	for user, uid := range users() {
		for _, place := range places {
			t.Run(user+"/"+place, func(t *testing.T) {
				self := harness("status:"+place, uid)
				cmd := exec.Command("/bin/sh", "-c", `trap "" HUP INT QUIT TSTP USR1 PIPE CHLD; exec "$0"`, "/proc/self/exe")
				// sh must find this program: as its own parent's
				exe, err := os.Open("/proc/self/exe")
				if err != nil {
					t.Fatal(err)
				}
				defer exe.Close()
				cmd.ExtraFiles = []*os.File{exe}
				cmd.Args[3] = "/proc/self/fd/3"
				cmd.Env, cmd.SysProcAttr, cmd.Dir, cmd.Stderr = self.Env, self.SysProcAttr, self.Dir, self.Stderr
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				const none = "0000000000000000"
				want := map[string]string{"SigBlk:": none, "SigIgn:": none}
				if uid != 0 {
					want["CapInh:"], want["CapPrm:"], want["CapEff:"], want["CapAmb:"] = none, none, none, none
				}
				for line := range strings.Lines(string(out)) {
					name, value, ok := strings.Cut(strings.TrimSpace(line), "\t")
					if expected, checked := want[name]; ok && checked && value != expected {
						t.Errorf("%s %s", name, value)
					}
					delete(want, name)
				}
				if len(want) > 0 || !strings.HasSuffix(string(out), "\n0\n") {
					t.Errorf("missing %v in %s", want, out)
				}
			})
		}
	}
}

func TestPidsAreRightInTheChild(t *testing.T) {
	p := newPool(t, proc.Config{Level: proc.Namespace})
	r := p.Run(context.Background(), sh(`
sleep 1000 & until grep sleep /proc/$!/comm; do :; done; pkill -P $$ sleep; wait $!; echo $?
sleep 1000 & kill $!; wait $!; echo $?
echo $PPID; set -- /proc/[0-9]*; echo $#`))
	if diff := cmp.Diff("sleep\n143\n143\n1\n2\n", r.Stdout.String()); diff != "" {
		t.Error(diff, r.Stderr)
	}
}

// What a child does to its holder must not reach the next child.
func TestHolderIsNotHandedOnSpoilt(t *testing.T) {
	tests := []struct{ name, spoil, show, want string }{
		{"limit", "prlimit --nofile=77:77 --pid $PPID", "ulimit -n", ""},
		{"priority", "renice -n 5 -p $PPID; for t in /proc/$PPID/task/*; do renice -n 5 -p ${t##*/}; done", "nice", "0\n"},
		{"processors", "taskset -a -p 1 $PPID", "taskset -p $$ | sed 's/.*: //'", ""},
		{"mount", "mount -t tmpfs none /mnt && touch /mnt/spoilt", "ls /mnt", "\n"},
	}
	p := newPool(t, proc.Config{Level: proc.Namespace, Idle: 1})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := p.Run(context.Background(), sh(tt.show)).Stdout.String()
			spoil := p.Run(context.Background(), sh(tt.spoil))
			after := p.Run(context.Background(), sh(tt.show)).Stdout.String()
			if before != after {
				t.Errorf("%q becomes %q", before, after)
			}
			if os.Getuid() == 0 && spoil.Exit != 0 {
				t.Errorf("the spoiling failed: %s%s", spoil.Stdout, spoil.Stderr)
			}
		})
	}
}

func TestMountsDoNotLeak(t *testing.T) {
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(t, proc.Config{Level: proc.Namespace})
	p.Run(context.Background(), sh("mount -t tmpfs none /mnt"))
	after, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Error(diff)
	}
}

func TestFailingTee(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		spec := sh("seq 1 300000")
		spec.Tee = full
		r := p.Run(context.Background(), spec)
		if r.Exit != 0 || r.Err != nil || r.Stdout.Total < 1<<20 {
			t.Errorf("%+v", r)
		}
	})
}

// An ordinary user gets the same, by way of a user namespace.
func TestAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		return // all tests already run as one
	}
	dir := openDir(t)
	cmd := harness("", nobody, "-test.run=^(TestRun|TestNothing|TestChild|TestPids|TestHolder|TestStopped)")
	if !tier.Gate { // they have a harness of that user as it is
		cmd.Args = append(cmd.Args, "-test.skip=^(TestNothingOutlivesTheHarness|TestChildHasDefaultSignals.*)$")
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+dir, "HOME="+dir)
	cmd.Dir, cmd.Stderr = dir, nil
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestChildCannotReadItsHolder(t *testing.T) {
	if os.Getuid() == 0 {
		return // root can; see TestAsOrdinaryUser
	}
	eachTreeLevel(t, func(t *testing.T, p *proc.Pool) {
		r := p.Run(context.Background(), sh("cat /proc/$PPID/environ >/dev/null; echo $?; dd if=/proc/$PPID/mem of=/dev/null count=1; echo $?; ls /proc/$PPID/fd"))
		if diff := cmp.Diff("1\n1\n", r.Stdout.String()); diff != "" {
			t.Error(diff)
		}
	})
}

// A holder costs more to start than a short child to run.
func TestShortChildrenShareHolders(t *testing.T) {
	t.Parallel()
	most := 2 * runtime.NumCPU()
	children := most + tier.Draws(40, 300)
	p := newPool(t, proc.Config{Level: proc.Namespace})
	p.SetLull(time.Hour) // one comes free before
	holders := make(chan string, children)
	var all sync.WaitGroup
	for range children {
		all.Go(func() { holders <- p.Run(context.Background(), sh("readlink /proc/self/ns/pid")).Stdout.String() })
	}
	all.Wait()
	close(holders)
	seen := map[string]bool{}
	for h := range holders {
		seen[h] = true
	}
	if len(seen) > most || seen[""] {
		t.Errorf("%d children had %d holders, with %d at most", children, len(seen), most)
	}
}

// Orders that wait for a holder to come free do get one when none does.
func TestLongChildrenAllRun(t *testing.T) {
	t.Parallel()
	children := 4*runtime.NumCPU() + 3
	dir := t.TempDir()
	eachTreeLevel(t, func(t *testing.T, p *proc.Pool) {
		script := fmt.Sprintf("d=%s/%s; mkdir -p $d/$1; while test $(ls $d | wc -l) -lt %d; do sleep 0.05; done", dir, p.Level(), children)
		var all sync.WaitGroup
		for i := range children {
			all.Go(func() {
				spec := sh(script)
				spec.Argv = append(spec.Argv, "sh", strconv.Itoa(i))
				if r := p.Run(context.Background(), spec); r.Exit != 0 || r.Err != nil {
					t.Errorf("%+v", r)
				}
			})
		}
		all.Wait()
	})
}
