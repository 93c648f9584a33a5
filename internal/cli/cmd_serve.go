package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/httpapi"
	"github.com/piton-dev/piton/internal/oidc"
	"github.com/piton-dev/piton/internal/page"
	"github.com/piton-dev/piton/internal/users"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) serveCmd() *cobra.Command {
	var addr, cert, key string
	var client oidc.Client
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a page and an API: review, watch and answer from a browser or a program",
		Long: `Serves a page of this workspace, until Ctrl-C. It shows what waits for you, runs as they go on, and
plans with their findings; you can approve, answer, pause and cancel there. Below /api/v1/ programs
can do the same, and piton --server URL is one.

Without TLS only this machine reaches the page. It prints a URL that lets one browser in, once, with
all rights. Start it again for another browser. With --tls-cert and --tls-key others reach it too:
they sign in with a token, which piton serve token makes, and their name stands in the journal.
Programs need a token always. Runs go on without the page.

Over TLS, --oidc and --oidc-client let users sign in through an OpenID Connect provider as well.
Piton lets in only users whose e-mail address piton serve token --email has recorded. The secret of
the client comes from PITON_OIDC_SECRET, or from the file that PITON_OIDC_SECRET_FILE names.`,
		Example: "  piton serve\n  piton serve --addr 127.0.0.1:7430\n  piton serve --addr 0.0.0.0:7430 --tls-cert piton.pem --tls-key piton.key\n  piton serve --addr :7430 --tls-cert a.pem --tls-key a.key --oidc https://id.org --oidc-client p",
		Args:    atMost("nothing", 0),
		RunE: func(c *cobra.Command, _ []string) error {
			over, err := a.tlsOf(cert, key)
			if err == nil && client != (oidc.Client{}) {
				err = a.provider(c.Context(), addr, over, client)
			}
			if err != nil {
				return err
			}
			return a.serve(c.Context(), addr, over)
		},
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "serve on this `HOST:PORT`; port 0 is any free one")
	c.Flags().StringVar(&cert, "tls-cert", "", "a `FILE` with the certificate of the server and those above it, in PEM")
	c.Flags().StringVar(&key, "tls-key", "", "a `FILE` with its key, in PEM")
	c.Flags().StringVar(&client.Issuer, "oidc", "", "users can sign in through the OpenID Connect provider with this `ISSUER`, an https address")
	c.Flags().StringVar(&client.ID, "oidc-client", "", "the `ID` by which the provider knows this server")
	c.AddCommand(a.tokenCmd(), a.usersCmd(), a.revokeCmd())
	return c
}

// tlsOf reads the certificate of the server; nil where there is none.
func (a *app) tlsOf(cert, key string) (*page.TLS, error) {
	if cert == "" && key == "" {
		return nil, nil //nolint:nilnil // there is no TLS then
	}
	if cert == "" || key == "" {
		return nil, misuse("--tls-cert and --tls-key belong together", "give both, or none")
	}
	files := &certificate{cert: cert, key: key, now: a.now, broken: func(err error) {
		a.notice("the new certificate cannot be used, so the server keeps the one before: %v", err)
	}}
	if err := files.read(); err != nil {
		return nil, misuse(fmt.Sprintf("the certificate cannot be used: %v", err), "give a certificate and its key, both in PEM")
	}
	over := &page.TLS{Config: &tls.Config{GetCertificate: files.get, NextProtos: []string{"h2", "http/1.1"}}, Names: files.pair.Leaf.DNSNames}
	for _, ip := range files.pair.Leaf.IPAddresses {
		over.Names = append(over.Names, ip.String())
	}
	if len(over.Names) == 0 {
		return nil, misuse(cert+" is for no name", "give a certificate for the name or the address by which the server is reached")
	}
	return over, nil
}

// provider has users sign in through a provider.
func (a *app) provider(ctx context.Context, addr string, over *page.TLS, client oidc.Client) error {
	_, port, _ := net.SplitHostPort(addr)
	switch {
	case client.Issuer == "" || client.ID == "":
		return misuse("--oidc and --oidc-client belong together", "give both, or none")
	case over == nil:
		return misuse("users sign in through a provider only over TLS", "give --tls-cert and --tls-key")
	case port == "0":
		return misuse("a provider sends users back to an address that it knows, and port 0 is another one each time", "give --addr with a port, such as 0.0.0.0:7430")
	case strings.HasPrefix(over.Names[0], "*"):
		return misuse(fmt.Sprintf("a provider cannot send users back to %s, the first name of the certificate", over.Names[0]), "give a certificate whose first name is that of the server")
	}
	var err error
	if client.Secret, err = a.secret(clientSecretEnv, clientSecretFileEnv); err != nil {
		return err
	}
	over.Notice = func(err error) { a.notice("%v", err) }
	over.Provider, err = oidc.Discover(ctx, client, http.DefaultTransport)
	if errors.Is(err, oidc.ErrIssuer) {
		return misuse(fmt.Sprintf("%q is no issuer: %v", client.Issuer, err), "give it as the provider writes it")
	}
	if err != nil {
		return &api.Problem{
			Code: api.Unavailable, Message: fmt.Sprintf("nobody can sign in through %s: %v", client.Issuer, err),
			Hint: "give --oidc the issuer as the provider writes it; its discovery document lies below, at .well-known/openid-configuration",
		}
	}
	return nil
}

func (a *app) serve(ctx context.Context, addr string, over *page.TLS) error {
	place, err := a.place()
	if err == nil {
		err = a.byNoRun(ctx, place)
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	collect(owning)
	c := page.Config{Open: a.pageOpen, API: httpapi.New(a.apiOpen, Version()), Users: users.In(place.State), TLS: over}
	return page.Serve(ctx, c, addr, func(url string) {
		doc, text := map[string]string{"url": url}, "open in a browser, once: "+url
		if over != nil {
			text = "users sign in at " + url
		}
		if over != nil && over.Provider != nil {
			doc["redirect"] = strings.TrimSuffix(url, "/") + page.ReturnPath
			text += ", also with " + over.Provider.Host + ", which must know this redirect address: " + doc["redirect"]
		}
		a.report("serving", doc, text)
	})
}

// openFor opens the workspace for one request, of whoever sent it.
func (a *app) openFor(ctx context.Context, face string) (*session, error) {
	s, err := a.openToLook(ctx, false)
	if err != nil {
		return nil, err
	}
	s.Via, s.client.Face = face, face
	if user := users.Of(ctx); user != "" {
		s.By, s.Guest, s.Here, s.client.User, s.client.Dir = user, true, s.Place.Dir, user, s.Place.Dir
	}
	return s, nil
}

// pageOpen opens the workspace for one request of a browser.
func (a *app) pageOpen(ctx context.Context) (*page.Workspace, func() error, error) {
	s, err := a.openFor(ctx, "page")
	if err != nil {
		return nil, nil, err
	}
	words := theme{width: pageWidth, whole: true, zone: time.Local}
	return &page.Workspace{
		Reader: s.reader(), Client: s.client, Words: func(h view.Happening) []string { return words.lines(h) }, Deeds: s.deedsIn,
		Listen: func(tell func(run, step, line string)) page.Ear { return pageEar{s.deedEar(tell)} },
	}, s.store.Close, nil
}

// pageEar hears for a page what agents do.
type pageEar struct{ *deedEar }

func (e pageEar) Take(run string, event engine.Event) { e.take(run, event) }
func (e pageEar) Look()                               { e.look() }

// apiOpen opens the workspace for one request of a program.
func (a *app) apiOpen(ctx context.Context) (*httpapi.Workspace, func() error, error) {
	s, err := a.openFor(ctx, api.ForHTTP)
	if err != nil {
		return nil, nil, err
	}
	return &httpapi.Workspace{Reader: s.reader(), Client: s.client}, s.store.Close, nil
}

// pageWidth is where a line of a happening is cut, in columns: a page folds lines itself.
const pageWidth = 400
