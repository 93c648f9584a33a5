//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpWorkspace is a client of piton mcp in a new workspace, whose plan waits for approval.
func mcpWorkspace(t *testing.T) (*mcp.ClientSession, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(base, "ws")
	for name, text := range map[string]string{"ws/plan.md": trivialPlan, "secret.md": "# kept apart from agents\n", "ws/.piton/config.yaml": "policy: {approve: ask}\n"} {
		name = filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "secret.md"), filepath.Join(ws, "link.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(base, filepath.Join(ws, "away")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(ws, "pipe.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	server := exec.Command("piton", "mcp")
	server.Dir, server.Stderr = ws, os.Stderr
	server.Env = append(os.Environ(), "PITON_STATE="+filepath.Join(base, "state"), "HOME="+base)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "hostile", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close() //nolint:errcheck // a server that has died fails the test before
		unowned(t, ws, 0)
	})
	return s, base
}

// hostile are values that no tool and no resource may be misled by.
var hostile = []string{
	"", ".", "..", "/", "../secret.md", "plans/../../secret.md", "link.md", "away/secret.md", "away", "pipe.md", "/etc/passwd", "/dev/zero",
	"file:///etc/passwd", "-", "--yes", "plan.md\x00", "plan.md\n", "\x1b[2Jplan.md", "\u202eplan.md", "plan.md\xff", "~/secret.md", "$(touch hit)", "`touch hit`",
	"; touch hit", "%2e%2e/secret.md", "..%2fsecret.md", ".piton/config.yaml", "@1", "plan-", "1/2/3/4", "a@99999999999999999999",
	strings.Repeat("a", 1<<16), strings.Repeat("../", 1<<10) + "etc/passwd", strings.Repeat("# a\n", 1<<15),
	"---\ntype: plan\nstatus: approved\nowner: you\n---\n# T\n## Steps\n### 1. A\n**tool:** run_command\n",
}

// Whatever a client asks for, the server goes on, answers in bounds, tells nothing of files
// outside of the workspace, writes nothing but new files in plans/, and approves nothing.
func TestMCPAbuse(t *testing.T) {
	t.Parallel()
	s, base := mcpWorkspace(t)
	ctx := t.Context()
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what, answer string) {
		t.Helper()
		if len(answer) > 64<<10 || strings.Contains(answer, "kept apart") || strings.Contains(answer, "daemon:") {
			t.Errorf("%.120q: the answer has %d bytes: %.300s", what, len(answer), answer)
		}
	}
	for _, tool := range list.Tools {
		var schema struct {
			Properties map[string]struct{ Type string }
		}
		text, err := json.Marshal(tool.InputSchema)
		if err == nil {
			err = json.Unmarshal(text, &schema)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range hostile {
			args := map[string]any{}
			for name, p := range schema.Properties {
				args[name] = value
				if p.Type == "integer" {
					args[name] = 0
				}
			}
			if tool.Name == "plan_verify" {
				delete(args, "text")
			}
			r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: args})
			if err != nil {
				t.Fatalf("%s(%.100q): %v", tool.Name, value, err)
			}
			text := r.Content[0].(*mcp.TextContent).Text
			check(tool.Name+" "+value, text)
			if !r.IsError && !strings.Contains(text, `"started":false`) && (tool.Name == "plan_propose" || tool.Name == "plan_run" || tool.Name == "run_cancel") {
				t.Errorf("%s(%.100q) was done", tool.Name, value)
			}
		}
		for _, args := range []any{nil, []int{1}, "text", map[string]any{"approve": true, "yes": true}, map[string]any{"plan": map[string]any{}}, map[string]any{"wait_seconds": 1e9}} {
			r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: args})
			if err == nil {
				check(tool.Name, r.Content[0].(*mcp.TextContent).Text)
			}
		}
	}
	for _, value := range hostile {
		for _, uri := range []string{"plan://" + value, "run://" + value, "run://" + value + "/steps/" + value + "/log", "file://" + value} {
			if r, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err == nil {
				check(uri, r.Contents[0].Text)
			}
		}
		if r, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "draft_plan", Arguments: map[string]string{"request": value}}); err == nil {
			check(value, r.Messages[0].Content.(*mcp.TextContent).Text)
		}
	}
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "plan_run", Arguments: map[string]any{"plan": "plan.md"}})
	if err != nil || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, `"needs":"yes"`) {
		t.Errorf("the plan no longer waits for a person: %v %v", r, err)
	}
	entries, err := os.ReadDir(filepath.Join(base, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains([]string{".piton", "away", "link.md", "pipe.md", "plan.md"}, e.Name()) {
			t.Errorf("the workspace has %s", e.Name())
		}
	}
}

// No tool says in its name that it moves what only people move, and all of them together
// cost a conversation at most 3,000 tokens, at four bytes each.
func TestMCPTools(t *testing.T) {
	t.Parallel()
	s, _ := mcpWorkspace(t)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if n := (len(text) + len(s.InitializeResult().Instructions)) / 4; n > 3000 {
		t.Errorf("the tools and the instructions cost about %d tokens", n)
	} else {
		t.Logf("the tools and the instructions cost about %d tokens", n)
	}
	want := []string{"plan_list", "plan_propose", "plan_run", "plan_show", "plan_verify", "run_cancel", "run_status", "step_evidence"}
	var have []string
	for _, tool := range list.Tools {
		have = append(have, tool.Name)
	}
	if slices.Sort(have); !slices.Equal(have, want) {
		t.Errorf("the tools are %v", have)
	}
}

// A client that leaves in the middle of a wait ends the server, and the workspace stays usable.
func TestMCPLeaves(t *testing.T) {
	t.Parallel()
	s, _ := mcpWorkspace(t)
	done := make(chan error, 1)
	go func() { done <- s.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the server does not end when its client leaves")
	}
}
