package mcp

import (
	"context"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resources registers what can be read by its address.
func (c Config) resources(s *mcp.Server) {
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "plan", URITemplate: "plan://{+path}", MIMEType: "text/markdown",
		Description: "A plan: its path in the workspace, or the id of a run or revision",
	}, c.resource("plan://", "text/markdown", planText))
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "run", URITemplate: "run://{run}", MIMEType: "application/json", Description: "How a run stands",
	}, c.resource("run://", "application/json", runText))
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "log", URITemplate: "run://{run}/steps/{step}/log", MIMEType: "text/plain",
		Description: "The end of what the newest attempt of a step printed",
	}, c.resource("run://", "text/plain", logText))
}

func (c Config) resource(scheme, kind string, text func(context.Context, *Workspace, string) (string, error)) mcp.ResourceHandler {
	return func(ctx context.Context, q *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		rest, err := url.PathUnescape(strings.TrimPrefix(q.Params.URI, scheme))
		if err != nil {
			return nil, explained(refused("escape it as in a URL", "the address cannot be read: %v", err))
		}
		body, err := use(ctx, c, func(w *Workspace) (string, error) { return text(ctx, w, rest) })
		if err != nil {
			return nil, explained(err)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: q.Params.URI, MIMEType: kind, Text: body}}}, nil
	}
}

func planText(ctx context.Context, w *Workspace, name string) (string, error) {
	doc, _, err := document(ctx, w, name)
	if err != nil {
		return "", err
	}
	return cut(string(doc.Source), maxText), nil
}

func runText(ctx context.Context, w *Workspace, run string) (string, error) {
	if err := word("the run", run); err != nil {
		return "", err
	}
	if err := id("the run", run); err != nil {
		return "", err
	}
	st, err := standing(ctx, w, run)
	if err != nil {
		return "", err
	}
	return encoded(st)
}

// logURI is the address of what the newest attempt of a step printed.
func logURI(run, step string) string {
	return "run://" + run + "/steps/" + url.PathEscape(step) + "/log"
}

func logText(ctx context.Context, w *Workspace, name string) (string, error) {
	run, step, ok := strings.Cut(strings.TrimSuffix(name, "/log"), "/steps/")
	if !ok || run == "" {
		return "", refused("as step_evidence gives it", "%q is no address of a log", cut(name, maxLine))
	}
	x, err := account(ctx, w, run, step)
	if err != nil {
		return "", err
	}
	file := x.Printed()
	if file == "" {
		return "", refused("run_status says how far it is", "no attempt of step %s has ended", x.Row(x.Index).ID)
	}
	text, err := w.Printed(file, x.Row(x.Index).Agent)
	if err != nil {
		return "", err
	}
	return tail(text, maxText), nil
}
