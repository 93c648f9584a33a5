package proc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

// talk is a child that says which addresses it reaches, and whether it reaches
// itself.
func talk(addresses []string) int {
	for _, address := range addresses {
		network, where, _ := strings.Cut(address, "!")
		c, err := net.Dial(network, where)
		fmt.Println(network, err == nil)
		if err == nil {
			c.Close()
		}
	}
	l, err := net.Listen("tcp", "localhost:0")
	if err == nil {
		_, err = net.Dial("tcp", l.Addr().String())
	}
	fmt.Println("itself", err == nil)
	return 0
}

// listening are addresses at which this machine answers: its loopback, one that
// other machines can reach, where it has any, and an abstract socket.
func listening(t *testing.T) (addresses []string) {
	t.Helper()
	hosts := []string{"127.0.0.1"}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() && len(hosts) == 1 {
			hosts = append(hosts, ip.IP.String())
		}
	}
	listen := func(network, address string) {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		addresses = append(addresses, network+"!"+l.Addr().String())
	}
	for _, host := range hosts {
		listen("tcp", host+":0")
	}
	listen("unix", "@piton-test-"+strconv.Itoa(os.Getpid()))
	return addresses
}

func TestOfflineChildReachesOnlyItself(t *testing.T) {
	t.Parallel()
	addresses := listening(t)
	for user, uid := range users() {
		for _, place := range places {
			t.Run(user+"/"+place, func(t *testing.T) {
				out, err := harness("talker:"+place, uid, addresses...).Output()
				if err != nil {
					t.Fatal(err)
				}
				var want strings.Builder
				for _, a := range addresses {
					network, _, _ := strings.Cut(a, "!")
					fmt.Fprintln(&want, network, !strings.HasSuffix(place, "+offline"))
				}
				want.WriteString("itself true\n")
				if diff := cmp.Diff(want.String(), string(out)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// The child's files are its own and everybody else's stay theirs, for root too.
func TestOfflineChildIsWhoItWas(t *testing.T) {
	t.Parallel()
	for user, uid := range users() {
		for _, place := range places {
			t.Run(user+"/"+place, func(t *testing.T) {
				dir := openDir(t)
				script := "cd " + dir + "; touch own; id -u; id -g; stat -c %u:%g own"
				if os.Getuid() == 0 {
					foreign := filepath.Join(dir, "foreign")
					if err := os.WriteFile(foreign, []byte("secret"), 0o600); err != nil {
						t.Fatal(err)
					}
					if err := os.Chown(foreign, 1234, 1235); err != nil {
						t.Fatal(err)
					}
				}
				if os.Getuid() == 0 && uid == 0 {
					script += "; cat foreign; stat -c :%u:%g foreign; chown 77:78 foreign; stat -c %u:%g foreign"
				}
				out, err := harness("script:"+place, uid, script).Output()
				if err != nil {
					t.Fatal(err)
				}
				who := uint32(os.Getuid())
				if uid != 0 {
					who = uid
				}
				want := fmt.Sprintf("%d\n%d\n%d:%d\n", who, who, who, who)
				if who == 0 {
					want += "secret:1234:1235\n77:78\n"
				}
				if diff := cmp.Diff(want, string(out)); diff != "" {
					t.Error(diff)
				}
				info, err := os.Stat(filepath.Join(dir, "own"))
				if err != nil || info.Sys().(*syscall.Stat_t).Uid != who {
					t.Errorf("on the outside the file belongs to %+v: %v", info, err)
				}
			})
		}
	}
}

func TestNothingOfflineOutlivesACancel(t *testing.T) {
	t.Parallel()
	eachTreeLevel(t, func(t *testing.T, p *proc.Pool) {
		w := newWitness(t)
		ctx, cancel := context.WithCancel(context.Background())
		spec := hostileSpec(w, "wait")
		spec.Offline = true
		result := make(chan proc.Result)
		go func() { result <- p.Run(ctx, spec) }()
		w.await(hostileSize)
		cancel()
		r := <-result
		w.ended()
		if !r.Cancelled || r.Err != nil || r.Leftover < hostileSize-3 || r.Level != p.Level() {
			t.Errorf("%+v", r)
		}
	})
}

// offline runs a script without the network and returns what it prints.
func offline(t *testing.T, p *proc.Pool, script string) string {
	t.Helper()
	spec := sh(script)
	spec.Offline = true
	r := p.Run(context.Background(), spec)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r.Stdout.String()
}

// A root child cannot give the next one another network than it got.
func TestOfflineNetworkStays(t *testing.T) {
	p := newPool(t, proc.Config{Idle: 1})
	const show = "cut -d: -f1 /proc/net/dev; cat /proc/net/fib_trie"
	before := offline(t, p, show)
	offline(t, p, "ip link set lo down; ip link add spoilt type dummy; ip addr add 10.9.9.9/8 dev lo")
	if diff := cmp.Diff(before, offline(t, p, show)); diff != "" {
		t.Error(diff)
	}
}

// Where a root child sees the harness, it cannot enter the harness's network.
func TestOfflineChildCannotGoBack(t *testing.T) {
	t.Parallel()
	eachTreeLevel(t, func(t *testing.T, p *proc.Pool) {
		if out := offline(t, p, fmt.Sprintf("nsenter -t %d -n echo out", os.Getpid())); out != "" {
			t.Error(out)
		}
	})
}

func TestPoolWithoutHoldersIsNeverOffline(t *testing.T) {
	p := newPool(t, proc.Config{Level: proc.Group})
	if p.Offline() == nil {
		t.Error("there is no holder")
	}
	spec := sh("exit 0")
	spec.Offline = true
	if r := p.Run(context.Background(), spec); !errors.Is(r.Err, proc.ErrNotStarted) {
		t.Errorf("%+v", r)
	}
}

func TestClosedPoolStartsNoHolder(t *testing.T) {
	p, err := proc.NewPool(proc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if err := p.Offline(); !errors.Is(err, proc.ErrClosed) {
		t.Error(err)
	}
	if left := holdersBelow(t, os.Getpid()); len(left) > 0 {
		t.Errorf("holders: %v", left)
	}
}

// refuseNetworks is a harness on a machine whose limit says that there are to be
// no network namespaces, until it says otherwise.
func refuseNetworks() int {
	const limit = "/proc/sys/user/max_net_namespaces"
	if err := os.WriteFile(limit, []byte("0"), 0); err != nil {
		fmt.Println(err)
		return 1
	}
	p, err := proc.NewPool(proc.Config{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer p.Close()
	spec := sh("echo ran")
	fmt.Print(p.Run(context.Background(), spec).Stdout.String())
	spec.Offline = true
	r := p.Run(context.Background(), spec)
	fmt.Println(p.Level(), errors.Is(r.Err, proc.ErrNotStarted), r.Stdout.Total)
	fmt.Println(p.Offline())
	if err := os.WriteFile(limit, []byte("64"), 0); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(p.Offline()) // in a namespace of an ordinary user it is refused otherwise
	return 0
}

func TestMachineRefusesNetworkNamespaces(t *testing.T) {
	h := harness("refused", 0)
	h.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},

		GidMappingsEnableSetgroups: os.Getuid() == 0,
	}
	stdout, err := h.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	tier.Needs(t, h.Start()) // where user namespaces are refused it cannot be played
	out, _ := io.ReadAll(stdout)
	if err := h.Wait(); err != nil {
		t.Error(err)
	}
	if want := "ran\nnamespace true 0\nnetwork namespace: start holder: "; !strings.HasPrefix(string(out), want) || strings.Count(string(out), "no space") != 1 {
		t.Errorf("%s", out)
	}
}
