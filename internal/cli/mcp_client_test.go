//go:build unix

package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpClientMain is a client of piton mcp, for scripts: each word is a request to one server,
// its answer is printed. A word is tools, prompts, read=URI, prompt=NAME, or TOOL={…}. The
// server is started here, or is that of $MCP_URL, with $MCP_TOKEN.
func mcpClientMain() int {
	ctx := context.Background()
	c := mcp.NewClient(&mcp.Implementation{Name: "script", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, q *mcp.ProgressNotificationClientRequest) {
			fmt.Printf("progress %v of %v: %s\n", q.Params.Progress, q.Params.Total, q.Params.Message)
		},
	})
	s, err := c.Connect(ctx, mcpTransport(), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := 0
	for _, word := range os.Args[1:] {
		if err := mcpAsk(ctx, s, word); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func mcpTransport() mcp.Transport {
	if url := os.Getenv("MCP_URL"); url != "" {
		return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(os.Getenv("MCP_TOKEN"))}, MaxRetries: -1}
	}
	server := exec.Command("piton", "mcp")
	server.Stderr = os.Stderr
	return &mcp.CommandTransport{Command: server}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func mcpAsk(ctx context.Context, s *mcp.ClientSession, word string) error {
	name, arg, _ := strings.Cut(word, "=")
	var answer any
	var err error
	switch name {
	case "tools":
		answer, err = s.ListTools(ctx, nil)
	case "prompts":
		answer, err = s.ListPrompts(ctx, nil)
	case "templates":
		answer, err = s.ListResourceTemplates(ctx, nil)
	case "read":
		var r *mcp.ReadResourceResult
		if r, err = s.ReadResource(ctx, &mcp.ReadResourceParams{URI: arg}); err == nil {
			fmt.Println(r.Contents[0].Text)
			return nil
		}
	case "prompt":
		answer, err = s.GetPrompt(ctx, &mcp.GetPromptParams{Name: arg, Arguments: map[string]string{"request": "Mend it", "plan": "plan.md"}})
	default:
		return mcpCall(ctx, s, name, arg)
	}
	if err != nil {
		return err
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(answer)
}

func mcpCall(ctx context.Context, s *mcp.ClientSession, name, arg string) error {
	q := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arg)}
	q.SetProgressToken("here")
	r, err := s.CallTool(ctx, q)
	if err != nil {
		return err
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		return fmt.Errorf("tool error: %s", text)
	}
	fmt.Println(text)
	return nil
}
