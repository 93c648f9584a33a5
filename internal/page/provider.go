package page

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/oidc"
)

const (
	providerPath = signInPath + "/provider"
	// ReturnPath is where a provider sends browsers back to.
	ReturnPath = signInPath + "/return"
	// A browser sends this cookie when the provider sends it back, and takes it only over TLS.
	providerCookie = "__Secure-" + cookie + "-sign-in"
)

func secretOfProvider(value string, seconds int) *http.Cookie {
	return &http.Cookie{Name: providerCookie, Value: value, Path: signInPath, MaxAge: seconds, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
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
	to, secret := s.TLS.Provider.Begin("https://" + s.at + ReturnPath)
	http.SetCookie(w, secretOfProvider(secret, int(oidc.MaxAge.Seconds())))
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
	http.SetCookie(w, secretOfProvider("", -1))
	switch {
	case errors.Is(err, oidc.ErrState):
		s.asksWho(w, r, http.StatusBadRequest, sentence(err)+" Sign in again.")
		return
	case errors.Is(err, oidc.ErrAddress):
		s.asksWho(w, r, http.StatusForbidden, sentence(err))
		return
	case err != nil:
		s.asksWho(w, r, http.StatusUnauthorized, sentence(err))
		return
	}
	u, err := s.Users.WithEmail(email)
	if err != nil {
		s.asksWho(w, r, http.StatusForbidden, fmt.Sprintf("Nobody here has the address %.254s.", email))
		return
	}
	s.begin(w, u)
	html, err := s.show(Welcome{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, html) //nolint:errcheck // the browser is gone then
}

func sentence(err error) string {
	text := err.Error()
	_, n := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:n]) + text[n:] + "."
}
