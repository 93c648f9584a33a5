package config_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/linear"
	"github.com/piton-dev/piton/internal/tier"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestLoad runs every archive of testdata: the sources are in user.yaml,
// workspace.yaml, agents/NAME.md, env and flags; problems and settings are what must come out.
func TestLoad(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d archives, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			problems, settings := outcome(t, parts)
			if *update {
				rewrite(t, file, archive, problems, settings)
				return
			}
			if diff := cmp.Diff(parts["problems"], problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(parts["settings"], settings); problems == "" && diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func outcome(t *testing.T, parts map[string]string) (problems, settings string) {
	t.Helper()
	c, found, err := config.Load(sources(t, parts))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range found {
		b.WriteString(filepath.ToSlash(p.String()) + "\n")
	}
	problems = anonymous(b.String())
	if problems != "" {
		return problems, ""
	}
	b.Reset()
	for _, s := range c.Settings() {
		if s.Origin.Source != "default" {
			b.WriteString(s.Path + " = " + s.Value + " <- " + filepath.ToSlash(s.Origin.String()) + "\n")
		}
	}
	return "", anonymous(b.String())
}

// anonymous cuts the temporary directory out of the user's file name.
func anonymous(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if at := strings.Index(line, "/user/config.yaml"); at >= 0 {
			start := strings.LastIndex(line[:at], " ") + 1
			lines[i] = line[:start] + line[at+1:]
		}
	}
	return strings.Join(lines, "")
}

func sources(t *testing.T, parts map[string]string) config.Sources {
	t.Helper()
	dir := t.TempDir()
	from := config.Sources{
		WorkspaceDir: filepath.Join(dir, "work"),
		UserDir:      filepath.Join(dir, "user"),
		Flags:        map[string]string{},
	}
	write(t, filepath.Join(from.WorkspaceDir, ".piton", "config.yaml"), parts, "workspace.yaml")
	write(t, filepath.Join(from.UserDir, "config.yaml"), parts, "user.yaml")
	for part := range parts {
		if strings.HasPrefix(part, "agents/") {
			write(t, filepath.Join(from.WorkspaceDir, ".piton", part), parts, part)
		}
	}
	for line := range strings.Lines(parts["env"]) {
		from.Env = append(from.Env, strings.TrimSuffix(line, "\n"))
	}
	for line := range strings.Lines(parts["flags"]) {
		path, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		from.Flags[path] = value
	}
	return from
}

func write(t *testing.T, name string, parts map[string]string, part string) {
	t.Helper()
	text, ok := parts[part]
	if !ok {
		return
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, problems, settings string) {
	t.Helper()
	var kept []txtar.File
	for _, f := range archive.Files {
		if f.Name != "problems" && f.Name != "settings" {
			kept = append(kept, f)
		}
	}
	if problems != "" {
		kept = append(kept, txtar.File{Name: "problems", Data: []byte(problems)})
	} else {
		kept = append(kept, txtar.File{Name: "settings", Data: []byte(settings)})
	}
	archive.Files = kept
	if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, workspace string) config.Config {
	t.Helper()
	c, problems, err := config.Load(sources(t, map[string]string{"workspace.yaml": workspace}))
	if err != nil || len(problems) > 0 {
		t.Fatalf("problems %v, error %v", problems, err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c, problems, err := config.Load(config.Sources{})
	if err != nil || len(problems) > 0 {
		t.Fatalf("problems %v, error %v", problems, err)
	}
	want := config.Policy{
		MaxAttempts: 50, MaxFailures: 3,
		Approve: "ask", MaxParallel: 4, Ratchet: "end", Baseline: "on", Expect: "any",
		Isolation: "auto", Mark: "end", Unmetered: "warn", Unproven: "accept", PermissionWait: 10 * time.Minute, Workspace: "worktree", Commit: "run", Land: "yes", Frames: 40,
	}
	if diff := cmp.Diff(want, c.Policy); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	if c.Agents[config.Script].Kind != config.Shell || len(c.Agents) != 1 {
		t.Errorf("agents are %v; only the built-in script exists without a source", c.Agents)
	}
	if c.Retention != 90*24*time.Hour {
		t.Errorf("retention %v", c.Retention)
	}
	if o := c.Origin("policy.baseline"); o.String() != "default" {
		t.Errorf("origin of a default is %v", o)
	}
}

func TestTypedValues(t *testing.T) {
	c := load(t, `
agents:
  coder:
    kind: exec
    command: [codex, exec, --json, -s, workspace-write, -]
    limits: {time: 20m, idle: 1h30m}
    env: {A: on, B: 010, C: 1_000}
prices: {gpt-5.1: {input: 1.25, output: 10}}
`)
	a := c.Agents["coder"]
	if diff := cmp.Diff([]string{"codex", "exec", "--json", "-s", "workspace-write", "-"}, a.Command); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(config.Limits{Time: 20 * time.Minute, Idle: 90 * time.Minute}, a.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"A": "on", "B": "010", "C": "1_000"}, a.Env); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	if a.Prompt != "stdin" || a.Stop.TermGrace != 5*time.Second {
		t.Errorf("an agent from a file has no defaults: %+v", a)
	}
	if p := c.Prices["gpt-5.1"]; p.Input != 1_250_000 || p.Output != 10_000_000 {
		t.Errorf("price %+v", p)
	}
}

func TestHash(t *testing.T) {
	base := config.Hash(load(t, ""))
	same := []string{
		"policy: {expect: any}",
		"# a comment\nagents:\n  script: {kind: shell}\n",
		"web_fetch: {allow: []}",
		"mcp_servers: {}\n",
	}
	for _, text := range same {
		if got := config.Hash(load(t, text)); got != base {
			t.Errorf("%q changes the hash, though it says what holds anyway", text)
		}
	}
	seen := map[string]string{base: "nothing"}
	for _, text := range []string{
		"policy: {expect: red}",
		"agents: {script: {kind: shell, limits: {time: 1m}}}",
		"agents: {b: {kind: exec, command: [a, b]}}",
		"agents: {b: {kind: exec, command: ['a b']}}",
		"agents: {b: {kind: exec, command: [a, b], env: {A: b}}}",
		"policy: {allow: [ls]}",
		"mcp_servers: {a: {command: [a], reads: [b]}}",
		"retention: 91d",
	} {
		hash := config.Hash(load(t, text))
		if other, twice := seen[hash]; twice {
			t.Errorf("%q and %q have the same hash", text, other)
		}
		seen[hash] = text
	}
}

func TestAgentHash(t *testing.T) {
	one := load(t, "agents: {a: {kind: exec, command: [x]}, b: {kind: exec, command: [y]}}")
	two := load(t, "agents: {a: {kind: exec, command: [x]}, b: {kind: exec, command: [z]}}\npolicy: {expect: red}")
	hash := func(c config.Config, name string) string {
		h, ok := config.AgentHash(c, name)
		if !ok {
			t.Fatalf("no agent %q", name)
		}
		return h
	}
	if hash(one, "a") != hash(two, "a") {
		t.Error("an agent's hash depends on something else than the agent")
	}
	if hash(one, "b") == hash(two, "b") || hash(one, "a") == hash(one, "b") {
		t.Error("an agent's hash does not cover its command")
	}
	if _, ok := config.AgentHash(one, "c"); ok {
		t.Error("an agent that is not configured has a hash")
	}
}

func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".piton", "config.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := config.Load(config.Sources{WorkspaceDir: dir}); err == nil {
		t.Error("a directory in the place of the file is no error")
	}
	if _, problems, err := config.Load(config.Sources{WorkspaceDir: filepath.Join(dir, "none"), UserDir: filepath.Join(dir, "none")}); err != nil || len(problems) > 0 {
		t.Errorf("absent directories: problems %v, error %v", problems, err)
	}
}

func TestLinkOutOfTheWorkspace(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(outside, []byte("policy: {approve: auto}"), 0o600); err != nil {
		t.Fatal(err)
	}
	linked := t.TempDir()
	if err := os.Mkdir(filepath.Join(linked, ".piton"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(linked, ".piton", "config.yaml")); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("this account may not make symbolic links")
		}
		t.Fatal(err)
	}
	if _, _, err := config.Load(config.Sources{WorkspaceDir: linked}); err == nil {
		t.Error("a link out of the workspace was followed")
	}
}

// TestHostileSizes keeps what a file may cost within what it may say.
func TestHostileSizes(t *testing.T) {
	const most = 1 << 20
	load := func(text string) func() {
		from := sources(t, map[string]string{"workspace.yaml": text})
		return func() {
			if _, problems, err := config.Load(from); err != nil || len(problems) == 0 {
				t.Errorf("problems %v, error %v", problems, err)
			}
		}
	}
	load("# " + strings.Repeat("x", most))()
	n := tier.Draws(most/4, most)
	for name, text := range map[string]func(n int) string{
		"many keys":       func(n int) string { return manyKeys(n / 20) },
		"many agents":     func(n int) string { return "agents:\n" + strings.ReplaceAll(manyKeys(n/50), "k", "  k") },
		"flow depth":      func(n int) string { return "agents: " + strings.Repeat("[", n/2) },
		"mapping depth":   func(n int) string { return strings.Repeat("{a: ", n/5) },
		"lone dashes":     func(n int) string { return "agents: {a: {kind: exec, command: [" + strings.Repeat("-, ", n/4) + "]}}" },
		"block sequences": func(n int) string { return strings.Repeat("- ", n/2-1) },
		"anchors":         func(n int) string { return "agents: [" + strings.Repeat("&a b, ", n/7) + "]" },
	} {
		t.Run(name, func(t *testing.T) { linear.Memory(t, load(text(n/4)), load(text(n))) })
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	return b.String()
}

func TestUserDir(t *testing.T) {
	x, h := t.TempDir(), t.TempDir()
	for _, test := range []struct {
		env  []string
		want string
	}{
		{[]string{"XDG_CONFIG_HOME=" + x, "HOME=" + h}, filepath.Join(x, "piton")},
		{[]string{"XDG_CONFIG_HOME=relative", "HOME=" + h}, filepath.Join(h, ".config", "piton")},
		{[]string{"HOME=" + h}, filepath.Join(h, ".config", "piton")},
		{[]string{"HOME="}, ""},
		{nil, ""},
	} {
		if got := config.UserDir(test.env); got != test.want {
			t.Errorf("UserDir(%q) = %q, want %q", test.env, got, test.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if strings.HasSuffix(part.Name, ".yaml") {
				f.Add(part.Data)
			}
		}
	}
	dir := f.TempDir()
	name := filepath.Join(dir, ".piton", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, problems, err := config.Load(config.Sources{WorkspaceDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			if p.Message == "" || strings.Contains(p.String(), "\n\n") {
				t.Errorf("problem %q", p)
			}
		}
		again, _, _ := config.Load(config.Sources{WorkspaceDir: dir})
		if config.Hash(c) != config.Hash(again) {
			t.Error("the same bytes have two hashes")
		}
	})
}
