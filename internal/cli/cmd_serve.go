package cli

import (
	"context"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/page"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) serveCmd() *cobra.Command {
	addr := ""
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a page to review, watch and answer in a browser",
		Long: `Serves a page of this workspace to a browser of this machine, until Ctrl-C. It shows what waits for
you, runs as they go on, and plans with their findings; you can approve, answer, pause and cancel there.

It prints a URL that lets one browser in, once. Start it again for another browser. Runs go on without
it.`,
		Example: "  piton serve\n  piton serve --addr 127.0.0.1:7430",
		Args:    atMost("nothing", 0),
		RunE:    func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), addr) },
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "serve on this `HOST:PORT` of this machine; port 0 is any free one")
	return c
}

func (a *app) serve(ctx context.Context, addr string) error {
	if err := a.byPerson(); err != nil {
		return err
	}
	if _, err := a.place(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	collect(owning)
	return page.Serve(ctx, page.Config{Open: a.pageOpen}, addr, func(url string) {
		a.report("serving", map[string]string{"url": url}, "open in a browser, once: "+url)
	})
}

// pageOpen opens the workspace for one request of a browser.
func (a *app) pageOpen(ctx context.Context) (*page.Workspace, func() error, error) {
	s, err := a.openToLook(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	s.Via, s.client.Face = "page", "page"
	words := theme{width: pageWidth, whole: true, zone: time.Local}
	return &page.Workspace{Reader: s.reader(), Client: s.client, Words: func(h view.Happening) []string { return words.lines(h) }}, s.store.Close, nil
}

// pageWidth is where a line of a happening is cut, in columns: a page folds lines itself.
const pageWidth = 400
