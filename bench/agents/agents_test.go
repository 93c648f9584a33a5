//go:build gate && linux

// Package agents drives agent programs that others wrote, through Piton, with exactly what
// `piton init` writes and nothing else. Their model is a script on the loopback. The
// programs are those of package-lock.json; PITON_AGENTS names the directory that
// bench/agents/install put them in.
package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/piton-dev/piton/bench/agents/model"
	"github.com/piton-dev/piton/internal/built"
)

// piton is the program under test, made once.
var piton string

func TestMain(m *testing.M) {
	// Programs wait more than they compute.
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "piton-agents-")
	if err != nil {
		panic(err)
	}
	if piton, err = built.Into(dir); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// installed is the directory with the programs.
func installed(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PITON_AGENTS")
	bin := filepath.Join(dir, "node_modules", ".bin")
	if _, err := os.Stat(bin); dir != "" && err == nil {
		return bin
	}
	t.Fatal("PITON_AGENTS names no directory with the agent programs; bench/agents/install DIRECTORY makes one")
	return ""
}

// place is a workspace with a home, in which one agent's user has done nothing but
// `piton init`.
type place struct {
	*testing.T
	dir, home, state string
	settings         map[string]string // of the program, by file
	env              []string
}

// user is what a person has set before.
type user struct {
	key   string // "" is none
	model string
}

var able = user{key, model.Scripted}

const secret = "a-key-of-nobody"

// begin makes a workspace for a program. Programs put helpers of theirs into the home and
// refuse that below the directory for temporary files.
func begin(t *testing.T, p program, u user) *place {
	t.Helper()
	bin := installed(t)
	s, err := model.Start(key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	root := t.TempDir()
	w := &place{T: t, dir: filepath.Join(root, "work"), home: filepath.Join(root, "home"), state: filepath.Join(root, "state")}
	for _, dir := range []string{w.dir, filepath.Join(root, "tmp")} {
		w.must(os.MkdirAll(dir, 0o700))
	}
	files := p.places(w.home, s.URL, u.model)
	w.settings = maps.Clone(files)
	files[filepath.Join(w.home, ".ssh", "id_ed25519")] = secret
	files[filepath.Join(w.state, "note")] = secret
	files[filepath.Join(w.dir, "test.sh")] = testScript
	for file, body := range files {
		w.must(os.MkdirAll(filepath.Dir(file), 0o700))
		w.must(os.WriteFile(file, []byte(body), 0o600))
	}
	w.env = []string{
		"PATH=" + bin + ":" + filepath.Dir(piton) + ":" + os.Getenv("PATH"), "HOME=" + w.home, "TMPDIR=" + filepath.Join(root, "tmp"), "PITON_STATE=" + w.state, "LANG=C.UTF-8",
		"GIT_CONFIG_GLOBAL=/dev/null", "PITON_TRACE=",
	}
	if p.env != nil {
		w.env = append(w.env, p.env(s.URL, u.model)...)
	}
	if u.key != "" {
		w.env = append(w.env, p.keyed+"="+u.key)
	}
	w.git("init", "-q")
	w.git("add", ".")
	w.git("config", "user.name", "a")
	w.git("config", "user.email", "a@example.org")
	w.git("commit", "-qm", "begin")
	init := []string{"init"}
	if p.acp {
		init = append(init, "--acp")
	}
	if _, code := w.piton(init...); code != 0 {
		t.Fatal("init failed")
	}
	t.Cleanup(w.end)
	return w
}

// testScript is the project's tests: they look at the work, and listen on the loopback as
// tests do.
const testScript = `grep -q hello hello.txt || exit 1
node -e 'const s = require("net").createServer(); s.listen(0, "127.0.0.1", () => s.close())' || exit 1
echo "the tests pass"
`

func (w *place) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *place) git(args ...string) {
	w.Helper()
	if out, err := exec.Command("git", append([]string{"-C", w.dir}, args...)...).CombinedOutput(); err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (w *place) command(args ...string) *exec.Cmd {
	c := exec.Command(piton, args...)
	c.Dir, c.Env = w.dir, w.env
	return c
}

// piton runs a verb to its end, and shows what it said if the test fails.
func (w *place) piton(args ...string) (out string, code int) {
	w.Helper()
	c := w.command(args...)
	var both bytes.Buffer
	c.Stdout, c.Stderr = &both, &both
	err := c.Run()
	if exit, is := errors.AsType[*exec.ExitError](err); err != nil && !is {
		w.Fatal(err)
	} else if is {
		code = exit.ExitCode()
	}
	w.Logf("piton %s: exit %d\n%s", strings.Join(args, " "), code, cut(both.String()))
	return both.String(), code
}

// cut is the end of a long text.
func cut(s string) string { return s[max(0, len(s)-4000):] }

// end stops what still goes on.
func (w *place) end() {
	if w.owner() != 0 {
		w.piton("cancel")
	}
	for deadline := time.Now().Add(time.Minute); w.owner() != 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
}

// owner is the process that owns the workspace; 0 where there is none.
func (w *place) owner() int {
	for pid, argv := range processes(w.T) {
		if len(argv) > 3 && argv[0] == piton && argv[1] == "owner" && slices.Contains(argv, w.dir) {
			return pid
		}
	}
	return 0
}

// processes are those that live, with their arguments.
func processes(t *testing.T) map[int][]string {
	t.Helper()
	all := map[int][]string{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if len(line) > 0 { // else it is gone, or a thread of the kernel
			all[pid] = strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		}
	}
	return all
}

// plan writes a plan of one step for an agent with a script.
func (w *place) plan(agent, script, more string) {
	w.Helper()
	w.must(os.WriteFile(filepath.Join(w.dir, "plan.md"), fmt.Appendf(nil, `---
type: plan
status: draft
owner: somebody
---

# Say hello

## Steps

### 1. Greet

**id:** greet
**target:** %s
**task:** Write hello.txt. SCRIPT %s
**contract:** %s
**writes:** hello.txt
%s`, agent, script, "`sh test.sh`", more), 0o600))
}

func script(steps ...object) string {
	body, _ := json.Marshal(steps)
	return string(body)
}

// run is what `piton status --json` says of the newest run.
type run struct {
	Status string
	Usage  struct {
		In *int64 `json:"tokens_in"`
	}
	Isolation string
	Steps     []struct {
		Status, Reason, Verdict string
		Attempts                int
		Proven                  bool
	}
}

func (w *place) status() (r run) {
	w.Helper()
	out, _ := w.command("status", "--json").Output()
	doc := struct{ Data *run }{&r}
	if err := json.Unmarshal(out, &doc); err != nil || len(r.Steps) == 0 {
		w.Fatalf("piton status --json: %v\n%s", err, out)
	}
	return r
}

// printed is all that agents printed in steps.
func (w *place) printed() string {
	w.Helper()
	var all []byte
	w.must(filepath.WalkDir(w.state, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".log" || !strings.Contains(path, "attempts") {
			return err
		}
		body, err := os.ReadFile(path)
		all = append(all, body...)
		return err
	}))
	return string(all)
}

// until waits for something that happens soon. Ten minutes: a program that does not reach its
// model tries again after 64 s, then after 128 s more, and Piton counts from error to error.
func (w *place) until(what string, happens func() bool) {
	w.Helper()
	for deadline := time.Now().Add(10 * time.Minute); !happens(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%s: not within ten minutes; alive: %q", what, w.alive())
		}
	}
}

// each tries all programs beside each other.
func each(t *testing.T, do func(t *testing.T, p program)) {
	installed(t)
	for _, p := range programs {
		t.Run(p.title(), func(t *testing.T) {
			t.Parallel()
			do(t, p)
		})
	}
}

// An agent that works: it writes the file with its own tool, runs the project's tests, and
// writes the step's output. What it must not read is not there.
func TestWorks(t *testing.T) {
	each(t, func(t *testing.T, p program) {
		w := begin(t, p, able)
		w.plan(p.name, script(
			object{"write": "hello.txt", "content": "hello"},
			object{"run": "sh test.sh && echo $PITON_OUTPUT"},
			object{"write": "{path}", "content": "greeted\n"},
			object{"run": `for f in ` + strings.Join(slices.Sorted(maps.Keys(w.settings)), " ") + `; do echo evil >$f; mv -f $f $f.old; done; echo evil >~/.claude/CLAUDE.md; true`},
			object{"run": `echo '{"type":"progress","text":"half of it"}' >>"$PITON_REPORT"; (sh test.sh; cat ~/.ssh/id_ed25519 ` +
				w.home + "/.ssh/id_ed25519 " + w.state + `/*; echo looked around) >>"$PITON_OUTPUT" 2>&1`},
			object{"say": "All done."},
		), "")
		out, code := w.piton("run", "plan.md", "--yes")
		r := w.status()
		if code != 0 || r.Status != "done" || !r.Steps[0].Proven || r.Steps[0].Attempts != 1 {
			t.Errorf("exit %d, %+v", code, r)
		}
		// Some ask for a title and a summary besides.
		if want, in := 6*p.tokens, r.Usage.In; (in == nil) != (p.tokens == 0) || in != nil && (*in < want || *in > want+2*p.tokens) {
			t.Errorf("used %v tokens, want %d", in, want)
		}
		for _, want := range []string{"half of it", "says: All done."} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not shown", want)
			}
		}
		log, _ := w.piton("log", "greet")
		for _, want := range []string{"greeted", "the tests pass", "looked around"} {
			if !strings.Contains(log, want) {
				t.Errorf("its output has no %q", want)
			}
		}
		if r.Isolation == "sealed" && strings.Contains(log, secret) {
			t.Errorf("it read what is none of its business")
		}
		for file, text := range w.settings {
			if p.title() == "codex-acp" {
				continue // which writes it itself when it starts: docs/isolation.md
			}
			if body, err := os.ReadFile(file); r.Isolation == "sealed" && (err != nil || string(body) != text) {
				t.Errorf("it changed %s, which its program obeys: %q, %v", file, body, err)
			}
		}
		if p.name == "claude" && !strings.Contains(strings.Join(strings.Fields(log), " "), "CLAUDE.md was made or changed during the work, and claude will obey it") {
			t.Error("nothing tells of the file that it made for the next start of claude")
		}
		if r.Isolation != "sealed" {
			t.Errorf("isolation is %s", r.Isolation)
		}
	})
}

// An agent reports with tools: those that its session got, or those that its command names.
func TestReportTools(t *testing.T) {
	each(t, func(t *testing.T, p program) {
		if p.reports == nil {
			t.Skip("it takes servers of tools from its settings alone")
		}
		w := begin(t, p, able)
		conf := filepath.Join(w.dir, ".piton", "config.yaml")
		text, err := os.ReadFile(conf)
		w.must(err)
		w.must(os.WriteFile(conf, []byte(p.reports(string(text))), 0o600))
		w.plan(p.name, script(object{"note": "the greeting is new"}, object{"write": "hello.txt", "content": "hello"}, object{"say": "All done."}), "")
		if out, code := w.piton("run", "plan.md", "--yes"); code != 0 {
			t.Errorf("exit %d\n%s", code, out)
		}
		if log, _ := w.piton("log", "--json"); !strings.Contains(log, `"discoveries":["the greeting is new"]`) {
			t.Errorf("it reported nothing")
		}
	})
}

// An agent that says it is done, and did nothing.
func TestLies(t *testing.T) {
	each(t, func(t *testing.T, p program) {
		if p.asks {
			t.Skip("TestAsks has it do so")
		}
		w := begin(t, p, able)
		w.plan(p.name, script(object{"say": "All done."}), "**on_fail:** abort\n")
		_, code := w.piton("run", "plan.md", "--yes")
		if r := w.status(); code == 0 || r.Status == "done" || r.Steps[0].Verdict != "fail" || r.Steps[0].Proven {
			t.Errorf("exit %d, %+v", code, r)
		}
	})
}

// An agent asks before it acts. With a yes it goes on. With a no it goes on too, and says that
// all is done: the step does not pass, and the no is why. The next attempt asks again, but for
// what it may do in the whole run.
func TestAsks(t *testing.T) {
	each(t, func(t *testing.T, p program) {
		if !p.asks {
			t.Skip("it asks nothing")
		}
		w := begin(t, p, able)
		w.plan(p.name, script(
			object{"run": "sh test.sh"},
			object{"write": "hello.txt", "content": "hello"},
			object{"say": "All done."},
		), "")
		w.change("plan.md", "## Steps", "**permissions:** ask\n\n## Steps")
		if _, code := w.piton("run", "plan.md", "--yes", "--detach"); code != 0 {
			t.Fatalf("exit %d", code)
		}
		w.answers("run sh test.sh?", "allow-run")
		w.answers("edit hello.txt?", "deny", "--text", "nothing more today")
		w.answers("edit hello.txt?", "allow")
		w.until("the run ends", func() bool { return w.status().Status != "running" })
		if r := w.status(); r.Status != "done" || !r.Steps[0].Proven || r.Steps[0].Attempts != 2 {
			t.Errorf("%+v", r)
		}
		log, _ := w.piton("log", "greet", "--json")
		if want := "denied: edit hello.txt: by "; strings.Count(log, want) == 0 || !strings.Contains(log, "nothing more today") {
			t.Errorf("the log has no %q", want)
		}
	})
}

// change replaces a part of a file of the workspace.
func (w *place) change(name, part, by string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	body, err := os.ReadFile(path)
	w.must(err)
	w.must(os.WriteFile(path, bytes.ReplaceAll(body, []byte(part), []byte(by)), 0o600))
}

// answers answers a question once it is there.
func (w *place) answers(question string, answer ...string) {
	w.Helper()
	var id string
	w.until("it asks: "+question, func() bool {
		var doc struct {
			Data struct {
				Items []struct{ ID, Kind, Question string }
			}
		}
		out, _ := w.command("inbox", "--json").Output()
		if json.Unmarshal(out, &doc) == nil && len(doc.Data.Items) == 1 && strings.Contains(doc.Data.Items[0].Question, question) {
			id = doc.Data.Items[0].ID
		}
		return id != ""
	})
	if _, code := w.piton(append([]string{"answer", id}, answer...)...); code != 0 {
		w.Fatalf("%v: exit %d", answer, code)
	}
}

// Whether an agent works is said before anybody has a plan.
func TestTrial(t *testing.T) {
	trials := map[string]struct {
		user
		kinds []string
	}{
		"ready":  {able, []string{"works"}},
		"no key": {user{"", model.Scripted}, []string{"no-key", "no-login"}},
	}
	each(t, func(t *testing.T, p program) {
		if p.asks || p.dear {
			t.Skip("TestWorks and TestCannot have it do as much")
		}
		for name, tt := range trials {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := begin(t, p, tt.user)
				out, err := w.command("agents", "test", p.name, "--json").Output()
				doc := struct {
					Data struct {
						Agents []struct{ Status, Text, Hint, Log string }
					}
				}{}
				if json.Unmarshal(out, &doc) != nil || len(doc.Data.Agents) != 1 {
					t.Fatalf("%v\n%s", err, out)
				}
				a := doc.Data.Agents[0]
				if works := a.Status == "works"; !slices.Contains(tt.kinds, a.Status) || a.Text == "" || works != (a.Hint == "") || works != (err == nil) {
					log, _ := os.ReadFile(a.Log)
					t.Errorf("%+v, %v\n%s", a, err, cut(string(log)))
				}
			})
		}
	})
}

// An agent that cannot reach its model, or is not let in: why is told first, with what to do,
// nothing is asked of the contract, and nobody tries again blindly.
func TestCannot(t *testing.T) {
	troubles := map[string]struct {
		user
		kinds []string
		waits bool   // waiting may help
		next  string // what to do
	}{
		"wrong key":   {user{"guessed", model.Scripted}, []string{"key-refused"}, false, "was refused"},
		"no key":      {user{"", model.Scripted}, []string{"no-key", "no-login"}, false, "key|KEY|log"},
		"wrong model": {user{key, model.Missing}, []string{"model"}, false, "model"},
		"broken":      {user{key, model.Broken}, []string{"network"}, true, "reached"},
		"cut":         {user{key, model.Cut}, []string{"network"}, true, "reached"},
	}
	each(t, func(t *testing.T, p program) {
		for name, tt := range troubles {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := begin(t, p, tt.user)
				w.plan(p.name, script(object{"write": "hello.txt", "content": "hello"}, object{"say": "All done."}), "")
				if !tt.waits {
					if _, code := w.piton("run", "plan.md", "--yes"); code != 9 {
						t.Errorf("exit %d", code)
					}
				} else if _, code := w.piton("run", "plan.md", "--yes", "--detach"); code != 0 {
					t.Errorf("exit %d", code)
				}
				var why cause
				w.until("an attempt ends", func() bool {
					why = w.cause()
					return why.Kind != ""
				})
				if r := w.status(); r.Steps[0].Verdict != "infra" || r.Steps[0].Proven || !tt.waits && r.Steps[0].Attempts != 1 {
					t.Errorf("%+v", r)
				}
				known := slices.Contains(tt.kinds, why.Kind) || tt.key == "" && why.Kind == "key-refused" && strings.Contains(why.Next, "piton gave it none")
				if !known || why.Text == "" || !anyOf(why.Next, tt.next) || why.Lasts == tt.waits {
					t.Errorf("%+v\n%s", why, cut(w.printed()))
				}
			})
		}
	})
}

// cause is why an attempt ended, apart from its contract.
type cause struct {
	Kind, Text, Next string
	Lasts            bool
}

// cause is that of the last attempt that has one, none where there is none yet.
func (w *place) cause() (c cause) {
	w.Helper()
	out, _ := w.command("why", "greet", "--json").Output()
	if _, after, found := strings.Cut(string(out), `"cause":{`); found {
		w.must(json.NewDecoder(strings.NewReader("{" + after)).Decode(&c))
	}
	return c
}

// anyOf reports whether a text has one of the words.
func anyOf(text, words string) bool {
	return slices.ContainsFunc(strings.Split(words, "|"), func(word string) bool { return strings.Contains(text, word) })
}

var naps atomic.Int64

// nap is a command that sleeps, unlike any other.
func nap() (command string, asleep func(t *testing.T) bool) {
	long := fmt.Sprintf("77.%d%04d", os.Getpid(), naps.Add(1))
	return "sleep " + long, func(t *testing.T) bool {
		for _, argv := range processes(t) {
			if len(argv) == 2 && filepath.Base(argv[0]) == "sleep" && argv[1] == long {
				return true
			}
		}
		return false
	}
}

// alive are the processes that work in the workspace, but Piton's own.
func (w *place) alive() (all [][]string) {
	for pid, argv := range processes(w.T) {
		at, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if strings.HasPrefix(at, filepath.Dir(w.dir)) && argv[0] != piton {
			all = append(all, argv)
		}
	}
	return all
}

// While the agent waits for a command, the run is cancelled, or its owner is killed:
// nothing lives.
func TestNothingLives(t *testing.T) {
	ends := map[string]func(*place){
		"cancel": func(w *place) {
			if out, code := w.piton("cancel"); code != 0 {
				w.Errorf("cancel: %d %s", code, out)
			}
		},
		"kill": func(w *place) {
			pid := w.owner()
			if pid == 0 {
				w.Fatal("there is no owner")
			}
			p, _ := os.FindProcess(pid)
			w.must(p.Kill())
		},
	}
	each(t, func(t *testing.T, p program) {
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				if p.asks && name == "kill" {
					t.Skip("it is told nothing, as with codex")
				}
				t.Parallel()
				w := begin(t, p, able)
				command, asleep := nap()
				w.plan(p.name, script(object{"run": command}, object{"say": "All done."}), "")
				run := w.command("run", "plan.md", "--yes", "--detach")
				if out, err := run.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				w.until("the agent runs its command", func() bool { return asleep(t) })
				end(w)
				w.until("the command ends", func() bool { return !asleep(t) })
				w.until("nothing lives", func() bool { return len(w.alive()) == 0 })
			})
		}
	})
}
