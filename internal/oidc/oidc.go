// Package oidc has an OpenID Connect provider say who sits at a browser. What comes of it is an
// e-mail address that the provider has verified, by the authorization code flow with PKCE, a state
// and a nonce. Whose address it is, and what they may do, the caller decides.
//
// It must never take an answer that it did not ask for, that another browser asked for, or that it
// took before. It must never speak to a provider but over TLS, and never keep, log or show a code,
// a token or the secret of the client.
package oidc

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// Bounds of what is said to a provider, and of what it answers.
const (
	// MaxAge is how long a person has to sign in at the provider.
	MaxAge     = 10 * time.Minute
	maxPending = 10_000
	maxFrom    = 50 // of one network
	askTime    = 10 * time.Second
	maxBody    = 256 << 10 // bytes
)

// ErrIssuer says that an address is none that a provider can have.
var ErrIssuer = errors.New("an issuer is an address that begins with https:// and has no user, query or fragment")

// Errors of [Provider.Finish] that callers branch on.
var (
	// ErrState says that the answer belongs to nothing that was begun in this browser.
	ErrState = errors.New("the answer of the provider came too late, or was not asked for here")
	// ErrAnswer says that the provider signed nobody in, or that its answer is not to be relied on.
	ErrAnswer = errors.New("the provider did not sign you in")
	// ErrAddress says that the provider vouches for no e-mail address.
	ErrAddress = errors.New("the provider vouches for no e-mail address")
	// ErrSilent says that the provider gives no answer that can be read.
	ErrSilent = errors.New("the provider does not answer as it should")
)

// Client is what a provider knows of this program.
type Client struct {
	Issuer string // the https address of the provider, exactly as the provider writes it
	ID     string
	Secret string // "" where the provider wants none
}

// Provider is an OpenID Connect provider. It can be used by several goroutines at once.
type Provider struct {
	// Host is the name by which people know the provider.
	Host string

	client   Client
	http     *http.Client
	endpoint oauth2.Endpoint
	claims   bool // can be asked to put claims into the ID token

	mu      sync.Mutex
	pending []*pending // the oldest first
}

// pending is a sign-in that has begun.
type pending struct {
	state, browser, nonce, verifier, redirect, from string
	began                                           time.Time
}

// metadata is what is used of the discovery document.
type metadata struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	Claims        bool     `json:"claims_parameter_supported"`
}

// Discover asks a provider where it signs people in. It fails with [ErrIssuer], or says what is
// wrong with the provider or the way to it. All requests to the provider go through transport.
func Discover(ctx context.Context, c Client, transport http.RoundTripper) (*Provider, error) {
	at, err := url.Parse(c.Issuer)
	if err != nil || !secure(c.Issuer) || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
		return nil, ErrIssuer
	}
	p := &Provider{Host: at.Host, client: c, http: &http.Client{
		Transport: bounded{transport}, Timeout: askTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it could lead away from TLS
	}}
	m, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	style := oauth2.AuthStyleInParams
	// OpenID Connect Discovery 1.0, 3: client_secret_basic where it says nothing.
	basic := len(m.Methods) == 0 || slices.Contains(m.Methods, "client_secret_basic")
	switch {
	case m.Issuer != c.Issuer:
		return nil, fmt.Errorf("it says that its issuer is %q, not %q", m.Issuer, c.Issuer)
	case !secure(m.Authorization) || !secure(m.Token):
		return nil, errors.New("it does not name https addresses as its authorization_endpoint and its token_endpoint")
	case c.Secret != "" && basic:
		style = oauth2.AuthStyleInHeader
	case c.Secret != "" && !slices.Contains(m.Methods, "client_secret_post"):
		return nil, errors.New("it takes a client secret neither by client_secret_basic nor by client_secret_post")
	}
	p.endpoint, p.claims = oauth2.Endpoint{AuthURL: m.Authorization, TokenURL: m.Token, AuthStyle: style}, m.Claims
	return p, nil
}

// flow is made for each call: were it kept, the linker would keep all that the library can do.
func (p *Provider) flow(redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.client.ID, ClientSecret: p.client.Secret, Endpoint: p.endpoint, RedirectURL: redirect, Scopes: []string{"openid", "email"}}
}

func secure(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Hostname() != ""
}

func (p *Provider) discover(ctx context.Context) (m metadata, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(p.client.Issuer, "/")+"/.well-known/openid-configuration", nil)
	if err != nil {
		return m, err
	}
	res, err := p.http.Do(r)
	if err != nil {
		return m, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return m, fmt.Errorf("%s answers %s", r.URL, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(&m); err != nil {
		return m, fmt.Errorf("%s is no discovery document: %w", r.URL, err)
	}
	return m, nil
}

// bounded refuses answers that are too large.
type bounded struct{ transport http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("the answer is larger than %d bytes", maxBody)
	}
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// Begin begins a sign-in. Send the browser to the address, and keep the secret in a cookie of it,
// for [MaxAge]. The provider sends the browser on to redirect, with an answer for [Provider.Finish].
// Of very many that begin in one network, from, the oldest is forgotten.
func (p *Provider) Begin(redirect, from string) (address, browser string) {
	b := &pending{
		state: rand.Text(), browser: rand.Text(), nonce: rand.Text(), verifier: oauth2.GenerateVerifier(), redirect: redirect, from: from, began: time.Now(),
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(b.verifier), oauth2.SetAuthURLParam("nonce", b.nonce)}
	if p.claims { // else the scope may bring them to the UserInfo endpoint only
		options = append(options, oauth2.SetAuthURLParam("claims", `{"id_token":{"email":{"essential":true},"email_verified":{"essential":true}}}`))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	oldest, theirs := 0, 0
	for i, b := range slices.Backward(p.pending) {
		if b.from == from {
			oldest, theirs = i, theirs+1
		}
	}
	if theirs >= maxFrom || len(p.pending) >= maxPending {
		p.pending = slices.Delete(p.pending, oldest, oldest+1)
	}
	p.pending = append(p.pending, b)
	return p.flow(redirect).AuthCodeURL(b.state, options...), b.browser
}

func (p *Provider) expire() {
	for len(p.pending) > 0 && time.Since(p.pending[0].began) > MaxAge {
		p.pending = p.pending[1:]
	}
}

// take is the sign-in with a state, once.
func (p *Provider) take(state, browser string) (*pending, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	for i, b := range p.pending {
		if same(b.state, state) {
			p.pending = append(p.pending[:i], p.pending[i+1:]...)
			if same(b.browser, browser) {
				return b, nil
			}
			break
		}
	}
	return nil, ErrState
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// errorCode is what RFC 6749, 4.1.2.1 and 5.2, have as a code, shortened.
var errorCode = regexp.MustCompile(`^[a-z0-9_.-]{1,64}$`)

// coded is an error of the provider by its code.
func coded(code string) error {
	if !errorCode.MatchString(code) {
		code = "it gives an error"
	}
	return fmt.Errorf("%w: %s", ErrAnswer, code)
}

// Finish takes the answer with which the provider sent a browser back, and the secret that
// [Provider.Begin] gave that browser. It returns the verified e-mail address. It fails with
// [ErrState], [ErrAnswer] or [ErrAddress], whose text says why, and may be shown to anybody; or with
// [ErrSilent], whose text is for those who run the server.
func (p *Provider) Finish(ctx context.Context, browser string, answer url.Values) (email string, err error) {
	b, err := p.take(answer.Get("state"), browser)
	if err != nil {
		return "", err
	}
	if answer.Has("error") {
		return "", coded(answer.Get("error"))
	}
	code := answer.Get("code")
	if code == "" {
		return "", fmt.Errorf("%w: its answer has no code", ErrAnswer)
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, p.http)
	token, err := p.flow(b.redirect).Exchange(ctx, code, oauth2.VerifierOption(b.verifier))
	if refused, is := errors.AsType[*oauth2.RetrieveError](err); is { // its text has the whole body
		if refused.ErrorCode != "" {
			return "", coded(refused.ErrorCode)
		}
		return "", fmt.Errorf("%w: its token endpoint answers %d", ErrAnswer, refused.Response.StatusCode)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrSilent, err)
	}
	id, _ := token.Extra("id_token").(string)
	return p.address(id, b.nonce, time.Now())
}
