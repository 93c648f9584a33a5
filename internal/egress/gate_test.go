package egress_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piton-dev/piton/internal/egress"
)

// opened is a gate that serves, and a client that goes through it.
func opened(t *testing.T, r egress.Rules) (*egress.Gate, *http.Client, net.Listener) {
	t.Helper()
	g, err := egress.For(r)
	if err != nil || g == nil {
		t.Fatal(g, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); g.Serve(l) }()
	t.Cleanup(func() { l.Close(); <-done })
	proxy := &url.URL{Scheme: "http", Host: l.Addr().String()}
	return g, &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(proxy), DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a server of the test
	}}, l
}

func said(t *testing.T, c *http.Client, address string) string {
	t.Helper()
	res, err := c.Get(address)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return fmt.Sprintf("%d %s", res.StatusCode, strings.TrimSpace(string(body)))
}

func server(t *testing.T, secure bool) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
			return
		}
		fmt.Fprint(w, "host=", r.Host)
	}))
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func TestListedHostsAreReached(t *testing.T) {
	plain, secure := server(t, false), server(t, true)
	for _, s := range []*httptest.Server{plain, secure} {
		at := s.Listener.Addr().String()
		for name, r := range map[string]egress.Rules{
			"of the step": {Step: at}, "of the program": {Own: []string{at}, Step: "no"}, "in a range": {Step: "127.0.0.0/8"},
			"known": {Else: []string{at}, Step: "no"}, "in both": {Step: at, Most: []string{at, "example.org"}},
		} {
			if strings.Contains(name, "range") {
				r.Step = strings.Replace(at, "127.0.0.1", "localhost", 1) + ", " + at
			}
			g, c, _ := opened(t, r)
			if got := said(t, c, s.URL); got != "200 host="+at || len(g.Refused()) > 0 {
				t.Errorf("%s: %s %v", name, got, g.Refused())
			}
		}
	}
}

func TestOthersAreNot(t *testing.T) {
	s := server(t, false)
	at := s.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	for _, c := range []struct{ list, most, url, refused string }{
		{"example.org", "", s.URL, at},
		{at, "example.org", s.URL, at},
		{"*", "", s.URL, at},
		{"*", "", "http://[::1]:" + port, "[::1]:" + port},
		{"*", "", "http://0.0.0.0/", "0.0.0.0:80"},
		{"*", "", "http://2130706433/", ""},
		{"*", "", "http://0x7f.1/", ""},
		{"*", "", "http://[::ffff:127.0.0.1]/", ""},
		{"*", "", "http://169.254.169.254/latest/meta-data", "169.254.169.254:80"},
		{"*", "", "https://169.254.169.254/", "169.254.169.254:443"},
		{"*", "", "http://10.0.0.1/", "10.0.0.1:80"},
		{"localhost.example", "", "http://localhost:" + port, "localhost:" + port},
		{"example.org", "", "https://example.org:22/", "example.org:22"},
		{"*.example.org", "", "https://example.org/", "example.org:443"},
		{"example.org", "", "https://example.org.evil.test/", "example.org.evil.test:443"},
	} {
		r := egress.Rules{Step: c.list}
		if c.most != "" {
			r.Most = []string{c.most}
		}
		g, client, _ := opened(t, r)
		got := said(t, client, c.url)
		if strings.HasPrefix(got, "200") || c.refused != "" && !slices.Equal(g.Refused(), []string{c.refused}) {
			t.Errorf("%s, asked %s: %s; refused %v", c.list, c.url, got, g.Refused())
		}
	}
}

// What any step may ask at most is nothing that a program with a list of its own may ask.
func TestTheMostWidensNoListOfAProgram(t *testing.T) {
	s := server(t, false)
	at := s.Listener.Addr().String()
	g, client, _ := opened(t, egress.Rules{Own: []string{"example.org"}, Most: []string{at}, Step: "yes"})
	if got := said(t, client, s.URL); strings.HasPrefix(got, "200") || !slices.Equal(g.Refused(), []string{at}) {
		t.Errorf("%s; refused %v", got, g.Refused())
	}
}

// A name that leads to this machine does not reach it, unless the list has the address too.
func TestANameLeadsNowhereElse(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := net.LookupHost(name)
	if err != nil || name == "localhost" {
		t.Skip("this machine has no name of its own: ", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(addrs[0], "0"))
	if err != nil {
		t.Skip(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Listener.Close()
	s.Listener = l
	s.Start()
	defer s.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	at := net.JoinHostPort(name, port)
	g, c, _ := opened(t, egress.Rules{Step: at})
	if got := said(t, c, "http://"+at); !strings.HasPrefix(got, "502") || len(g.Refused()) == 0 || !strings.Contains(g.Refused()[0], at+"(") {
		t.Errorf("%s %v", got, g.Refused())
	}
	_, c, _ = opened(t, egress.Rules{Step: at + ", " + l.Addr().String()})
	if got := said(t, c, "http://"+at); len(addrs) == 1 && !strings.HasPrefix(got, "404") {
		t.Errorf("it is listed: %s", got)
	}
}

func TestARedirectionIsAnotherRequest(t *testing.T) {
	s := server(t, false)
	g, c, _ := opened(t, egress.Rules{Step: s.Listener.Addr().String()})
	if got := said(t, c, s.URL+"/away"); !strings.HasPrefix(got, "403") || !slices.Equal(g.Refused(), []string{"169.254.169.254:80"}) {
		t.Errorf("%s %v", got, g.Refused())
	}
}

// raw sends bytes to a gate and returns all that it answers.
func raw(t *testing.T, l net.Listener, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, text)
	answer, _ := io.ReadAll(c)
	return string(answer)
}

func TestRequestsThatLie(t *testing.T) {
	s := server(t, false)
	at := s.Listener.Addr().String()
	_, _, l := opened(t, egress.Rules{Step: at})
	for text, want := range map[string]string{
		"GET http://" + at + "/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n": "host=" + at,
		"GET / HTTP/1.1\r\nHost: " + at + "\r\nConnection: close\r\n\r\n":                 "400 Bad Request",
		"GET https://" + at + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":        "400 Bad Request",
		"CONNECT evil.test:443 HTTP/1.1\r\nConnection: close\r\nHost: " + at + "\r\n\r\n": "403 Forbidden",
		"CONNECT 127.0.0.1 HTTP/1.1\r\nConnection: close\r\nHost: " + at + "\r\n\r\n":     "400 Bad Request",
		"nonsense\r\n\r\n": "400 Bad Request",
		// What is sent before the answer goes to the host.
		"CONNECT " + at + " HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: inner\r\nConnection: close\r\n\r\n": "host=inner",
	} {
		if got := raw(t, l, text); !strings.Contains(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// A connection ends with the process, on both sides.
func TestNothingStaysOpen(t *testing.T) {
	there, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	g, err := egress.For(egress.Rules{Step: there.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); g.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", there.Addr())
	far, err := there.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatal(line, err)
	}
	l.Close()
	<-done
	if _, err := io.ReadAll(far); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	io.ReadAll(c)
}

// A process has so many connections at once; with one less it has another.
func TestConnectionsAreCounted(t *testing.T) {
	there, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	_, _, l := opened(t, egress.Rules{Step: there.Addr().String()})
	tunnel := func() (net.Conn, string) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", there.Addr())
		line, _ := bufio.NewReader(c).ReadString('\n')
		return c, line
	}
	var last net.Conn
	for range 256 {
		c, line := tunnel()
		if !strings.Contains(line, "200") {
			t.Fatal(line)
		}
		last = c
	}
	if _, line := tunnel(); line != "" {
		t.Fatalf("one too many is answered: %s", line)
	}
	far, err := there.Accept()
	for range 255 {
		far, err = there.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	last.Close()
	far.Close()
	for { // the place is given, or this has no end
		if _, line := tunnel(); strings.Contains(line, "200") {
			break
		}
	}
}

// pipes is a listener that accepts what a test hands it.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A connection on which nothing comes ends, before its first request and after it.
func TestAnIdleConnectionEnds(t *testing.T) {
	for _, first := range []string{"", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			g, err := egress.For(egress.Rules{Step: "no"})
			if err != nil {
				t.Fatal(err)
			}
			l := make(pipes)
			go g.Serve(l)
			here, there := net.Pipe()
			l <- there
			ended := make(chan struct{})
			go func() { defer close(ended); io.Copy(io.Discard, here) }()
			io.WriteString(here, first)
			select {
			case <-ended:
			case <-time.After(time.Hour):
				t.Errorf("after %q it is open for an hour", first)
				here.Close()
			}
			close(l)
		})
	}
}

func TestWhoIsBound(t *testing.T) {
	for _, c := range []struct {
		r             egress.Rules
		bound, closed bool
	}{
		{egress.Rules{}, false, false},
		{egress.Rules{Step: "yes", Else: []string{"a.test"}}, false, false},
		{egress.Rules{Step: "contract"}, false, false},
		{egress.Rules{Step: "no"}, true, true},
		{egress.Rules{Step: "no", Own: []string{"a.test"}}, true, false},
		{egress.Rules{Step: "no", Else: []string{"a.test"}}, true, false},
		{egress.Rules{Step: "no", Most: []string{"a.test"}}, true, true},
		{egress.Rules{Step: "yes", Most: []string{"a.test"}}, true, false},
		{egress.Rules{Step: "contract, a.test"}, true, false},
	} {
		g, err := egress.For(c.r)
		if err != nil || (g != nil) != c.bound || g != nil && g.Closed() != c.closed {
			t.Errorf("%+v: %v %v", c.r, g, err)
		}
	}
	if _, err := egress.For(egress.Rules{Step: "a b"}); err == nil {
		t.Error("that is no host")
	}
}
