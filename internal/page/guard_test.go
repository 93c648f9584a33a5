package page

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store/sqlite"
	"github.com/piton-dev/piton/internal/view"
)

// workspace serves a new workspace with one plan, whose owner nobody can start.
func workspace(t *testing.T) *server {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"secret.md": "# kept apart\n", "ws/plans/fix.md": "# Fix\n\n## Steps\n\n### 1. Do it\n\n**target:** script\n**task:**\n```shell\ntrue\n```\n**contract:** `grep -q x y`\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"PITON_STATE": filepath.Join(dir, "state"), "HOME": dir}
	place, err := api.Locate(filepath.Join(dir, "ws"), env)
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Private(); err != nil {
		t.Fatal(err)
	}
	open := func(ctx context.Context) (*Workspace, func() error, error) {
		st, _, err := sqlite.Open(ctx, sqlite.Config{Dir: place.State, Workspace: place.ID, Guard: place.Dir})
		if err != nil {
			return nil, nil, err
		}
		p := &api.Product{Place: place, Store: st, Version: "1", Now: time.Now, By: "me", Via: "page"}
		client := api.Dial(place, "1", nil, nil)
		reader := view.Reader{
			Product: p, Stands: func(context.Context) (view.Stands, error) { return view.Stands{}, nil },
			Place: func(engine.HeadRow) *view.Worktree { return nil },
			Said:  func(engine.HeadRow, []engine.StepRow) map[string]view.Said { return nil },
		}
		return &Workspace{Reader: reader, Client: client, Words: func(view.Happening) []string { return []string{"x"} }}, st.Close, nil
	}
	s, err := newServer(Config{Open: open}, "127.0.0.1:7430")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// hostile are requests that no route may carry out. Each begins as a request of the page.
var hostile = []struct {
	what  string
	wants []int
	do    func(s *server, r *http.Request)
}{
	{"no cookie", []int{401}, func(_ *server, r *http.Request) { r.Header.Del("Cookie") }},
	{"another cookie", []int{401}, func(_ *server, r *http.Request) { r.Header.Set("Cookie", cookie+"=AAAA") }},
	{"half of the cookie", []int{401}, func(s *server, r *http.Request) { r.Header.Set("Cookie", cookie+"="+s.key[:8]) }},
	{"the token as the cookie", []int{401}, func(s *server, r *http.Request) { r.Header.Set("Cookie", cookie+"="+s.token) }},
	{"a foreign Host", []int{421}, func(_ *server, r *http.Request) { r.Host = "evil.example" }},
	{"a name of this machine", []int{421}, func(_ *server, r *http.Request) { r.Host = "localhost:7430" }},
	{"another port", []int{421}, func(_ *server, r *http.Request) { r.Host = "127.0.0.1:7431" }},
	{"a foreign Origin", []int{403}, func(_ *server, r *http.Request) { r.Header.Set("Origin", "http://evil.example") }},
	{"the Origin of another port", []int{403}, func(_ *server, r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:9999") }},
	{"a sandboxed page", []int{403}, func(_ *server, r *http.Request) { r.Header.Set("Origin", "null") }},
	{"a page of another site", []int{403}, func(_ *server, r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }},
	{"a page of another port", []int{403}, func(_ *server, r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }},
	{"another path", []int{401, 404}, func(s *server, r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, s.base, "/AAAA", 1)
	}},
	{"without the path", []int{401, 404}, func(s *server, r *http.Request) { r.URL.Path = strings.TrimPrefix(r.URL.Path, s.base) }},
	{"PUT", []int{405}, func(_ *server, r *http.Request) { r.Method = http.MethodPut }},
	{"DELETE", []int{405}, func(_ *server, r *http.Request) { r.Method = http.MethodDelete }},
	{"OPTIONS", []int{405}, func(_ *server, r *http.Request) { r.Method = http.MethodOptions }},
	{"TRACE", []int{405}, func(_ *server, r *http.Request) { r.Method = http.MethodTrace }},
	{"CONNECT", []int{405}, func(_ *server, r *http.Request) { r.Method = http.MethodConnect }},
}

// changes are requests that no route that changes something may carry out.
var changes = []struct {
	what  string
	wants int
	do    func(r *http.Request)
}{
	{"JSON", 415, func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }},
	{"text", 415, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
	{"several parts", 415, func(r *http.Request) { r.Header.Set("Content-Type", "multipart/form-data; boundary=x") }},
	{"no type", 415, func(r *http.Request) { r.Header.Del("Content-Type") }},
	{"broken", 415, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("a=%zz")) }},
	{"too large", 413, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("a=" + strings.Repeat("a", maxForm))) }},
}

// misleading are values of a path that lead to no file outside of the workspace, and to no page.
var misleading = []string{
	"..%2fsecret.md", "..%2f..%2fsecret.md", "%2e%2e%2fsecret.md", "%2fetc%2fpasswd", "..", "%00", "a%0ab", "%1b%5b2J", "%e2%80%ae", "-", "--yes", "*", "%ff",
	".piton%2fconfig.yaml", strings.Repeat("a", 1<<12), strings.Repeat("..%2f", 1<<8) + "etc%2fpasswd", "$(touch%20hit)", "%3Cscript%3E",
}

// Every route of the table refuses every hostile request.
func TestGuard(t *testing.T) {
	s := workspace(t)
	ask := func(method, path string) *http.Request {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://"+s.host+s.base+path, strings.NewReader("item=x&verb=pause"))
		r.Header.Set("Cookie", cookie+"="+s.key)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return r
	}
	answer := func(r *http.Request) *http.Response {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		res := w.Result()
		for name, value := range guards {
			if res.Header.Get(name) != value && (name != "Cache-Control" || res.StatusCode < 400) { // [http.Error] takes that one off
				t.Errorf("%s %.80s: %s: %q", r.Method, r.URL.Path, name, res.Header.Get(name))
			}
		}
		return res
	}
	refused := func(what string, r *http.Request, wants ...int) {
		t.Helper()
		res := answer(r)
		if slices.Contains(wants, res.StatusCode) {
			return
		}
		t.Errorf("%s: %s %.80s: %d, want %v", what, r.Method, r.URL.Path, res.StatusCode, wants)
	}
	for _, route := range s.routes() {
		path := wildcard.ReplaceAllString(strings.ReplaceAll(route.path, "{$}", ""), "x")
		open := strings.HasPrefix(path, enterPath)
		if res := answer(ask(route.method, path)); !open && (res.StatusCode == 401 || res.StatusCode == 403 || res.StatusCode == 405 || res.StatusCode == 415 || res.StatusCode == 421) {
			t.Errorf("%s %s: a request of the page gets %d", route.method, path, res.StatusCode)
		}
		for _, h := range hostile {
			r := ask(route.method, path)
			h.do(s, r)
			refused(h.what, r, h.wants...)
		}
		switch {
		case route.method == "POST":
			for _, h := range changes {
				r := ask(route.method, path)
				h.do(r)
				refused(h.what, r, h.wants)
			}
		case !open:
			refused("a change", ask("POST", strings.TrimSuffix(path, "/")+"/x/y/z/w"), 404, 405)
		}
		if !strings.Contains(route.path, "{") || open {
			continue
		}
		for _, value := range misleading {
			target := s.base + wildcard.ReplaceAllLiteralString(strings.ReplaceAll(route.path, "{$}", ""), value)
			r := ask(route.method, "/")
			var err error
			if r.URL, err = url.ParseRequestURI("http://" + s.host + target); err != nil {
				t.Fatal(err)
			}
			res := answer(r)
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode < 300 && !strings.Contains(route.path, "{$}") || strings.Contains(string(body), "kept apart") || strings.Contains(string(body), "daemon:") || strings.Contains(string(body), "<script>") {
				t.Errorf("%s %.80s: %d %.200s", route.method, target, res.StatusCode, body)
			}
		}
	}
}

// The URL lets one browser in, once, and only with the whole token.
func TestEnter(t *testing.T) {
	s := workspace(t)
	enter := func(token string) *http.Response {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.host+s.base+enterPath+token, nil)
		s.ServeHTTP(w, r)
		return w.Result()
	}
	for _, token := range []string{"x", s.token[:8], s.token + "A", s.key} {
		if res := enter(token); res.StatusCode != http.StatusUnauthorized || len(res.Cookies()) > 0 {
			t.Errorf("the token %q: %s %v", token, res.Status, res.Cookies())
		}
	}
	res := enter(s.token)
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("the token: %s %v", res.Status, res.Cookies())
	}
	c := res.Cookies()[0]
	if c.Value != s.key || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != s.base || c.Domain != "" {
		t.Errorf("the cookie is %v", c)
	}
	if res := enter(s.token); res.StatusCode != http.StatusUnauthorized || len(res.Cookies()) > 0 {
		t.Errorf("the used token: %s %v", res.Status, res.Cookies())
	}
}

// An address that others could reach is refused, and the error says why.
func TestServeNowhereElse(t *testing.T) {
	for _, addr := range []string{"", ":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "localhost:0", "example.org:80", "127.0.0.1", "127.0.0.1:99999", "[fe80::1%lo]:0"} {
		err := Serve(t.Context(), Config{}, addr, func(string) { t.Errorf("%s is served", addr) })
		if err == nil || !strings.Contains(err.Error(), "no TLS yet") {
			t.Errorf("%q: %v", addr, err)
		}
	}
}

// The files of others are those that their table names.
func TestVendored(t *testing.T) {
	table, err := static.ReadFile("static/README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` .*`([0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(table), -1)
	if len(rows) != 2 {
		t.Fatalf("the table has %d files", len(rows))
	}
	for _, row := range rows {
		body, err := static.ReadFile("static/" + row[1])
		if is := fmt.Sprintf("%x", sha256.Sum256(body)); err != nil || is != row[2] {
			t.Errorf("%s: %s, %v; the table has %s", row[1], is, err, row[2])
		}
	}
}
