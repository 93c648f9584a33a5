package page

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/piton-dev/piton/internal/oidc"
	"github.com/piton-dev/piton/internal/users"
)

const (
	providerPath = signInPath + "/provider"
	// ReturnPath is where a provider sends browsers back to.
	ReturnPath = signInPath + "/return"
	// A browser accepts this cookie only over TLS and from this very host, and sends it also when it
	// comes from the site of the provider.
	providerCookie = "__Host-" + cookie + "-sign-in"
)

// begun is the cookie of a browser that has begun to sign in.
func begun(value string, seconds int) *http.Cookie {
	return &http.Cookie{Name: providerCookie, Value: value, Path: "/", MaxAge: seconds, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// toProvider sends a browser to the provider.
func (s *server) toProvider(w http.ResponseWriter, r *http.Request) {
	if !opened(w, r) {
		return
	}
	if !strings.EqualFold(nameIn(r.Host), s.TLS.Names[0]) { // it comes back there, where this browser would have no cookie
		s.asksWho(w, r, http.StatusBadRequest, fmt.Sprintf("Open https://%s%s to sign in with %s.", s.at, signInPath, s.TLS.Provider.Host))
		return
	}
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	to, secret := s.TLS.Provider.Begin("https://"+r.Host+ReturnPath, network(from))
	http.SetCookie(w, begun(secret, int(oidc.MaxAge.Seconds())))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// Welcome leads a browser that has signed in on to the page. The provider sent it here, so it would
// not send the cookie of its session with a redirect; with a request of this page it does.
type Welcome struct{}

// fromProvider begins a session for the user whose address the provider vouches for.
func (s *server) fromProvider(w http.ResponseWriter, r *http.Request) {
	if !opened(w, r) {
		return
	}
	secret := ""
	if c, err := r.Cookie(providerCookie); err == nil {
		secret = c.Value
	}
	email, err := s.TLS.Provider.Finish(r.Context(), secret, r.URL.Query())
	if errors.Is(err, oidc.ErrState) { // anybody can lead a browser here so: nothing is changed
		s.asksWho(w, r, http.StatusBadRequest, sentence(err)+" Sign in again.")
		return
	}
	http.SetCookie(w, begun("", -1))
	var u users.User
	if err == nil {
		u, err = s.Users.WithEmail(email)
	}
	switch {
	case err == nil:
	case errors.Is(err, oidc.ErrAnswer):
		s.asksWho(w, r, http.StatusUnauthorized, sentence(err))
		return
	case errors.Is(err, oidc.ErrAddress):
		s.asksWho(w, r, http.StatusForbidden, sentence(err))
		return
	case errors.Is(err, users.ErrUnknown), errors.Is(err, users.ErrEmail):
		s.asksWho(w, r, http.StatusForbidden, fmt.Sprintf("Nobody here has the address %.254s.", email))
		return
	case r.Context().Err() != nil: // the browser is gone
		return
	case errors.Is(err, oidc.ErrSilent):
		s.TLS.Notice(err)
		s.asksWho(w, r, http.StatusBadGateway, "The provider does not answer as it should. Try again, or ask who runs this server.")
		return
	default:
		s.TLS.Notice(err)
		s.asksWho(w, r, http.StatusInternalServerError, fmt.Sprintf("Piton cannot tell who has the address %.254s. Ask who runs this server.", email))
		return
	}
	s.begin(w, r, u)
	html, err := s.show(Welcome{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, html) //nolint:errcheck // the browser is gone then
}

// sentence is an error of package oidc, which begins with a small letter of ASCII.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
