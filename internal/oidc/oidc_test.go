package oidc

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

const redirect = "https://piton.example:7430/sign-in/return"

// hostile is a provider that can be made to lie.
type hostile struct {
	*httptest.Server
	t          *testing.T
	metadata   map[string]any // of the discovery document
	token      http.HandlerFunc
	asked      url.Values // with which a browser came last
	credential [2]string  // with which the token endpoint was asked last
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) { h.writes(w, h.metadata) })
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if is := base64.RawURLEncoding.EncodeToString(sum[:]); is != h.asked.Get("code_challenge") || r.PostFormValue("redirect_uri") != redirect || r.PostFormValue("code") != "hush" {
			t.Errorf("the token endpoint is asked %v", r.PostForm)
		}
		id, secret, _ := r.BasicAuth()
		h.credential = [2]string{id + r.PostFormValue("client_id"), secret + r.PostFormValue("client_secret")}
		h.token(w, r)
	})
	h.Server = httptest.NewTLSServer(mux)
	t.Cleanup(h.Close)
	h.metadata = map[string]any{"issuer": h.URL, "authorization_endpoint": h.URL + "/auth?tenant=1", "token_endpoint": h.URL + "/token"}
	return h
}

func (h *hostile) writes(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		h.t.Error(err)
	}
}

func (h *hostile) discover(secret string) *Provider {
	h.t.Helper()
	p, err := Discover(h.t.Context(), Client{h.URL, "piton", secret}, h.Client().Transport)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// begins is the answer that a right provider sends a browser back with, and the browser's secret.
func (h *hostile) begins(p *Provider) (answer url.Values, browser string) {
	h.t.Helper()
	address, browser := p.Begin(redirect, "here")
	to, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, h.URL+"/auth?") {
		h.t.Fatalf("a browser is sent to %s, %v", address, err)
	}
	h.asked = to.Query()
	return url.Values{"state": {h.asked.Get("state")}, "code": {"hush"}}, browser
}

// right are the claims of a token that lets anna in.
func (h *hostile) right() map[string]any {
	return map[string]any{
		"iss": h.URL, "aud": "piton", "nonce": h.asked.Get("nonce"), "sub": "1", "email": "anna@example.org", "email_verified": true,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
	}
}

func jwt(claims any) string {
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	return "e30." + base64.RawURLEncoding.EncodeToString(body) + ".AAAA"
}

func (h *hostile) gives(id any) {
	h.token = func(w http.ResponseWriter, _ *http.Request) {
		h.writes(w, map[string]any{"access_token": "hush", "token_type": "Bearer", "id_token": id})
	}
}

// A right answer is an address. The provider is asked for what protects the way of the answer.
func TestRightAnswer(t *testing.T) {
	h := newHostile(t)
	for secret, methods := range map[string][]string{"": nil, "basic": nil, "basic too": {"client_secret_post", "client_secret_basic"}, "post": {"client_secret_post"}} {
		h.metadata["token_endpoint_auth_methods_supported"], h.metadata["claims_parameter_supported"] = methods, secret == "post"
		p := h.discover(secret)
		answer, browser := h.begins(p)
		h.gives(jwt(h.right()))
		if email, err := p.Finish(t.Context(), browser, answer); err != nil || email != "anna@example.org" {
			t.Errorf("%q: %q, %v", secret, email, err)
		}
		if h.credential != [2]string{"piton", strings.ReplaceAll(secret, " ", "+")} {
			t.Errorf("%q: the client shows %q", secret, h.credential)
		}
		for name, want := range map[string]string{"tenant": "1", "response_type": "code", "client_id": "piton", "scope": "openid email", "redirect_uri": redirect, "code_challenge_method": "S256"} {
			if is := h.asked.Get(name); is != want {
				t.Errorf("%s is %q, want %q", name, is, want)
			}
		}
		if h.asked.Get("nonce") == "" || h.asked.Has("claims") != (secret == "post") {
			t.Errorf("the provider is asked for %v", h.asked)
		}
	}
	p := h.discover("")
	for what, change := range map[string]map[string]any{
		"several audiences": {"aud": []string{"other", "piton"}, "azp": "piton"}, "a slow clock": {"exp": time.Now().Add(-time.Minute).Unix()}, "a fraction": {"iat": float64(time.Now().UnixMilli()) / 1000},
	} {
		answer, browser := h.begins(p)
		claims := h.right()
		maps.Copy(claims, change)
		h.gives(jwt(claims))
		if email, err := p.Finish(t.Context(), browser, answer); err != nil || email != "anna@example.org" {
			t.Errorf("%s: %q, %v", what, email, err)
		}
	}
}

// Each lie is refused, and the error says which it was, and nothing that is secret.
func TestHostileAnswers(t *testing.T) {
	h := newHostile(t)
	p := h.discover("hush")
	old, coming := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	claims := func(changes ...any) any { // pairs
		all := h.right()
		for i := 0; i < len(changes); i += 2 {
			if all[changes[i].(string)] = changes[i+1]; changes[i+1] == nil {
				delete(all, changes[i].(string))
			}
		}
		return jwt(all)
	}
	says := func(status int, kind, body string) func() {
		return func() {
			h.token = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				w.WriteHeader(status)
				w.Write([]byte(body)) //nolint:errcheck // who asked may have seen enough
			}
		}
	}
	gives := func(changes ...any) func() { return func() { h.gives(claims(changes...)) } }
	for what, c := range map[string]struct {
		lies func()
		want error
		says string
	}{
		"wrong issuer":               {gives("iss", h.URL+"/"), ErrAnswer, "of another issuer"},
		"no issuer":                  {gives("iss", nil), ErrAnswer, "of another issuer"},
		"issuer by another case":     {gives("iss", nil, "ISS", h.URL), ErrAnswer, "of another issuer"},
		"wrong audience":             {gives("aud", "other"), ErrAnswer, "for another client"},
		"no audience":                {gives("aud", nil), ErrAnswer, "for another client"},
		"wrong audiences":            {gives("aud", []string{"a", "b"}), ErrAnswer, "for another client"},
		"audiences of two types":     {gives("aud", []any{"piton", 7}), ErrAnswer, "for another client"},
		"several, no party":          {gives("aud", []string{"piton", "other"}), ErrAnswer, "given to another client"},
		"several, another party":     {gives("aud", []string{"piton", "other"}, "azp", "other"), ErrAnswer, "given to another client"},
		"one, another party":         {gives("azp", "other"), ErrAnswer, "given to another client"},
		"expired":                    {gives("exp", old), ErrAnswer, "has expired"},
		"never expires":              {gives("exp", nil), ErrAnswer, "has expired"},
		"expires as text":            {gives("exp", "4102444800"), ErrAnswer, "has expired"},
		"made long ago":              {gives("iat", old), ErrAnswer, "not made just now"},
		"made in the future":         {gives("iat", coming), ErrAnswer, "not made just now"},
		"made never":                 {gives("iat", nil), ErrAnswer, "not made just now"},
		"wrong nonce":                {gives("nonce", "x"), ErrAnswer, "answer to another request"},
		"no nonce":                   {gives("nonce", nil), ErrAnswer, "answer to another request"},
		"unverified address":         {gives("email_verified", false), ErrAddress, `has not verified "anna@example.org"`},
		"nothing about the address":  {gives("email_verified", nil), ErrAddress, "has not verified"},
		"verified as text":           {gives("email_verified", "true"), ErrAddress, "has not verified"},
		"verified by another case":   {gives("email_verified", nil, "Email_Verified", true), ErrAddress, "has not verified"},
		"no address":                 {gives("email", nil), ErrAddress, "the ID token has none"},
		"several addresses":          {gives("email", []string{"anna@example.org"}), ErrAddress, "the ID token has none"},
		"no token":                   {func() { h.gives(nil) }, ErrAnswer, "there is no ID token"},
		"token of another type":      {func() { h.gives(7) }, ErrAnswer, "there is no ID token"},
		"garbage token":              {func() { h.gives("garbage") }, ErrAnswer, "the ID token cannot be read"},
		"garbage in the token":       {func() { h.gives("e30.!!!.AAAA") }, ErrAnswer, "the ID token cannot be read"},
		"no claims in the token":     {func() { h.gives(jwt("hush")) }, ErrAnswer, "the ID token cannot be read"},
		"encrypted token":            {func() { h.gives("e30.e30.e30.e30.e30") }, ErrAnswer, "the ID token cannot be read"},
		"huge body":                  {says(200, "application/json", `{"access_token":"`+strings.Repeat("a", 1<<20)+`"}`), ErrSilent, "the answer is larger than 262144 bytes"},
		"garbage body":               {says(200, "application/json", "hush"), ErrSilent, "cannot parse json"},
		"HTML":                       {says(502, "text/html", "<p>hush</p>"), ErrAnswer, "its token endpoint answers 502"},
		"a redirect":                 {says(307, "text/html", ""), ErrAnswer, "its token endpoint answers 307"},
		"error answer":               {says(400, "application/json", `{"error":"invalid_grant","error_description":"hush"}`), ErrAnswer, "invalid_grant"},
		"error answer with status 2": {says(200, "application/json", `{"error":"invalid_client","access_token":"hush"}`), ErrAnswer, "invalid_client"},
		"error with markup":          {says(400, "application/json", `{"error":"<script>hush</script>"}`), ErrAnswer, "it gives an error"},
	} {
		t.Run(what, func(t *testing.T) {
			answer, browser := h.begins(p)
			c.lies()
			email, err := p.Finish(t.Context(), browser, answer)
			if email != "" || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%q, %v", email, err)
			}
		})
	}
}

// What sends a browser back is taken once, in time, and in the browser that began.
func TestState(t *testing.T) {
	h := newHostile(t)
	p := h.discover("")
	h.token = func(http.ResponseWriter, *http.Request) { t.Error("the token endpoint is asked") }
	refuses := func(what, browser string, answer url.Values, want error, says string) {
		t.Helper()
		if email, err := p.Finish(t.Context(), browser, answer); email != "" || !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %q, %v", what, email, err)
		}
	}
	refuses("nothing was begun", "", nil, ErrState, "")
	answer, browser := h.begins(p)
	refuses("no state", browser, url.Values{"code": {"hush"}}, ErrState, "")
	refuses("another state", browser, url.Values{"code": {"hush"}, "state": {"x"}}, ErrState, "")
	_, other := p.Begin(redirect, "here")
	refuses("another browser", other, answer, ErrState, "")
	refuses("the right browser after another one", browser, answer, ErrState, "")
	answer, _ = h.begins(p)
	refuses("no browser", "", answer, ErrState, "")
	answer, browser = h.begins(p)
	refuses("no code", browser, url.Values{"state": answer["state"]}, ErrAnswer, "has no code")
	answer, browser = h.begins(p)
	refuses("an error", browser, url.Values{"state": answer["state"], "code": {"hush"}, "error": {"access_denied"}}, ErrAnswer, "access_denied")
	answer, browser = h.begins(p)
	refuses("an error that is none", browser, url.Values{"state": answer["state"], "error": {"\x1b[2J"}}, ErrAnswer, "it gives an error")
	answer, browser = h.begins(p)
	for i := range p.pending {
		p.pending[i].began = p.pending[i].began.Add(-MaxAge - time.Second)
	}
	refuses("too late", browser, answer, ErrState, "")

	h.token = nil
	answer, browser = h.begins(p)
	h.gives(jwt(h.right()))
	if _, err := p.Finish(t.Context(), browser, answer); err != nil {
		t.Fatal(err)
	}
	refuses("again", browser, answer, ErrState, "")

	answer, browser = h.begins(p)
	for range maxFrom {
		p.Begin(redirect, "here")
	}
	refuses("the oldest of too many", browser, answer, ErrState, "")
	if len(p.pending) != maxFrom {
		t.Errorf("%d sign-ins of a network are kept", len(p.pending))
	}
	answer, browser = h.begins(p)
	for range 2 * maxFrom {
		p.Begin(redirect, "there")
	}
	h.gives(jwt(h.right()))
	if _, err := p.Finish(t.Context(), browser, answer); err != nil {
		t.Errorf("many began in another network, and it fails with %v", err)
	}
	for i := range maxPending {
		p.Begin(redirect, strconv.Itoa(i))
	}
	if len(p.pending) != maxPending {
		t.Errorf("%d sign-ins are kept", len(p.pending))
	}
}

// A provider that is not what it is to be is refused before anybody is sent there.
func TestDiscoverRefuses(t *testing.T) {
	h := newHostile(t)
	for what, c := range map[string]struct {
		name  string
		value any
		says  string
	}{
		"another issuer":             {"issuer", h.URL + "/", "it says that its issuer is"},
		"no issuer":                  {"issuer", nil, "it says that its issuer is"},
		"sign-in without TLS":        {"authorization_endpoint", "http://127.0.0.1/auth", "https addresses"},
		"sign-in that is no address": {"authorization_endpoint", "javascript:alert(1)", "https addresses"},
		"tokens without TLS":         {"token_endpoint", "http://127.0.0.1/token", "https addresses"},
		"no token endpoint":          {"token_endpoint", nil, "https addresses"},
		"another way to show it":     {"token_endpoint_auth_methods_supported", []string{"private_key_jwt"}, "client_secret_basic"},
		"another type":               {"issuer", 7, "no discovery document"},
		"a huge document":            {"x", strings.Repeat("a", maxBody), "the answer is larger than"},
	} {
		was := maps.Clone(h.metadata)
		h.metadata[c.name] = c.value
		if p, err := Discover(t.Context(), Client{h.URL, "piton", "hush"}, h.Client().Transport); p != nil || err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", what, err)
		}
		h.metadata = was
	}
	for issuer, says := range map[string]string{
		"": "begins with https://", "example.org": "begins with https://", strings.Replace(h.URL, "https", "http", 1): "begins with https://", "https://": "begins with https://",
		h.URL + "?a=b": "begins with https://", h.URL + "#a": "begins with https://", strings.Replace(h.URL, "//", "//a:b@", 1): "begins with https://",
		h.URL + "/other": "answers 404",
	} {
		if p, err := Discover(t.Context(), Client{issuer, "piton", ""}, h.Client().Transport); p != nil || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", issuer, err)
		}
	}
	if p, err := Discover(t.Context(), Client{h.URL, "piton", ""}, http.DefaultTransport); p != nil || err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody trusts: %v", err)
	}
}
