// Package tasklist reads the task lists of other tools and makes plans of them, for a
// person to review: `tasks.md` of Spec Kit, `tasks.json` of Task Master, task files of
// Backlog.md, exports of Beads, issues of GitHub and GitLab, and any Markdown with a list of tasks.
//
// Each kind has one reader, which makes a [list] of tasks out of bytes. All else, which
// is the order, the ids, what waits for what and the plan itself, is the same for all.
//
// A task list is data. It must never become a contract, a check, a command, a scope or a
// mark of a step. What a list says of its tasks, their status among it, is prose for the
// reader. What a plan cannot hold is listed as a loss and never left out in silence.
package tasklist

import (
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// Kind is the tool that a task list comes from.
type Kind string

const (
	SpecKit    Kind = "Spec Kit"
	TaskMaster Kind = "Task Master"
	Backlog    Kind = "Backlog.md"
	Beads      Kind = "Beads"
	GitHub     Kind = "GitHub"
	GitLab     Kind = "GitLab"
	Markdown   Kind = "Markdown" // a list of tasks in any text
)

// hosted reports a list of issues of a code host.
func (k Kind) hosted() bool { return k == GitHub || k == GitLab }

// File is a task list, or a part of one.
type File struct {
	Name   string // for messages
	Source []byte
}

// Imported is a plan that was made of task lists.
type Imported struct {
	Kind   Kind
	Plan   *plan.Plan
	Text   []byte // the plan as it is written; no more than a plan may have
	Losses []form.Loss
}

// Bad is a file that is no task list, and why.
type Bad struct {
	Name     string
	Problems []plan.Problem // at least one
}

func (b *Bad) Error() string { return b.Name + ": " + b.Problems[0].Message }

// Read makes one plan of task lists of the same kind. The tag chooses among the lists of
// one file of Task Master; empty stands for its usual one. The error is a [*Bad]. The
// cost is linear in the bytes, sorting apart.
func Read(files []File, tag string) (Imported, error) {
	l := &list{several: len(files) > 1}
	for _, f := range files {
		if err := l.read(f, tag); err != nil {
			return Imported{}, err
		}
	}
	last := files[len(files)-1]
	switch {
	case len(l.tasks) == 0:
		return Imported{}, bad(last, plan.Pos{Line: 1, Column: 1}, plan.NoSteps, "the list has no tasks", "")
	case len(l.tasks) > plan.MaxSteps:
		return Imported{}, bad(last, plan.Pos{Line: 1, Column: 1}, plan.TooManySteps, "the list has more tasks than a plan can have steps", "import a part of it")
	}
	if p := l.plan(); p != nil {
		if text := plan.Format(p); len(text) <= plan.MaxBytes {
			return Imported{Kind: l.kind, Plan: p, Text: text, Losses: l.lost()}, nil
		}
	}
	return Imported{}, bad(last, plan.Pos{Line: 1, Column: 1}, plan.TooLarge, fmt.Sprintf("the plan of this list would have more than %d bytes, which is the most that a plan may have", plan.MaxBytes), "import a part of it")
}

func (l *list) read(f File, tag string) error {
	var probs plan.Problems
	if len(f.Source) > plan.MaxBytes {
		return bad(f, plan.Pos{Line: 1, Column: 1}, plan.TooLarge, fmt.Sprintf("the file has more than %d bytes, which is the most that is read", plan.MaxBytes), "import a part of it")
	}
	if !plan.Screen(f.Source, &probs) {
		return &Bad{f.Name, probs.Sorted()}
	}
	k := Of(f.Source)
	switch {
	case k == "":
		return bad(f, plan.Pos{Line: 1, Column: 1}, plan.NotAPlan, "this is no task list that Piton knows", "")
	case l.kind != "" && l.kind != k:
		return bad(f, plan.Pos{Line: 1, Column: 1}, plan.NotAPlan, "this is a task list of "+string(k)+", and the files before are of "+string(l.kind), "import them one by one")
	case l.kind != "" && k != Backlog && k != Beads && !k.hosted():
		return bad(f, plan.Pos{Line: 1, Column: 1}, plan.NotAPlan, "only files of Backlog.md, GitHub, GitLab and Beads make one plan together", "import them one by one")
	}
	l.kind = k
	return l.readAs(k, f, tag)
}

func (l *list) readAs(k Kind, f File, tag string) error {
	switch text := string(f.Source); k {
	case TaskMaster:
		return l.taskMaster(f, tag)
	case Beads:
		return l.beads(f)
	case GitHub, GitLab:
		return l.issues(f)
	case Backlog:
		return l.backlog(f)
	case SpecKit:
		l.specKit(text)
	case Markdown:
		l.markdown(text)
	}
	return nil
}

func bad(f File, at plan.Pos, code, message, hint string) *Bad {
	return &Bad{f.Name, []plan.Problem{{Pos: at, Severity: plan.Error, Code: code, Message: message, Hint: hint}}}
}

// ofPiton is a heading that only a plan has.
var ofPiton = lazy.Regexp(`(?mi)^##[ \t]+steps[ \t]*:?[ \t]*\r?$`)

// Of says which kind of task list bytes are, empty if none: a plan of Piton is none. The
// cost is linear.
func Of(src []byte) Kind {
	text := strings.TrimPrefix(string(src), "\ufeff")
	if start := strings.TrimLeft(text, blank); start != "" && (start[0] == '{' || start[0] == '[' && start != "[" && !strings.HasPrefix(start, "[//]:")) {
		if k := ofJSON(start); k != "" || start[0] == '{' {
			return k
		}
	}
	front, body := frontmatter(text)
	if front != "" {
		keys := topKeys(front)
		switch {
		case slices.Contains(keys, "type") && slices.Contains(keys, "owner"):
			return ""
		case slices.Contains(keys, "id") && slices.Contains(keys, "title") && slices.Contains(keys, "status"):
			return Backlog
		}
	}
	if form.Of(src) != form.Markdown || ofPiton().MatchString(text) {
		return ""
	}
	o := outlineOf(body)
	for _, it := range o.items {
		if specID().MatchString(it.text) {
			return SpecKit
		}
	}
	if len(o.items) > 0 {
		return Markdown
	}
	return ""
}
