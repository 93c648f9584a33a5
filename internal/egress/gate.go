package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Limits of a gate.
const (
	dialTime   = 30 * time.Second
	headTime   = time.Minute
	idleTime   = time.Minute // between two requests on one connection
	maxConns   = 256         // from the process at once
	maxHead    = 64 << 10
	maxRefused = 50
	maxName    = 100
)

// A Gate is a proxy for one process. It is made by [For], and serves once.
type Gate struct {
	own    List   // what the program needs itself
	within []List // what its work may ask: all of them must have a host
	tell   func(string)

	mu      sync.Mutex
	refused []string
	conns   map[net.Conn]bool // true: from the process; nil once that is gone
	open    int               // those from the process
}

// admits reports whether a list of the program's own, or all that bound its work, have it.
func (g *Gate) admits(has func(List) bool) bool {
	if has(g.own) {
		return true
	}
	for _, l := range g.within {
		if !has(l) {
			return false
		}
	}
	return len(g.within) > 0
}

// Closed reports that nothing at all may be asked.
func (g *Gate) Closed() bool {
	if len(g.own) > 0 {
		return false
	}
	for _, l := range g.within {
		if len(l) == 0 {
			return true
		}
	}
	return false
}

// Environ are the variables besides those that name the proxy.
func (g *Gate) Environ() []string {
	direct := "localhost,127.0.0.1,::1"
	if g.admits(List.loopback) {
		direct = "" // this machine is meant, and not the loopback of the process
	}
	return []string{"NO_PROXY=" + direct, "no_proxy=" + direct, "NODE_USE_ENV_PROXY=1"}
}

// Refused are the hosts that were asked for in vain, each with its port.
func (g *Gate) Refused() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.refused)
}

func (g *Gate) refuse(at string) {
	at = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, at[:min(len(at), maxName)])
	g.mu.Lock()
	known := slices.Contains(g.refused, at) || len(g.refused) == maxRefused
	if !known {
		g.refused = append(g.refused, at)
	}
	g.mu.Unlock()
	if !known && g.tell != nil {
		g.tell(at)
	}
}

// Answer answers on a listening socket, which it closes, until stop is closed; then nothing
// of it is left open.
func (g *Gate) Answer(socket *os.File, stop <-chan struct{}) {
	l, err := net.FileListener(socket)
	socket.Close()
	if err != nil {
		return
	}
	go func() {
		<-stop
		l.Close()
	}()
	g.Serve(l)
}

// Serve answers on a listener until that is closed; then nothing of it is left open.
func (g *Gate) Serve(l net.Listener) {
	life, end := context.WithCancel(context.Background())
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host = r.Out.URL.Host // whatever its header says
			r.Out.Header.Del("Proxy-Authorization")
		},
		Transport:     &http.Transport{DialContext: g.dial, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHead},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { unreached(w, err) },
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.answer(w, r, forward) }),
		ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHead, ErrorLog: forward.ErrorLog,
		BaseContext: func(net.Listener) context.Context { return life },
	}
	g.mu.Lock()
	g.conns = map[net.Conn]bool{}
	g.mu.Unlock()
	_ = server.Serve(kept{l, g})
	end()
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

// kept keeps account of what it accepts. It turns away what is too much at once: every
// connection is a descriptor of ours, and of those all that runs here has so many.
type kept struct {
	net.Listener
	gate *Gate
}

func (k kept) Accept() (net.Conn, error) {
	for {
		c, err := k.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c, err = k.gate.keep(c, true); !errors.Is(err, errFull) {
			return c, err
		}
	}
}

// counted is a connection that a gate closes at its end.
type counted struct {
	net.Conn
	gate *Gate
}

var errFull = fmt.Errorf("more than %d connections at once", maxConns)

func (g *Gate) keep(c net.Conn, ours bool) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.conns == nil:
		c.Close()
		return nil, net.ErrClosed
	case ours && g.open == maxConns:
		c.Close()
		return nil, errFull
	case ours:
		g.open++
	}
	g.conns[c] = ours
	return counted{c, g}, nil
}

func (c counted) Close() error {
	c.gate.mu.Lock()
	if c.gate.conns[c.Conn] {
		c.gate.open--
	}
	delete(c.gate.conns, c.Conn)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// answer answers one request of the process.
func (g *Gate) answer(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	tunnel := r.Method == http.MethodConnect
	name, port := r.URL.Hostname(), cmp.Or(r.URL.Port(), "80")
	switch {
	case tunnel && r.URL.Port() == "", !tunnel && (r.URL.Scheme != "http" || r.URL.User != nil), name == "":
		http.Error(w, "piton: this is a proxy: it takes CONNECT with a port, and http addresses", http.StatusBadRequest)
	case !g.admits(func(l List) bool { return l.Names(name, port, usual...) }):
		at := net.JoinHostPort(name, port)
		g.refuse(at)
		http.Error(w, "piton: "+at+" is not listed in `network:`", http.StatusForbidden)
	case tunnel:
		g.tunnel(w, r, net.JoinHostPort(name, port))
	default:
		forward.ServeHTTP(w, r)
	}
}

// usual are the ports of an entry that has none.
var usual = []string{"80", "443"}

// dial connects to a host that was admitted by its name, unless that leads elsewhere.
func (g *Gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTime, Control: func(_, to string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(to)
		if err == nil && g.admits(func(l List) bool { return l.Reaches(at, usual...) }) {
			return nil
		}
		if to == address {
			g.refuse(address)
		} else {
			g.refuse(address + "(" + at.Addr().String() + ")")
		}
		return fmt.Errorf("%s leads to %s, a private address that `network:` does not list", address, to)
	}}
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return g.keep(c, false)
}

func unreached(w http.ResponseWriter, err error) {
	http.Error(w, "piton: "+err.Error(), http.StatusBadGateway)
}

// tunnel joins the process with a host until both have said all.
func (g *Gate) tunnel(w http.ResponseWriter, r *http.Request, address string) {
	there, err := g.dial(r.Context(), "tcp", address)
	if err != nil {
		unreached(w, err)
		return
	}
	defer there.Close()
	here, early, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	_ = here.SetDeadline(time.Time{})
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pass(there, early) }) // with what it sent at once
	both.Go(func() { pass(here, there) })
	both.Wait()
}

// pass copies until there is no more, and says so to the other end.
func pass(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from)
	if c, ok := to.(counted); ok {
		to = c.Conn
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	to.Close()
}

// words of `network:` that are no hosts.
const (
	no       = "no"
	yes      = "yes"
	contract = "contract"
)

// Rules say what a process may ask.
type Rules struct {
	Own  []string        // hosts that its program needs; given, it reaches nothing else without Step
	Most []string        // hosts beyond which the work may ask nothing; none: no bound
	Step string          // `network:` of the step: words and hosts with commas between; "" is yes
	Else []string        // hosts that its program is known to need, where anything bounds it
	Tell func(at string) // hears of each host once that was asked for in vain
}

// For makes the gate of a process. It is nil where nothing bounds the process.
func For(r Rules) (*Gate, error) {
	g := &Gate{tell: r.Tell}
	hosts, bound := Hosts(r.Step)
	alone := len(r.Own) > 0 && !bound // what may be asked at most adds nothing to a list of its own
	for _, b := range []struct {
		hosts []string
		given bool
	}{{hosts, bound}, {r.Most, len(r.Most) > 0 && !alone}} {
		if !b.given {
			continue
		}
		list, err := Parse(b.hosts)
		if err != nil {
			return nil, err
		}
		g.within = append(g.within, list)
	}
	if len(g.within) == 0 && len(r.Own) == 0 {
		return nil, nil
	}
	var err error
	if g.own, err = Parse(r.Own); err == nil && len(r.Own) == 0 {
		g.own, err = Parse(r.Else)
	}
	return g, err
}

// Hosts are those of a `network:`; bound is false where it says no more than yes.
func Hosts(value string) (hosts []string, bound bool) {
	for w := range strings.SplitSeq(value, ",") {
		switch w = strings.TrimSpace(w); w {
		case no:
			return nil, true
		case yes, contract, "":
		default:
			hosts, bound = append(hosts, w), true
		}
	}
	return hosts, bound
}
