package page

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/piton-dev/piton/internal/httpapi"
	"github.com/piton-dev/piton/internal/users"
)

func init() { shown = append(shown, SignIn{}) }

// guest is a browser of a user.
type guest struct {
	t    *testing.T
	s    *server
	from string
	jar  map[string]string
}

func (g *guest) send(method, path string, fields url.Values) *http.Response {
	return g.take(g.request(method, path, fields))
}

func (g *guest) request(method, path string, fields url.Values) *http.Request {
	r := httptest.NewRequestWithContext(g.t.Context(), method, "https://piton.example"+path, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RemoteAddr = g.from
	for name, value := range g.jar {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	return r
}

func (g *guest) take(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	g.s.ServeHTTP(w, r)
	res := w.Result()
	for _, c := range res.Cookies() {
		mode := http.SameSiteStrictMode
		if c.Name == providerCookie {
			mode = http.SameSiteLaxMode
		}
		if !c.Secure || !c.HttpOnly || c.Domain != "" || c.Path != "/" || !strings.HasPrefix(c.Name, "__Host-") || c.SameSite != mode && c.MaxAge >= 0 {
			g.t.Errorf("the cookie is %v", c)
		}
		g.jar[c.Name] = c.Value
	}
	return res
}

func (g *guest) signIn(token string) int {
	return g.send(http.MethodPost, signInPath, url.Values{"token": {token}}).StatusCode
}

// sees reports whether the browser is let in.
func (g *guest) sees() bool {
	res := g.send(http.MethodGet, "/inbox", nil)
	if res.StatusCode != http.StatusOK && res.Header.Get("Location") != signInPath {
		g.t.Errorf("the inbox: %s", res.Status)
	}
	return res.StatusCode == http.StatusOK
}

func newGuest(t *testing.T, s *server) *guest {
	return &guest{t: t, s: s, from: "192.0.2.7:1234", jar: map[string]string{}}
}

// A user is let in with their token, until they sign out, get another one, or are removed.
func TestSignIn(t *testing.T) {
	s := workspace(t, &TLS{Names: []string{"piton.example"}})
	token, _ := anna(t, s)
	g := newGuest(t, s)
	if res := g.send(http.MethodGet, signInPath, nil); res.StatusCode != http.StatusOK || g.sees() {
		t.Fatalf("at first: %s", res.Status)
	}
	if res := g.send(http.MethodGet, staticPath+"app.css", nil); res.StatusCode != http.StatusOK {
		t.Errorf("the style of the form: %s", res.Status)
	}
	if status := g.signIn("piton_wrong"); status != http.StatusUnauthorized || g.sees() {
		t.Errorf("a wrong token: %d", status)
	}
	if status := g.signIn(token); status != http.StatusSeeOther || !g.sees() {
		t.Fatalf("the token: %d", status)
	}
	old := g.jar[s.cookie()]
	if res := g.send(http.MethodPost, "/sign-out", nil); res.StatusCode != http.StatusSeeOther || g.sees() {
		t.Errorf("signed out: %s", res.Status)
	}
	if g.jar[s.cookie()] = old; g.sees() {
		t.Error("a session that has ended lets in")
	}
	ends := map[string]func() error{
		"another token": func() error { var err error; token, err = s.Users.Add("anna", nil, "", noon); return err },
		"removed":       func() error { return s.Users.Remove("anna") },
	}
	for _, how := range []string{"another token", "removed"} {
		if status := g.signIn(token); status != http.StatusSeeOther || !g.sees() {
			t.Fatalf("before %s: %d", how, status)
		}
		if err := ends[how](); err != nil || g.sees() {
			t.Errorf("%s: the session goes on, %v", how, err)
		}
	}
}

// A user sees plans, and no other file of the workspace, at the page and by the API.
func TestUsersSeePlansOnly(t *testing.T) {
	s := workspace(t, &TLS{Names: []string{"piton.example"}})
	token, _ := anna(t, s)
	g := newGuest(t, s)
	if status := g.signIn(token); status != http.StatusSeeOther {
		t.Fatalf("sign in: %d", status)
	}
	api := func(method, path, body string) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), method, "https://piton.example"+httpapi.Base+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Result()
	}
	for file, status := range map[string]int{"plans/fix.md": http.StatusOK, "CLAUDE.md": http.StatusForbidden, "credentials.json": http.StatusForbidden, "sub/.piton/config.yaml": http.StatusForbidden} {
		for way, res := range map[string]*http.Response{
			"the page": g.send(http.MethodGet, planPath(file), nil), "GET /plans": api(http.MethodGet, planPath(file), ""), "POST /files/text": api(http.MethodPost, "/files/text", `{"path":"`+file+`"}`),
		} {
			if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != status || strings.Contains(strings.ToLower(string(body)), "hush") {
				t.Errorf("%s, %s: %s, %v\n%s", way, file, res.Status, err, body)
			}
		}
		if res := api(http.MethodGet, "/compare?from="+file+"&to=plans/fix.md", ""); res.StatusCode != status {
			t.Errorf("GET /compare, %s: %s", file, res.Status)
		}
	}
}

// Who tries tokens is told to wait. A right one is let in, also from the same address.
func TestWrongTokens(t *testing.T) {
	s := workspace(t, &TLS{Names: []string{"piton.example"}})
	token, _ := anna(t, s)
	g := newGuest(t, s)
	for range mostMisses {
		if status := g.signIn("piton_wrong"); status != http.StatusUnauthorized {
			t.Fatalf("a wrong token: %d", status)
		}
	}
	if status := g.signIn("piton_wrong"); status != http.StatusTooManyRequests {
		t.Errorf("after %d wrong tokens: %d", mostMisses, status)
	}
	if status := g.signIn(token); status != http.StatusSeeOther {
		t.Errorf("a right token: %d", status)
	}
	other := newGuest(t, s)
	if other.from = "192.0.2.8:1"; other.signIn("piton_wrong") != http.StatusUnauthorized {
		t.Error("another address is told to wait, too")
	}
	s.misses.since = s.misses.since.Add(-2 * missTime)
	if status := g.signIn("piton_wrong"); status != http.StatusUnauthorized {
		t.Errorf("after a while: %d", status)
	}
}

// A request that takes long ends when its user is let in no more.
func TestLongRequestEndsWithItsUser(t *testing.T) {
	t.Parallel()
	s := workspace(t, &TLS{Names: []string{"piton.example"}})
	_, u := anna(t, s)
	ended := make(chan struct{})
	defer s.watch(u, sync.OnceFunc(func() { close(ended) }))()
	if err := s.Users.Remove("anna"); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// A server over TLS answers to the names of its certificate, with any port.
func TestNames(t *testing.T) {
	over := &TLS{Names: []string{"piton.example", "*.lan.example", "192.0.2.1", "::1"}}
	for host, is := range map[string]bool{
		"piton.example": true, "PITON.example:8443": true, "a.lan.example": true, "192.0.2.1:1": true, "[::1]:8443": true, "[::1]": true,
		"": false, "example": false, "x.piton.example": false, "lan.example": false, "a.b.lan.example": false, ".lan.example": false, "192.0.2.2": false, "evil.example:443": false,
	} {
		if over.answers(host) != is {
			t.Errorf("%q: %v", host, !is)
		}
	}
}

// Over TLS there has to be a user.
func TestServeNobody(t *testing.T) {
	c := Config{TLS: &TLS{Names: []string{"piton.example"}}, Users: users.In(t.TempDir())}
	if err := Serve(t.Context(), c, "0.0.0.0:0", func(string) { t.Error("it serves") }); err == nil || !strings.Contains(err.Error(), "no user yet") {
		t.Errorf("%v", err)
	}
}
