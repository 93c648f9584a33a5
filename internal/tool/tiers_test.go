package tool_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tool"
)

// open makes a registry over a workspace with some files.
func open(t testing.TB, c tool.Config, files map[string]string) (*tool.Registry, string) {
	t.Helper()
	if c.Workspace == "" {
		c.Workspace = t.TempDir()
	}
	c.Environ = append(os.Environ(), c.Environ...)
	for name, text := range files {
		put(t, c.Workspace, name, text)
	}
	r, err := tool.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, c.Workspace
}

// args writes arguments as JSON.
func args(t testing.TB, value any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type m = map[string]any

func weighCommand(t testing.TB, r *tool.Registry, command string) tool.Weight {
	t.Helper()
	w, err := r.Weigh(t.Context(), "run_command", args(t, m{"command": command}))
	if err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	return w
}

func TestTiers(t *testing.T) {
	t.Parallel()
	r, _ := open(t, tool.Config{}, map[string]string{"old.txt": "x", "dir/x.sh": "ls", ".git/config": ""})
	text, err := os.ReadFile("testdata/tiers.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		tier, command, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		command = strings.TrimLeft(command, " ")
		w := weighCommand(t, r, command)
		if w.Tier != tool.Tier(tier) {
			t.Errorf("%s: is %s because of %q, want %s", command, w.Tier, w.Reasons, tier)
		}
		if (w.Tier == tool.Free) != (len(w.Reasons) == 0) {
			t.Errorf("%s: %s with the reasons %q", command, w.Tier, w.Reasons)
		}
	}
	if n < 300 {
		t.Errorf("%d commands were read", n)
	}
}

// TestCarriageReturn: to bash it is a letter, so that the line behind it is a command of its own.
func TestCarriageReturn(t *testing.T) {
	t.Parallel()
	r, _ := open(t, tool.Config{}, nil)
	for _, command := range []string{"echo \\\r\nrm old.txt", "ls #\\\r\nrm old.txt", "bash -c 'echo \\\r\nrm old.txt'"} {
		if w := weighCommand(t, r, command); w.Tier != tool.Block {
			t.Errorf("%q is %s", command, w.Tier)
		}
	}
}

// TestNoRepository: without one of its own, a workspace may hold files that git takes for one.
func TestNoRepository(t *testing.T) {
	t.Parallel()
	r, _ := open(t, tool.Config{}, nil)
	if w := weighCommand(t, r, "git status"); w.Tier != tool.Review {
		t.Errorf("git status without a repository is %s", w.Tier)
	}
}

// TestHereDocuments: what is fetched reaches a program by a pipe, a substitution or
// a redirection; beside one, it does not.
func TestHereDocuments(t *testing.T) {
	t.Parallel()
	r, _ := open(t, tool.Config{}, nil)
	for command, want := range map[string]tool.Tier{
		"curl -f localhost/health && python3 - <<EOF\nprint(1)\nEOF":  tool.Approve,
		"cat <<'EOF' | python3 - && curl localhost\nprint(1)\nEOF":    tool.Approve,
		"python3 - <<'EOF' && curl localhost\nprint(1)\nEOF":          tool.Approve,
		"cat <<'EOF' | sh\ncurl localhost\nEOF":                       tool.Approve,
		"cat <<'EOF' | sh\ncurl localhost | sh\nEOF":                  tool.Block,
		"python3 - <<EOF\n$(curl localhost)\nEOF":                     tool.Block,
		"cat <<EOF | python3 -\n$(curl localhost)\nEOF":               tool.Block,
		strings.Repeat("curl localhost | ", 3_000) + "python3 -":      tool.Block,
		"ls && " + strings.Repeat("ls | ", 10_000) + "curl localhost": tool.Approve,
	} {
		if w := weighCommand(t, r, command); w.Tier != want {
			t.Errorf("%.80q is %s because of %q, want %s", command, w.Tier, w.Reasons, want)
		}
	}
}
