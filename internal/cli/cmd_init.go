package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
)

//go:embed init_plan.md
var examplePlan []byte

// known is an agent program that init looks for, and how it is driven.
type known struct{ program, entry string }

// knownAgents work without a terminal, read the prompt from standard input, may edit
// the workspace, and get the keys that they log in with. docs/agents.md shows the
// same entries.
var knownAgents = []known{
	{"claude", `
    kind: exec
    command: [claude, -p, --output-format, stream-json, --verbose, --permission-mode, "{mode}", --allowedTools, Bash]
    modes: {read: plan, edit: acceptEdits, full: bypassPermissions}
    parse: claude
    env_pass: [ANTHROPIC_API_KEY]
`},
	{"codex", `
    kind: exec
    command: [codex, exec, --json, --skip-git-repo-check, -s, "{mode}", -]
    modes: {read: read-only, edit: workspace-write, full: danger-full-access}
    parse: codex
    env_pass: [CODEX_API_KEY, OPENAI_API_KEY]
`},
	{"gemini", `
    kind: exec
    command: [gemini, --skip-trust, --approval-mode, "{mode}", -o, stream-json]
    modes: {read: plan, edit: auto_edit, full: yolo}
    parse: gemini
    env_pass: [GEMINI_API_KEY]
`},
	{"opencode", `
    kind: exec
    command: [opencode, run, --format, json, --auto]
    parse: opencode
    env_pass: [ANTHROPIC_API_KEY, OPENAI_API_KEY]
`},
}

func (a *app) initCmd() *cobra.Command {
	here := false
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration for the agents found here, and an example plan",
		Long: `Writes .piton/config.yaml and plans/example.md in the current directory. Existing files are kept.
The first agent that is found does the work, and makes plans of requests. Inside another workspace
it refuses, unless --here is given.`,
		Example: "  piton init\n  piton init --here   # a workspace inside another one",
		Args:    atMost("nothing", 0),
		RunE:    func(*cobra.Command, []string) error { return a.init(here) },
	}
	c.Flags().BoolVar(&here, "here", false, "make a workspace here, inside another one")
	return c
}

// begun is what init did, by the files' names.
type begun struct {
	Written []string `json:"written"`
	Kept    []string `json:"kept"`
}

func (a *app) init(here bool) error {
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
	configuration, planner := a.firstConfig()
	done := begun{Written: []string{}, Kept: []string{}}
	for _, f := range []struct {
		name string
		body []byte
	}{{config.File, configuration}, {"plans/example.md", examplePlan}} {
		if err := a.write(&done, filepath.Join(dir, filepath.FromSlash(f.name)), f.name, f.body); err != nil {
			return err
		}
	}
	if a.json {
		a.document("init", done)
		return nil
	}
	a.notice("try it: piton run plans/example.md")
	if planner != "" {
		a.notice("or have %s make a plan: piton plan \"what you want\"", planner)
	}
	return nil
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

// firstConfig names the agents that are on this machine. The first one does what names
// nobody, and makes plans; "" is none.
func (a *app) firstConfig() (text []byte, first string) {
	var b strings.Builder
	b.WriteString("# Who does the work. A step's target is one of these names; `script` is always there.\n")
	for _, k := range knownAgents {
		if _, err := exec.LookPath(k.program); err != nil {
			continue
		}
		if first == "" {
			b.WriteString("agents:\n")
			first = k.program
		}
		fmt.Fprintf(&b, "  %s:%s", k.program, k.entry)
	}
	if first == "" {
		b.WriteString("# No coding agent was found on this machine. One looks like this:\n# agents:\n#   claude:")
		b.WriteString(strings.ReplaceAll(strings.TrimSuffix(knownAgents[0].entry, "\n"), "\n", "\n# "))
		b.WriteString("\n# default_agent: claude\n# planner: {agent: claude}\n")
	} else {
		fmt.Fprintf(&b, "default_agent: %s\n# Who makes plans of requests: piton plan \"Fix the login timeout\"\nplanner: {agent: %[1]s}\n", first)
	}
	b.WriteString("policy: {approve: ask, max_parallel: 4, ratchet: end}\n")
	return []byte(b.String()), first
}
