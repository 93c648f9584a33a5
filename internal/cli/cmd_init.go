package cli

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/view"
)

//go:embed init_plan.md
var examplePlan []byte

func (a *app) initCmd() *cobra.Command {
	var here, acp bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration for the agents found here, and an example plan",
		Long: `Writes .piton/config.yaml and plans/example.md in the current directory. Existing files are kept.
The first agent that is found does the steps that name nobody, and makes plans. Run it again once you
have installed another agent: a configuration that nobody changed is written anew. One that you changed
is kept, and what to add to it is printed. Inside another workspace, say --here.

With --acp, agents that speak the Agent Client Protocol may ask for a permission while they work, and
permissions: says what they get without asking you. The other agents get the same entries as without
--acp.`,
		Example: "  piton init\n  piton init --here   # a workspace inside another one\n  piton init --acp    # agents that may ask",
		Args:    atMost("nothing", 0),
		RunE:    func(*cobra.Command, []string) error { return a.init(here, acp) },
	}
	c.Flags().BoolVar(&here, "here", false, "make a workspace here, inside another one")
	c.Flags().BoolVar(&acp, "acp", false, "talk to agents in the Agent Client Protocol where they speak it")
	return c
}

// begun is what init did, by the files' names.
type begun struct {
	Written []string `json:"written"`
	Kept    []string `json:"kept"`
	Add     string   `json:"add,omitempty"` // to the configuration, which was there and lacks these agents
}

func (a *app) init(here, acp bool) error {
	dir := a.dir
	if above := api.Above(dir); above != "" && !here {
		return &api.Problem{
			Code: api.Conflict, Message: "this directory belongs to the workspace " + above,
			Hint: "work there, or make a new workspace here: piton init --here",
		}
	}
	done := begun{Written: []string{}, Kept: []string{}}
	found, err := a.anew(dir, a.foundAgents(acp), &done)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		body []byte
	}{{config.File, found.config()}, {"plans/example.md", examplePlan}} {
		if slices.Contains(done.Written, f.name) {
			continue
		}
		if err := a.write(&done, filepath.Join(dir, filepath.FromSlash(f.name)), f.name, f.body); err != nil {
			return err
		}
	}
	if slices.Contains(done.Kept, config.File) {
		done.Add = a.lacking(dir, found)
	}
	if a.json {
		a.document("init", done)
		return nil
	}
	a.next(done, found)
	return nil
}

// anew writes a configuration again that init wrote, that nobody changed, and that does not have
// what is found now. Agents that speak the protocol there do so still. It returns what is found.
func (a *app) anew(dir string, found found, done *begun) (found, error) {
	path := filepath.Join(dir, filepath.FromSlash(config.File))
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return found, nil
	}
	was, err := os.ReadFile(path)
	if err != nil {
		return found, nil
	}
	before, ok := foundBefore(was)
	if !ok {
		return found, nil
	}
	if before.acp && !found.acp {
		found = a.foundAgents(true)
	}
	if found.first == "" || bytes.Equal(was, found.config()) {
		return found, nil
	}
	if err := durable.Replace(path, found.config(), info.Mode().Perm(), nil); err != nil {
		return found, api.CannotWrite(config.File, err)
	}
	done.Written = append(done.Written, config.File)
	if !a.json {
		fmt.Fprintf(a.out, "wrote %s again, with %s; nobody had changed it\n", config.File, view.Join(found.names()))
	}
	return found, nil
}

// foundBefore are the agents that init found when it wrote a configuration; false where it did
// not write it so.
func foundBefore(body []byte) (f found, ok bool) {
	text := string(body)
	for _, p := range agent.Programs() {
		talks := p
		talks.Entry = p.Talk
		switch {
		case p.Entry != "" && strings.Contains(text, p.Configured()):
			f.known = append(f.known, p)
		case p.Talk != "" && strings.Contains(text, talks.Configured()):
			f.known, f.acp = append(f.known, talks), true
		default:
			continue
		}
		if f.first == "" || strings.Contains(text, "default_agent: "+p.Name+"\n") {
			f.first = p.Name
		}
	}
	return f, bytes.Equal(body, f.config())
}

// lacking is what to add to the configuration of a directory for the agents that are found; ""
// where it has all of them.
func (a *app) lacking(dir string, found found) string {
	conf, err := a.configuration(api.Place{Dir: dir}, nil)
	if err != nil || found.first == "" {
		return ""
	}
	has := map[string]bool{}
	for name, c := range conf.Agents {
		has[name], has[agent.ProgramOf(c.Command).Name] = true, true
	}
	if len(conf.Agents) == 1 { // the shell
		return found.agents()
	}
	var b strings.Builder
	for _, p := range found.known {
		if !has[p.Name] {
			b.WriteString(p.Configured())
		}
	}
	return b.String()
}

// next says what to do now.
func (a *app) next(done begun, found found) {
	switch {
	case done.Add == "":
	case strings.HasPrefix(done.Add, "agents:"):
		a.notice("%s names no agent; add these lines to it:", config.File)
	default:
		a.notice("%s lacks agents that are installed; add these lines below its `agents:`:", config.File)
	}
	fmt.Fprint(a.out, done.Add)
	for _, p := range found.strange {
		a.notice("%s is installed, but Piton has no entry for it; docs/agents.md shows an entry for any program", p.Name)
	}
	if first := found.first; first != "" {
		a.notice("try whether %s works here: piton agents test", first)
	}
	if found.first == "" {
		var names []string
		for _, p := range agent.Programs() {
			if p.Entry != "" {
				names = append(names, p.Name)
			}
		}
		a.notice("no agent program was found on PATH (looked for %s); install one and log in, then run piton init again. Steps with target: script run without one", view.Join(names))
	}
	a.notice("try it: piton run plans/example.md")
	if first := found.first; first != "" && done.Add == "" {
		a.notice("or have %s do one task: piton do \"what you want\" --check 'COMMAND' --writes 'FILE'", first)
		a.notice("or have it make a plan: piton plan \"what you want\"")
	}
}

// write makes a file unless there is one.
func (a *app) write(done *begun, path, name string, body []byte) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		done.Kept = append(done.Kept, name)
		if !a.json {
			a.notice("%s exists and is not changed", name)
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return api.CannotWrite(name, err)
	}
	if err := create(path, body); err != nil {
		return api.CannotWrite(name, err)
	}
	done.Written = append(done.Written, name)
	if !a.json {
		fmt.Fprintln(a.out, "wrote "+name)
	}
	return nil
}

// found are the agent programs of this machine.
type found struct {
	known   []agent.Program // the preferred ones first
	strange []agent.Program // that nobody has tried
	acp     bool            // as those that speak the protocol, where they do
	first   string          // does what names nobody, and makes plans; "" where none is known
}

// foundAgents looks for them on PATH. Acp: as those that speak the protocol, where they do. The
// first is one that has a key, or else one that keeps its login or its settings here.
func (a *app) foundAgents(acp bool) found {
	f, env := found{acp: acp}, a.environ()
	best := -1
	for _, p := range agent.Programs() {
		switch {
		case acp && p.Talk != "" && a.onPath(cmp.Or(p.Speaker, p.Name)):
			p.Entry = p.Talk
		case !a.onPath(p.Name):
			continue
		case p.Entry == "":
			f.strange = append(f.strange, p)
			continue
		}
		f.known = append(f.known, p)
		if ready := signed(p, env); ready > best {
			best, f.first = ready, p.Name
		}
	}
	return f
}

// signed is 2 for a program that has a key, 1 for one that was used here, 0 for another one.
func signed(p agent.Program, env map[string]string) int {
	if slices.ContainsFunc(p.Keys, func(key string) bool { return env[key] != "" }) {
		return 2
	}
	if home := env["HOME"]; home != "" && slices.ContainsFunc(p.Login, func(name string) bool {
		_, err := os.Stat(filepath.Join(home, name))
		return err == nil
	}) {
		return 1
	}
	return 0
}

func (a *app) onPath(name string) bool {
	_, err := proc.Find(name, proc.SearchPath(a.env))
	return err == nil
}

func (f found) names() []string {
	var names []string
	for _, p := range f.known {
		names = append(names, p.Name)
	}
	return names
}

// agents is the part of a configuration that names the agents.
func (f found) agents() string {
	var b strings.Builder
	if f.first == "" {
		example := agent.Programs()[0]
		b.WriteString("# No coding agent that Piton knows was found on this machine. One looks like this:\n# agents:\n#")
		b.WriteString(strings.ReplaceAll(strings.TrimSuffix(example.Configured(), "\n"), "\n", "\n#"))
		fmt.Fprintf(&b, "\n# default_agent: %s\n# planner: {agent: %[1]s}\n", example.Name)
		return b.String()
	}
	b.WriteString("agents:\n")
	for _, p := range f.known {
		b.WriteString(p.Configured())
	}
	fmt.Fprintf(&b, "default_agent: %s\n# Who makes plans of requests: piton plan \"Fix the login timeout\"\nplanner: {agent: %[1]s}\n", f.first)
	return b.String()
}

// config is a first configuration.
func (f found) config() []byte {
	return []byte("# Who does the work. A step's target is one of these names; `script` is always there.\n" +
		f.agents() + "policy: {approve: ask, max_parallel: 4, ratchet: end}\n")
}
