package probe_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/verify"
)

// write makes a file and the directories above it.
func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return name
}

// tool makes a program of the system's kind.
func tool(t *testing.T, dir, name, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		return write(t, filepath.Join(dir, name+".bat"), "@echo off\r\necho "+name+" 1.0\r\n", 0o700)
	}
	return write(t, filepath.Join(dir, name), "#!/bin/sh\n"+script+"\n", 0o700)
}

func path(dirs ...string) string {
	return "PATH=" + strings.Join(dirs, string(filepath.ListSeparator))
}

func TestAnswerCommands(t *testing.T) {
	work, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	want := tool(t, first, "build", "exit 0")
	other := tool(t, second, "build", "exit 0")
	only := tool(t, second, "only", "exit 0")
	tool(t, work, "local", "exit 0")
	write(t, filepath.Join(first, "text"), "no program", 0o600)
	if err := os.Mkdir(filepath.Join(first, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work) // a relative entry of PATH would find local here
	env := probe.Env{Workspace: work, Environ: []string{path(".", "", first, "x", second)}, Config: config.Default()}
	q := verify.Queries{Commands: []string{"build", "only", "local", "dir", "none", other, filepath.Join(first, "none")}}
	expected := map[string]string{
		"build": want, "only": only, "local": "", "dir": "", "none": "", other: other, filepath.Join(first, "none"): "",
	}
	if runtime.GOOS != "windows" {
		q.Commands = append(q.Commands, "text")
		expected["text"] = ""
	}
	if diff := cmp.Diff(expected, probe.Answer(t.Context(), q, env).Commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestAnswerFiles(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(work, "docs", "a.md"), "x", 0o600)
	write(t, filepath.Join(work, "run.sh"), "x", 0o700)
	write(t, filepath.Join(outside, "secret"), "x", 0o600)
	want := map[string]verify.File{
		"docs/a.md": {Exists: true, Executable: runtime.GOOS == "windows"},
		"docs":      {Exists: true, Dir: true},
		"run.sh":    {Exists: true, Executable: true},
		"none/at/a": {},
		"none":      {},
	}
	names := []string{"docs/a.md", "docs", "run.sh", "none/at/a", "none", "../" + filepath.Base(outside) + "/secret"}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(work, "link")); err == nil {
		names = append(names, "link") // what a link out of the workspace leads to is not looked at
		want["link"] = verify.File{Outside: true}
	} else if runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	got := probe.Answer(t.Context(), verify.Queries{Files: names}, probe.Env{Workspace: work, Config: config.Default()}).Files
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestAnswerWithoutWorkspace(t *testing.T) {
	got := probe.Answer(t.Context(), verify.Queries{Files: []string{"a"}, Commands: []string{"a"}},
		probe.Env{Workspace: filepath.Join(t.TempDir(), "none"), Config: config.Default()})
	if len(got.Files) != 0 || got.Commands["a"] != "" {
		t.Errorf("facts without a workspace: %+v", got)
	}
}

func TestAnswerStopsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := probe.Answer(ctx, verify.Queries{Files: []string{"a"}, Commands: []string{"a"}}, probe.Env{Workspace: t.TempDir(), Config: config.Default()})
	if len(got.Files) != 0 || len(got.Commands) != 0 {
		t.Errorf("facts after the end: %+v", got)
	}
}

func load(t *testing.T, work, text string) config.Config {
	t.Helper()
	write(t, filepath.Join(work, ".piton", "config.yaml"), text, 0o600)
	c, problems, err := config.Load(config.Sources{WorkspaceDir: work})
	if err != nil || len(problems) > 0 {
		t.Fatalf("problems %v, error %v", problems, err)
	}
	return c
}

func TestAnswerAgents(t *testing.T) {
	work, bin := t.TempDir(), t.TempDir()
	tool(t, bin, "here", "exit 0")
	tool(t, filepath.Join(work, "tools"), "own", "exit 0")
	c := load(t, work, `
agents:
  a: {kind: exec, parse: codex, command: [here, --json], limits: {time: 5m}}
  b: {kind: exec, command: [nowhere]}
  c: {kind: exec, command: [here], parse: codex}
  d: {kind: exec, command: [./tools/own]}
  e: {kind: exec, command: [./tools/none]}
  f: {kind: exec, command: [here], parse: copilot}
  g: {kind: exec, command: [here], parse: codex}
prices: {g: {input: 1.25, output: 10}}
default_agent: a
policy: {unmetered: refuse}
`)
	got := probe.Answer(t.Context(), verify.Queries{}, probe.Env{Workspace: work, Environ: []string{path(bin)}, Config: c})
	want := verify.Facts{
		Commands: map[string]string{}, Files: map[string]verify.File{}, Texts: map[string]string{},
		Workspace: filepath.ToSlash(work),
		Agents: map[string]verify.Agent{
			"a":      {Metered: true, Costless: true, Time: 5 * time.Minute},
			"b":      {Missing: "nowhere"},
			"c":      {Metered: true, Costless: true},
			"d":      {},
			"e":      {Missing: "./tools/none"},
			"f":      {},
			"g":      {Metered: true},
			"script": {Shell: true},
		},
		DefaultAgent: "a", NoPlanner: true, RefuseUnmetered: true, Commit: "run",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// TestAnswersOfAPlan goes the whole way: a plan of shell steps on a bare
// machine compiles, and one with a missing command does not.
func TestAnswersOfAPlan(t *testing.T) {
	work, bin := t.TempDir(), t.TempDir()
	tool(t, bin, "make", "exit 0")
	tool(t, bin, "grep", "exit 0")
	write(t, filepath.Join(work, "Makefile"), "all:\n", 0o600)
	env := probe.Env{Workspace: work, Environ: []string{path(bin)}, Config: config.Default()}
	text := "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# One\n\n## Steps\n\n### 1. Build\n\n**target:** script\n" +
		"**task:**\n```shell\nmake\n```\n**contract:**\n```shell\ngrep -q x out.txt\n```\n"
	for _, test := range []struct{ text, want string }{
		{text, ""},
		{strings.Replace(text, "grep -q", "rg -q", 1), `PT040 contract of step "build" runs "rg"`},
		{strings.Replace(text, "\nmake\n", "\ncmake\n", 1), `PT040 task of step "build" runs "cmake"`},
		{strings.Replace(text, "script", "coder", 1), `PT030 step "build" asks for agent "coder"`},
		{strings.Replace(text, "**target:** script\n", "", 1), `PT031 step "build" names no agent`},
	} {
		p, problems := plan.Parse("plan.md", []byte(test.text))
		f := probe.Answer(t.Context(), verify.Needs(p), env)
		a := verify.Analyse(p, problems, f)
		a.Check(f)
		_, err := a.Compile(verify.Options{})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("want %q, got %v", test.want, err)
		}
	}
}

// TestAnswerTexts reads what is text, and nothing that is not, is too long, or
// lies outside of the workspace.
func TestAnswerTexts(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(work, "sub", "a.sh"), "true\n", 0o600)
	write(t, filepath.Join(work, "binary"), "a\x00b", 0o600)
	write(t, filepath.Join(work, "latin"), "\xff\n", 0o600)
	write(t, filepath.Join(work, "long"), strings.Repeat("a", 256<<10+1), 0o600)
	write(t, filepath.Join(outside, "secret"), "s\n", 0o600)
	names := []string{"binary", "latin", "long", "none", "sub", "sub/a.sh"}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(work, "link")); err == nil {
		names = append(names, "link")
	}
	got := probe.Answer(t.Context(), verify.Queries{Texts: names}, probe.Env{Workspace: work, Config: config.Default()}).Texts
	if diff := cmp.Diff(map[string]string{"sub/a.sh": "true\n"}, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}
