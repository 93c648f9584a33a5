//go:build gate && unix

package cli_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed is a directory with a package of npm.
func installed(t *testing.T, name string) (home string) {
	t.Helper()
	home = t.TempDir()
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", home, name)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return home
}

// TestMCPInspector drives piton mcp with a client that others wrote: the inspector of the
// protocol's authors. The gate alone asks it: it installs that with npm.
func TestMCPInspector(t *testing.T) {
	home := installed(t, "@modelcontextprotocol/inspector@2.12.0")
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(base, "ws")
	if err := os.MkdirAll(filepath.Join(ws, ".piton"), 0o755); err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(name, args...)
		c.Dir = ws
		c.Env = append(os.Environ(), "PITON_STATE=", "XDG_STATE_HOME=", "HOME="+base) // the inspector passes on little more than the home
		return c
	}
	inspects := func(server []string, args ...string) string {
		t.Helper()
		args = append(append([]string{"--cli"}, server...), args...)
		out, err := command(filepath.Join(home, "node_modules", ".bin", "mcp-inspector"), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.ReplaceAll(string(out), `\"`, `"`)
	}
	stdio := []string{"piton", "mcp"}
	says := func(want string, args ...string) string {
		t.Helper()
		got := inspects(stdio, args...)
		if !strings.Contains(got, want) {
			t.Fatalf("%q is not in %s", want, got)
		}
		return got
	}
	call := func(want, tool string, args ...string) string {
		t.Helper()
		all := []string{"--method", "tools/call", "--tool-name", tool}
		for _, a := range args {
			all = append(all, "--tool-arg", a)
		}
		return says(want, all...)
	}

	tools := says("plan_propose", "--method", "tools/list")
	var listed struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(tools), &listed); err != nil || len(listed.Tools) != 8 {
		t.Errorf("%d tools, %v: %s", len(listed.Tools), err, tools)
	}
	for _, tool := range listed.Tools {
		for _, word := range []string{"approve", "answer", "waive", "skip", "mark", "resume", "retry"} {
			if strings.Contains(tool.Name, word) {
				t.Errorf("there is a tool %s", tool.Name)
			}
		}
	}
	call("written", "plan_propose", "text="+trivialPlan)
	call(`"needs":"yes"`, "plan_run", "plan=plans/touch.md")
	if out, err := command("piton", "approve", "plans/touch.md", "--yes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	call(`"started":true`, "plan_run", "plan=plans/touch.md")
	call(`"status":"done"`, "run_status", "wait_seconds=60")
	call(`"verdict":"pass"`, "step_evidence", "step=touch")
	says("plan://{+path}", "--method", "resources/templates/list")
	says("# Touch", "--method", "resources/read", "--uri", "plan://plans/touch.md")
	says("review_plan", "--method", "prompts/list")

	server := command("piton", "mcp", "--http", "127.0.0.1:0", "--json")
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var at struct{ Data struct{ URL, Token string } }
	line, _ := bufio.NewReader(out).ReadBytes('\n')
	if err := json.Unmarshal(line, &at); err != nil {
		t.Error(err)
	}
	got := inspects([]string{at.Data.URL, "--transport", "http", "--header", "Authorization: Bearer " + at.Data.Token}, "--method", "tools/list")
	if !strings.Contains(got, "plan_propose") {
		t.Errorf("over HTTP: %s", got)
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
	unowned(t, ws, 0)
}
