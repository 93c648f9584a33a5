package page

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/oidc"
	"github.com/piton-dev/piton/internal/users"
)

// TLS is how others reach the page.
type TLS struct {
	Config *tls.Config
	Names  []string // that the certificates are for; the first is shown to people
	// Provider vouches for the e-mail addresses of users; nil for none.
	Provider *oidc.Provider
	Notice   func(error) // tells who runs the server what is wrong with it; not nil with a provider
}

// answers reports whether a request to a host, with or without a port, is for one of the names.
func (t *TLS) answers(host string) bool {
	name := nameIn(host)
	for _, n := range t.Names {
		sub, rest, dotted := strings.Cut(name, ".")
		if strings.EqualFold(n, name) || dotted && sub != "" && strings.EqualFold(n, "*."+rest) {
			return true
		}
		one, err := netip.ParseAddr(n)
		two, other := netip.ParseAddr(name)
		if err == nil && other == nil && one.Unmap() == two.Unmap() {
			return true
		}
	}
	return false
}

// nameIn is a host without a port.
func nameIn(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return name
}

// Bounds of sessions: how long one lasts without a request, and how many a user has at most.
const (
	sessionTime = 12 * time.Hour
	maxSessions = 20
)

// sessions are the browsers that have signed in, by the value of their cookie. They end with
// the server.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

type session struct {
	user, token string // the hash of the token that it was begun with: another one ends it
	used        time.Time
}

// begin is the cookie of a new session.
func (s *sessions) begin(u users.User) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*session{}
	}
	oldest, theirs := "", 0
	for id, is := range s.all {
		switch {
		case time.Since(is.used) > sessionTime:
			delete(s.all, id)
		case is.user == u.Name:
			if theirs++; oldest == "" || is.used.Before(s.all[oldest].used) {
				oldest = id
			}
		}
	}
	if theirs >= maxSessions {
		delete(s.all, oldest)
	}
	id := rand.Text() + rand.Text()
	s.all[id] = &session{u.Name, u.Token, time.Now()}
	return id
}

// of is whose session it is, and the hash of their token; "" for nobody's.
func (s *sessions) of(id string) (user, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.all[id]
	if is == nil || time.Since(is.used) > sessionTime {
		return "", ""
	}
	is.used = time.Now()
	return is.user, is.token
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// Bounds of wrong tokens: so many from one address in so long, and so many addresses are kept.
const (
	mostMisses   = 10
	missTime     = time.Minute
	maxAddresses = 10_000
)

// errMissed says that too many wrong tokens came from an address.
var errMissed = errors.New("too many wrong tokens")

// misses counts wrong tokens by the address that they came from.
type misses struct {
	mu    sync.Mutex
	since time.Time
	from  map[string]int
}

func (m *misses) many(address string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.since) > missTime {
		m.since, m.from = time.Now(), map[string]int{}
	}
	return m.from[network(address)] >= mostMisses || len(m.from) >= maxAddresses
}

func (m *misses) add(address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.from[network(address)]++
}

// network is what one machine has of addresses: of the newer kind a whole network.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	bits := 64
	if a = a.Unmap(); a.Is4() {
		bits = 32
	}
	net, _ := a.Prefix(bits) // it has that many
	return net.String()
}

// SignIn is the form by which a user signs in.
type SignIn struct {
	Wrong    string
	Provider string // by which they can sign in instead; "" for none
}

// signIn begins a session for the user whose token a browser sends.
func (s *server) signIn(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		s.asksWho(w, r, http.StatusOK, "")
		return
	}
	if err := form(w, r); err != nil {
		s.fail(w, r, nil, err)
		return
	}
	u, err := s.withToken(r, strings.TrimSpace(r.PostFormValue("token")))
	switch {
	case errors.Is(err, errMissed):
		s.asksWho(w, r, http.StatusTooManyRequests, "Too many wrong tokens came from your address. Wait a minute.")
	case err != nil:
		s.asksWho(w, r, http.StatusUnauthorized, "Nobody has this token.")
	default:
		s.begin(w, r, *u)
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// asksWho shows the form to sign in, and what was wrong before.
func (s *server) asksWho(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	p := SignIn{Wrong: wrong}
	if s.TLS.Provider != nil {
		p.Provider = s.TLS.Provider.Host
	}
	if err := s.send(w, r, status, nil, sheet{Title: "Sign in", Body: p}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// begin gives a browser a session of a user, in place of the one that it shows.
func (s *server) begin(w http.ResponseWriter, r *http.Request, u users.User) {
	for _, c := range r.CookiesNamed(s.cookie()) {
		s.sessions.end(c.Value)
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.sessions.begin(u), Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// signOut ends the session of a browser.
func (s *server) signOut(w http.ResponseWriter, r *http.Request) {
	if err := form(w, r); err != nil {
		s.fail(w, r, nil, err)
		return
	}
	for _, c := range r.CookiesNamed(s.cookie()) {
		s.sessions.end(c.Value)
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Path: "/", MaxAge: -1, Secure: true, HttpOnly: true})
	http.Redirect(w, r, s.base+"/", http.StatusSeeOther)
}
