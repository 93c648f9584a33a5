package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/store"
)

// Exit codes. The engine gives the runs' own: 1, 5, 6 and 130.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitWaiting    = 3
	exitPlan       = 4
	exitBudget     = 5
	exitDiverging  = 6
	exitIntegrity  = 7
	exitOwner      = 8
	exitMachine    = 9
	exitHangup     = 129
	exitInterrupt  = 130
	exitTerminated = 143
)

// exitCode is one exit code and what it promises to scripts.
type exitCode struct {
	code  int
	means string
}

// exitCodes are all exit codes: the help prints them, and the documents say the
// same.
func exitCodes() []exitCode {
	return []exitCode{
		{exitDone, "done or fine"},
		{exitFailed, "the run or a contract failed"},
		{exitUsage, "wrong usage"},
		{exitWaiting, "waiting for a person"},
		{exitPlan, "the plan does not verify"},
		{exitBudget, "budget exhausted"},
		{exitDiverging, "not converging"},
		{exitIntegrity, "journal or pinned plan damaged"},
		{exitOwner, "the owner of the workspace does not answer or is another version"},
		{exitMachine, "environment error"},
		{exitHangup, "stopped, because the terminal was closed"},
		{exitInterrupt, "interrupted, or the run was cancelled"},
		{exitTerminated, "terminated"},
	}
}

// exitText is the sentence about all exit codes, broken into lines.
func exitText() string {
	words := make([]string, 0, len(exitCodes()))
	for _, e := range exitCodes() {
		words = append(words, fmt.Sprintf("%d %s", e.code, e.means))
	}
	return ansi.Wordwrap("Exit codes: "+strings.Join(words, ", ")+".", helpWidth, "")
}

// helpWidth is the width of help texts, in columns.
const helpWidth = 88

// ended is an exit code whose cause has been shown already.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// misuse is wrong usage of a verb.
func misuse(text, hint string) error {
	return &api.Problem{Code: api.Invalid, Message: text, Hint: hint}
}

func usage(c *cobra.Command, err error) error {
	return misuse(err.Error(), "see "+c.CommandPath()+" --help")
}

// exit shows an error, once, and gives its code.
func (a *app) exit(err error) int {
	if err == nil {
		return exitDone
	}
	if code, shown := errors.AsType[ended](err); shown {
		return int(code)
	}
	p, code := a.problem(err)
	if a.json {
		a.document("error", p)
		return code
	}
	if all, ok := errors.AsType[api.Misconfigured](err); ok {
		for _, one := range all {
			a.complain(&api.Problem{Message: one.Origin.String() + ": " + one.Message, Hint: one.Hint})
		}
		return code
	}
	a.complain(p)
	return code
}

// complain shows one error, and what to do. A server of elsewhere may have worded it.
func (a *app) complain(p *api.Problem) {
	t := a.theme(a.err)
	printLines(a.err, t.fold(0, 2, "piton: error: "+proc.Plain([]byte(p.Message))))
	printLines(a.err, t.claimed(2, "the planner's words:", p.Words))
	if p.Hint != "" {
		printLines(a.err, t.fold(0, 2, "piton: hint: "+proc.Plain([]byte(p.Hint))))
	}
}

func (a *app) problem(err error) (*api.Problem, int) {
	p := api.Explain(err)
	if code := codeOf(err, p); code != exitIntegrity || p.Hint != "" {
		return p, code
	}
	return &api.Problem{Code: p.Code, Message: p.Message, Hint: "restore the files of a backup (piton backup makes them), or move the directory away to start from nothing; its proofs are then lost"}, exitIntegrity
}

func codeOf(err error, p *api.Problem) int {
	_, apart := errors.AsType[diverged](err)
	_, waits := errors.AsType[waiting](err)
	switch {
	case apart:
		return exitDiverging
	case waits:
		return exitWaiting
	case errors.Is(err, store.ErrCorrupt):
		return exitIntegrity
	case errors.Is(err, api.ErrMachine), errors.Is(err, store.ErrFull), errors.Is(err, store.ErrReadOnly), errors.Is(err, store.ErrVersion):
		return exitMachine
	case p.Code == api.Unavailable:
		return exitOwner
	case p.Code == api.Internal:
		return exitMachine
	}
	return exitUsage
}
