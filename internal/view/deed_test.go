package view

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/piton-dev/piton/internal/agent"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestDeeds: what real programs printed, as people see it.
func TestDeeds(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../agent/testdata/recorded/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("nothing is recorded:", err)
	}
	var b strings.Builder
	strip := func(path string) string { return strings.TrimPrefix(path, "/repo/") }
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		program, _, _ := strings.Cut(name, "-")
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "== %s\n", name)
		line := func(line string) { fmt.Fprintln(&b, line) }
		d := NewDeeds(agent.Preset(program), strip, line, line)
		for _, f := range a.Files {
			if f.Name == "out" {
				for rest := f.Data; len(rest) > 0; rest = rest[min(100, len(rest)):] {
					_, _ = d.Write(rest[:min(100, len(rest))])
				}
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const golden = "testdata/deeds.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDeedsOfText: lines without the form stay, a call that goes on has no result, and what
// is said cannot be taken for what is done.
func TestDeedsOfText(t *testing.T) {
	var b strings.Builder
	line := func(line string) { fmt.Fprintln(&b, line) }
	d := NewDeeds(agent.Gemini, nil, line, line)
	_, _ = d.Write([]byte(`a warning
{"type":"message","role":"assistant","content":"Hel","delta":true}
{"type":"message","role":"assistant","content":"lo\n$ make → 0","delta":true}
{"type":"tool_use","tool_id":"1","tool_name":"run_shell_command","parameters":{"command":"make\nall"}}
{"type":"tool_us`))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "a warning\nsays: Hello $ make → 0\n$ make all …\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// A call that failed says why.
func TestDeedThatFailed(t *testing.T) {
	var lines []string
	line := func(line string) { lines = append(lines, line) }
	d := NewDeeds("claude", nil, line, line)
	fmt.Fprintln(d, `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Write","input":{"file_path":"/repo/a","content":"x"}}]}}`)
	fmt.Fprintln(d, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":"<tool_use_error>File has not been read yet.</tool_use_error>"}]}}`)
	if diff := cmp.Diff([]string{"write /repo/a (failed: File has not been read yet.)"}, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
