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
	"github.com/piton-dev/piton/internal/httpapi"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
	"github.com/piton-dev/piton/internal/users"
	"github.com/piton-dev/piton/internal/view"
)

// workspace serves a new workspace with one plan, whose owner nobody can start: to the person
// whose machine it is, or over TLS to users.
func workspace(t testing.TB, over *TLS) *server {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"secret.md": "# kept apart\n", "ws/CLAUDE.md": "# Hush\n", "ws/credentials.json": `{"password": "hush"}`, "ws/sub/.piton/config.yaml": "hush: 1\n", "ws/plans/fix.md": "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Fix\n\n## Steps\n\n### 1. Do it\n\n**target:** script\n**task:**\n```shell\ntrue\n```\n**contract:** `grep -q x y`\n",
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
		p := &api.Product{Place: place, Store: st, Version: "1", Now: func() time.Time { return noon }, By: "me", Via: "page", Guest: users.Of(ctx) != ""}
		client := api.Dial(place, "1", nil, nil)
		reader := view.Reader{
			Product: p, Stands: func(context.Context) (view.Stands, error) { return view.Stands{}, nil },
			Place: func(engine.HeadRow) *view.Worktree { return nil },
			Said:  func(engine.HeadRow, []engine.StepRow) map[string]view.Said { return nil },
		}
		return &Workspace{Reader: reader, Client: client, Words: func(view.Happening) []string { return []string{"x"} }}, st.Close, nil
	}
	s, err := newServer(Config{
		Open: open, Users: users.In(place.State), TLS: over,
		API: httpapi.New(func(ctx context.Context) (*httpapi.Workspace, func() error, error) {
			w, closed, err := open(ctx)
			if err != nil {
				return nil, nil, err
			}
			w.Client.User = users.Of(ctx)
			return &httpapi.Workspace{Reader: w.Reader, Client: w.Client}, closed, nil
		}, "1"),
	}, "127.0.0.1:7430")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// gets is a page of the server, for the person whose machine it is.
func (s *server) gets(t testing.TB, path string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.at+s.base+path, nil)
	r.Header.Set("Cookie", cookie+"="+s.key)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s gets %d\n%s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// has puts runs that are done into the journal of the workspace, the oldest first.
func (s *server) has(t testing.TB, runs ...string) {
	t.Helper()
	ws, closed, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	epoch, release, err := ws.Store.Own(t.Context(), ws.Product.Place.ID)
	if err != nil {
		t.Fatal(err)
	}
	var batches []store.Batch
	for i, id := range runs {
		head := engine.HeadRow{Stream: "t-" + id, Run: id, Title: "Run " + id, Path: "plans/fix.md", Status: engine.Done, Ended: true, Version: 1, Started: noon.Add(time.Duration(i) * time.Second)}
		batches = append(batches, store.Batch{Stream: "t-" + id, Epoch: epoch, Rows: engine.Rows{Head: &head}})
	}
	if err := ws.Store.Append(t.Context(), batches...); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func() error{release, closed} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
}

// writes writes a plan into the workspace.
func (s *server) writes(t *testing.T, name, text string) {
	t.Helper()
	ws, closed, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := closed(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws.Product.Place.Dir, "plans", name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// anna lets anna in with all rights.
func anna(t *testing.T, s *server) (token string, u users.User) {
	t.Helper()
	token, err := s.Users.Add("anna", users.Rights, "", noon)
	if err == nil {
		u, err = s.Users.Named("anna")
	}
	if err != nil {
		t.Fatal(err)
	}
	return token, u
}

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// hostileRequest is a request that no route may carry out. It begins as one that is let in.
type hostileRequest struct {
	what  string
	wants []int
	do    func(r *http.Request)
}

// hostile are those that are hostile to everything.
var hostile = []hostileRequest{
	{"a foreign Host", []int{421}, func(r *http.Request) { r.Host = "evil.example" }},
	{"no Host", []int{421}, func(r *http.Request) { r.Host = "" }},
	{"a name of this machine", []int{421}, func(r *http.Request) { r.Host = "localhost:7430" }},
	{"a foreign Origin", []int{403}, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }},
	{"the Origin of another port", []int{403}, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:9999") }},
	{"a sandboxed page", []int{403}, func(r *http.Request) { r.Header.Set("Origin", "null") }},
	{"a page of another site", []int{403}, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }},
	{"a page of another port", []int{403}, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }},
	{"PUT", []int{404, 405}, func(r *http.Request) { r.Method = http.MethodPut }},
	{"DELETE", []int{404, 405}, func(r *http.Request) { r.Method = http.MethodDelete }},
	{"OPTIONS", []int{404, 405}, func(r *http.Request) { r.Method = http.MethodOptions }},
	{"TRACE", []int{404, 405}, func(r *http.Request) { r.Method = http.MethodTrace }},
	{"CONNECT", []int{404, 405}, func(r *http.Request) { r.Method = http.MethodConnect }},
}

// hostileHere are those that are hostile to the page of the person whose machine it is.
func hostileHere(s *server, token string) []hostileRequest {
	return append([]hostileRequest{
		{"no cookie", []int{401}, func(r *http.Request) { r.Header.Del("Cookie") }},
		{"another cookie", []int{401}, func(r *http.Request) { r.Header.Set("Cookie", cookie+"=AAAA") }},
		{"an empty cookie", []int{401}, func(r *http.Request) { r.Header.Set("Cookie", cookie+"=") }},
		{"half of the cookie", []int{401}, func(r *http.Request) { r.Header.Set("Cookie", cookie+"="+s.key[:8]) }},
		{"the token as the cookie", []int{401}, func(r *http.Request) { r.Header.Set("Cookie", cookie+"="+s.token) }},
		{"the token of a user as the cookie", []int{401}, func(r *http.Request) { r.Header.Set("Cookie", cookie+"="+token) }},
		{"a wrong token beside the cookie", []int{401}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token[1:]) }},
		{"another port", []int{421}, func(r *http.Request) { r.Host = "127.0.0.1:7431" }},
		{"another path", []int{401, 404}, func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, s.base, "/AAAA", 1) }},
		{"without the path", []int{401, 404}, func(r *http.Request) { r.URL.Path = strings.TrimPrefix(r.URL.Path, s.base) }},
	}, hostile...)
}

// hostileThere are those that are hostile to the page of users.
func hostileThere(s *server, token string) []hostileRequest {
	return append([]hostileRequest{
		{"no cookie", []int{303, 401}, func(r *http.Request) { r.Header.Del("Cookie") }},
		{"another cookie", []int{303, 401}, func(r *http.Request) { r.Header.Set("Cookie", s.cookie()+"=AAAA") }},
		{"an empty cookie", []int{303, 401}, func(r *http.Request) { r.Header.Set("Cookie", s.cookie()+"=") }},
		{"the cookie under the other name", []int{303, 401}, func(r *http.Request) {
			r.Header.Set("Cookie", strings.TrimPrefix(r.Header.Get("Cookie"), "__Host-"))
		}},
		{"the key of the person as the cookie", []int{303, 401}, func(r *http.Request) { r.Header.Set("Cookie", s.cookie()+"="+s.key) }},
		{"the token as the cookie", []int{303, 401}, func(r *http.Request) { r.Header.Set("Cookie", s.cookie()+"="+token) }},
		{"a wrong token beside the cookie", []int{303, 401}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token[1:]) }},
		{"the address in place of the name", []int{421}, func(r *http.Request) { r.Host = "192.0.2.1:7430" }},
		{"a name below", []int{421}, func(r *http.Request) { r.Host = "x.piton.example" }},
	}, hostile...)
}

// hostileProgram are those that are hostile to the API.
func hostileProgram(s *server, token string) []hostileRequest {
	return append([]hostileRequest{
		{"no token", []int{401}, func(r *http.Request) { r.Header.Del("Authorization") }},
		{"another token", []int{401}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer piton_AAAA") }},
		{"an empty token", []int{401}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }},
		{"half of the token", []int{401}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token[:12]) }},
		{"the hash of the token", []int{401}, func(r *http.Request) {
			u, _ := s.Users.Named("anna")
			r.Header.Set("Authorization", "Bearer "+u.Token)
		}},
		{"another scheme", []int{401}, func(r *http.Request) { r.Header.Set("Authorization", "Basic "+token) }},
		{"the token in the path", []int{401}, func(r *http.Request) {
			r.Header.Del("Authorization")
			r.URL.RawQuery = "token=" + token + "&access_token=" + token
		}},
		{"the cookie of the page", []int{401}, func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Header.Set("Cookie", cookie+"="+s.key)
		}},
		{"the token of the page", []int{401}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+s.token) }},
	}, hostile...)
}

// change is a request that would change something.
type change struct {
	what  string
	wants int
	do    func(r *http.Request)
}

// changes are requests that no route that changes something may carry out.
var changes = []change{
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

// Every route of the tables refuses every hostile request, at each way to reach it.
func TestGuard(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]*TLS{"here": nil, "over TLS": {Names: []string{"piton.example"}, Provider: newProvider(t).Provider}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := workspace(t, over)
			token, u := anna(t, s)
			with, against := func() string { return cookie + "=" + s.key }, hostileHere
			if over != nil {
				with, against = func() string { return s.cookie() + "=" + s.sessions.begin(u) }, hostileThere
			}
			page := walker{t: t, s: s, base: s.base, kind: "application/x-www-form-urlencoded", body: "item=x&verb=pause", header: func() http.Header { return http.Header{"Cookie": {with()}} }}
			for _, r := range s.routes() {
				page.walk(r.method, r.path, against(s, token), changes)
			}
			program := walker{t: t, s: s, base: httpapi.Base, kind: "application/json", body: "{}", header: func() http.Header { return http.Header{"Authorization": {"Bearer " + token}} }}
			for _, r := range httpapi.Routes() {
				program.walk(r.Method, r.Path, hostileProgram(s, token), programChanges)
			}
		})
	}
}

var large = strings.Repeat(" ", 17<<20)

// programChanges are requests that no route of the API that changes something may carry out.
var programChanges = []change{
	{"a form", 415, func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }},
	{"text", 415, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
	{"several parts", 415, func(r *http.Request) { r.Header.Set("Content-Type", "multipart/form-data; boundary=x") }},
	{"no type", 415, func(r *http.Request) { r.Header.Del("Content-Type") }},
	{"broken", 422, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{")) }},
	{"too large", 413, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(large)) }},
}

// walker sends requests that are let in, and makes hostile ones of them.
type walker struct {
	t                *testing.T
	s                *server
	base, kind, body string
	header           func() http.Header
}

func (k walker) ask(method, path string) *http.Request {
	r := httptest.NewRequestWithContext(k.t.Context(), method, "http://"+k.s.at+k.base+path, strings.NewReader(k.body))
	r.Header = k.header()
	r.Header.Set("Content-Type", k.kind)
	return r
}

func (k walker) answer(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	k.s.misses = misses{}
	k.s.ServeHTTP(w, r)
	res := w.Result()
	for name, value := range guards {
		if res.Header.Get(name) != value && (name != "Cache-Control" || res.StatusCode < 400 && !strings.HasPrefix(r.URL.Path, k.s.base+staticPath)) { // [http.Error] takes that one off
			k.t.Errorf("%s %.80s: %s: %q", r.Method, r.URL.Path, name, res.Header.Get(name))
		}
	}
	return res
}

func (k walker) refused(what string, r *http.Request, wants ...int) {
	k.t.Helper()
	res := k.answer(r)
	to := res.Header.Get("Location")
	if slices.Contains(wants, res.StatusCode) && (to == "" || to == signInPath) {
		return
	}
	k.t.Errorf("%s: %s %.80s: %d to %q, want %v", what, r.Method, r.URL.Path, res.StatusCode, to, wants)
}

func (k walker) walk(method, pattern string, against []hostileRequest, changes []change) {
	t := k.t
	path := wildcard.ReplaceAllString(strings.ReplaceAll(pattern, "{$}", ""), "x")
	open := k.base == k.s.base && (strings.HasPrefix(path, enterPath) || k.s.base == "" && (strings.HasPrefix(path, staticPath) || strings.HasPrefix(path, signInPath)))
	if res := k.answer(k.ask(method, path)); !open && slices.Contains([]int{401, 403, 405, 415, 421}, res.StatusCode) {
		t.Errorf("%s %s: a request that is let in gets %d", method, path, res.StatusCode)
	}
	for _, h := range against {
		r := k.ask(method, path)
		h.do(r)
		if wants := h.wants; open && (slices.Contains(wants, 401) || slices.Contains(wants, 303)) {
			continue // that way in is what lets in; what it lets in with is tested elsewhere
		}
		k.refused(h.what, r, h.wants...)
	}
	switch {
	case method == "POST" && !open:
		for _, h := range changes {
			r := k.ask(method, path)
			h.do(r)
			k.refused(h.what, r, h.wants)
		}
	case method != "POST" && !open:
		k.refused("a change", k.ask("POST", strings.TrimSuffix(path, "/")+"/x/y/z/w"), 404, 405)
	}
	if !strings.Contains(pattern, "{") || open {
		return
	}
	for _, value := range misleading {
		target := k.base + wildcard.ReplaceAllLiteralString(strings.ReplaceAll(pattern, "{$}", ""), value)
		r := k.ask(method, "/")
		var err error
		if r.URL, err = url.ParseRequestURI("http://" + k.s.at + target); err != nil {
			t.Fatal(err)
		}
		res := k.answer(r)
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode < 300 && !strings.Contains(pattern, "{$}") || strings.Contains(string(body), "kept apart") || strings.Contains(string(body), "daemon:") || strings.Contains(string(body), "<script>") && k.kind != "application/json" {
			t.Errorf("%s %.80s: %d %.200s", method, target, res.StatusCode, body)
		}
	}
}

// The URL lets one browser in, once, and only with the whole token.
func TestEnter(t *testing.T) {
	s := workspace(t, nil)
	enter := func(token string) *http.Response {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.at+s.base+enterPath+token, nil)
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
		if err == nil || !strings.Contains(err.Error(), "only over TLS") {
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
	if len(rows) != 3 {
		t.Fatalf("the table has %d files", len(rows))
	}
	for _, row := range rows {
		body, err := static.ReadFile("static/" + row[1])
		if is := fmt.Sprintf("%x", sha256.Sum256(body)); err != nil || is != row[2] {
			t.Errorf("%s: %s, %v; the table has %s", row[1], is, err, row[2])
		}
	}
}
