//go:build gate

package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tool"
)

// TestPublicServers uses two server programs that others wrote. It installs them
// with npm, and so belongs to the gate.
func TestPublicServers(t *testing.T) {
	home := t.TempDir()
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", home,
		"@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := func(name string) string { return filepath.Join(home, "node_modules", ".bin", name) }
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := open(t, tool.Config{Workspace: dir, Pool: pool(t), Servers: map[string]tool.Server{
		"all":   {Command: []string{program("mcp-server-everything"), "stdio"}},
		"files": {Command: []string{program("mcp-server-filesystem"), dir}},
	}}, nil)
	list, err := r.List(t.Context())
	if err != nil {
		t.Error(err)
	}
	servers := map[string]int{}
	for _, d := range list {
		servers[d.Server]++
	}
	if servers["all"] < 5 || servers["files"] < 8 {
		t.Errorf("tools by server: %v", servers)
	}
	for _, c := range []struct {
		name string
		args m
		want tool.Code
		says string
	}{
		{"all.echo", m{"message": "hello"}, "", "hello"},
		{"all.get-sum", m{"a": 2, "b": 40}, "", "42"},
		{"all.get-sum", m{"a": "x"}, tool.InvalidArguments, `want "number"`},
		{"all.get-structured-content", m{"location": "Chicago"}, "", `"temperature":`},
		{"files.read_text_file", m{"path": filepath.Join(dir, "a.txt")}, "", "one"},
		{"files.read_text_file", m{"path": "/etc/passwd"}, tool.Failed, "Access denied"},
		{"files.write_file", m{"path": filepath.Join(dir, "b.txt"), "content": "two"}, "", ""},
	} {
		o := r.Call(t.Context(), c.name, args(t, c.args), nil)
		said := string(o.Output)
		if o.Problem != nil {
			said = o.Problem.Message
		}
		if code(o) != c.want || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q %.300s, want %q with %s", c.name, code(o), said, c.want, c.says)
		}
	}
	if got := text(t, dir, "b.txt"); got != "two" {
		t.Errorf("the server wrote %q", got)
	}
}
