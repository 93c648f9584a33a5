package cli

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) diffCmd() *cobra.Command {
	var runID string
	stat := false
	c := &cobra.Command{
		Use:   "diff [RUN] STEP[.ATTEMPT] | diff [PLAN|RUN] [PLAN|RUN]",
		Short: "Show what a step changed, or compare two texts of a plan",
		Long: `With a step: shows what the step changed in the files, as git diff does. STEP.2 is what its second
attempt changed alone. Steps of agents always have a difference, steps of scripts only with
writes. At a terminal the pager of git shows it.

With plans: compares two texts. A text is a file, a run, or a revision: fix.md@1, 7f3a21@2 or its id.
With one name, the text of its run is compared with the file as it is now; without a name, that
of the newest run. Lines in front say where the second text proves or guards less. Sub-plans
that were approved with a revision are compared too.`,
		Example: "  piton diff build\n  piton diff build.2 --stat\n  piton diff plans/fix.md\n  piton diff 7f3a21@1 7f3a21@2",
		Args:    atMost("two plans", 2),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				done, err := a.stepDiff(c.Context(), runID, args[0], stat)
				if done || err != nil {
					return err
				}
			}
			if len(args) == 2 && runID == "" {
				if done, err := a.stepDiff(c.Context(), args[0], args[1], stat); done || err != nil && !isNotFound(err) {
					return err
				}
			}
			if runID != "" || stat {
				return misuse("--run and --stat are for what a step changed", "name one step: piton diff STEP --stat")
			}
			return a.diff(c.Context(), args)
		},
	}
	c.Flags().StringVar(&runID, "run", "", "the run of the step, instead of the newest")
	c.Flags().BoolVar(&stat, "stat", false, "only count the changed lines of each file")
	return c
}

// stepDiff shows what a step changed, if there is such a step. A file wins over a step.
func (a *app) stepDiff(ctx context.Context, prefix, word string, stat bool) (done bool, err error) {
	err = a.looking(ctx, func(s *session) error {
		if s.IsPlan(ctx, word) {
			return nil
		}
		head, step, attempt, err := s.attemptOf(ctx, prefix, word)
		if isNotFound(err) && prefix == "" && !stat {
			return nil
		}
		if err != nil {
			return err
		}
		c, ok, err := s.reader().Changes(ctx, head, step, attempt)
		if err != nil {
			return err
		}
		done = true
		switch {
		case !ok && attempt > 0:
			return &api.Problem{Code: api.NotFound, Message: fmt.Sprintf("step %s of run %s has no attempt %d that ended", step, head.Run, attempt), Hint: "piton log " + step + " shows its attempts"}
		case !ok:
			return &api.Problem{Code: api.NotFound, Message: fmt.Sprintf("no attempt of step %s of run %s has ended", step, head.Run), Hint: "piton status shows how far it is"}
		case !c.Known:
			return &api.Problem{Code: api.NotFound, Message: fmt.Sprintf("what step %s changed was not recorded, or piton gc has removed it", step), Hint: "what a script changed is recorded only if its step has writes:"}
		}
		return a.showChanges(ctx, c, stat)
	})
	return done, err
}

// attemptOf finds a step by its id or number, with the number of an attempt behind a dot
// where no step has that name.
func (s *session) attemptOf(ctx context.Context, prefix, word string) (engine.HeadRow, string, int, error) {
	head, err := s.Find(ctx, prefix)
	if err != nil {
		return head, "", 0, err
	}
	in, step, err := s.Step(ctx, head, word)
	i := strings.LastIndexByte(word, '.')
	if n, other := strconv.Atoi(word[i+1:]); isNotFound(err) && i > 0 && other == nil && n > 0 {
		if in, step, other := s.Step(ctx, head, word[:i]); other == nil {
			return in, step, n, nil
		}
	}
	return in, step, 0, err
}

func (a *app) showChanges(ctx context.Context, c view.Changes, stat bool) error {
	if a.json {
		a.document("diff", c)
		return nil
	}
	th := a.theme(a.out)
	lines := th.changedLines(c.Text)
	switch {
	case len(c.Files) == 0:
		lines = []string{"Nothing was changed."}
	case stat:
		lines = th.counted(c.Files)
	}
	text := strings.Join(lines, "\n") + "\n"
	if isTerminal(a.out) && a.paged(ctx, text) {
		return nil
	}
	_, err := io.WriteString(a.out, text)
	return err
}

// paged shows a text through the pager that git uses; false where there is none.
func (a *app) paged(ctx context.Context, text string) bool {
	ask := exec.CommandContext(ctx, "git", "var", "GIT_PAGER")
	ask.Dir, ask.Env = a.dir, a.env
	name, err := ask.Output()
	pager := strings.TrimSpace(string(name))
	if err != nil || pager == "" || pager == "cat" {
		return false
	}
	c := exec.CommandContext(ctx, "sh", "-c", pager)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), a.out, a.err
	c.Dir, c.Env = a.dir, slices.Clone(a.env)
	if a.environ()["LESS"] == "" {
		c.Env = append(c.Env, "LESS=FRX")
	}
	return c.Run() == nil
}

// counted lists files with the numbers of their changed lines.
func (t theme) counted(files []view.FileChanged) []string {
	added, removed := 0, 0
	var lines []string
	for _, f := range files {
		if f.Added < 0 {
			lines = append(lines, "    bytes  "+t.line(f.Path))
			continue
		}
		added, removed = added+f.Added, removed+f.Removed
		lines = append(lines, fmt.Sprintf("%s %s  %s", t.paint(okTone, fmt.Sprintf("%4s", "+"+strconv.Itoa(f.Added))), t.paint(badTone, fmt.Sprintf("%4s", "-"+strconv.Itoa(f.Removed))), t.line(f.Path)))
	}
	return append(lines, fmt.Sprintf("%s, +%d -%d", view.Plural(len(files), "file", "files"), added, removed))
}

func (a *app) diff(ctx context.Context, args []string) error {
	return a.with(ctx, func(s *session) error {
		one, two, err := s.Compared(ctx, args)
		if err != nil {
			return err
		}
		d := view.Compared(one, two)
		a.prints("diff", d, func(t theme) []string {
			if d.Text == "" {
				return []string{"They are the same."}
			}
			return append(t.changedLines(d.Text), append([]string{""}, t.difference(d.Difference)...)...)
		})
		return nil
	})
}
