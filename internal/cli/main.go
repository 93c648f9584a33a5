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
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
)

// Main runs the command line and returns the exit code. args has no program name.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	collect(moment)
	out := &output{w: stdout}
	if !isTerminal(stdout) {
		stdout = out
	}
	a := &app{in: stdin, out: stdout, err: stderr, args: args, env: os.Environ(), now: time.Now, above: &atomic.Pointer[liveView]{}}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
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
	args     []string
	env      []string
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
			if err := goTo(dir); err != nil {
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
func goTo(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.Chdir(dir); err != nil {
		if p, ok := errors.AsType[*os.PathError](err); ok {
			err = p.Err
		}
		return misuse(fmt.Sprintf("cannot work in %s: %v", dir, err), "give -C a directory")
	}
	return nil
}
