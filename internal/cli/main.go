// Package cli is Piton at a terminal: its verbs, their flags and texts.
//
// A verb is a few lines over package api. What a verb prints for people goes through
// one theme, what it prints for programs through one envelope, and how it ends through
// one table of exit codes.
//
// It must never decide anything about a run, ask questions without a terminal, or print
// on standard output what is not data.
package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/owner"
)

// Main runs the command line of this process and returns the exit code. args has no program name.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	collect(moment)
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(stderr, "piton: error: find the current directory: %v\n", err) //nolint:errcheck // nobody reads: nothing to do
		return exitMachine
	}
	program, _ := os.Executable() // else no agent gets tools to report with
	return Call{Program: program, Args: args, Dir: dir, Env: os.Environ(), In: stdin, Out: stdout, Err: stderr, Owner: owner.Starter}.Run()
}

// Call is one call of the command line. Several may run at once in one process.
type Call struct {
	Program  string   // the path of piton
	Args     []string // without the program's name
	Dir      string   // the current directory; relative paths begin there
	Env      []string // name=value, as os.Environ gives it
	In       io.Reader
	Out, Err io.Writer
	Owner    func(p api.Place, env []string) func(context.Context) error // returns what starts an owner, as [owner.Starter] does
}

// Run carries the call out and returns the exit code.
func (c Call) Run() int {
	out := &output{w: c.Out}
	if !isTerminal(c.Out) {
		c.Out = out
	}
	a := &app{in: c.In, out: c.Out, err: c.Err, program: c.Program, args: c.Args, dir: c.Dir, env: c.Env, owner: c.Owner, now: time.Now, above: &atomic.Pointer[liveView]{}}
	root := a.root()
	root.SetArgs(c.Args)
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	code := a.exit(root.ExecuteContext(context.Background()))
	if err := out.err(); err != nil {
		a.notice("error: standard output could not be written: %v", err)
		code = cmp.Or(code, exitMachine)
	}
	return code
}

// moment and owning are how much more than it needs a process may hold before it
// collects garbage, in per cent. Most live for a moment, in which collecting
// costs more than the memory does; who carries runs out stays.
const (
	moment = 400
	owning = 100
)

// collect sets how often garbage is collected, unless the user has.
func collect(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// app is one call of the command line.
type app struct {
	in       io.Reader
	out, err io.Writer
	program  string
	args     []string
	dir      string // the current directory, absolute
	env      []string
	owner    func(api.Place, []string) func(context.Context) error
	now      func() time.Time

	json   bool
	server string // the address of the server that is asked; "" for the workspace here

	above *atomic.Pointer[liveView] // prints notices above its lines while it draws on this terminal
}

func (a *app) root() *cobra.Command {
	dir, version := "", false
	root := &cobra.Command{
		Use:           "piton",
		Short:         "Run reviewable plans with coding agents; a step is done only when its proof was seen",
		Long:          rootText + "\n\n" + exitText(),
		Example:       "  piton run plans/fix.md",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          verbs,
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				return a.showVersion()
			}
			return c.Help()
		},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := a.goTo(dir); err != nil {
				return err
			}
			return a.serves(c)
		},
	}
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version")
	root.PersistentFlags().StringVarP(&dir, "directory", "C", "", "work in this `DIR`")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON for programs")
	root.PersistentFlags().StringVar(&a.server, "server", "", "ask the piton serve at this `URL`, with the token in PITON_TOKEN")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(badFlag)
	root.AddCommand(
		a.initCmd(), a.verifyCmd(), a.showCmd(), a.approveCmd(), a.runCmd(), a.resumeCmd(), a.landCmd(),
		a.statusCmd(), a.listCmd(), a.watchCmd(), a.logCmd(), a.whyCmd(), a.primeCmd(), a.inboxCmd(), a.answerCmd(),
		a.pauseCmd(), a.cancelCmd(), a.retryCmd(), a.skipCmd(), a.waiveCmd(), a.vouchCmd(), a.forceCmd(), a.replanCmd(),
		a.exportCmd(), a.importCmd(), a.schemaCmd(),
		a.fsckCmd(), a.backupCmd(), a.agentsCmd(), a.toolsCmd(), a.doctorCmd(), a.versionCmd(),
		a.rejectCmd(), a.diffCmd(), a.historyCmd(),
		a.newCmd(), a.planCmd(), a.doCmd(), a.fmtCmd(), a.reviewCmd(), a.gcCmd(), a.archiveCmd(), a.configCmd(), a.mcpCmd(), a.serveCmd(), a.setupCmd(), a.completionCmd(), a.manCmd(), a.ownerCmd(),
	)
	a.complete(root)
	return root
}

const rootText = `Piton runs a plan step by step. Agents and scripts do the work. A step is done only
when a check that Piton runs itself has passed.

  piton run plan.md      verify a plan, ask for your approval, run it
  piton status           show how far it is, and what waits for you
  piton resume           continue from the last proof, also after a crash`

// goTo makes a directory the current one.
func (a *app) goTo(dir string) error {
	if dir == "" {
		return nil
	}
	if _, err := os.Stat(a.at(dir) + string(filepath.Separator) + "."); err != nil { // the dot asks what chdir would
		return misuse(fmt.Sprintf("cannot work in %s: %v", dir, unwrapped(err)), "give -C a directory")
	}
	a.dir = a.at(dir)
	return nil
}

// at is where a path of the person leads.
func (a *app) at(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.dir, path)
}
