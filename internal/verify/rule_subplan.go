package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

func ruleSubplan() Rule {
	return Rule{
		ID: "PT070", Name: "sub-plan", Severity: Error,
		Title: "a step cannot be delegated to this plan",
		Text: "`plan:` is the path of a plan document below the workspace. The document must exist, and verify, or a " +
			"step that this one waits for must make it: its `writes:` cover the file, or its contract or task names " +
			"it. It is a note where a step before may write anywhere and does not say that it makes the document. What " +
			"is made during the run is verified when the step is due, and a person is asked before it runs. No " +
			"document may lead back to itself, and sub-plans may be at most 8 deep. Nobody works on the step itself: " +
			"it has no `tool:`, no `ask:` and no `workspace: worktree`. With `for each:` one document is run for all " +
			"items: there is no `{item}` in its path.",
		Bad:  "**plan:** ../elsewhere/release.md",
		Good: "**plan:** plans/release.md",
		step: checkSubplan,
	}
}

func checkSubplan(p *pass, u *unit) {
	if u.Plan.IsZero() {
		return
	}
	p.alone(u)
	if InWords(u.Plan.Value) {
		return // PT014 says so
	}
	if u.ForEach.Set && strings.Contains(u.Plan.Value, engine.ItemMark) {
		p.report(u, u.Plan.Pos, fmt.Sprintf("step %q is delegated to %q for each item, and only one document can be approved for all of them", u.ID.Value, u.Plan.Value),
			`name one plan; its scripts, checks and agents find the item as "$PITON_ITEM"`)
		return
	}
	file, ok := below(u.Plan.Value)
	if !ok {
		p.report(u, u.Plan.Pos, fmt.Sprintf("step %q is delegated to %q, which is outside of the workspace", u.ID.Value, u.Plan.Value), "")
		return
	}
	p.delegated(u, file)
}

// alone reports what else would do the step, or where.
func (p *pass) alone(u *unit) {
	say := func(has bool, label string, at plan.Pos) {
		if has {
			p.report(u, at, fmt.Sprintf("step %q has `plan` and `%s`", u.ID.Value, label), "take one of them away")
		}
	}
	say(u.Tool.Set, "tool", u.Tool.Pos)
	say(!u.Ask.IsZero(), "ask", u.Ask.Pos)
	say(u.apart(), "workspace: worktree", u.Workspace.Pos)
}

func (p *pass) delegated(u *unit, file string) {
	f, asked := p.facts.Files[file]
	sub := p.facts.Plans[file]
	says := fmt.Sprintf("step %q is delegated to %q, ", u.ID.Value, file)
	switch {
	case sub.Cycle != "":
		p.report(u, u.Plan.Pos, says+"which leads back to itself: "+sub.Cycle, "")
	case sub.Deep != "":
		p.report(u, u.Plan.Pos, fmt.Sprintf("%sand sub-plans may be at most %d deep: %s", says, MaxDepth, sub.Deep), "")
	case sub.Unread != "":
		p.report(u, u.Plan.Pos, says+"which cannot be read: "+sub.Unread, "")
	case sub.Errors > 0:
		p.report(u, u.Plan.Pos, says+"which does not verify", "its own findings say why")
	case !asked:
	case f.Dir:
		p.report(u, u.Plan.Pos, says+"which is a directory", "give the path of a plan document in it")
	case !f.Exists:
		p.undelegated(u, file, says)
	}
}

// undelegated judges a document that is not there.
func (p *pass) undelegated(u *unit, file, says string) {
	if len(u.lost) > 0 || u.stuck(p.doc) {
		return
	}
	switch maker, when := p.doc.maker(u, file); when {
	case makesLater:
		p.report(u, u.Plan.Pos, fmt.Sprintf("%swhich does not exist until step %q makes it later", says, maker.ID.Value), "put that step first")
	case makesBeside:
		p.report(u, u.Plan.Pos, fmt.Sprintf("%swhich step %q makes, and does not wait for it", says, maker.ID.Value), fmt.Sprintf("add %s to its `needs:`", maker.ID.Value))
	case mayMake:
		p.report(u, u.Plan.Pos, says+"which does not exist, and no step before says that it makes it",
			"name it in the task, the contract or the `writes:` of the step that makes it").Severity = Note
	case makesNever:
		p.report(u, u.Plan.Pos, says+"which does not exist and which no step before makes", "correct the path, or write the document")
	}
}

// InWords reports whether a step's `plan:` is a request that somebody has yet to
// make a plan of, and no path.
func InWords(value string) bool {
	return strings.ContainsAny(value, " \t\n") && !slices.Contains(planNames, path.Ext(value))
}

// planNames are what the names of plan documents end with.
var planNames = []string{".md", ".markdown", ".yaml", ".yml", ".json"}

// Delegates lists the documents that the steps of a plan are delegated to, each
// once: paths below the workspace, with slashes.
func Delegates(p *plan.Plan) []string {
	var files []string
	seen := map[string]bool{}
	for _, s := range p.Steps {
		if file, ok := Delegate(s); ok && !seen[file] {
			seen[file] = true
			files = append(files, file)
		}
	}
	return files
}

// Delegate is the document that a step is delegated to, if it is.
func Delegate(s *plan.Step) (string, bool) {
	if s.Plan.IsZero() || InWords(s.Plan.Value) {
		return "", false
	}
	return below(s.Plan.Value)
}
