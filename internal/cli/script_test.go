//go:build unix

package cli_test

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/piton-dev/piton/internal/built"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

func TestMain(m *testing.M) {
	testscript.Main(programs{m}, map[string]func(){
		"piton":     nil, // see build
		"agent":     nil,
		"acpagent":  func() { os.Exit(acpMain()) },
		"mcpclient": func() { os.Exit(mcpClientMain()) },
	})
}

// programs gives the tests of a package the programs that they start, and fails those that
// leave processes behind.
type programs struct{ *testing.M }

func (m programs) Run() int {
	// Scripts wait more than they compute.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	// Programs that are started then heed a hangup, under nohup too.
	ossignal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	piton, err := exec.LookPath("piton")
	if err == nil {
		err = build(filepath.Dir(piton))
	}
	if err == nil {
		inside, err = listens(filepath.Dir(piton), piton)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.M.Run()
	for _, p := range leftovers(filepath.Dir(piton), patience) {
		fmt.Fprintln(os.Stderr, "a test left a process behind:", p)
		code = max(code, 1)
	}
	return code
}

// inside carries out what the scripts of testdata/script say.
var inside *here

// build puts piton and the agent of scripts where the test binary stands for them. The
// scripts start them thousands of times, and the test binary takes its time to start.
func build(bin string) error {
	piton, agent := filepath.Join(bin, "piton"), filepath.Join(bin, "agent")
	for _, name := range []string{piton, agent} {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	if _, err := built.Into(bin); err != nil {
		return err
	}
	script, err := os.ReadFile(filepath.Join("testdata", "agent.sh"))
	if err != nil {
		return err
	}
	return os.WriteFile(agent, script, 0o755) //nolint:gosec // for scripts to execute
}

const agentsOfScripts = `agents:
  coder: {kind: exec, command: [agent], stop: {cancel_grace: 200ms, term_grace: 200ms}}
  reviewer: {kind: exec, command: [agent]}
default_agent: coder
`

// TestScript runs the scripts that this process carries out: see [here]. Only one with a
// file "sealed" has its agents and contracts in seals, if this machine has them.
func TestScript(t *testing.T) {
	t.Parallel()
	scripts(t, "testdata/script", func(env *testscript.Env) error {
		env.Setenv("PATH", inside.bin+":"+env.Getenv("PATH"))
		if _, err := os.Stat(filepath.Join(env.WorkDir, "sealed")); err != nil {
			env.Setenv("PITON_POLICY_ISOLATION", "none")
		}
		return setup(env)
	})
}

// TestProcess runs the scripts about processes, signals, seals and terminals: those start
// the program itself.
func TestProcess(t *testing.T) {
	t.Parallel()
	scripts(t, "testdata/process", setup)
}

func scripts(t *testing.T, dir string, setup func(*testscript.Env) error) {
	testscript.Run(t, testscript.Params{
		Dir:                dir,
		RequireUniqueNames: true,
		Setup:              setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"state":    state,
			"item":     item,
			"until":    until,
			"start":    start,
			"signal":   signal,
			"owner":    signalOwner,
			"ends":     ends,
			"journal":  journal,
			"terminal": terminal,
			"type":     types,
			"talk":     talk,
			"listen":   listen,
			"model":    endpoint,
		},
		Condition: condition,
	})
}

// condition knows "root", "offline" where commands can be kept from the network, "sealed" where they can be held besides, and "needs:PROGRAM" of scripts that a machine may be
// too bare for. In the gate a missing program fails.
func condition(cond string) (bool, error) {
	if cond == "root" {
		return os.Geteuid() == 0, nil
	}
	program, ok := strings.CutPrefix(cond, "needs:")
	var err error
	switch {
	case cond == "fenced":
		return proc.Fenced() == nil, nil
	case cond == "offline":
		err = can((*proc.Pool).Offline)
	case cond == "sealed":
		err = can(func(p *proc.Pool) error { return cmp.Or(p.Offline(), p.Sealed()) })
	case !ok:
		return false, fmt.Errorf("unknown condition %q", cond)
	default:
		_, err = exec.LookPath(program)
	}
	if err != nil && tier.Gate {
		return false, fmt.Errorf("no script is left out here: %w", err)
	}
	return err == nil, nil
}

func can(what func(*proc.Pool) error) error {
	p, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		return err
	}
	defer p.Close()
	return what(p)
}

// listen VAR puts into VAR the port of this machine's loopback at which somebody
// answers until the script ends.
func listen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listen VAR")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Setenv(args[0], port)
}

// setup makes a workspace, with agents unless the script has a configuration,
// and a state directory beside it. Scripts begin in the workspace.
func setup(env *testscript.Env) error {
	ws := filepath.Join(env.WorkDir, "ws")
	if err := os.MkdirAll(filepath.Join(ws, ".piton"), 0o755); err != nil {
		return err
	}
	conf := filepath.Join(ws, ".piton", "config.yaml")
	if _, err := os.Stat(conf); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(conf, []byte(agentsOfScripts), 0o644); err != nil {
			return err
		}
	}
	confs, _ := filepath.Glob(filepath.Join(env.WorkDir, "*.yaml"))
	within, _ := filepath.Glob(filepath.Join(ws, "*.yaml"))
	for _, conf := range slices.Concat(confs, within, []string{conf}) {
		if err := share(conf, env.WorkDir); err != nil {
			return err
		}
	}
	programs, _ := filepath.Glob(filepath.Join(env.WorkDir, "bin", "*"))
	for _, p := range programs {
		if err := os.Chmod(p, 0o755); err != nil {
			return err
		}
	}
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		return err
	}
	env.Cd = ws
	env.Setenv("EXAMPLES", examples)
	env.Setenv("HOME", home)
	env.Setenv("PITON_STATE", filepath.Join(env.WorkDir, "state"))
	env.Setenv("PATH", filepath.Join(env.WorkDir, "bin")+":"+env.Getenv("PATH"))
	started := processes{}
	env.Values[processKey{}] = started
	env.Values["env"] = env
	env.Defer(func() { endsWell(env) })
	env.Defer(started.kill)
	return nil
}

var configures = regexp.MustCompile(`(?m)^agents:|\A(policy|judge|default_agent):`)

// share lets the agents and contracts of a script write beside the workspace, unless the
// script says itself what they get. One with a file "unsealed" shows what is found where
// there is no isolation.
func share(conf, dir string) error {
	text, err := os.ReadFile(conf)
	if err != nil || strings.Contains(string(text), "sandbox:") || !configures.Match(text) {
		return err
	}
	more := fmt.Sprintf("sandbox: {writable: [%q]}\n", dir)
	if _, err := os.Stat(filepath.Join(dir, "unsealed")); err == nil {
		more = "policy: {isolation: none}\n"
	}
	return os.WriteFile(conf, append(text, more...), 0o644)
}

// endsWell fails a script that leaves processes behind.
func endsWell(env *testscript.Env) {
	t := env.T().(testing.TB)
	within := patience
	if t.Failed() {
		within = 0
	}
	inside.none(t, env.WorkDir)
	for _, p := range leftovers(env.WorkDir+"/", within) {
		t.Errorf("the script left a process behind: %s", p)
	}
}

// exits CODE PROGRAM ARGS... runs a program that must end with the code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	if code := exitCode(ts.Exec(args[1], args[2:]...)); strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func exitCode(err error) int {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// answer runs piton and returns the data of the one document that it prints.
func answer(ts *testscript.TestScript, data any, args ...string) {
	ts.Check(ts.Exec("piton", append(args, "--json")...))
	var doc struct {
		Data json.RawMessage `json:"data"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	ts.Check(json.Unmarshal(doc.Data, data))
}

// state RUN STEP=STATUS... looks at the newest run. After a step's status may
// stand the number of its attempts and its last verdict: fix=failed/3/fail.
func state(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: state RUN STEP=STATUS[/ATTEMPTS[/VERDICT]]...")
	}
	var run struct {
		Status string
		Steps  []struct {
			ID, Status, Verdict string
			Attempts            int
		}
	}
	answer(ts, &run, "status")
	if run.Status != args[0] {
		ts.Fatalf("the run is %s, want %s", run.Status, args[0])
	}
	have := map[string]string{}
	for _, s := range run.Steps {
		have[s.ID] = fmt.Sprintf("%s/%d/%s", s.Status, s.Attempts, s.Verdict)
	}
	for _, arg := range args[1:] {
		id, want, _ := strings.Cut(arg, "=")
		if got := have[id]; !strings.HasPrefix(got+"/", want+"/") {
			ts.Fatalf("step %s is %s, want %s", id, got, want)
		}
	}
}

// item KIND [CAUSE] looks at the only item of the inbox, or with "none" that
// there is no item, and puts its id into ITEM.
func item(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: item KIND [CAUSE|STEP], or item none")
	}
	var inbox struct {
		Items []struct{ ID, Item, Kind, Cause, Step string }
	}
	answer(ts, &inbox, "inbox")
	if len(args) > 1 {
		for _, it := range inbox.Items {
			if it.Step == args[1] && it.Kind == args[0] {
				ts.Setenv("ITEM", it.ID+it.Item)
				return
			}
		}
	}
	if args[0] == "none" {
		if len(inbox.Items) != 0 {
			ts.Fatalf("%d items are open, want none", len(inbox.Items))
		}
		return
	}
	if len(inbox.Items) != 1 {
		ts.Fatalf("%d items are open, want one", len(inbox.Items))
	}
	it := inbox.Items[0]
	if it.Kind != args[0] || len(args) > 1 && it.Cause != args[1] {
		ts.Fatalf("the item is a %s because of %q", it.Kind, it.Cause)
	}
	ts.Setenv("ITEM", it.ID+it.Item)
}

// journal SQL... changes the journal behind its back.
func journal(ts *testscript.TestScript, neg bool, args []string) {
	found, err := filepath.Glob(filepath.Join(ts.Getenv("PITON_STATE"), "ws-*", "journal.db"))
	ts.Check(err)
	if neg || len(found) != 1 {
		ts.Fatalf("%d journals, want one", len(found))
	}
	db, err := sql.Open("sqlite", "file:"+found[0]+"?_pragma=busy_timeout(30000)") // an owner may be ending
	ts.Check(err)
	defer db.Close()
	for _, q := range args {
		_, err := db.Exec(q)
		ts.Check(err)
	}
}

// processes are those that a script started, by the name it gave them.
type processes map[string]*exec.Cmd

type processKey struct{}

// readKey is of a channel that is closed once all that a program wrote to its terminal is read.
type readKey struct{ name string }

func (ps processes) kill() {
	for _, c := range ps {
		if c.ProcessState == nil {
			c.Process.Kill() //nolint:errcheck // it ended by itself
			c.Wait()         //nolint:errcheck // it was killed
		}
	}
}

// start NAME PROGRAM ARGS... starts a program with a process group of its own.
// What it prints goes to NAME.out and NAME.err beside the workspace.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME PROGRAM ARGS...")
	}
	c := program(ts, args[1:])
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, errs := beside(ts, args[0]+".out"), beside(ts, args[0]+".err")
	defer out.Close()
	defer errs.Close()
	c.Stdout, c.Stderr = out, errs
	ts.Check(c.Start())
	ts.Value(processKey{}).(processes)[args[0]] = c
}

// beside makes a file beside the workspace.
func beside(ts *testscript.TestScript, name string) *os.File {
	f, err := os.Create(filepath.Join(ts.Getenv("WORK"), name))
	ts.Check(err)
	return f
}

// program is a command of the script, with the script's environment.
func program(ts *testscript.TestScript, args []string) *exec.Cmd {
	path := args[0]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, args[0])); err == nil {
			path = filepath.Join(dir, args[0])
			break
		}
	}
	c := exec.Command(path, args[1:]...)
	c.Args[0] = args[0]
	c.Dir = ts.MkAbs(".")
	for _, v := range ts.Value("env").(*testscript.Env).Vars {
		name, _, _ := strings.Cut(v, "=")
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	return c
}

func started(ts *testscript.TestScript, name string) *exec.Cmd {
	c := ts.Value(processKey{}).(processes)[name]
	if c == nil {
		ts.Fatalf("nothing called %s was started", name)
	}
	return c
}

var signals = map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP, "STOP": syscall.SIGSTOP}

// signal NAME SIGNAL signals a program that was started.
func signal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || signals[args[1]] == 0 {
		ts.Fatalf("usage: signal NAME INT|TERM|KILL|HUP")
	}
	ts.Check(started(ts, args[0]).Process.Signal(signals[args[1]]))
}

// ownerless waits until an owner has ended; 0 is any.
func ownerless(ts *testscript.TestScript, pid int) {
	t, dir := ts.Value("env").(*testscript.Env).T().(testing.TB), ts.MkAbs(".")
	inside.none(t, dir)
	unowned(t, dir, pid)
}

// owner none waits until the workspace has no owner. owner SIGNAL [NAME...] signals the owner of the workspace, and waits for its end. The
// programs of these names are stopped before and killed after, so that none of them
// starts another owner.
func signalOwner(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 1 && args[0] == "none" {
		ownerless(ts, 0)
		return
	}
	if neg || len(args) == 0 || signals[args[0]] == 0 {
		ts.Fatalf("usage: owner none, or owner INT|TERM|KILL [NAME...]")
	}
	for _, name := range args[1:] {
		ts.Check(started(ts, name).Process.Signal(syscall.SIGSTOP))
	}
	pid := ownerOf(ts.MkAbs("."))
	if pid == 0 {
		ts.Fatalf("the workspace has no owner")
	}
	ts.Check(syscall.Kill(pid, signals[args[0]]))
	ownerless(ts, pid)
	for _, name := range args[1:] {
		ts.Check(started(ts, name).Process.Kill())
	}
}

// ends NAME CODE waits for the end of a program that was started. The code is
// -1 for one that was killed.
func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ends NAME CODE")
	}
	c := started(ts, args[0])
	late := time.AfterFunc(patience, func() { c.Process.Signal(syscall.SIGQUIT) }) //nolint:errcheck // it ended just now
	defer late.Stop()
	code := exitCode(c.Wait())
	if read, ok := ts.Value("env").(*testscript.Env).Values[readKey{args[0]}].(chan struct{}); ok {
		select {
		case <-read:
		case <-time.After(patience):
			ts.Fatalf("%s has ended, and its terminal is still open", args[0])
		}
	}
	for _, suffix := range []string{".out", ".err"} {
		text, _ := os.ReadFile(filepath.Join(ts.Getenv("WORK"), args[0]+suffix))
		ts.Logf("[%s%s]\n%s", args[0], suffix, text[max(0, len(text)-8000):])
	}
	if strconv.Itoa(code) != args[1] {
		ts.Fatalf("%s: exit code %d, want %s", args[0], code, args[1])
	}
}
