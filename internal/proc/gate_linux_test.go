package proc_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piton-dev/piton/internal/egress"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

// through asks for an address by the proxy that the environment names.
func through(address string) error {
	proxy, err := url.Parse(os.Getenv("https_proxy"))
	if err != nil || proxy.Host == "" {
		return fmt.Errorf("there is no proxy: %w", err)
	}
	c := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}, Timeout: time.Minute}
	res, err := c.Get(address)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", res.Status)
	}
	return nil
}

// lookUp asks a server of names.
func lookUp(server string) error {
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server)
	}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := r.LookupHost(ctx, "listed.test")
	return err
}

// packet sends bytes past all that other protocols need.
func packet() error {
	s, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		return err
	}
	return unix.Close(s)
}

// aims are the addresses that a child with a gate tries to reach.
type aims struct{ listed, other, udp, six, abstract, path string }

// escape is the child: it says what it reaches.
func escape() int {
	a := aims{os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]}
	_, port, _ := net.SplitHostPort(a.other)
	number, _ := strconv.Atoi(port)
	tried := map[string]error{
		"listed through the proxy": through("http://" + a.listed + "/"),
		"other through the proxy":  through("http://" + a.other + "/"),
		"other by another name":    through("http://localhost:" + port + "/"),
		"other as a number":        through("http://2130706433:" + port + "/"),
		"other as a long number":   through("http://0x7f000001:" + port + "/"),
		"other as no address":      through("http://0.0.0.0:" + port + "/"),
		"other as IPv6":            through("http://[::ffff:127.0.0.1]:" + port + "/"),
		"metadata":                 through("http://169.254.169.254/"),
		"listed directly":          dial("tcp", a.listed),
		"other directly":           dial("tcp", a.other),
		"IPv6 directly":            dial("tcp", a.six),
		"names over UDP":           lookUp(a.udp),
		"names of the machine":     lookUp("127.0.0.53:53"),
		"an abstract socket":       dial("unix", a.abstract),
		"a socket in /run":         dial("unix", a.path),
		"a raw packet":             packet(),
		"another protocol":         socket(unix.IPPROTO_MPTCP, number),
	}
	for _, what := range slices.Sorted(maps.Keys(tried)) {
		if tried[what] == nil {
			fmt.Println(what)
		}
	}
	return 0
}

// socket connects in a protocol to a port of this machine.
func socket(protocol, port int) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	return unix.Connect(s, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port})
}

// gated runs two children beside each other, each with a list of its own.
func gated(p *proc.Pool) int {
	if err := p.Sealed(); err != nil {
		fmt.Println(err)
		return 1
	}
	lists := [2]string{os.Args[1], os.Args[2]}
	var said [2]string
	var both sync.WaitGroup
	for i := range lists {
		both.Go(func() {
			g, err := egress.For(egress.Rules{Step: lists[i]})
			if err != nil {
				said[i] = err.Error()
				return
			}
			args := append([]string{"/proc/self/exe", lists[i], lists[1-i]}, os.Args[3:]...)
			r := p.Run(context.Background(), proc.Spec{
				Argv: args, Env: append([]string{roleVar + "=escape", "HTTP_PROXY=http://evil.test:1"}, bareEnv...), Dir: "/", Gate: g, Seal: &proc.Seal{},
			})
			said[i] = r.Stdout.String() + r.Stderr.String()
			if r.Err != nil {
				said[i] += r.Err.Error()
			}
			said[i] += "refused " + strconv.Itoa(len(g.Refused())) + "\n"
		})
	}
	both.Wait()
	fmt.Print(said[0], said[1])
	return 0
}

// TestGate has children with lists attack what they are kept from.
func TestGate(t *testing.T) {
	t.Parallel()
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	var sites [2]string
	for i := range sites {
		s := httptest.NewServer(ok)
		t.Cleanup(s.Close)
		sites[i] = s.Listener.Addr().String()
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { udp.Close() })
	abstract, path := "@piton-gate-"+strconv.Itoa(os.Getpid()), filepath.Join(openDir(t), "socket")
	six := "[::1]:1"
	for _, at := range [][2]string{{"unix", abstract}, {"unix", path}, {"tcp", "[::1]:0"}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			continue // a machine without IPv6
		}
		t.Cleanup(func() { l.Close() })
		if at[0] == "tcp" {
			six = l.Addr().String()
		}
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	for user, uid := range users() {
		t.Run(user, func(t *testing.T) {
			out, err := harness("gated:"+string(proc.Namespace), uid, sites[0], sites[1], udp.LocalAddr().String(), six, abstract, path).Output()
			if err != nil {
				t.Fatal(err, string(out))
			}
			if want := strings.Repeat("listed through the proxy\nrefused 7\n", 2); string(out) != want {
				t.Errorf("%s", out)
			}
		})
	}
}

// What a child holds open when it ends is closed, and its holder's next child has a proxy
// of its own.
func TestGateEndsWithItsChild(t *testing.T) {
	t.Parallel()
	p := newPool(t, proc.Config{Idle: 1})
	tier.Needs(t, p.Offline())
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	for range 3 {
		g, err := egress.For(egress.Rules{Step: far.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		spec := sh("exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}; printf 'CONNECT " + far.Addr().String() + " HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3; read -r line <&3; sleep 100")
		spec.Argv[0] = "bash"
		spec.Gate = g
		result := make(chan proc.Result, 1)
		go func() { result <- p.Run(ctx, spec) }()
		c, err := far.Accept()
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if r := <-result; !r.Cancelled || r.Err != nil {
			t.Errorf("%+v", r)
		}
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
			t.Error("it is open:", err)
		}
		c.Close()
	}
}

// A child without a gate is not served, and one that does not start leaves nothing behind.
func TestGateOfWhatDoesNotStart(t *testing.T) {
	p := newPool(t, proc.Config{Idle: 1})
	tier.Needs(t, p.Offline())
	g, err := egress.For(egress.Rules{Step: "example.org"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("nonsense"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := sh("exit 0")
	spec.Argv, spec.Gate = []string{bad}, g
	if r := p.Run(t.Context(), spec); r.Err == nil {
		t.Errorf("%+v", r)
	}
	spec = sh("test -z \"$http_proxy\"")
	spec.Offline = true
	if r := p.Run(t.Context(), spec); r.Exit != 0 || r.Err != nil {
		t.Errorf("%+v", r)
	}
}
