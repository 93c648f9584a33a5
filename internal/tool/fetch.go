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
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits of web_fetch.
const (
	fetchTime    = 30 * time.Second
	maxFetched   = 512 << 10
	maxRedirects = 5
)

// hostRule is one entry of the list of hosts that may be asked.
type hostRule struct {
	name    string // lower case; "" if the entry is a range
	below   bool   // and all names below it, but not itself
	port    string // "" is the usual port of the scheme
	network netip.Prefix
}

// parseHosts reads entries such as example.org, *.example.org, example.org:8443,
// 127.0.0.1:8080 and 10.0.0.0/8. Private addresses can be reached only if an
// address, a range or localhost names them.
func parseHosts(entries []string) ([]hostRule, error) {
	var list []hostRule
	for _, entry := range entries {
		r, err := parseHost(entry)
		if err != nil {
			return nil, fmt.Errorf("web_fetch.allow: %w", err)
		}
		list = append(list, r)
	}
	return list, nil
}

func parseHost(entry string) (hostRule, error) {
	if network, err := netip.ParsePrefix(entry); err == nil {
		return hostRule{network: network.Masked()}, nil
	}
	r := hostRule{name: strings.ToLower(entry)}
	if name, port, err := net.SplitHostPort(r.name); err == nil {
		r.name, r.port = name, port
	}
	r.name, r.below = strings.CutPrefix(r.name, "*.")
	r.name = strings.Trim(strings.TrimSuffix(r.name, "."), "[]")
	if addr, err := netip.ParseAddr(r.name); err == nil && !r.below {
		r.network = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
		r.name = addr.Unmap().String()
		return r, nil
	}
	if r.name == "" || strings.ContainsAny(r.name, "/*?:@# ") || strings.Trim(r.port, "0123456789") != "" {
		return r, fmt.Errorf("%q is no host; write example.org, *.example.org, example.org:8443, an address or a range", entry)
	}
	return r, nil
}

// fetcher is the tool web_fetch.
type fetcher struct {
	hosts  []hostRule
	client *http.Client
}

func newFetcher(hosts []hostRule) *fetcher {
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
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	addr, err := netip.ParseAddr(host)
	isAddr := err == nil
	for _, r := range f.hosts {
		switch {
		case cmp.Or(r.port, usualPort(u.Scheme)) != cmp.Or(u.Port(), usualPort(u.Scheme)):
			continue
		case r.network.IsValid() && isAddr && r.network.Contains(addr.Unmap()),
			!isAddr && r.name == host && !r.below,
			!isAddr && r.below && strings.HasSuffix(host, "."+r.name):
			return nil
		}
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
	ip := at.Addr().Unmap().WithZone("")
	if !private(ip) {
		return nil
	}
	for _, r := range f.hosts {
		named := r.network.IsValid() && r.network.Contains(ip) || r.name == "localhost" && ip.IsLoopback()
		if named && r.dials(strconv.Itoa(int(at.Port()))) {
			return nil
		}
	}
	return problem(Denied, "%s is a private address, which web_fetch.allow does not list", netip.AddrPortFrom(ip, at.Port()))
}

// dials reports whether the entry is for a port. One without a port is for the
// usual ports of both schemes.
func (r hostRule) dials(port string) bool {
	return port == r.port || r.port == "" && (port == usualPort("http") || port == usualPort("https"))
}

// private reports addresses that are not of the public internet, and those that
// carry another address inside.
func private(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return true
	}
	for p := range strings.FieldsSeq("0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 64:ff9b::/96 64:ff9b:1::/48 2001::/23 2001:db8::/32 2002::/16 100::/64 fec0::/10") {
		if netip.MustParsePrefix(p).Contains(ip) {
			return true
		}
	}
	return false
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
