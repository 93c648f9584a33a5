package page

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/oidc"
	"github.com/piton-dev/piton/internal/users"
)

func init() { shown = append(shown, Welcome{}) }

// provider signs in who has an address, and vouches for it or not.
type provider struct {
	*oidc.Provider
	nonce, email string
	verified     bool
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{verified: true}
	mux := http.NewServeMux()
	at := httptest.NewTLSServer(mux)
	t.Cleanup(at.Close)
	writes := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		writes(w, map[string]any{"issuer": at.URL, "authorization_endpoint": at.URL + "/auth", "token_endpoint": at.URL + "/token"})
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		if p.email == "silent" {
			panic(http.ErrAbortHandler)
		}
		claims, err := json.Marshal(map[string]any{
			"iss": at.URL, "aud": "piton", "nonce": p.nonce, "email": p.email, "email_verified": p.verified, "iat": time.Now().Unix(), "exp": time.Now().Unix(),
		})
		if err != nil {
			t.Error(err)
		}
		writes(w, map[string]any{"access_token": "hush", "token_type": "Bearer", "id_token": "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".AAAA"})
	})
	var err error
	if p.Provider, err = oidc.Discover(t.Context(), oidc.Client{Issuer: at.URL, ID: "piton"}, at.Client().Transport); err != nil {
		t.Fatal(err)
	}
	return p
}

// signsIn takes a browser to the provider and back; change changes the way back.
func (p *provider) signsIn(g *guest, change func(r *http.Request)) (res *http.Response, body string) {
	g.t.Helper()
	res = g.send(http.MethodGet, providerPath, nil)
	to, err := res.Location()
	if err != nil || res.StatusCode != http.StatusSeeOther || to.Query().Get("redirect_uri") != "https://piton.example"+ReturnPath {
		g.t.Fatalf("%s to %v, %v", res.Status, to, err)
	}
	p.nonce = to.Query().Get("nonce")
	r := g.request(http.MethodGet, ReturnPath+"?"+url.Values{"state": {to.Query().Get("state")}, "code": {"x"}}.Encode(), nil)
	for name, value := range map[string]string{"Site": "cross-site", "Mode": "navigate", "Dest": "document"} {
		r.Header.Set("Sec-Fetch-"+name, value)
	}
	change(r)
	res = g.take(r)
	text, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return res, string(text)
}

// A user whose address the provider vouches for is let in, with their rights. Nobody else is, and
// the form says why.
func TestProvider(t *testing.T) {
	p := newProvider(t)
	var told error
	s := workspace(t, &TLS{Names: []string{"piton.example", "192.0.2.1"}, Provider: p.Provider, Notice: func(err error) { told = err }})
	if _, err := s.Users.Add("anna", []users.Right{users.See, users.Approve}, "Anna@Example.org", noon); err != nil {
		t.Fatal(err)
	}
	right := func(*http.Request) {}
	for what, c := range map[string]struct {
		email    string
		verified bool
		change   func(r *http.Request)
		status   int
		says     string
	}{
		"anna":                   {"anna@example.org", true, right, 200, "Go on"},
		"anna in large letters":  {"ANNA@EXAMPLE.ORG", true, right, 200, "Go on"},
		"another address":        {"ben@example.org", true, right, 403, "Nobody here has the address ben@example.org."},
		"an address that is bad": {"<b>@example.org", true, right, 403, "Nobody here has the address &lt;b&gt;@example.org."},
		"not verified":           {"anna@example.org", false, right, 403, "The provider vouches for no e-mail address: it has not verified"},
		"none":                   {"", true, right, 403, "The provider vouches for no e-mail address: the ID token has none."},
		"silent":                 {"silent", true, right, 502, "The provider does not answer as it should. Try again, or ask who runs this server."},
		"no state":               {"anna@example.org", true, func(r *http.Request) { r.URL.RawQuery = "code=x" }, 400, "The answer of the provider came too late, or was not asked for here. Sign in again."},
		"another browser":        {"anna@example.org", true, func(r *http.Request) { r.Header.Del("Cookie") }, 400, "Sign in again."},
		"the provider says no":   {"anna@example.org", true, func(r *http.Request) { r.URL.RawQuery += "&error=access_denied" }, 401, "The provider did not sign you in: access_denied."},
		"no code":                {"anna@example.org", true, func(r *http.Request) { r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "code", "x", 1) }, 401, "its answer has no code."},
		"a frame":                {"anna@example.org", true, func(r *http.Request) { r.Header.Set("Sec-Fetch-Dest", "iframe") }, 403, "requests from other pages are refused"},
		"a script":               {"anna@example.org", true, func(r *http.Request) { r.Header.Set("Sec-Fetch-Mode", "no-cors") }, 403, "requests from other pages are refused"},
		"another origin":         {"anna@example.org", true, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403, "requests from other pages are refused"},
		"HEAD":                   {"anna@example.org", true, func(r *http.Request) { r.Method = http.MethodHead; r.Header.Del("Sec-Fetch-Site") }, 405, ""},
	} {
		t.Run(what, func(t *testing.T) {
			g := newGuest(t, s)
			p.email, p.verified, told = c.email, c.verified, nil
			res, body := p.signsIn(g, c.change)
			if res.StatusCode != c.status || !strings.Contains(body, c.says) || g.sees() != (c.status == 200) {
				t.Fatalf("%s, signed in %v\n%s", res.Status, g.sees(), body)
			}
			if (told != nil) != (c.status == 502) {
				t.Errorf("who runs the server is told %v", told)
			}
			if c.status == 400 && len(res.Cookies()) > 0 {
				t.Errorf("what was not asked for sets %v", res.Cookies())
			}
			if again := strings.Contains(body, `<a class="btn" href="/sign-in/provider">Sign in with `+p.Host+"</a>"); again != strings.Contains(body, "<form") {
				t.Errorf("the form leads to the provider: %v", again)
			}
			if c.status != 200 {
				return
			}
			if u, err := s.known(g.request(http.MethodGet, "/inbox", nil)); err != nil || u.Name != "anna" || !u.May(users.Approve) || u.May(users.Run) {
				t.Errorf("it is %v, %v", u, err)
			}
			if err := s.Users.Remove("anna"); err != nil || g.sees() {
				t.Errorf("removed: the session goes on, %v", err)
			}
			if _, err := s.Users.Add("anna", []users.Right{users.See, users.Approve}, "anna@example.org", noon); err != nil || g.sees() {
				t.Errorf("another token: the session goes on, %v", err)
			}
		})
	}
}

// A provider sends browsers back to the first name, so they have to set out from there.
func TestProviderByOtherName(t *testing.T) {
	s := workspace(t, &TLS{Names: []string{"piton.example", "192.0.2.1"}, Provider: newProvider(t).Provider})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://192.0.2.1:7430"+providerPath, nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || len(w.Result().Cookies()) > 0 || !strings.Contains(w.Body.String(), "Open https://piton.example:7430/sign-in to sign in with ") {
		t.Errorf("%d %v\n%s", w.Code, w.Result().Cookies(), w.Body)
	}
}

// Without a provider there is no way to one.
func TestNoProvider(t *testing.T) {
	g := newGuest(t, workspace(t, &TLS{Names: []string{"piton.example"}}))
	for _, path := range []string{providerPath, ReturnPath} {
		if res := g.send(http.MethodGet, path, nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	res := g.send(http.MethodGet, signInPath, nil)
	if body, err := io.ReadAll(res.Body); err != nil || strings.Contains(string(body), "Sign in with") {
		t.Errorf("%v\n%s", err, body)
	}
}
