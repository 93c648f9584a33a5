package probe_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/verify"
)

// examine returns the doctor's lines by what they are about.
func examine(t *testing.T, env probe.Env) map[string]probe.Line {
	t.Helper()
	lines := map[string]probe.Line{}
	for _, l := range probe.Doctor(t.Context(), env) {
		if _, twice := lines[l.Check]; twice || l.Text == "" {
			t.Errorf("line %+v", l)
		}
		if (l.Status == probe.Failure || l.Status == probe.Warning) && l.Hint == "" {
			t.Errorf("%s is bad, and the line does not say what to do: %s", l.Check, l.Text)
		}
		lines[l.Check] = l
	}
	return lines
}

// networkStatus is what the doctor has to say of the network here.
func networkStatus(t *testing.T) probe.Status {
	t.Helper()
	p, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Offline() != nil {
		return probe.Warning
	}
	return probe.OK
}

func isolationStatus(t *testing.T) probe.Status {
	t.Helper()
	p, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Sealed() != nil {
		return probe.Warning
	}
	return probe.OK
}

func TestDoctorOnABareMachine(t *testing.T) {
	state := filepath.Join(t.TempDir(), "not", "yet")
	lines := examine(t, probe.Env{Workspace: t.TempDir(), State: state, Config: config.Default()})
	for check, want := range map[string]probe.Status{
		"bash": probe.Failure, "git": probe.Warning, "agents": probe.Absent,
		"state": probe.OK, "network": networkStatus(t), "isolation": isolationStatus(t), "PATH": probe.OK,
	} {
		if lines[check].Status != want {
			t.Errorf("%s: %+v, want %s", check, lines[check], want)
		}
	}
	if _, err := os.Stat(filepath.Dir(state)); !os.IsNotExist(err) {
		t.Errorf("the doctor made %s", filepath.Dir(state))
	}
}

func TestDoctorVersions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are shell scripts")
	}
	work, bin := t.TempDir(), t.TempDir()
	tool(t, bin, "bash", `echo "GNU bash, version 9.9"; echo more`)
	tool(t, bin, "git", `case " $* " in *" --list "*) exit 1 ;; esac; printf '\033[31mgit version 8.8\033[0m\n'`)
	tool(t, bin, "quiet", "exit 3")
	tool(t, bin, "speaks", `test "$1" = --version && test -z "$SECRET" && test "$PWD" != "`+work+`" && echo speaks 7`)
	tool(t, bin, "codex", "echo codex-cli 0.1.2")
	tool(t, bin, "long", `printf 'x%.0s' $(seq 1 5000)`)
	ran := filepath.Join(t.TempDir(), "ran")
	tool(t, work, "evil", "touch "+ran)
	for _, name := range []string{"worse", "bash", "git"} {
		tool(t, filepath.Join(work, "bin"), name, "touch "+ran)
	}
	if err := os.Mkdir(filepath.Join(work, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := load(t, work, `
agents:
  a: {kind: exec, command: [speaks]}
  b: {kind: exec, command: [quiet], env_pass: [SECRET, TOKEN]}
  c: {kind: exec, command: [long]}
  d: {kind: exec, command: [./evil]}
  e: {kind: exec, command: [worse]}
  f: {kind: exec, command: [nowhere]}
  g: {kind: exec, command: [codex], env_pass: [OPENAI_API_KEY, CODEX_API_KEY, OTHER_KEY]}
`)
	lines := examine(t, probe.Env{
		Workspace: work, State: t.TempDir(), Config: c,
		Environ: []string{path(filepath.Join(work, "bin"), bin, "/usr/bin", "/bin"), "SECRET=1", "OTHER_KEY=1"},
	})
	for check, want := range map[string]string{
		"bash":    "ok GNU bash, version 9.9 (" + filepath.Join(bin, "bash") + ")",
		"git":     "ok git version 8.8 (" + filepath.Join(bin, "git") + ")",
		"agent a": "ok speaks 7 (" + filepath.Join(bin, "speaks") + ")",
		"agent b": "warning " + filepath.Join(bin, "quiet") + "; not set: TOKEN",
		"agent c": "ok " + strings.Repeat("x", 100) + "… (" + filepath.Join(bin, "long") + ")",
		"agent d": "ok " + filepath.Join(work, "evil"),
		"agent e": "ok " + filepath.Join(work, "bin", "worse"),
		"agent f": "warning nowhere is not on PATH",
		"agent g": "warning codex-cli 0.1.2 (" + filepath.Join(bin, "codex") + ")",
	} {
		if got := string(lines[check].Status) + " " + lines[check].Text; got != want {
			t.Errorf("%s: %s, want %s", check, got, want)
		}
	}
	if _, file := probe.Agent(probe.Env{Workspace: work, Config: c, Environ: []string{path(filepath.Join(work, "bin"), bin)}}, "script"); file != filepath.Join(bin, "bash") {
		t.Errorf("scripts run in %q", file)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the workspace was started")
	}
	if l := lines["PATH"]; l.Status != probe.Warning || !strings.Contains(l.Text, filepath.Join(work, "bin")) {
		t.Errorf("a PATH into the workspace: %+v", l)
	}
	if _, there := lines["agents"]; there {
		t.Error("agents are configured, and the doctor says that none is")
	}
	shell := load(t, work, "agents:\n  h: {kind: shell}\n")
	lines = examine(t, probe.Env{Workspace: work, State: t.TempDir(), Config: shell, Environ: []string{path(bin)}})
	if got, none := lines["agent h"], lines["agents"]; got.Status != probe.OK || got.Text != filepath.Join(bin, "bash") || none.Check != "" {
		t.Errorf("of an agent that is a shell the doctor says %+v and %+v", got, none)
	}
}

func TestDoctorDoesNotWaitForSilentPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are shell scripts")
	}
	bin := t.TempDir()
	tool(t, bin, "bash", `for n in $(seq 3600); do [ -d "`+bin+`" ] || exit; sleep 1; done & echo version 1`) // as long as the test
	lines := examine(t, probe.Env{Workspace: t.TempDir(), State: t.TempDir(), Config: config.Default(), Environ: []string{path(bin, "/usr/bin", "/bin")}})
	if lines["bash"].Status != probe.OK {
		t.Errorf("%+v", lines["bash"])
	}
}

func TestDoctorState(t *testing.T) {
	if l := examine(t, probe.Env{Workspace: t.TempDir(), Config: config.Default()})["state"]; l.Status != probe.Failure {
		t.Errorf("no state directory: %+v", l)
	}
	if runtime.GOOS == "windows" {
		return // rights of directories are of another kind there
	}
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if l := examine(t, probe.Env{Workspace: t.TempDir(), State: open, Config: config.Default()})["state"]; l.Status != probe.Warning || !strings.Contains(l.Text, "0755") {
		t.Errorf("a state directory that is open to others: %+v", l)
	}
	if left, err := os.ReadDir(open); err != nil || len(left) > 0 {
		t.Errorf("the doctor left %v, %v", left, err)
	}
}

// What git can do for worktrees is asked only where a plan wants them, and
// never of a git that the workspace provides.
func TestGit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are shell scripts")
	}
	top, bin := t.TempDir(), t.TempDir()
	work := filepath.Join(top, "deep", "work")
	for _, dir := range []string{work, filepath.Join(top, ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ran := filepath.Join(t.TempDir(), "ran")
	tool(t, work, "git", "touch "+ran)
	for _, c := range []struct {
		name, says, dir, path string
		status                probe.Status
		want                  verify.Git
	}{
		{"nobody", "git version 2.38.0", top, bin, probe.Warning, verify.Git{Repository: true, Version: verify.GitVersion{Major: 2, Minor: 38}, Nobody: true}},
		{"top", "git version 2.38.0", top, bin, probe.OK, verify.Git{Repository: true, Version: verify.GitVersion{Major: 2, Minor: 38}}},
		{"deep", "git version 2.38.0", work, bin, probe.OK, verify.Git{Repository: true, Version: verify.GitVersion{Major: 2, Minor: 38}}},
		{"old", "git version 2.37.9.windows.1", work, bin, probe.Warning, verify.Git{Repository: true, Version: verify.GitVersion{Major: 2, Minor: 37}}},
		{"silent", "hello", top, bin, probe.OK, verify.Git{Repository: true}},
		{"no repository", "git version 2.50.1", t.TempDir(), bin, probe.Warning, verify.Git{Version: verify.GitVersion{Major: 2, Minor: 50}}},
		{"none", "", work, top, probe.Warning, verify.Git{Missing: true}},
		{"of the workspace", "", work, work, probe.Warning, verify.Git{Missing: true}},
		{"behind that of the workspace", "git version 2.38.0", work, work + string(os.PathListSeparator) + bin, probe.OK, verify.Git{Repository: true, Version: verify.GitVersion{Major: 2, Minor: 38}}},
	} {
		settings := `user.name\nMe\0user.email\nme@example.org\0`
		if c.want.Nobody {
			settings = `user.name\nMe\0user.email\n\0`
		}
		tool(t, bin, "git", `case " $* " in *" --list "*) printf '`+settings+`' ;; *) echo `+c.says+` ;; esac`)
		env := probe.Env{Workspace: c.dir, Environ: []string{path(c.path)}, Config: config.Default()}
		got := probe.Answer(t.Context(), verify.Queries{Git: true}, env).Git
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
		if other := probe.Answer(t.Context(), verify.Queries{}, env).Git; other != nil {
			t.Errorf("%s: %v, though nobody asked", c.name, other)
		}
		if l := examine(t, env)["git"]; l.Status != c.status {
			t.Errorf("%s: %+v", c.name, l)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the workspace's git was run")
	}
}

func TestServersOfTheConfiguration(t *testing.T) {
	env := probe.Env{Workspace: t.TempDir(), State: filepath.Join(t.TempDir(), "state"), Config: config.Default()}
	env.Config.MCPServers = map[string]config.Server{
		"away":   {Command: []string{"no-such-server"}},
		"remote": {URL: "http://127.0.0.1:9/mcp"},
		"here":   {Command: []string{"./serve"}},
	}
	tool(t, env.Workspace, "serve", "")
	lines := examine(t, env)
	for check, want := range map[string]probe.Status{"server away": probe.Warning, "server remote": probe.OK, "server here": probe.OK, "agents": probe.Absent} {
		if lines[check].Status != want {
			t.Errorf("%s: %+v, want %s", check, lines[check], want)
		}
	}
	facts := probe.Answer(t.Context(), verify.Queries{Tools: []string{"away.x", "remote.x", "here.x"}}, env)
	for name, want := range map[string]string{"away.x": "no-such-server", "remote.x": "", "here.x": ""} {
		if got := facts.Tools[name].Absent; got != want {
			t.Errorf("%s: %q is absent, want %q", name, got, want)
		}
	}
}

// TestDoctorModels: whoever is asked something has a line, with its key or its program.
func TestDoctorModels(t *testing.T) {
	c := config.Default()
	c.Agents = map[string]config.Agent{"ruler": {Kind: config.Exec, Command: []string{"nosuch-program"}}}
	c.Arbiter = config.Model{Agent: "ruler"}
	c.Judge = config.Model{API: "openai", Model: "m", KeyEnv: "NOSUCH_KEY"}
	c.Planner = config.Model{API: "openai", Model: "m", KeyEnv: "HAS_KEY", BaseURL: "http://x"}
	lines := map[string]probe.Line{}
	for _, l := range probe.Doctor(t.Context(), probe.Env{Workspace: t.TempDir(), State: t.TempDir(), Environ: []string{"HAS_KEY=1"}, Config: c}) {
		lines[l.Check] = l
	}
	if l := lines["arbiter"]; l.Status != probe.Warning || !strings.Contains(l.Text, `agent "ruler": nosuch-program is not on PATH`) {
		t.Errorf("%+v", l)
	}
	if l := lines["judge"]; l.Status != probe.Warning || !strings.Contains(l.Text, "NOSUCH_KEY is not set") {
		t.Errorf("%+v", l)
	}
	if l := lines["planner"]; l.Status != probe.OK || l.Text != `model "m" at http://x` {
		t.Errorf("%+v", l)
	}
}

// TestDoctorStartsAProgramOnce: agents of one program, and models that are asked through them.
func TestDoctorStartsAProgramOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are shell scripts")
	}
	bin, starts := t.TempDir(), filepath.Join(t.TempDir(), "starts")
	tool(t, bin, "coder", "echo x >>"+starts+"; echo coder 7")
	c := config.Default()
	c.Agents = map[string]config.Agent{
		"a": {Kind: config.Exec, Command: []string{"coder"}}, "b": {Kind: config.Exec, Command: []string{"coder", "--deep"}},
	}
	c.Planner, c.Arbiter, c.Judge, c.Reviewer, c.Extraction = config.Model{Agent: "a"}, config.Model{Agent: "a"}, config.Model{Agent: "a"}, config.Model{Agent: "b"}, config.Model{Agent: "a"}
	lines := examine(t, probe.Env{Workspace: t.TempDir(), State: t.TempDir(), Config: c, Environ: []string{path(bin, "/usr/bin", "/bin")}})
	for _, check := range []string{"agent a", "agent b"} {
		if l := lines[check]; l.Text != "coder 7 ("+filepath.Join(bin, "coder")+")" {
			t.Errorf("%+v", l)
		}
	}
	if got, err := os.ReadFile(starts); err != nil || string(got) != "x\n" {
		t.Errorf("its program was started: %q, %v", got, err)
	}
}
