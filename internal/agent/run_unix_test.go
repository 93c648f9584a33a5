//go:build unix

package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// patience bounds a test whose agent should have ended long before.
const patience = time.Minute

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// task is one with directories of its own and nothing to do yet.
func task(t *testing.T, text string) agent.Task {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"work", "scratch"} {
		must(t, os.Mkdir(filepath.Join(dir, d), 0o700))
	}
	return agent.Task{
		Role: "coder", Run: "run-1", Step: "fix", Attempt: 2, Text: text, Dir: filepath.Join(dir, "work"),
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, Timeout: patience,
		LogPath: filepath.Join(dir, "log"), Scratch: filepath.Join(dir, "scratch"),
	}
}

func run(t *testing.T, cfg agent.Config, k agent.Task) agent.Result {
	t.Helper()
	return runUntil(t, t.Context(), cfg, k)
}

func runUntil(t *testing.T, ctx context.Context, cfg agent.Config, k agent.Task) agent.Result {
	t.Helper()
	pool, err := proc.NewPool(proc.Config{})
	must(t, err)
	defer pool.Close()
	return agent.New(map[string]agent.Config{"coder": cfg}, pool).Run(ctx, k)
}

// script is an agent that ignores its prompt.
func script(text string) agent.Config {
	return agent.Config{Kind: agent.Exec, Command: []string{"bash", "-c", text}}
}

func wantExit(t *testing.T, r agent.Result, exit int) {
	t.Helper()
	if r.How != engine.Exited || r.Exit != exit || r.Reason != "" {
		t.Fatalf("ended as %s with exit %d, reason %q; want exit %d", r.How, r.Exit, r.Reason, exit)
	}
}

func TestPromptArrivesByteForByte(t *testing.T) {
	odd := "two words \"quoted\" '$HOME' `x` \\ {prompt} {mode}\n\n\ttab \xff\xfe é \x1b[0m no line end"
	long := strings.Repeat(odd+"\n", 8000)
	arg := []string{"bash", "-c", `printf %s "$1" >"$PITON_OUTPUT"`, "agent"}
	file := []string{"bash", "-c", `cat -- "$1" >"$PITON_OUTPUT"`, "agent"}
	cases := map[string]struct {
		cfg  agent.Config
		text string
	}{
		"stdin":              {agent.Config{Command: []string{"bash", "-c", `cat >"$PITON_OUTPUT"`}}, long + "\x00"},
		"stdin, not read":    {agent.Config{Command: []string{"bash", "-c", `printf x >"$PITON_OUTPUT"`}}, "x"},
		"argument":           {agent.Config{Command: arg, Prompt: agent.Arg}, odd},
		"argument, in place": {agent.Config{Command: append(slices.Clone(arg), "{prompt}"), Prompt: agent.Arg}, odd},
		"file":               {agent.Config{Command: file, Prompt: agent.File}, long + "\x00"},
		"file, in place":     {agent.Config{Command: append(slices.Clone(file), "{prompt_file}"), Prompt: agent.File}, long},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.cfg.Kind = agent.Exec
			r := run(t, c.cfg, task(t, c.text))
			wantExit(t, r, 0)
			if string(r.Output) != c.text {
				t.Errorf("%d bytes arrived, want %d: %.80q", len(r.Output), len(c.text), r.Output)
			}
		})
	}
}

func TestPromptTooLongForAnArgument(t *testing.T) {
	cfg := agent.Config{Kind: agent.Exec, Command: []string{"true"}, Prompt: agent.Arg}
	for _, size := range []int{4 << 20, 40 << 20} {
		r := run(t, cfg, task(t, strings.Repeat("x", size)))
		if r.How != engine.NoStart || !strings.Contains(r.Reason, fmt.Sprintf("%d bytes, which may be too many for an argument", size)) {
			t.Errorf("%s: %.200q", r.How, r.Reason)
		}
	}
}

func TestPlaces(t *testing.T) {
	cfg := agent.Config{
		Kind: agent.Exec, Model: "m-{mode}", Modes: map[string]string{"edit": "workspace-write"}, Mode: "own",
		Command: []string{"printf", `%s\n`, "{workdir}", "-{mode}-{model}-", "{session}", "{}"},
	}
	for mode, word := range map[string]string{"": "workspace-write", "edit": "workspace-write", "full": "own"} {
		k := task(t, "prompt")
		k.Mode = mode
		r := run(t, cfg, k)
		wantExit(t, r, 0)
		if want := fmt.Sprintf("%s\n-%s-m-{mode}-\n{session}\n{}\n", k.Dir, word); string(r.Output) != want {
			t.Errorf("mode %q: %q, want %q", mode, r.Output, want)
		}
	}
	cfg.Mode = ""
	k := task(t, "prompt")
	k.Mode = "full"
	if r := run(t, cfg, k); !strings.Contains(string(r.Output), "-full-") {
		t.Errorf("without a word of its own: %q", r.Output)
	}
}

func TestEnvironment(t *testing.T) {
	k := task(t, "")
	k.Environ = append(k.Environ, "LANG=C.UTF-8", "TOKEN=t0ken", "FOR_STEP=yes", "SECRET=s3cret",
		"BASH_ENV=/tmp/evil", "LD_PRELOAD=/tmp/evil.so", "GIT_DIR=/tmp", "PITON_STATE=/state", "PITON_DATABASE_URL=u", "PITON_OTHER=1")
	k.Pass = []string{"FOR_STEP", "PITON_STATE"}
	r := run(t, agent.Config{
		Kind: agent.Exec, Command: []string{"env"}, EnvPass: []string{"TOKEN", "PITON_OTHER", "piton_state"},
		Env: map[string]string{"BASE_URL": "http://127.0.0.1", "PITON_RUN": "another", "PITON_STATE": "/state"},
	}, k)
	wantExit(t, r, 0)
	want := []string{
		"BASE_URL=http://127.0.0.1", "FOR_STEP=yes", "HOME=" + filepath.Dir(k.Dir), "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"),
		"PITON_ATTEMPT=2", "PITON_OUTPUT=" + filepath.Join(k.Scratch, "output"), "PITON_REPORT=" + filepath.Join(k.Scratch, "report.jsonl"),
		"PITON_RUN=run-1", "PITON_STEP=fix", "PITON_WORKSPACE=" + k.Dir, "TERM=dumb", "TOKEN=t0ken",
	}
	got := strings.Split(strings.TrimSpace(string(r.Output)), "\n")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestIsolatedHome(t *testing.T) {
	cfg := script(`printf %s "$HOME" >"$PITON_OUTPUT"; ls -A "$HOME"; mkdir -p "$HOME/a/b"; touch "$HOME/a/b/c"; chmod 500 "$HOME/a/b" "$HOME/a"`)
	cfg.Home = agent.Isolated
	k := task(t, "")
	r := run(t, cfg, k)
	wantExit(t, r, 0)
	home := string(r.Output)
	if filepath.Dir(home) != k.Scratch || r.Size != 0 {
		t.Errorf("HOME is %s and held %d bytes of names; want an empty one below %s", home, r.Size, k.Scratch)
	}
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("the isolated home is still there: %v", err)
	}
}

func TestLog(t *testing.T) {
	k := task(t, "")
	must(t, os.WriteFile(k.LogPath, []byte("before\n"), 0o600))
	r := run(t, script(`echo out; echo err >&2; echo '{"type":"log","text":"x"}' >>"$PITON_REPORT"`), k)
	wantExit(t, r, 0)
	body, err := os.ReadFile(k.LogPath)
	must(t, err)
	lines := strings.Split(string(body), "\n")
	slices.Sort(lines[1:])
	if want := []string{"before", "", "err", "out"}; !slices.Equal(lines, want) || r.Size != 8 {
		t.Errorf("log %q of size %d, want %q", lines, r.Size, want)
	}
	k = task(t, "")
	wantExit(t, run(t, script("echo x"), k), 0)
	if info, err := os.Stat(k.LogPath); err != nil || info.Mode() != 0o600 {
		t.Errorf("log made as %v, %v", info.Mode(), err)
	}
}

func TestShell(t *testing.T) {
	k := task(t, "false | true\nfalse\ncat\necho \"$0 $PITON_ATTEMPT\"\npwd\nexit 3")
	home := filepath.Dir(k.Dir)
	for _, rc := range []string{".bashrc", ".bash_profile", ".profile", "env"} {
		must(t, os.WriteFile(filepath.Join(home, rc), []byte("echo "+rc), 0o600))
	}
	k.Environ = append(k.Environ, "BASH_ENV="+filepath.Join(home, "env"), "ENV="+filepath.Join(home, "env"))
	r := run(t, agent.Config{Kind: agent.Shell}, k)
	wantExit(t, r, 3)
	if want := "bash 2\n" + k.Dir + "\n"; string(r.Output) != want {
		t.Errorf("output %q, want %q", r.Output, want)
	}
}

func TestExitCodesProveNothing(t *testing.T) {
	for _, exit := range []int{0, 1, 42, 126, 127, 255} {
		wantExit(t, run(t, script(fmt.Sprintf("echo done; exit %d", exit)), task(t, "")), exit)
	}
}

func TestSignalFromOutside(t *testing.T) {
	r := run(t, script("kill -KILL $$"), task(t, ""))
	if r.How != engine.NoStart || r.Signal != "SIGKILL" || !strings.Contains(r.Reason, "SIGKILL") {
		t.Errorf("%s, signal %q: %s", r.How, r.Signal, r.Reason)
	}
}

// witness is a pipe that every process of an agent's tree holds open: it ends
// when none of them lives.
func witness(t *testing.T, k agent.Task) *os.File {
	t.Helper()
	path := filepath.Join(k.Dir, "witness")
	must(t, syscall.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func checkDead(t *testing.T, f *os.File) {
	t.Helper()
	buf := make([]byte, 64)
	n, err := f.Read(buf)
	if n == 0 || err != nil {
		t.Fatalf("the tree never came up: %d, %v", n, err)
	}
	if n, err := f.Read(buf); n != 0 {
		t.Errorf("%d, %v; want the end of the pipe", n, err)
	}
}

const stubborn = `trap "" TERM; exec 9>witness; echo up >&9; sleep 1000 & echo started; sleep 1000`

func TestTimeLimitKillsTheTree(t *testing.T) {
	for name, limits := range map[string]func(*agent.Config, *agent.Task, time.Duration){
		"of the step":   func(c *agent.Config, k *agent.Task, d time.Duration) { k.Timeout, c.Time = d, time.Hour },
		"of the role":   func(c *agent.Config, k *agent.Task, d time.Duration) { k.Timeout, c.Time = 0, d },
		"without signs": func(c *agent.Config, _ *agent.Task, d time.Duration) { c.Idle = d },
	} {
		t.Run(name, func(t *testing.T) {
			for limit := 3 * time.Second; ; limit *= 4 { // on a busy machine the agent starts late
				cfg, k := script(stubborn), task(t, "")
				cfg.Grace, k.Timeout = 50*time.Millisecond, time.Hour
				limits(&cfg, &k, limit)
				w := witness(t, k)
				r := run(t, cfg, k)
				if r.How != engine.TimedOut || !strings.Contains(r.Reason, limit.String()) {
					t.Fatalf("%s: %s; output %q", r.How, r.Reason, r.Output)
				}
				if string(r.Output) == "started\n" {
					checkDead(t, w)
					return
				}
				if limit > time.Minute {
					t.Fatalf("it did not start: output %q", r.Output)
				}
			}
		})
	}
}

func TestLeftoversAreKilled(t *testing.T) {
	k := task(t, "")
	w := witness(t, k)
	r := run(t, script(`exec 9>witness; echo up >&9; sleep 1000 >/dev/null 2>&1 &`), k)
	wantExit(t, r, 0)
	checkDead(t, w)
	if runtime.GOOS == "linux" && r.Leftover != 1 {
		t.Errorf("%d left over, want 1", r.Leftover)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	k := task(t, "")
	k.OnReport = func(agent.Report) { cancel() }
	w := witness(t, k)
	r := runUntil(t, ctx, script(`exec 9>witness; echo up >&9; echo '{"type":"log","text":"x"}' >>"$PITON_REPORT"; sleep 1000`), k)
	if r.How != engine.Stopped {
		t.Errorf("%s: %s", r.How, r.Reason)
	}
	checkDead(t, w)
	if r := runUntil(t, ctx, script("true"), task(t, "")); r.How != engine.Stopped {
		t.Errorf("after the end: %s: %s", r.How, r.Reason)
	}
}

func TestDoesNotStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "not-executable")
	must(t, os.WriteFile(file, []byte("x"), 0o600))
	exec := func(argv ...string) agent.Config { return agent.Config{Kind: agent.Exec, Command: argv} }
	cases := map[string]struct {
		cfg    agent.Config
		change func(*agent.Task)
		want   []string
		absent bool
	}{
		"missing program": {cfg: exec("no-such-agent", "-p"), change: func(k *agent.Task) { k.Environ = []string{"PATH=/usr/bin:/bin"} }, want: []string{`"coder"`, "no program no-such-agent", "piton doctor"}, absent: true},
		"not executable":  {cfg: exec(file), want: []string{file, "permission denied"}},
		"no command":      {cfg: exec(), want: []string{"names no command"}},
		"no kind":         {want: []string{`kind ""`}},
		"odd kind":        {cfg: agent.Config{Kind: "pigeon", Command: []string{"true"}}, want: []string{"pigeon", "exec, acp and shell"}},
		"prompt nowhere":  {cfg: exec("true", "{prompt}"), want: []string{"prompt: arg"}},
		"prompt by pigeon": {
			cfg:  agent.Config{Kind: agent.Exec, Command: []string{"true"}, Prompt: "pigeon"},
			want: []string{"pigeon"},
		},
		"odd form":        {cfg: agent.Config{Kind: agent.Exec, Command: []string{"true"}, Parse: "gpt"}, want: []string{`"gpt"`, "codex"}},
		"no model":        {cfg: exec("true", "-m={model}"), want: []string{"{model}"}},
		"odd home":        {cfg: agent.Config{Kind: agent.Shell, Home: "sweet"}, want: []string{"sweet"}},
		"unknown role":    {change: func(k *agent.Task) { k.Role = "reviewer" }, want: []string{`"reviewer"`}},
		"no workspace":    {cfg: exec("true"), change: func(k *agent.Task) { k.Dir += "/gone" }, want: []string{"work/gone"}},
		"relative":        {cfg: exec("true"), change: func(k *agent.Task) { k.Scratch = "scratch" }, want: []string{"not absolute"}},
		"used before":     {cfg: exec("true"), change: func(k *agent.Task) { k.Scratch = k.Dir + "/.." }, want: []string{"not empty"}},
		"no scratch":      {cfg: exec("true"), change: func(k *agent.Task) { k.Scratch += "/gone" }, want: []string{"scratch"}},
		"NUL in argument": {cfg: agent.Config{Kind: agent.Shell}, change: func(k *agent.Task) { k.Text = "a\x00b" }, want: []string{"NUL"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := task(t, "")
			if c.change != nil {
				c.change(&k)
			}
			r := run(t, c.cfg, k)
			if r.How != engine.NoStart || r.Exit != -1 {
				t.Errorf("%s with exit %d", r.How, r.Exit)
			}
			if r.Absent != c.absent {
				t.Errorf("absent: %t", r.Absent)
			}
			for _, w := range c.want {
				if !strings.Contains(r.Reason, w) {
					t.Errorf("reason %q does not say %q", r.Reason, w)
				}
			}
		})
	}
}

func TestReportWhileItWorks(t *testing.T) {
	k := task(t, "")
	var told []agent.Report
	k.OnReport = func(r agent.Report) {
		if told = append(told, r); r.Text == "half" {
			must(t, os.WriteFile(filepath.Join(k.Dir, "go"), nil, 0o600))
		}
	}
	r := run(t, script(`say() { printf '%s\n' "$1" >>"$PITON_REPORT"; }
		say '{"type":"progress","text":"half","percent":50}'
		until [ -e go ]; do sleep 0.02; done
		say '{"type":"usage","tokens_in":10,"cost_usd":0.5}'
		say '{"type":"usage","tokens_in":5,"tokens_out":0}'
		printf '{"type":"blocked","text":"no line end"}' >>"$PITON_REPORT"`), k)
	wantExit(t, r, 0)
	want := []agent.Report{
		{Type: agent.Progress, Text: "half", Percent: new(50.0)},
		{Type: agent.UsageReport, Usage: engine.Usage{In: new(int64(10)), CostMicros: new(int64(500_000))}},
		{Type: agent.UsageReport, Usage: engine.Usage{In: new(int64(5)), Out: new(int64(0))}},
		{Type: agent.Blocked, Text: "no line end"},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told: -want +got:\n%s", diff)
	}
	claims := agent.Claims{Usage: engine.Usage{In: new(int64(15)), Out: new(int64(0)), CostMicros: new(int64(500_000))}, Claims: engine.Claims{Blocked: "no line end"}}
	if diff := cmp.Diff(claims, r.Claims); diff != "" || len(r.Notes) > 0 {
		t.Errorf("claims: -want +got:\n%s%v", diff, r.Notes)
	}
}

// TestHostileFiles: whatever an agent puts in the place of its files, it ends,
// nothing outside is read, and a note says what is wrong.
func TestHostileFiles(t *testing.T) {
	const line = `{"type":"blocked","text":"from elsewhere"}`
	cases := map[string]struct{ script, note string }{
		"pipe":      {`rm "$F"; mkfifo "$F"`, "no regular file"},
		"link":      {`rm -f "$F"; ln -s "$PWD/elsewhere" "$F"`, "was not read"},
		"directory": {`rm -f "$F"; mkdir "$F"`, "no regular file"},
		"device":    {`rm -f "$F"; ln -s /dev/zero "$F"`, "was not read"},
		"sparse":    {`truncate -s 1G "$F"`, "1073741824 bytes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := task(t, "")
			k.Timeout = patience
			must(t, os.WriteFile(filepath.Join(k.Dir, "elsewhere"), []byte(line+"\n"), 0o600))
			k.OnReport = func(r agent.Report) { t.Errorf("told %+v", r) }
			r := run(t, script(`F=$PITON_REPORT; `+c.script+`; F=$PITON_OUTPUT; `+c.script+`; echo said`), k)
			wantExit(t, r, 0)
			if diff := cmp.Diff(agent.Claims{}, r.Claims); diff != "" {
				t.Errorf("claims: %s", diff)
			}
			if len(r.Notes) == 0 || !strings.Contains(strings.Join(r.Notes, "; "), c.note) {
				t.Errorf("notes %q do not say %q", r.Notes, c.note)
			}
			if name == "sparse" {
				if !bytes.Equal(r.Output, make([]byte, agent.MaxOutput)) {
					t.Errorf("%d bytes of output", len(r.Output))
				}
			} else if string(r.Output) != "said\n" {
				t.Errorf("output %.80q", r.Output)
			}
		})
	}
}

func TestReportRemoved(t *testing.T) {
	r := run(t, script(`echo '{"type":"usage","tokens_in":1}' >"$PITON_REPORT"; rm "$PITON_REPORT"`), task(t, ""))
	if wantExit(t, r, 0); r.Usage.In != nil || len(r.Notes) != 0 {
		t.Errorf("usage %+v, notes %q, want none of what is gone", r.Usage, r.Notes)
	}
}

// A silent attempt leaves no file behind, and one whose file cannot be made is
// not stopped by that: a note says so.
func TestLogIsMadeForTheFirstByte(t *testing.T) {
	k := task(t, "")
	if wantExit(t, run(t, script(`true`), k), 0); exists(k.LogPath) {
		t.Error("a file without a byte")
	}
	k = task(t, "")
	must(t, os.WriteFile(filepath.Dir(k.LogPath)+"/file", nil, 0o600))
	k.LogPath = filepath.Dir(k.LogPath) + "/file/log"
	r := run(t, script(`echo words`), k)
	if wantExit(t, r, 0); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "output file is not complete") {
		t.Errorf("notes %q", r.Notes)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// TestUsageIsNotTakenBack: what an agent has said that it used stays, whatever it
// says later, and whatever becomes of its report.
func TestUsageIsNotTakenBack(t *testing.T) {
	for name, then := range map[string]string{
		"nothing in all":    `echo '{"type":"usage","tokens_in":0,"tokens_out":0,"cost_usd":0,"cumulative":true}' >>"$PITON_REPORT"`,
		"an emptied report": `: >"$PITON_REPORT"`,
		"no report":         `rm "$PITON_REPORT"`,
		"another report":    `echo '{"type":"usage","tokens_in":1}' >"$PITON_REPORT.new"; mv "$PITON_REPORT.new" "$PITON_REPORT"`,
	} {
		t.Run(name, func(t *testing.T) {
			k := task(t, "")
			k.OnReport = func(agent.Report) { must(t, os.WriteFile(filepath.Join(k.Dir, "go"), nil, 0o600)) }
			r := run(t, script(`echo '{"type":"usage","tokens_in":70,"tokens_out":7,"cost_usd":0.5}' >>"$PITON_REPORT"
				until [ -e go ]; do sleep 0.02; done; `+then), k)
			wantExit(t, r, 0)
			want := engine.Usage{In: new(int64(70)), Out: new(int64(7)), CostMicros: new(int64(500_000))}
			if diff := cmp.Diff(want, r.Usage); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReportWrittenAnew(t *testing.T) {
	r := run(t, script(`echo '{"type":"usage","tokens_in":1}' >"$PITON_REPORT"
		echo '{"type":"usage","tokens_in":2}' >"$PITON_REPORT.new"; mv "$PITON_REPORT.new" "$PITON_REPORT"`), task(t, ""))
	if wantExit(t, r, 0); r.Usage.In == nil || *r.Usage.In != 2 {
		t.Errorf("usage %+v, want what the report says at the end", r.Usage)
	}
}

func TestOutput(t *testing.T) {
	cases := map[string]struct{ script, want string }{
		"nothing":           {"true", ""},
		"standard output":   {"echo words; echo other >&2", "words\n"},
		"the file":          {`echo words; printf 'from the file' >"$PITON_OUTPUT"`, "from the file"},
		"an empty file":     {`echo words; : >"$PITON_OUTPUT"`, ""},
		"the end of a flow": {"head -c 3000000 /dev/zero | tr '\\0' x; echo end", strings.Repeat("x", agent.MaxOutput-4) + "end\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := run(t, script(c.script), task(t, ""))
			wantExit(t, r, 0)
			if string(r.Output) != c.want {
				t.Errorf("output of %d bytes %.40q, want %d bytes", len(r.Output), r.Output, len(c.want))
			}
		})
	}
}

func TestScratchIsPrivate(t *testing.T) {
	k := task(t, "the prompt")
	cfg := agent.Config{Kind: agent.Exec, Command: []string{"true"}, Prompt: agent.File, Home: agent.Isolated}
	wantExit(t, run(t, cfg, k), 0)
	must(t, filepath.WalkDir(k.Scratch, func(path string, _ fs.DirEntry, err error) error {
		must(t, err)
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
		return nil
	}))
}

// TestParse: what the agent prints tells what its report and its files do not.
func TestParse(t *testing.T) {
	const events = `echo '{"type":"system","session_id":"s-1"}'; echo noise >&2
		echo '{"type":"result","result":"last words","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":3}}'`
	cases := map[string]struct {
		more, output string
		usage        engine.Usage
	}{
		"alone":        {"", "last words", engine.Usage{In: new(int64(7)), Out: new(int64(3)), CostMicros: new(int64(500_000))}},
		"and a report": {`echo '{"type":"usage","tokens_in":100}' >>"$PITON_REPORT"`, "last words", engine.Usage{In: new(int64(100)), Out: new(int64(3)), CostMicros: new(int64(500_000))}},
		"and a file":   {`printf file >"$PITON_OUTPUT"`, "file", engine.Usage{In: new(int64(7)), Out: new(int64(3)), CostMicros: new(int64(500_000))}},
		"and failure":  {"exit 3", "last words", engine.Usage{In: new(int64(7)), Out: new(int64(3)), CostMicros: new(int64(500_000))}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := script(events + "\n" + c.more)
			cfg.Parse = "claude"
			r := run(t, cfg, task(t, ""))
			if r.How != engine.Exited || string(r.Output) != c.output || len(r.Notes) > 0 {
				t.Errorf("%s, output %q, notes %q", r.How, r.Output, r.Notes)
			}
			if diff := cmp.Diff(c.usage, r.Usage); diff != "" {
				t.Errorf("usage: -want +got:\n%s", diff)
			}
		})
	}
}

// TestParseIsOptional: output of another form stays the output, and a note says
// that its usage is not known.
func TestParseIsOptional(t *testing.T) {
	cfg := script("echo plain words")
	cfg.Parse = "codex"
	r := run(t, cfg, task(t, ""))
	wantExit(t, r, 0)
	if string(r.Output) != "plain words\n" || r.Usage != (engine.Usage{}) || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "parse:") {
		t.Errorf("output %q, usage %+v, notes %q", r.Output, r.Usage, r.Notes)
	}
}

// TestParseLongTranscript: calls at the start of more output than is kept count.
func TestParseLongTranscript(t *testing.T) {
	cfg := script(`echo '{"type":"step_finish","part":{"tokens":{"input":5}}}'
		yes '{"type":"tool_use"}' | head -n 100000
		echo '{"type":"text","part":{"text":"the end"}}'
		echo '{"type":"step_finish","part":{"tokens":{"input":6}}}'`)
	cfg.Parse = "opencode"
	r := run(t, cfg, task(t, ""))
	wantExit(t, r, 0)
	if r.Usage.In == nil || *r.Usage.In != 11 || string(r.Output) != "the end" {
		t.Errorf("usage %+v, output %.40q, notes %q", r.Usage, r.Output, r.Notes)
	}
}

// A disk that does not answer holds no attempt up.
func TestStuckLog(t *testing.T) {
	k := task(t, "")
	must(t, syscall.Mkfifo(k.LogPath, 0o600)) // nobody reads it
	t.Cleanup(func() {
		f, err := os.OpenFile(k.LogPath, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		must(t, err)
		must(t, f.Close())
	})
	r := run(t, script("echo working"), k)
	wantExit(t, r, 0)
	if want := []string{"the output file is not complete: its disk does not answer"}; !slices.Equal(r.Notes, want) || string(r.Output) != "working\n" {
		t.Errorf("notes %q, output %q", r.Notes, r.Output)
	}
}
