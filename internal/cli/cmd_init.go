package cli

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
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
The first agent that is found does the work, and makes plans of requests. A configuration that
names no agent is kept too, and what to add to it is printed. Inside another workspace it refuses,
unless --here is given.

With --acp, agents that speak the Agent Client Protocol may ask in the middle of their work, and
permissions: says what follows. The others get the same entries as without it.`,
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
	Add     string   `json:"add,omitempty"` // to the configuration, which was there and names no agent
}

func (a *app) init(here, acp bool) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current directory: %w", err)
	}
	if above := api.Above(dir); above != "" && !here {
		return &api.Problem{
			Code: api.Conflict, Message: "this directory belongs to the workspace " + above,
			Hint: "work there, or make a new workspace here: piton init --here",
		}
	}
	found := foundAgents(acp)
	done := begun{Written: []string{}, Kept: []string{}}
	for _, f := range []struct {
		name string
		body []byte
	}{{config.File, found.config()}, {"plans/example.md", examplePlan}} {
		if err := a.write(&done, filepath.Join(dir, filepath.FromSlash(f.name)), f.name, f.body); err != nil {
			return err
		}
	}
	if slices.Contains(done.Kept, config.File) && a.withoutAgents(dir) {
		done.Add = found.agents()
	}
	if a.json {
		a.document("init", done)
		return nil
	}
	a.next(done, found)
	return nil
}

// withoutAgents reports whether the configuration of a directory names no agent.
func (a *app) withoutAgents(dir string) bool {
	conf, err := a.configuration(api.Place{Dir: dir}, nil)
	return err == nil && !slices.ContainsFunc(slices.Collect(maps.Keys(conf.Agents)), func(name string) bool { return name != config.Script })
}

// next says what to do now.
func (a *app) next(done begun, found found) {
	if done.Add != "" {
		a.notice("%s names no agent; add these lines to it:", config.File)
		fmt.Fprint(a.out, done.Add)
	}
	for _, p := range found.strange {
		a.notice("%s is installed, but Piton has no entry for it; docs/agents.md shows an entry for any program", p.Name)
	}
	if first := found.first(); first != "" {
		a.notice("try whether %s works here: piton agents test", first)
	}
	if found.first() == "" {
		var names []string
		for _, p := range agent.Programs() {
			if p.Entry != "" {
				names = append(names, p.Name)
			}
		}
		a.notice("no agent program was found on PATH (looked for %s); install one and log in, then run piton init again and add the lines it prints. Steps with target: script run without one", view.Join(names))
	}
	a.notice("try it: piton run plans/example.md")
	if first := found.first(); first != "" && done.Add == "" {
		a.notice("or have %s make a plan: piton plan \"what you want\"", first)
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
}

// foundAgents looks for them on PATH. Acp: as those that speak the protocol, where they do.
func foundAgents(acp bool) (f found) {
	for _, p := range agent.Programs() {
		switch {
		case acp && p.Talk != "" && onPath(cmp.Or(p.Speaker, p.Name)):
			p.Entry = p.Talk
			f.known = append(f.known, p)
		case !onPath(p.Name):
		case p.Entry == "":
			f.strange = append(f.strange, p)
		default:
			f.known = append(f.known, p)
		}
	}
	return f
}

func onPath(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// first is the agent that does what names nobody, and makes plans; "" is none.
func (f found) first() string {
	if len(f.known) == 0 {
		return ""
	}
	return f.known[0].Name
}

// agents is the part of a configuration that names the agents.
func (f found) agents() string {
	var b strings.Builder
	if f.first() == "" {
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
	fmt.Fprintf(&b, "default_agent: %s\n# Who makes plans of requests: piton plan \"Fix the login timeout\"\nplanner: {agent: %[1]s}\n", f.first())
	return b.String()
}

// config is a first configuration.
func (f found) config() []byte {
	return []byte("# Who does the work. A step's target is one of these names; `script` is always there.\n" +
		f.agents() + "policy: {approve: ask, max_parallel: 4, ratchet: end}\n")
}
