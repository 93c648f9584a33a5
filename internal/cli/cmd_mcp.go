package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/mcp"
	"github.com/piton-dev/piton/internal/proc"
)

func (a *app) mcpCmd() *cobra.Command {
	addr, step := "", false
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the tools of this workspace to an agent, over MCP",
		Long: `Serves the Model Context Protocol on standard input and output, until that ends. An agent that has
this server can list, show, verify, propose and run plans, wait for a run, cancel it, and read the
evidence of a step. It cannot approve, answer, waive or mark anything: a person does that with the
other verbs. What it does is recorded as done by you "via MCP".

With --http it serves streamable HTTP on an address of this machine only, until Ctrl-C. It prints the
URL and a token, once; each request needs the token as "Authorization: Bearer TOKEN".

With --step it serves the agent that works on a step, and only that: the tools note, ask and blocked
write to the file that PITON_REPORT names.`,
		Example: "  piton mcp\n  piton mcp -C ~/project\n  piton mcp --http 127.0.0.1:7431\n  claude mcp add piton -- piton mcp",
		Args:    atMost("nothing", 0),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case step && c.Flags().Changed("http"):
				return usage(c, errors.New("--step is served on standard input and output only"))
			case step:
				return a.mcpStep(c.Context())
			case c.Flags().Changed("http"):
				return a.mcpHTTP(c.Context(), addr)
			}
			return a.mcp(c.Context())
		},
	}
	c.Flags().StringVar(&addr, "http", "", "serve streamable HTTP on this `HOST:PORT` of this machine; port 0 is any free one")
	c.Flags().BoolVar(&step, "step", false, "serve the agent of a step: tools to report with")
	return c
}

// mcpConfig is what the server needs of this program. The workspace must be there, and be
// one that this process may act in.
func (a *app) mcpConfig() (mcp.Config, error) {
	if err := a.byPerson(); err != nil {
		return mcp.Config{}, err
	}
	if _, err := a.place(); err != nil {
		return mcp.Config{}, err
	}
	return mcp.Config{Version: Version(), Open: a.mcpOpen}, nil
}

// mcpOpen opens the workspace for one call.
func (a *app) mcpOpen(ctx context.Context) (*mcp.Workspace, func() error, error) {
	s, err := a.openToLook(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	s.By, s.Via = s.By+" via MCP", api.ForAgents
	s.client.Face = api.ForAgents
	printed := func(file, agent string) (string, error) {
		text, err := s.printed(file, agent)
		if errors.Is(err, fs.ErrNotExist) {
			return "", &api.Problem{Code: api.NotFound, Message: "this log is gone: piton gc removes the logs of finished runs"}
		}
		return proc.Plain([]byte(text)), err
	}
	return &mcp.Workspace{Reader: s.reader(), Client: s.client, Printed: printed}, s.store.Close, nil
}

// mcp serves one client on standard input and output.
func (a *app) mcp(ctx context.Context) error {
	conf, err := a.mcpConfig()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	collect(owning)
	if isTerminal(a.in) {
		a.notice("piton mcp waits for an agent on standard input; docs/mcp.md says how to connect one; Ctrl-C ends it")
	}
	return mcp.Serve(ctx, conf, io.NopCloser(a.in), a.out)
}

// mcpHTTP serves clients on an address of this machine.
func (a *app) mcpHTTP(ctx context.Context, addr string) error {
	conf, err := a.mcpConfig()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	collect(owning)
	return mcp.ServeHTTP(ctx, conf, addr, func(url, token string) {
		a.report("serving", map[string]string{"url": url, "token": token}, fmt.Sprintf("url: %s\ntoken: %s", url, token))
	})
}

// mcpStep serves the agent of a step, which reports with it.
func (a *app) mcpStep(ctx context.Context) error {
	path := a.environ()["PITON_REPORT"]
	if path == "" {
		return &api.Problem{
			Code: api.Invalid, Message: "PITON_REPORT names no file: this process works on no step",
			Hint: "set report_tools: on of an agent, which starts this server; docs/agents.md shows how",
		}
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	as := func(t agent.ReportType) func(string) error {
		return func(text string) error { return agent.AppendReport(path, t, text) }
	}
	return mcp.ServeStep(ctx, mcp.Step{
		Version: Version(), Note: as(agent.Discovery), Ask: as(agent.Question), Blocked: as(agent.Blocked),
	}, io.NopCloser(a.in), a.out)
}
