package oidc

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// skew is how much the clocks of the provider and of this machine may differ.
const skew = 2 * time.Minute

// claims are those of an ID token, by name. Names that differ in case are different.
type claims map[string]json.RawMessage

// claim is the value of a claim; the zero value where there is none of that type.
func claim[T any](c claims, name string) T {
	var v, none T
	if json.Unmarshal(c[name], &v) != nil {
		return none
	}
	return v
}

// address is the verified address of an ID token.
//
// The token has to come directly from the token endpoint over TLS. The certificate of the server then
// stands for the signature: OpenID Connect Core 1.0, 3.1.3.7, item 6, allows that. All other items that
// apply are checked here.
func (p *Provider) address(token, nonce string, now time.Time) (string, error) {
	c, err := decode(token)
	if err == nil {
		err = p.check(c, nonce, now)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	email := claim[string](c, "email")
	switch {
	case email == "":
		return "", fmt.Errorf("%w: the ID token has none", ErrAddress)
	case !claim[bool](c, "email_verified"):
		return "", fmt.Errorf("%w: it has not verified %.254q", ErrAddress, email)
	}
	return email, nil
}

// decode reads the claims of a token in the compact form of RFC 7515.
func decode(token string) (claims, error) {
	parts := strings.Split(token, ".")
	if token == "" {
		return nil, errors.New("there is no ID token")
	}
	var c claims
	if len(parts) == 3 {
		if body, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil && json.Unmarshal(body, &c) == nil {
			return c, nil
		}
	}
	return nil, errors.New("the ID token cannot be read")
}

func (p *Provider) check(c claims, nonce string, now time.Time) error {
	audience := claim[[]string](c, "aud")
	if one := claim[string](c, "aud"); one != "" {
		audience = []string{one}
	}
	_, authorized := c["azp"]
	// Seconds since 1970, perhaps with a fraction. None is long ago.
	at := func(name string) time.Time { return time.UnixMilli(int64(claim[float64](c, name) * 1000)) }
	switch {
	case claim[string](c, "iss") != p.client.Issuer:
		return errors.New("the ID token is of another issuer")
	case !slices.Contains(audience, p.client.ID):
		return errors.New("the ID token is for another client")
	case (authorized || len(audience) > 1) && claim[string](c, "azp") != p.client.ID:
		return errors.New("the ID token was given to another client")
	case now.After(at("exp").Add(skew)):
		return errors.New("the ID token has expired")
	case at("iat").After(now.Add(skew)) || at("iat").Before(now.Add(-MaxAge)):
		return errors.New("the ID token was not made just now, by the clock of this machine")
	case nonce == "" || claim[string](c, "nonce") != nonce:
		return errors.New("the ID token is the answer to another request")
	}
	return nil
}
