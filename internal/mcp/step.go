package mcp

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Step is what the agent of a step can say with tools. Each gets a text and may refuse it.
type Step struct {
	Version            string
	Note, Ask, Blocked func(text string) error
}

// message is what a tool of a step's agent is given.
type message struct {
	Text string `json:"text" jsonschema:"one or a few sentences"`
}

// ServeStep serves the agent of a step until it leaves, or ctx ends.
func ServeStep(ctx context.Context, step Step, in io.ReadCloser, out io.Writer) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "piton", Title: "Piton", Version: step.Version},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	tells(s, "note", "Note a fact that later steps or people should know.", "Noted.", step.Note)
	tells(s, "ask", "Put a question to a person. The answer does not come while you work.",
		"Asked. Nobody answers while you work: go on if you can do without the answer, else end your turn.", step.Ask)
	tells(s, "blocked", "Report what keeps you from doing the task.", "Reported. End your turn.", step.Blocked)
	return serve(ctx, s, in, out)
}

// tells adds a tool that passes a text on.
func tells(s *mcp.Server, name, about, answer string, tell func(text string) error) {
	mcp.AddTool(s, &mcp.Tool{
		Name: name, Description: about, Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
		if err := tell(in.Text); err != nil {
			return nil, nil, explained(err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer}}}, nil, nil
	})
}
