package tool_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tool"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("elsewhere")) }))
	t.Cleanup(other.Close)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<p>hello"))
		case "/bytes":
			w.Write([]byte("\x00\xff"))
		case "/large":
			w.Write([]byte(strings.Repeat("x", 600<<10)))
		case "/broken":
			w.WriteHeader(http.StatusBadGateway)
		case "/teapot":
			w.WriteHeader(http.StatusTeapot)
		case "/slow":
			<-r.Context().Done()
		case "/on":
			http.Redirect(w, r, "/page", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/named":
			http.Redirect(w, r, strings.Replace("http://"+r.Host+"/page", "://", "://a:b@", 1), http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	at, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := open(t, tool.Config{Hosts: []string{at.Host, "example.org", "*.example.com", "example.net:8443", "10.1.0.0/16", "nowhere.invalid"}}, nil)
	for _, c := range []struct {
		url  string
		want tool.Code
		says string
	}{
		{site.URL + "/page", "", `"content":"<p>hello","encoding":"text","status":200,"type":"text/html"`},
		{site.URL + "/bytes", "", `"content":"AP8=","encoding":"base64"`},
		{site.URL + "/on", "", site.URL + "/page"},
		{site.URL + "/large", tool.TooLarge, "524288 bytes"},
		{site.URL + "/nope", tool.NotFound, "404"},
		{site.URL + "/broken", tool.Unavailable, "502"},
		{site.URL + "/teapot", tool.Failed, "418"},
		{site.URL + "/round", tool.Denied, "5 redirections"},
		{site.URL + "/away", tool.Denied, "not a host that web_fetch may ask"},
		{site.URL + "/file", tool.Denied, "redirection to file"},
		{site.URL + "/named", tool.Denied, "name and password"},
		{other.URL, tool.Denied, "web_fetch.allow"},
		{"http://127.0.0.1/", tool.Denied, "web_fetch.allow"},
		{"http://localhost:" + at.Port() + "/page", tool.Denied, "web_fetch.allow"},
		{"http://[::ffff:127.0.0.1]/", tool.Denied, "web_fetch.allow"},
		{"http://2130706433/", tool.Denied, "web_fetch.allow"},
		{"http://10.2.0.1/", tool.Denied, "web_fetch.allow"},
		{"https://example.org:8443/", tool.Denied, "web_fetch.allow"},
		{"https://example.com/", tool.Denied, "web_fetch.allow"},
		{"https://evilexample.com/", tool.Denied, "web_fetch.allow"},
		{"https://example.org.evil.test/", tool.Denied, "web_fetch.allow"},
		{"https://evil.test#example.org", tool.Denied, "web_fetch.allow"},
		{"https://example.net/", tool.Denied, "web_fetch.allow"},
		{"https://example.org@evil.test/", tool.InvalidArguments, "name and password"},
		{"https://user:pass@example.org/", tool.InvalidArguments, "name and password"},
		{"ftp://example.org/", tool.InvalidArguments, "no http or https"},
		{"file:///etc/passwd", tool.InvalidArguments, "no http or https"},
		{"example.org", tool.InvalidArguments, "no http or https"},
		{"http://", tool.InvalidArguments, "no http or https"},
		{"http://nowhere.invalid/", tool.Unavailable, "does not answer"},
	} {
		o := r.Call(t.Context(), "web_fetch", args(t, m{"url": c.url}), nil)
		said := string(o.Output)
		if o.Problem != nil {
			said = o.Problem.Message
		}
		if code(o) != c.want || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q %.300s, want %q with %s", c.url, code(o), said, c.want, c.says)
		}
	}
	for _, good := range []string{"https://example.org/", "http://EXAMPLE.org./x", "https://a.b.example.com/", "https://example.net:8443/", "http://10.1.2.3/"} {
		if w, err := r.Weigh(t.Context(), "web_fetch", args(t, m{"url": good})); err != nil || w.Asks {
			t.Errorf("%s: %v %v", good, w, err)
		}
	}
}

// TestPrivateAddresses: a name that is allowed and leads to a private address is
// refused when it is dialled, unless an address, a range or localhost is listed.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }))
	t.Cleanup(site.Close)
	port := site.URL[strings.LastIndexByte(site.URL, ':'):]
	for _, c := range []struct {
		hosts []string
		want  tool.Code
	}{
		{[]string{"localhost" + port}, ""},
		{[]string{"localhost." + port}, ""},
		{[]string{"*.localhost" + port}, tool.Denied},
		{nil, tool.Denied},
	} {
		r, _ := open(t, tool.Config{Hosts: c.hosts}, nil)
		o := r.Call(t.Context(), "web_fetch", args(t, m{"url": "http://localhost" + port + "/"}), nil)
		if code(o) != c.want {
			t.Errorf("%v: %q %v, want %q", c.hosts, code(o), o.Problem, c.want)
		}
	}
}

// TestDialled: an entry lets a name lead to its address at the entry's port alone.
func TestDialled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entry, address string
		may            bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"127.0.0.1:8080", "127.0.0.1:80", false},
		{"127.0.0.1", "127.0.0.1:80", true},
		{"127.0.0.1", "127.0.0.1:443", true},
		{"127.0.0.1", "127.0.0.1:8080", false},
		{"127.0.0.0/8", "127.0.0.2:443", true},
		{"127.0.0.0/8", "127.0.0.2:8080", false},
		{"localhost:8080", "[::1]:8080", true},
		{"localhost:8080", "127.0.0.1:80", false},
		{"[::1]:8080", "[::1]:80", false},
		{"vm", "127.0.0.1:80", false},
		{"vm", "8.8.8.8:80", true},
	} {
		if err := tool.Dials([]string{c.entry, "vm"}, c.address); (err == nil) != c.may {
			t.Errorf("%s lets a name lead to %s: %v, want %v", c.entry, c.address, err, c.may)
		}
	}
}

func TestWrongHosts(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "https://example.org", "example.org/path", "*", "*.", "a*b.org", "user@example.org", "a b"} {
		if r, err := tool.Open(tool.Config{Workspace: t.TempDir(), Hosts: []string{host}}); err == nil {
			r.Close()
			t.Errorf("%q is a host", host)
		}
	}
}
