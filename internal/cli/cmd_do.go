package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/template"
	"github.com/piton-dev/piton/internal/view"
)

// doFlags are the flags of do besides those of run.
type doFlags struct {
	runFlags
	check, agent string
	writes       []string
}

func (a *app) doCmd() *cobra.Command {
	var f doFlags
	c := &cobra.Command{
		Use:   "do REQUEST --check COMMAND",
		Short: "Run one task with one check, without writing a plan first",
		Long: `Makes a plan of one step: an agent gets the request as its task, and the step is done when
COMMAND passes. The plan is written to plans/, shown, and run like any other, after your approval.

A program or test that COMMAND runs judges the work: the agent may change it only if --writes names
it. With --writes the agent may change nothing else.`,
		Example: "  piton do \"Fix the login timeout\" --check 'go test -v ./login' --writes 'login/*.go'\n  piton do 'make docs' --agent script --check 'test -s docs/index.html' --yes",
		Args:    atLeast("a request", 1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.acting(c.Context(), func(s *session) error { return s.do(c.Context(), strings.Join(args, " "), f) })
		},
	}
	c.Flags().StringVar(&f.check, "check", "", "the shell `COMMAND` that decides whether it is done")
	c.Flags().StringVar(&f.agent, "agent", "", "the `AGENT` that does it; absent: the default agent")
	c.Flags().StringArrayVar(&f.writes, "writes", nil, "a `FILE` or glob that the agent may change, also if it judges; may be repeated; absent: all but what judges")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "approve the plan in your name")
	c.Flags().BoolVar(&f.unsealed, "allow-unsealed", false, "accept less isolation than the policy asks for; recorded in your name")
	a.waitFlags(c, &f.runFlags)
	return c
}

func (s *session) do(ctx context.Context, request string, f doFlags) error {
	agent := cmp.Or(f.agent, s.Config.DefaultAgent)
	names, _ := agentNames(s.Config, nil)
	if agent == "" && len(names) == 1 {
		agent = names[0]
	}
	switch {
	case strings.TrimSpace(request) == "":
		return misuse("the request is empty", "say what is to be done")
	case strings.TrimSpace(f.check) == "":
		return misuse("--check is missing: nothing would decide whether it is done", `piton do "REQUEST" --check COMMAND`)
	case agent == "" && len(names) == 0:
		return misuse("no agent is configured", "piton init writes entries for the agents found here; with --agent script the request is a shell script")
	case agent == "":
		return misuse("no agent is named, and there is no default agent", fmt.Sprintf("--agent names one of %s; `default_agent: %s` in %s names it for all", view.Join(names), names[0], config.File))
	}
	text, err := oneStep(request, f.check, agent, f.writes)
	if err != nil {
		return err
	}
	path, there, err := fileFor(filepath.Join(s.Place.Dir, "plans"), text)
	if err == nil {
		err = s.app.stays(s.Place.Dir, path)
	}
	if err != nil {
		return err
	}
	path = s.app.nearName(path)
	if doc := s.Verify(ctx, path, text); !doc.OK() {
		return s.app.unwritten(doc)
	}
	if !there {
		if err := s.app.writeNew(path, text); err != nil {
			return err
		}
	}
	s.app.notice("wrote %s", path)
	if file := s.runsFile(f.check); file != "" && len(f.writes) == 0 {
		s.app.notice("note: the check names %s, so the agent may not change it; if the agent is to change it, add --writes %s", file, file)
	}
	return s.say(ctx, api.Saying{Word: path, Yes: f.yes, Unsealed: f.unsealed}, f.runFlags)
}

// runsFile is a file of the workspace that a check names, "" for none.
func (s *session) runsFile(check string) string {
	for word := range strings.FieldsSeq(check) {
		name := filepath.ToSlash(filepath.Clean(word))
		if !filepath.IsLocal(name) {
			continue
		}
		if info, err := os.Stat(filepath.Join(s.Place.Dir, name)); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// How much of a request is the title of its plan, in characters, and the name of its file, in
// letters. Both end with a word.
const (
	maxTitle = 60
	maxName  = 40
)

// shorter is the beginning of a text of words, at most so many letters.
func shorter(text, between string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	head := string(runes[:most+len(between)])
	if end := strings.LastIndex(head, between); end > most/2 {
		return strings.TrimRight(head[:end], between)
	}
	return string(runes[:most])
}

// nameOf is the name of the file, and of the step, for a title.
func nameOf(title string) string { return shorter(plan.Slug(title), "-", maxName) }

// oneStep is the plan of one step for a request.
func oneStep(request, check, agent string, writes []string) ([]byte, error) {
	request = strings.TrimSpace(strings.ReplaceAll(request, "\r\n", "\n"))
	p := template.Empty(agent)
	title, _, _ := strings.Cut(request, "\n")
	if most := shorter(title, " ", maxTitle-1); most != title {
		title = most + "…"
	}
	p.Context = plan.Text{}
	step := p.Steps[0]
	step.Target, step.Title, step.ID = plan.Is(agent), plan.Text{Value: title}, plan.Is(nameOf(title))
	step.Task, step.Contract.Command = plan.Text{Value: request}, plan.Text{Value: check}
	for _, name := range writes {
		step.Writes.Set, step.Writes.Value = true, append(step.Writes.Value, plan.Text{Value: name})
	}
	text, err := template.Entitled(p, title, api.Person())
	if err != nil {
		return nil, faulty(err)
	}
	again, _ := plan.Parse("", text)
	if len(again.Steps) != 1 || again.Steps[0].Task.Value != request || again.Steps[0].Contract == nil || again.Steps[0].Contract.Command.Value != check {
		return nil, misuse("the request or the check has lines that mean something else in a plan", "write the plan by hand: piton new TITLE")
	}
	return text, nil
}

// unwritten says why a plan is not even written.
func (a *app) unwritten(doc *api.Document) error {
	if a.json {
		return a.refuse(doc)
	}
	a.showFindings(a.err, api.Serious(doc.Findings))
	a.notice("nothing was written")
	return ended(exitPlan)
}

// fileFor is the file that a plan is to have, named by its title. It is there where a
// file of that name has this very text.
func fileFor(dir string, text []byte) (path string, there bool, err error) {
	p, _ := plan.Parse("", text)
	base := filepath.Join(dir, nameOf(p.Title.Value))
	path = base + ".md"
	for n := 2; ; n++ {
		have, err := durable.ReadFile(path, plan.MaxBytes)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !isThere(path):
			return path, false, nil
		case err != nil && !errors.Is(err, durable.ErrNotText) && !errors.Is(err, fs.ErrNotExist):
			return "", false, faulty(err)
		case err == nil && bytes.Equal(have, text):
			return path, true, nil
		}
		path = fmt.Sprintf("%s-%d.md", base, n)
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// stays refuses a file of the workspace whose directory is a link out of it: what lies
// there is none of this workspace's plans.
func (a *app) stays(workspace, path string) error {
	if rel, err := filepath.Rel(workspace, path); err != nil || !filepath.IsLocal(rel) {
		return nil // the person named a file elsewhere
	}
	for dir := filepath.Dir(path); dir != workspace; dir = filepath.Dir(dir) {
		if !isThere(dir) {
			continue // it is made
		}
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			if rel, err := filepath.Rel(workspace, real); err == nil && filepath.IsLocal(rel) {
				return nil
			}
		}
		return &api.Problem{
			Code: api.Invalid, Message: fmt.Sprintf("%s is a link that leads out of the workspace, so no plan is written there", a.nearName(dir)),
			Hint: "make it a directory, or write the plan to another file with -o",
		}
	}
	return nil
}
