package page

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/httpapi"
	"github.com/piton-dev/piton/internal/telemetry"
	"github.com/piton-dev/piton/internal/users"
)

// Waits and bounds of the server. An answer has no bound in time: a page may be followed for
// hours.
const (
	headerTime = 5 * time.Second
	readTime   = 30 * time.Second
	idleTime   = 2 * time.Minute
	closeTime  = time.Second
	watchTime  = 2 * time.Second
	maxHeader  = 64 << 10
	maxForm    = 1 << 20
)

// server answers one browser after it has shown a token, once; or, over TLS, the users of the
// workspace. Programs of these show their token with each request.
type server struct {
	Config
	at   string            // the address at which it is reached
	host func(string) bool // whether it answers to a name
	// base begins every path, unless there is TLS. A browser sends a cookie of this address to
	// all ports of it, and an agent may listen at one; it sends it only below the path, which
	// nobody else knows.
	base     string
	token    string // for the first request of the person whose machine it is
	key      string // for all others, in a cookie
	entered  atomic.Bool
	sessions sessions
	misses   misses
	views    *template.Template
	origins  http.CrossOriginProtection
	mux      *http.ServeMux
	scrapes  telemetry.Scrapes
	mu       sync.Mutex
	hubs     map[string]*hub  // by what browsers look at
	hands    map[string]*hand // by user
}

// Serve serves the page at an address until ctx ends. ready gets the URL that lets one browser
// in, once; or, over TLS, the one at which users sign in.
func Serve(ctx context.Context, c Config, addr string, ready func(url string)) error {
	if err := c.mayListen(addr); err != nil {
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
		ErrorLog:    log.New(io.Discard, "", 0), // whoever knocks with what is no TLS is no news
	}
	if c.TLS == nil {
		ready("http://" + s.at + s.base + enterPath + s.token)
	} else {
		l = tls.NewListener(l, c.TLS.Config)
		ready("https://" + s.at + "/")
	}
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

// mayListen refuses an address that others could reach, unless there are TLS and users.
func (c Config) mayListen(addr string) error {
	if c.TLS == nil {
		return local(addr)
	}
	all, err := c.Users.All()
	if err == nil && len(all) == 0 {
		err = &api.Problem{Code: api.Invalid, Message: "there is no user yet, and over TLS only users are let in", Hint: "piton serve token NAME makes one"}
	}
	return err
}

// local refuses an address that others could reach.
func local(addr string) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsLoopback() || at.Addr().Zone() != "" {
		return &api.Problem{
			Code: api.Invalid, Message: fmt.Sprintf("%q is not an address of this machine alone, and others may reach the page only over TLS", addr),
			Hint: "give --tls-cert and --tls-key, or 127.0.0.1:PORT and a tunnel by ssh",
		}
	}
	return nil
}

func newServer(c Config, at string) (*server, error) {
	s := &server{Config: c, at: at, base: "/" + rand.Text(), token: rand.Text(), key: rand.Text(), mux: http.NewServeMux(), hubs: map[string]*hub{}, hands: map[string]*hand{}}
	s.host = func(name string) bool { return name == at }
	if c.TLS != nil {
		_, port, _ := net.SplitHostPort(at)
		s.base, s.at = "", net.JoinHostPort(c.TLS.Names[0], port)
		s.host = c.TLS.answers
	}
	for _, r := range s.routes() {
		s.mux.Handle(r.method+" "+s.base+r.path, r)
	}
	return s, s.parse()
}

const (
	enterPath  = "/enter/"
	signInPath = "/sign-in"
	staticPath = "/static/" // what the form to sign in looks like is no secret
	cookie     = "piton"
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
// place was made to send, and that have the cookie of a session, or the token of a user. Nothing
// else is looked at before.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range guards {
		w.Header().Set(name, value)
	}
	program := ofProgram(r)
	refuse := func(status int, text, hint string) {
		if program {
			httpapi.Fail(w, status, &api.Problem{Code: api.Denied, Message: text, Hint: hint}, "")
			return
		}
		http.Error(w, strings.TrimSuffix(text+": "+hint, ": "), status)
	}
	switch {
	case !s.host(r.Host):
		refuse(http.StatusMisdirectedRequest, "this server answers only requests to "+s.at, "")
		return
	case s.foreign(r):
		refuse(http.StatusForbidden, "requests from other pages are refused", "")
		return
	}
	who, err := s.known(r)
	entering := s.base != "" && strings.HasPrefix(r.URL.Path, s.base+enterPath) || s.base == "" && (r.URL.Path == signInPath || strings.HasPrefix(r.URL.Path, signInPath+"/") || strings.HasPrefix(r.URL.Path, staticPath))
	switch {
	case errors.Is(err, errMissed):
		w.Header().Set("Retry-After", strconv.Itoa(int(missTime.Seconds())))
		refuse(http.StatusTooManyRequests, "too many wrong tokens came from your address", "wait a minute")
	case err != nil && program:
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(http.StatusUnauthorized, "the request has no token of a user", "send it as Authorization: Bearer TOKEN; piton serve token NAME makes one")
	case err != nil && s.base == "" && !entering && r.Method == http.MethodGet:
		http.Redirect(w, r, signInPath, http.StatusSeeOther)
	case err != nil && !entering && s.base == "":
		refuse(http.StatusUnauthorized, "this browser is not signed in", "open "+signInPath)
	case err != nil && !entering:
		refuse(http.StatusUnauthorized, "this browser is not let in", "open the URL that piton serve printed; it works once, so start piton serve again for another")
	case program && who == nil:
		refuse(http.StatusUnauthorized, "programs show the token of a user", "piton serve token NAME makes one")
	default:
		handler, ctx := http.Handler(s.mux), r.Context()
		if program {
			handler = s.API
		}
		if who != nil {
			var end context.CancelFunc
			ctx, end = context.WithCancel(users.With(ctx, who.Name))
			defer end()
			defer s.watch(*who, end)()
		}
		handler.ServeHTTP(w, r.WithContext(ctx))
	}
}

// watch ends a request that takes long when its user is let in no more. Call done when the
// request has ended.
func (s *server) watch(who users.User, end func()) (done func()) {
	over := make(chan struct{})
	go func() {
		for look := time.NewTicker(watchTime); ; {
			select {
			case <-over:
				look.Stop()
				return
			case <-look.C:
				if now, err := s.Users.Named(who.Name); err != nil || now.Token != who.Token {
					end()
				}
			}
		}
	}()
	return func() { close(over) }
}

// foreign reports whether a page of another origin sends a request. Reading is refused to it
// as well, so each method is looked at as one that changes something. A browser may come from any
// site to [ReturnPath], where providers send it: its state shows that the answer was asked for.
func (s *server) foreign(r *http.Request) bool {
	change := *r
	change.Method = http.MethodPost
	if r.Method == http.MethodGet && r.URL.Path == ReturnPath && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		change.Header = r.Header.Clone()
		change.Header.Del("Sec-Fetch-Site")
	}
	return s.origins.Check(&change) != nil
}

// ofProgram reports a request to the API.
func ofProgram(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, httpapi.Base+"/") }

// known is whose request it is: a user by their session or their token, nil for the person
// whose machine it is. It fails where nobody knows.
func (s *server) known(r *http.Request) (*users.User, error) {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") { // RFC 9110, 11.1
		return s.withToken(r, token)
	}
	if ofProgram(r) { // these show a token
		return nil, users.ErrUnknown
	}
	for _, c := range r.CookiesNamed(s.cookie()) {
		if s.base != "" && same(c.Value, s.key) {
			return nil, nil //nolint:nilnil // who has all rights is no user
		}
		name, token := s.sessions.of(c.Value)
		if u, err := s.Users.Named(name); err == nil && u.Token == token {
			return &u, nil
		}
	}
	return nil, users.ErrUnknown
}

// withToken is the user with a token. Who comes with many wrong ones is told to wait. A right
// one is let in all the same: others may send from the same address.
func (s *server) withToken(r *http.Request, token string) (*users.User, error) {
	u, err := s.Users.WithToken(token)
	if err == nil {
		return &u, nil
	}
	if from, _, _ := net.SplitHostPort(r.RemoteAddr); errors.Is(err, users.ErrUnknown) {
		if s.misses.many(from) {
			return nil, errMissed
		}
		s.misses.add(from)
	}
	return nil, err
}

// cookie is the name of the session's cookie. A browser takes one with this prefix only over
// TLS, and lets no other name of the site set it.
func (s *server) cookie() string {
	if s.base == "" {
		return "__Host-" + cookie
	}
	return cookie
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// opened refuses HEAD, which asks what there is, and uses nothing up.
func opened(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet {
		http.Error(w, "open this URL in a browser", http.StatusMethodNotAllowed)
		return false
	}
	return true
}

// enter lets the browser in that has the token, once.
func (s *server) enter(w http.ResponseWriter, r *http.Request) {
	if !opened(w, r) {
		return
	}
	if !same(r.PathValue("token"), s.token) || !s.entered.CompareAndSwap(false, true) {
		if who, err := s.known(r); err != nil || who != nil {
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
