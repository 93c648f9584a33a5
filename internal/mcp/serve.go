package mcp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piton-dev/piton/internal/api"
)

// maxMessage bounds a message of a client: a proposed plan, with its escapes, fits.
const maxMessage = 1 << 20

// Serve serves one client until it leaves, or ctx ends.
func Serve(ctx context.Context, c Config, in io.ReadCloser, out io.Writer) error {
	return serve(ctx, New(c), in, out)
}

func serve(ctx context.Context, s *mcp.Server, in io.ReadCloser, out io.Writer) error {
	t := newTalk(in, out)
	err := s.Run(ctx, &mcp.IOTransport{Reader: t, Writer: open{t}, MaxLineLength: -1})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// open is a writer that stays open.
type open struct{ io.Writer }

func (open) Close() error { return nil }

// Waits of the HTTP server.
const (
	headerTime = 5 * time.Second
	idleTime   = 2 * time.Minute
	closeTime  = time.Second
)

// ServeHTTP serves clients on an address of this machine until ctx ends, and then gives calls under
// way a second to end. ready gets the URL and the token that each request needs.
func ServeHTTP(ctx context.Context, c Config, addr string, ready func(url, token string)) error {
	if err := local(addr); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return &api.Problem{Code: api.Unavailable, Message: "cannot listen: " + err.Error(), Hint: "give another port; 0 takes any free one"}
	}
	server, token := New(c), rand.Text()
	host := l.Addr().String()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, MaxRequestBodyBytes: maxMessage, PropagateRequestCancellation: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", guarded(handler, host, token))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10}
	ready("http://"+host+"/mcp", token)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if s.Shutdown(wait) != nil {
		s.Close() //nolint:errcheck // nothing is left to say
	}
	return nil
}

// local refuses an address that others could reach.
func local(addr string) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsLoopback() || at.Addr().Zone() != "" {
		return &api.Problem{
			Code: api.Invalid, Message: fmt.Sprintf("%q is not an address of this machine alone", addr),
			Hint: "give 127.0.0.1:PORT or [::1]:PORT; to reach it from elsewhere, tunnel it with ssh",
		}
	}
	return nil
}

// guarded lets only requests through that have the token, and that no page of a browser was
// made to send: a foreign name of this address, or a foreign origin, gets no answer.
func guarded(next http.Handler, host, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Host != host:
			http.Error(w, "this server answers only requests to "+host, http.StatusMisdirectedRequest)
		case foreign(r.Header.Values("Origin"), host):
			http.Error(w, "requests from web pages are refused", http.StatusForbidden)
		case subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "no or wrong token; send the one that piton mcp printed as Authorization: Bearer TOKEN", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// foreign reports whether a request comes from a page of another origin.
func foreign(origins []string, host string) bool {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "http" || u.Host != host {
			return true
		}
	}
	return false
}
