package probe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	worker "github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tree"
	"github.com/piton-dev/piton/internal/verify"
)

// Status says how good an answer of the doctor is.
type Status string

const (
	OK      Status = "ok"
	Warning Status = "warning" // runs work, with the loss that the text names
	Failure Status = "error"   // nothing can run on this machine until it is mended
	Absent  Status = "absent"  // not there, and nobody needs it
)

// Line is one thing that the doctor looked at.
type Line struct {
	Check  string `json:"check"` // "bash", "agent coder"
	Status Status `json:"status"`
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"` // what to do, where something is to be done
}

// Doctor examines the machine and the configuration. The lines come in a fixed
// order, agents by name. Models are named and not asked. It starts bash, git and the agents'
// programs to ask for their versions, each once and for a few seconds at most.
func Doctor(ctx context.Context, env Env) []Line {
	jobs := []func() Line{
		func() Line { return bash(ctx, env) },
		func() Line { return git(ctx, env) },
		func() Line { return isolation(env.Config.Policy.Isolation) },
		network,
		func() Line { return state(env.State) },
		func() Line { return disk("disk", existing(env.State)) },
		func() Line { return disk("workspace", env.Workspace) },
		func() Line { return path(env) },
	}
	if s := env.Config.Sandbox; len(s.Visible)+len(s.Writable) > 0 {
		jobs = append(jobs, func() Line { return sandbox(env) })
	}
	var programs sync.Map // what is said of each, by file: agents may share one
	said := func(file string) string {
		once, _ := programs.LoadOrStore(file, sync.OnceValue(func() string { return described(ctx, env, file) }))
		return once.(func() string)()
	}
	machine := len(jobs)
	for _, name := range slices.Sorted(maps.Keys(env.Config.Agents)) {
		if name != config.Script {
			jobs = append(jobs, func() Line { return agent(env, name, said) })
		}
	}
	agents := len(jobs) - machine
	for _, m := range models(env.Config) {
		jobs = append(jobs, func() Line { return model(env, m) })
	}
	for _, name := range slices.Sorted(maps.Keys(env.Config.MCPServers)) {
		jobs = append(jobs, func() Line { return server(env, name) })
	}
	lines := together(jobs)
	if agents == 0 {
		lines = append(lines, Line{"agents", Absent, "only the built-in `script`, which runs shell steps", "run `piton init`: it writes entries for the agents found here, or says which to add to your .piton/config.yaml"})
	}
	return lines
}

// role is a model that is asked something, by what it is there for.
type role struct {
	name string
	config.Model
}

// models are those that the configuration names.
func models(c config.Config) []role {
	all := []role{{"planner", c.Planner}, {"arbiter", c.Arbiter}, {"judge", c.Judge}, {"reviewer", c.Reviewer}, {"extraction", c.Extraction}}
	return slices.DeleteFunc(all, func(r role) bool { return r.None() })
}

// model says whether somebody can be asked: by the program of its agent, or by the key
// of its address. Nobody is asked.
func model(env Env, r role) Line {
	if r.Agent != "" {
		line, _ := Agent(env, r.Agent)
		line.Check, line.Text = r.name, fmt.Sprintf("agent %q: %s", r.Agent, line.Text)
		return line
	}
	text := fmt.Sprintf("model %q at %s", r.Model.Model, cmp.Or(r.BaseURL, r.API))
	if r.KeyEnv != "" && proc.Variable(env.Environ, r.KeyEnv) == "" {
		return Line{r.name, Warning, text + "; its key is missing: " + r.KeyEnv + " is not set", "set it where you start piton, or name another variable with `key_env`"}
	}
	return Line{Check: r.name, Status: OK, Text: text}
}

// together runs the jobs, a few at once, and returns their lines in order.
func together(jobs []func() Line) []Line {
	lines := make([]Line, len(jobs))
	var group sync.WaitGroup
	free := make(chan struct{}, 4)
	for i, job := range jobs {
		group.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			lines[i] = job()
		})
	}
	group.Wait()
	return lines
}

// outside finds a program that a run takes from outside of the workspace, or "".
func outside(name string, env Env) string {
	file, err := proc.Outside(name, env.Environ, env.Workspace)
	if err != nil {
		return ""
	}
	return file
}

func bash(ctx context.Context, env Env) Line {
	file := outside("bash", env)
	if file == "" {
		return Line{"bash", Failure, "is not on PATH; contracts and scripts run in it", "install bash"}
	}
	return Line{Check: "bash", Status: OK, Text: described(ctx, env, file)}
}

func git(ctx context.Context, env Env) Line {
	file := outside("git", env)
	if file == "" {
		return Line{"git", Warning, "is not on PATH; ignored files cannot be told from others", "install git"}
	}
	if !tree.InRepository(env.Workspace) {
		return Line{"git", Warning, "the workspace is not in a git repository; ignored files are not known, and there are no worktrees", "run `git init`"}
	}
	text := described(ctx, env, file)
	if gitVersion(text).Old() {
		return Line{"git", Warning, text + " is too old for `workspace: worktree`", "install git " + verify.MinGit().String() + " or later"}
	}
	if nobody(ctx, env) {
		return Line{"git", Warning, text + "; it does not know who you are, and the commits of a run need an author", "run `" + verify.Introduce + "`"}
	}
	return Line{Check: "git", Status: OK, Text: text}
}

// described is a program's version and place; of one that the workspace
// provides, which is not run, its place alone.
func described(ctx context.Context, env Env, file string) string {
	if proc.Within(env.Workspace, file) {
		return file
	}
	if v := version(ctx, env, file); v != "" {
		return v + " (" + file + ")"
	}
	return file
}

// state looks whether the state directory can be written, without making it.
func state(dir string) Line {
	if dir == "" {
		return Line{"state", Failure, "no directory for the journal is known", "set PITON_STATE"}
	}
	at := existing(dir)
	f, err := os.CreateTemp(at, ".piton-doctor-*")
	if err != nil {
		return Line{"state", Failure, fmt.Sprintf("%s cannot be written", at), "correct its rights, or set PITON_STATE"}
	}
	name := f.Name()
	f.Close()
	os.Remove(name)
	info, err := os.Stat(dir)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return Line{"state", Warning, fmt.Sprintf("%s is open to others (mode %04o)", dir, info.Mode().Perm()), "chmod 700 " + dir}
	}
	return Line{Check: "state", Status: OK, Text: dir}
}

// existing is the nearest directory upwards that exists.
func existing(dir string) string {
	for dir != "" {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return dir
}

// Free space below which a line warns, and below which nothing should start.
const (
	lowSpace = 1 << 30
	noSpace  = 64 << 20
)

// disk looks at the file system of a directory.
func disk(check, dir string) Line {
	fs, ok := durable.VolumeOf(dir)
	switch {
	case !ok:
		return Line{check, Absent, "free space is not known here", ""}
	case fs.Network:
		return Line{check, Warning, fmt.Sprintf("%s is on a network file system (%s): locks and syncing may not hold", dir, fs.Kind), "keep it on a local disk"}
	case fs.Free < noSpace:
		return Line{check, Failure, fmt.Sprintf("%s has %s left", dir, size(fs.Free)), "free some space"}
	case fs.Free < lowSpace:
		return Line{check, Warning, fmt.Sprintf("%s has %s left", dir, size(fs.Free)), "free some space"}
	}
	return Line{Check: check, Status: OK, Text: fmt.Sprintf("%s: %s left", dir, size(fs.Free))}
}

func size(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	default:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
}

// path warns of places on PATH that agents can write to.
func path(env Env) Line {
	var inside []string
	for _, dir := range proc.SearchPath(env.Environ) {
		if proc.Within(env.Workspace, dir) {
			inside = append(inside, dir)
		}
	}
	if len(inside) > 0 {
		return Line{"PATH", Warning, "leads into the workspace: " + strings.Join(inside, ", ") + "; an agent could replace what contracts run", "leave these out when you start piton"}
	}
	return Line{Check: "PATH", Status: OK, Text: fmt.Sprintf("%d directories, none of the workspace", len(proc.SearchPath(env.Environ)))}
}

// sandbox warns of places that the configuration opens and that are not there.
func sandbox(env Env) Line {
	var absent []string
	places := slices.Concat(env.Config.Sandbox.Visible, env.Config.Sandbox.Writable)
	for _, place := range places {
		file := place
		if rest, ok := strings.CutPrefix(place, "~/"); ok {
			file = filepath.Join(proc.Variable(env.Environ, "HOME"), rest)
		}
		if _, err := os.Stat(file); err != nil {
			absent = append(absent, place)
		}
	}
	if len(absent) > 0 {
		return Line{"sandbox", Warning, "not there: " + strings.Join(absent, ", "), "correct `sandbox:` in .piton/config.yaml"}
	}
	return Line{Check: "sandbox", Status: OK, Text: "all that `sandbox:` names is there"}
}

// agent is [Agent] with what is said of the program: the version that it says it has.
func agent(env Env, name string, said func(file string) string) Line {
	line, file := Agent(env, name)
	if command := env.Config.Agents[name].Command; file != "" && len(command) > 0 && proc.IsBare(command[0]) {
		text := said(file)
		line.Text = text + strings.TrimPrefix(line.Text, file)
		if lowest := worker.ProgramOf(command).Tried; lowest != "" && worker.Older(strings.TrimSuffix(text, "("+file+")"), lowest) {
			line.Status, line.Hint = Warning, "too old: "+worker.Newer(lowest)
		}
	}
	return line
}
