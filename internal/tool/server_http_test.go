package tool_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piton-dev/piton/internal/tool"
)

type greeting struct {
	Name string `json:"name"`
}

type greeted struct {
	Text string `json:"text"`
}

// mcpSite serves MCP over HTTP.
func mcpSite(t *testing.T) *httptest.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "site", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "Greets."}, func(_ context.Context, _ *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, greeted, error) {
		return nil, greeted{"hello " + in.Name}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "flood"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, greeted, error) {
		return nil, greeted{strings.Repeat("x", 10<<20)}, nil
	})
	return serveHTTP(t, s)
}

func serveHTTP(t *testing.T, s *mcp.Server) *httptest.Server {
	t.Helper()
	site := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(site.Close)
	return site
}

// worker is a tool that says how far it is. It waits until what it said was heard.
type worker struct{ heard chan struct{} }

func (w worker) works(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, greeted, error) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil, greeted{"nobody listens"}, nil
	}
	for _, p := range []*mcp.ProgressNotificationParams{
		{ProgressToken: "not ours", Progress: 1, Total: 2, Message: "of another call"},
		{ProgressToken: token, Progress: 1, Total: 4, Message: "one \x1b[31mof\nfour"},
		{ProgressToken: token, Progress: 7, Message: "no total"},
		{ProgressToken: token, Progress: 7, Total: 4},
		{ProgressToken: token, Progress: 4, Total: 4},
	} {
		if err := r.Session.NotifyProgress(ctx, p); err != nil {
			return nil, greeted{}, err
		}
	}
	select {
	case <-w.heard:
	case <-ctx.Done():
	}
	return nil, greeted{"done"}, nil
}

// What a server says of a call arrives while it works, and only where somebody
// listens and it makes sense.
func TestServerProgress(t *testing.T) {
	t.Parallel()
	w := worker{make(chan struct{})}
	s := mcp.NewServer(&mcp.Implementation{Name: "site", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "works"}, w.works)
	r, _ := open(t, tool.Config{Servers: map[string]tool.Server{"web": {URL: serveHTTP(t, s).URL}}}, nil)
	if o := r.Call(t.Context(), "web.works", nil, nil); string(o.Output) != `{"text":"nobody listens"}` {
		t.Errorf("%s %v", o.Output, o.Problem)
	}
	var all []tool.Progress
	ctx := tool.WithProgress(t.Context(), func(p tool.Progress) {
		if all = append(all, p); p.Percent != nil && *p.Percent == 100 {
			close(w.heard)
		}
	})
	if o := r.Call(ctx, "web.works", nil, nil); string(o.Output) != `{"text":"done"}` {
		t.Errorf("%s %v", o.Output, o.Problem)
	}
	want := []tool.Progress{{Percent: new(25.0), Text: "one of four"}, {Text: "no total"}, {Percent: new(100.0)}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestServerOverHTTP(t *testing.T) {
	t.Parallel()
	site := mcpSite(t)
	r, _ := open(t, tool.Config{Servers: map[string]tool.Server{"web": {URL: site.URL}}}, nil)
	o := r.Call(t.Context(), "web.greet", args(t, m{"name": "you"}), nil)
	if !o.OK || string(o.Output) != `{"text":"hello you"}` {
		t.Errorf("%s %v", o.Output, o.Problem)
	}
	if o := r.Call(t.Context(), "web.greet", args(t, m{"name": 1}), nil); code(o) != tool.InvalidArguments {
		t.Errorf("%v", o.Problem)
	}
	if o := r.Call(t.Context(), "web.flood", nil, nil); o.OK {
		t.Errorf("a flood of %d bytes is an output", len(o.Output))
	}
	if o := r.Call(t.Context(), "web.greet", args(t, m{"name": "you"}), nil); !o.OK {
		t.Errorf("after a flood: %v", o.Problem)
	}
	d, err := r.Get(t.Context(), "web.greet")
	if err != nil || d.Effect != tool.Network || !d.Foreign {
		t.Errorf("%+v %v", d, err)
	}
}

// TestServerOverHTTPIsLazy: nothing is asked before a tool is.
func TestServerOverHTTPIsLazy(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasPrefix(r.URL.Path, "/away") {
			http.Redirect(w, r, "http://localhost:1/", http.StatusTemporaryRedirect)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(site.Close)
	r, _ := open(t, tool.Config{Servers: map[string]tool.Server{"none": {URL: site.URL}, "away": {URL: site.URL + "/away"}, "gone": {URL: "http://127.0.0.1:1/"}}}, nil)
	if o := r.Call(t.Context(), "list_directory", nil, nil); !o.OK || asked.Load() != 0 {
		t.Errorf("%v, asked %d times", o.Problem, asked.Load())
	}
	for name, says := range map[string]string{"none.x": "server none does not start", "away.x": "a redirection to localhost:1 is not followed", "gone.x": "server gone does not start"} {
		if o := r.Call(t.Context(), name, nil, nil); code(o) != tool.Unavailable || !strings.Contains(o.Problem.Message, says) {
			t.Errorf("%s: %q %v, want %q", name, code(o), o.Problem, says)
		}
	}
	if asked.Load() == 0 {
		t.Error("nothing was ever asked")
	}
}
