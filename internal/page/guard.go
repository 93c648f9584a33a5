package page

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"html/template"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/piton-dev/piton/internal/api"
)

// Waits and bounds of the server. An answer has no bound in time: a page may be followed for
// hours.
const (
	headerTime = 5 * time.Second
	readTime   = 30 * time.Second
	idleTime   = 2 * time.Minute
	closeTime  = time.Second
	maxHeader  = 64 << 10
	maxForm    = 1 << 20
)

// server answers one browser after it has shown a token, once.
type server struct {
	Config
	host string // the only name that it answers to
	// base begins every path. A browser sends a cookie of this address to all ports of it, and
	// an agent may listen at one; it sends it only below the path, which nobody else knows.
	base    string
	token   string // for the first request
	key     string // for all others, in a cookie
	entered atomic.Bool
	views   *template.Template
	origins http.CrossOriginProtection
	mux     *http.ServeMux
}

// Serve serves the page on an address of this machine until ctx ends. ready gets the URL that
// lets one browser in, once.
func Serve(ctx context.Context, c Config, addr string, ready func(url string)) error {
	if err := local(addr); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return &api.Problem{Code: api.Unavailable, Message: "cannot listen: " + err.Error(), Hint: "give another port; 0 takes any free one"}
	}
	s, err := newServer(c, l.Addr().String())
	if err != nil {
		l.Close()
		return err
	}
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ready("http://" + s.host + s.base + enterPath + s.token)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if h.Shutdown(wait) != nil {
			h.Close() //nolint:errcheck // nothing is left to say
		}
	}()
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	<-ended
	return nil
}

// local refuses an address that others could reach.
func local(addr string) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsLoopback() || at.Addr().Zone() != "" {
		return &api.Problem{
			Code: api.Invalid, Message: fmt.Sprintf("%q is not an address of this machine alone; there is no TLS yet, and there are no users yet, so nobody else may reach the page", addr),
			Hint: "give 127.0.0.1:PORT or [::1]:PORT; to reach it from elsewhere, tunnel it with ssh",
		}
	}
	return nil
}

func newServer(c Config, host string) (*server, error) {
	s := &server{Config: c, host: host, base: "/" + rand.Text(), token: rand.Text(), key: rand.Text(), mux: http.NewServeMux()}
	for _, r := range s.routes() {
		s.mux.Handle(r.method+" "+s.base+r.path, r)
	}
	return s, s.parse()
}

const (
	enterPath = "/enter/"
	cookie    = "piton"
)

// guards are the headers of every answer: nothing of other places is loaded, nothing inline is
// run or styled, no other page frames this one, and nothing is kept.
var guards = map[string]string{
	"Content-Security-Policy":      "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// ServeHTTP lets only requests through that were sent to this address, that no page of another
// place was made to send, and that have the session's cookie. Nothing else is looked at before.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range guards {
		w.Header().Set(name, value)
	}
	switch {
	case r.Host != s.host:
		http.Error(w, "this server answers only requests to "+s.host, http.StatusMisdirectedRequest)
	case s.foreign(r):
		http.Error(w, "requests from other pages are refused", http.StatusForbidden)
	case !s.known(r) && !strings.HasPrefix(r.URL.Path, s.base+enterPath):
		http.Error(w, "this browser is not let in: open the URL that piton serve printed; it works once, so start piton serve again for another", http.StatusUnauthorized)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// foreign reports whether a page of another origin sends a request. Reading is refused to it
// as well, so each method is looked at as one that changes something.
func (s *server) foreign(r *http.Request) bool {
	change := *r
	change.Method = http.MethodPost
	return s.origins.Check(&change) != nil
}

func (s *server) known(r *http.Request) bool {
	for _, c := range r.CookiesNamed(cookie) {
		if same(c.Value, s.key) {
			return true
		}
	}
	return false
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// enter lets the browser in that has the token, once.
func (s *server) enter(w http.ResponseWriter, r *http.Request) {
	if !same(r.PathValue("token"), s.token) || !s.entered.CompareAndSwap(false, true) {
		if !s.known(r) {
			http.Error(w, "this URL is used up, or wrong: start piton serve again for another", http.StatusUnauthorized)
			return
		}
	} else {
		http.SetCookie(w, &http.Cookie{Name: cookie, Value: s.key, Path: s.base, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	http.Redirect(w, r, s.base+"/", http.StatusSeeOther)
}

// errForm refuses a body that no form of the page sends.
var errForm = &api.Problem{Code: api.Invalid, Message: "the request is no form of the page", Hint: "use the page"}

// form reads the fields of a form.
func form(w http.ResponseWriter, r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return errForm
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return err
		}
		return errForm
	}
	return nil
}
