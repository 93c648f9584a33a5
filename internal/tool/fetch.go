package tool

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/piton-dev/piton/internal/egress"
)

// Limits of web_fetch.
const (
	fetchTime    = 30 * time.Second
	maxFetched   = 512 << 10
	maxRedirects = 5
)

// fetcher is the tool web_fetch.
type fetcher struct {
	hosts  egress.List
	client *http.Client
}

func newFetcher(hosts egress.List) *fetcher {
	f := &fetcher{hosts: hosts}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error { return f.reachable(address) }}
	f.client = &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: f.redirect,
	}
	return f
}

type fetchArgs struct {
	URL string `json:"url"`
}

type fetched struct {
	URL      string `json:"url"`
	Status   int    `json:"status"`
	Type     string `json:"type"`
	Content  string `json:"content"`
	Encoding string `json:"encoding"`
}

func (f *fetcher) weigh(_ context.Context, a fetchArgs) (Weight, error) {
	_, err := f.address(a.URL)
	return Weight{Effect: Network}, err
}

// address reads an address that may be asked.
func (f *fetcher) address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, problem(InvalidArguments, "%q is no http or https address", cut(text, 200))
	}
	if u.User != nil {
		return nil, problem(InvalidArguments, "an address with a name and password is not fetched")
	}
	return u, f.allowed(u)
}

func (f *fetcher) allowed(u *url.URL) error {
	usual := usualPort(u.Scheme)
	if f.hosts.Names(u.Hostname(), cmp.Or(u.Port(), usual), usual) {
		return nil
	}
	return problem(Denied, "%s is not a host that web_fetch may ask; web_fetch.allow in the configuration lists them", u.Host)
}

func usualPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// reachable refuses private addresses and ports that no entry names, whatever
// name led to them. It is asked once the name is resolved, for the address that is dialled.
func (f *fetcher) reachable(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return problem(Denied, "%s is no address", address)
	}
	if f.hosts.Reaches(at, usualPort("http"), usualPort("https")) {
		return nil
	}
	return problem(Denied, "%s is a private address, which web_fetch.allow does not list", at)
}

// redirect lets an answer lead on only to what may be asked itself.
func (f *fetcher) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return problem(Denied, "more than %d redirections", maxRedirects)
	case via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https":
		return problem(Denied, "a redirection from https to http is not followed")
	case req.URL.User != nil:
		return problem(Denied, "a redirection to an address with a name and password is not followed")
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return problem(Denied, "a redirection to %s is not followed", req.URL.Scheme)
	}
	return f.allowed(req.URL)
}

func (f *fetcher) fetch(ctx context.Context, _ *Call, a fetchArgs) (fetched, error) {
	u, err := f.address(a.URL)
	if err != nil {
		return fetched{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return fetched{}, problem(InvalidArguments, "%q is no address: %v", cut(a.URL, 200), err)
	}
	req.Header.Set("User-Agent", "piton")
	res, err := f.client.Do(req)
	if err != nil {
		return fetched{}, unreachable(ctx, u, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxFetched+1))
	switch {
	case err != nil:
		return fetched{}, unreachable(ctx, u, err)
	case len(body) > maxFetched:
		return fetched{}, problem(TooLarge, "%s has more than %d bytes", u.Host, maxFetched)
	case slices.Contains([]int{http.StatusNotFound, http.StatusGone}, res.StatusCode):
		return fetched{}, problem(NotFound, "%s answers %d: there is no such page", u.Host, res.StatusCode)
	case res.StatusCode >= 500, res.StatusCode == http.StatusTooManyRequests:
		return fetched{}, problem(Unavailable, "%s answers %d", u.Host, res.StatusCode)
	case res.StatusCode >= 300:
		return fetched{}, problem(Failed, "%s answers %d", u.Host, res.StatusCode)
	}
	out := fetched{URL: res.Request.URL.String(), Status: res.StatusCode, Type: bounded(res.Header.Get("Content-Type"), 200), Content: string(body), Encoding: "text"}
	if !isText(body) {
		out.Content, out.Encoding = base64.StdEncoding.EncodeToString(body), "base64"
	}
	return out, nil
}

func unreachable(ctx context.Context, u *url.URL, err error) error {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &Problem{Code: Unavailable, Message: fmt.Sprintf("%s does not answer: %s", u.Host, bounded(err.Error(), 300)), cause: err}
}
