package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) listTasks(ctx context.Context, l view.Listing) error {
	return a.looking(ctx, func(s *session) error {
		found, err := s.reader().TaskList(ctx, l)
		if err != nil {
			return err
		}
		a.prints("list", found.Document(), func(t theme) (lines []string) {
			for _, task := range found.Tasks {
				lines = append(lines, t.task(found, task)...)
			}
			if len(lines) == 0 {
				lines = []string{"No task fits. All runs: piton list"}
			}
			return lines
		})
		if found.More {
			a.notice("there are older ones; all of them: piton list --tasks --recent 0")
		}
		return nil
	})
}

func (a *app) showTask(ctx context.Context, word string) error {
	return a.looking(ctx, func(s *session) error {
		found, err := s.reader().ShownTask(ctx, word)
		if err == nil {
			a.prints("task", found.Document(), func(t theme) []string { return t.shownTask(found) })
		}
		return err
	})
}

// task is one task in a list: what it is for, its plan, and its runs.
func (t theme) task(l view.TaskList, task api.Task) []string {
	look := lookOf(l.Of(task), engine.NoPhase)
	lines := t.sides(cell{task.ID + "  " + t.line(task.Prompt), plainTone}, cell{look.word, look.tone})
	about := []string{"task " + task.Task}
	if task.Parent != "" {
		about = append(about, "refines "+task.Parent)
	}
	if task.Link != "" {
		about = append(about, "for "+t.line(task.Link))
	}
	if r := task.Head(); r != nil {
		about = append(about, fmt.Sprintf("%s v%d", r.Drafted.Plan, r.Drafted.Version), cmp.Or(t.line(r.Drafted.Path), "no file"))
	}
	for _, h := range task.Runs {
		about = append(about, "run "+h.Run+" "+lookOf(h.Shown(), engine.NoPhase).word)
	}
	return append(lines, t.under(3, idleTone, strings.Join(about, " · "))...)
}

// shownTask is a task with its revisions and its history.
func (t theme) shownTask(s view.ShownTask) []string {
	task := s.Tasks[0]
	lines := t.task(s.TaskList, task)
	if len(task.Refined) > 0 {
		lines = append(lines, t.under(3, idleTone, "refined by "+strings.Join(task.Refined, ", "))...)
	}
	for _, r := range task.Errands {
		u := r.Usage()
		lines = append(lines, t.under(3, idleTone, fmt.Sprintf("%s %s used %s", r.Asked.Kind, r.Asked.Errand, view.Used(u.Tokens(), u.CostMicros)))...)
	}
	for _, c := range task.Changes {
		of := "run " + c.Run
		if c.Run == "" {
			of = fmt.Sprintf("revision %d", c.Revision)
		}
		text := fmt.Sprintf("%s  %s %s", c.At.In(t.zone).Format("2006-01-02 15:04:05"), of, c.Status)
		if c.By != "" {
			text += " by " + t.line(c.By)
		}
		if c.Reason != "" {
			text += ": " + t.line(c.Reason)
		}
		lines = append(lines, t.under(0, plainTone, text)...)
	}
	return lines
}
