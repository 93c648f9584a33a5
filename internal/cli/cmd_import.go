package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/plan/tasklist"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// importFlags are the flags of import.
type importFlags struct {
	out, tag            string
	propose, again, yes bool
}

func (a *app) importCmd() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "Make a Markdown plan of another form, or of a task list",
		Long: `Reads a plan in YAML or JSON, a graph of tool calls, a task plan, or a task list, and prints a plan
in Markdown. The form is known by the content. What Markdown cannot hold is listed.

Task lists are ` + "`tasks.md`" + ` of Spec Kit, ` + "`tasks.json`" + ` of Task Master, task files of Backlog.md, exports
of Beads, issues that ` + "`gh issue view`" + `, ` + "`gh issue list`" + ` or the same of ` + "`glab`" + ` prints as JSON, and any
Markdown with a list of tasks. Ids and dependencies are kept. Status, priority and labels become text
beside the step. Nothing in a task list becomes a contract: add one to each step. Several files of
Backlog.md, Beads, GitHub or GitLab make one plan.

With --propose-contracts the configured planner proposes a contract for each step that nothing can
prove. The contracts are tried before the work, as those of ` + "`piton plan`" + ` are. Each says in its first line
that it is proposed; read it before you approve the plan. Nothing else of the plan changes.`,
		Example: "  piton import plan.yaml -o plans/fix.md\n  piton import specs/001-login/tasks.md -o plans/login.md\n  piton import .taskmaster/tasks/tasks.json --tag master\n  piton import backlog/tasks/*.md\n" +
			"  gh issue view 42 --json number,title,body,labels,state,url | piton import -",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			files, err := a.files(args)
			if err != nil {
				return err
			}
			switch kind := tasklist.Of(files[0].Source); {
			case (f.again || f.yes) && !f.propose:
				return usage(c, errors.New("--again and --yes need --propose-contracts: without it nobody is asked"))
			case kind != "" && f.tag != "" && kind != tasklist.TaskMaster:
				return usage(c, errors.New("--tag is for Task Master: "+files[0].Name+" is of "+string(kind)))
			case kind != "" || len(files[0].Source) > plan.MaxBytes:
				return a.importTasks(c.Context(), files, f)
			case len(files) > 1:
				return usage(c, errors.New("several files make one plan only if they are task lists; "+files[0].Name+" is none"))
			case f.tag != "":
				return usage(c, errors.New("--tag is for Task Master: "+files[0].Name+" is no task list"))
			}
			if neither(files[0].Source) {
				return a.noList(&tasklist.Bad{Name: files[0].Name, Problems: []plan.Problem{{
					Pos: plan.Pos{Line: 1, Column: 1}, Severity: plan.Error, Code: plan.NotAPlan,
					Message: "this is neither a plan nor a task list that Piton knows", Hint: "piton import --help names those that it knows",
				}}})
			}
			if f.propose {
				return a.importWithContracts(c.Context(), files[0], f)
			}
			return a.convert(c.Context(), "import", files[0].Name, files[0].Source, form.Markdown, f.out)
		},
	}
	c.Flags().StringVarP(&f.out, "output", "o", "", "write a new file instead of printing")
	c.Flags().StringVar(&f.tag, "tag", "", "the list of Task Master to take (default master)")
	c.Flags().BoolVar(&f.propose, "propose-contracts", false, "have the planner propose contracts for steps that nothing can prove")
	c.Flags().BoolVar(&f.again, "again", false, "ask the planner even if the journal has its answer to this question")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "approve the configuration of this workspace, which says who is asked")
	return c
}

// shownPath is how a file is called in messages.
func shownPath(path string) string {
	if path == "-" {
		return stdinName
	}
	return path
}

func (a *app) files(paths []string) ([]tasklist.File, error) {
	var files []tasklist.File
	for _, path := range paths {
		source, err := a.source(path)
		if err != nil {
			return nil, err
		}
		files = append(files, tasklist.File{Name: shownPath(path), Source: source})
	}
	return files, nil
}

// importTasks makes a plan of task lists. It says what keeps the plan from running: at
// least that no task has a contract.
func (a *app) importTasks(ctx context.Context, files []tasklist.File, f importFlags) error {
	made, err := tasklist.Read(files, f.tag)
	if bad, ok := errors.AsType[*tasklist.Bad](err); ok {
		return a.noList(bad)
	}
	if err != nil {
		return err
	}
	from := strings.ToLower(strings.ReplaceAll(string(made.Kind), " ", "-"))
	c := conversion{From: from, To: form.Markdown, File: view.OrNull(f.out), Losses: view.List(made.Losses)}
	if f.propose {
		return a.withContracts(ctx, c, made.Text, f)
	}
	if err := a.showErrors(ctx, c.name(), made.Text); err != nil {
		return err
	}
	return a.putText("import", c, made.Text)
}

// noList says why a file is no task list.
func (a *app) noList(bad *tasklist.Bad) error {
	doc := &api.Document{Path: bad.Name, Problems: bad.Problems, Findings: verify.Check(nil, bad.Problems, verify.Facts{})}
	for i := range doc.Findings {
		doc.Findings[i].File = bad.Name
	}
	return a.refuse(doc)
}

// neither reports whether nothing in a text looks like a plan: no frontmatter, no key and no step.
func neither(source []byte) bool {
	if form.Of(source) != form.Markdown {
		return false
	}
	p, _ := plan.Parse("", source)
	return p != nil && len(p.Front) == 0 && len(p.Steps) == 0
}
