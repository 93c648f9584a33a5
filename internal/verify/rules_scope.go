package verify

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/judge"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/shell"
)

func checkPlanScope(p *pass) { p.scopes(nil, "Protect", p.doc.plan.Protect.Value) }

func checkScope(p *pass, u *unit) {
	p.scopes(u, "writes", u.Writes.Value)
	p.scopes(u, "protect", u.Protect.Value)
}

func (p *pass) scopes(u *unit, label string, list []plan.Text) {
	if len(list) > maxScopes {
		p.report(u, list[maxScopes].Pos, fmt.Sprintf("`%s:` has more than %d entries", label, maxScopes), "write patterns")
		return
	}
	for _, t := range list {
		if why := badScope(t.Value); why != "" {
			p.report(u, t.Pos, fmt.Sprintf("`%s: %s` %s", label, t.Value, why), scopeHint)
		}
	}
}

// scopeHint says what a scope that can be used looks like.
const scopeHint = "write a path or a short pattern below the workspace, such as src/** or docs/*.md"

// maxScopes is how many entries one list may have.
const maxScopes = 200

// Caps on a pattern, so that matching it costs little whatever it says.
const (
	maxPattern      = 256
	maxAlternatives = 3 // groups
	maxStars        = 12
)

// badScope says why a scope cannot be used, or "".
func badScope(scope string) string {
	clean := path.Clean(scope)
	switch {
	case strings.HasPrefix(scope, "/") || strings.HasPrefix(scope, "~"):
		return "is outside the workspace"
	case clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains("/"+scope+"/", "/../"):
		return "leads out of the workspace"
	case strings.Contains(scope, "\\"):
		return "has a backslash; paths are written with slashes"
	case strings.HasPrefix(scope, "!"):
		return "begins with `!`; a scope lists what it includes, not what it excludes"
	case !doublestar.ValidatePattern(scope):
		return "is not a valid pattern"
	case len(scope) > maxPattern || strings.Count(scope, "{") > maxAlternatives || strings.Count(scope, "*") > maxStars:
		return "is too long or too complex"
	}
	return ""
}

// maxNamed is how many steps one message names.
const maxNamed = 5

func checkUnscoped(p *pass) {
	if p.doc.plan.Parallel.Value < 2 || !p.doc.makers.anything {
		return
	}
	var ids []string
	var first *unit
	for _, u := range p.doc.units {
		if !u.works() || u.Writes.Set || u.apart() || u.unread("writes") || u.scripted(p.facts) {
			continue
		}
		if first == nil {
			first = u
		}
		ids = append(ids, strconv.Quote(u.ID.Value))
	}
	if first == nil || len(p.doc.units) == 1 {
		return
	}
	p.report(first, p.doc.plan.Parallel.Pos, fmt.Sprintf("without `writes:` these steps never run in parallel: %s", few(ids)),
		"give them `writes:` with the paths they may change").Step = ""
}

// checkProofScope says of an agent's step that nothing tells its work from what judges it:
// tests read the files that they are there for.
func checkProofScope(p *pass, u *unit) {
	if !u.works() || u.scripted(p.facts) || u.Writes.Set || u.unread("writes") || u.Expect.Value == string(engine.ExpectGreen) {
		return
	}
	for s := range readable(u.proofs) {
		for _, c := range s.Calls {
			if name := testProgram(c); name != "" {
				p.report(u, s.text.Pos, fmt.Sprintf("%s of step %q runs %s: if that opens a file that the step changes, the step is done but unproven, because it has no `writes:`", s.label, u.ID.Value, name),
					"add `writes:` with the files that are the work")
				return
			}
		}
	}
}

// testProgram is the program with which a command runs the tests of a project, "" for none.
func testProgram(c shell.Call) string {
	for ok := true; ok; c, ok = shell.Started(c) {
		if names := shell.TestRunners(c); len(names) == 1 {
			return names[0]
		} else if len(names) > 1 || len(runnerFiles(c)) > 0 {
			return c.Tool()
		}
	}
	return ""
}

func checkLifted(p *pass, u *unit) {
	names := p.doc.lifted(u, p.facts)
	if len(names) == 0 {
		return
	}
	judges, them := "judges", "it"
	if len(names) > 1 {
		judges, them = "judge", "them"
	}
	scopes, pos, opens := texts(u.Writes.Value), u.Writes.Pos, "its task names "+them
	if len(scopes) > 0 {
		opens = fmt.Sprintf("`writes: %s` does not open %s", few(scopes), them)
	} else {
		pos = u.Task.Pos
	}
	p.report(u, pos, fmt.Sprintf("%s %s step %q, and %s: a step that changes %s fails", few(names), judges, u.ID.Value, opens, them),
		fmt.Sprintf("if the step should change %s, say so: `writes: %s`; else list %s in the step's `protect:`", them, few(append(names, scopes...)), them))
}

// few lists the first of some names, and says how many more there are.
func few(names []string) string {
	list := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if len(names) > maxNamed {
		list += fmt.Sprintf(" and %d more", len(names)-maxNamed)
	}
	return list
}

// lifted lists the files that judge the step, as far as words tell, and that its scopes cover
// without naming them.
func (d *document) lifted(u *unit, facts Facts) []string {
	ran, named := d.words(u, facts)
	names := append(ran, slices.DeleteFunc(named, func(name string) bool {
		rule, _ := judge.Of(name)
		return rule == "" && (!facts.Files[name].Executable || judge.InFilled(name))
	})...)
	names = slices.DeleteFunc(names, func(name string) bool { return !facts.Files[name].Exists || facts.Files[name].Dir })
	slices.Sort(names)
	return slices.Compact(names)
}

// words lists the files that the contract and required checks of a step run, and those that
// they and the scripts that they run name, as far as the step may be meant to change them: its
// scopes cover them without naming them, or it has none and its task names them.
func (d *document) words(u *unit, facts Facts) (ran, named []string) {
	scopes, held := opens(u), texts(u.Protect.Value)
	if len(u.Writes.Value) > 0 && len(scopes) == 0 || !u.works() {
		return nil, nil
	}
	only := func(file string) bool {
		switch {
		case covered(file, held):
			return false
		case len(scopes) == 0:
			rule, _ := judge.Of(file)
			return rule == "" && asksFor(u.Task.Value, file)
		}
		return covered(file, scopes) && !slices.Contains(scopes, file)
	}
	note := func(s *reading) {
		for _, file := range s.runs {
			if only(file) {
				ran = append(ran, file)
			}
		}
		if s.File == nil || s.Only(judge.Looks) {
			return
		}
		for _, w := range s.mentions() {
			if only(w.Text) {
				named = append(named, w.Text)
			}
		}
	}
	for s := range readable(u.proofs) {
		if !s.required {
			continue
		}
		note(s.reading)
		for _, file := range s.runs {
			if text := facts.Texts[file]; isShell(file, text) {
				note(d.once(text))
			}
		}
	}
	return ran, named
}

// asksFor reports whether a task names a file, as a word.
func asksFor(task, file string) bool {
	inWord := func(r rune) bool {
		return r == '/' || r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	for rest := task; ; {
		i := strings.Index(rest, file)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(strings.TrimSuffix(rest[:i], "./"))
		after, _ := utf8.DecodeRuneInString(strings.TrimPrefix(rest[i+len(file):], "."))
		if !inWord(before) && !inWord(after) {
			return true
		}
		rest = rest[i+len(file):]
	}
}

// isShell reports whether a shell reads the text of a file.
func isShell(file, text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(first, "#!") {
		return text != "" && slices.Contains([]string{"", ".sh", ".bash"}, path.Ext(file))
	}
	return slices.ContainsFunc(strings.Fields(first[2:]), func(word string) bool { return shell.IsShell(path.Base(word)) })
}

// apart reports whether the plan works in a worktree of its own: because it says so, or
// because agents work at it and it does not say otherwise.
func (d *document) apart(f Facts) bool {
	if d.plan.Workspace.Set {
		return d.plan.Workspace.Value == inWorktree
	}
	return !f.Shared && f.Git.whole() && d.agented(f)
}

// Where says where a run of the plan works, if the plan itself does not: "" where nobody but
// the plan's own commands works.
func (a *Analysis) Where() string {
	switch {
	case a.doc == nil || a.doc.plan.Workspace.Set || !a.doc.agented(a.facts):
		return ""
	case a.doc.apart(a.facts):
		return "works in its own worktree"
	case a.facts.Shared || a.facts.Git == nil || !a.facts.Git.Repository:
		return ""
	case a.facts.Git.lacks().message != "":
		return "works in your files, without a worktree: " + a.facts.Git.lacks().message
	}
	return "works in your files, without a worktree: " + a.facts.Git.Partly
}

// InPlace says why agents of the plan work in the person's files and not in a worktree, and how
// they would get one; why is "" where they have one, and where no agent works.
func (a *Analysis) InPlace() (why, hint string) {
	if a.doc == nil || !a.doc.agented(a.facts) || a.doc.apart(a.facts) {
		return "", ""
	}
	git := a.facts.Git
	switch {
	case a.doc.plan.Workspace.Value == shared:
		return "the plan has `workspace: shared`", ""
	case a.facts.Shared:
		return "`policy.workspace` is `shared`", ""
	case git == nil:
		return "", ""
	case !git.Missing && !git.Repository:
		return git.lacks().message, "git init && " + firstCommit
	case git.lacks().message != "":
		return git.lacks().message, git.lacks().hint
	case git.Partly == NoCommit:
		return git.Partly, firstCommit
	}
	return git.Partly, ""
}

// NoCommit is what a repository is called partly for that has nothing to begin a worktree with.
const NoCommit = "the repository has no commit yet"

const firstCommit = "git add -A && git commit -m start"

// commits is what of a run in a worktree becomes a commit.
func (d *document) commits(f Facts) engine.Commits {
	return engine.Commits(cmp.Or(d.plan.Commit.Value, f.Commit, string(engine.CommitRun)))
}

// leaves reports whether what a run in a worktree did stays on its branch.
func (d *document) leaves(f Facts) bool {
	if d.plan.Land.Set {
		return !d.plan.Land.Value
	}
	return f.Leave
}

func checkPlanWorktree(p *pass) {
	h, lacks := p.doc.plan, p.facts.Git.lacks()
	apart := p.doc.apart(p.facts)
	if apart && lacks.message != "" {
		p.report(nil, h.Workspace.Pos, "the plan runs in a worktree, but "+lacks.message, lacks.hint)
	}
	if !apart && h.Commit.Set && h.Commit.Value != "none" {
		p.report(nil, h.Commit.Pos, "the plan has a `commit`, but its run has no worktree, and so no branch",
			"add `workspace: worktree` to the header, or take `commit` out")
	}
	if apart && p.facts.Git != nil && p.facts.Git.Nobody && p.doc.commits(p.facts) != engine.CommitNone {
		p.report(nil, h.Commit.Pos, "the run commits to a branch, but git does not know who you are, so the commits have no author",
			"run `"+Introduce+"`, or add `commit: none` to the header").Severity = Warning
	}
	if !apart && h.Land.Set && !h.Land.Value {
		p.report(nil, h.Land.Pos, "the plan has `land: no`, but its run has no worktree, and so no branch",
			"add `workspace: worktree` to the header, or take `land` out")
	}
	if apart && p.doc.leaves(p.facts) && p.doc.commits(p.facts) == engine.CommitNone {
		at := h.Land.Pos
		if !h.Land.Set {
			at = h.Commit.Pos
		}
		p.report(nil, at, "`land: no` leaves the work on the branch of the run, and with `commit: none` there is no branch",
			"take one of them out; `policy.land` and `policy.commit` say what holds where the plan says nothing")
	}
	if !apart && !h.Setup.IsZero() && !slices.ContainsFunc(p.doc.units, (*unit).apart) {
		p.report(nil, h.Setup.Pos, "the plan has a `setup`, but no step works in a worktree",
			"add `workspace: worktree` to the header or to steps, or make the setup a step").Severity = Warning
	}
}

// Introduce are the commands by which a person tells git who they are.
const Introduce = "git config user.name 'Your Name' && git config user.email you@example.org"

// apart reports a step in a worktree of its own.
func (u *unit) apart() bool { return u.Workspace.Value == inWorktree }

func checkWorktree(p *pass, u *unit) {
	if lacks := p.facts.Git.lacks(); u.apart() && lacks.message != "" {
		p.report(u, u.Workspace.Pos, fmt.Sprintf("step %q works in a worktree, but %s", u.ID.Value, lacks.message), lacks.hint)
	}
	if !u.apart() && !u.Setup.IsZero() {
		p.report(u, u.Setup.Pos, fmt.Sprintf("step %q has a `setup`, but does not work in a worktree", u.ID.Value),
			"add `workspace: worktree`, or make the setup a step").Severity = Warning
	}
}

// inWorktree is the `workspace:` of steps with a git worktree of their own.
const inWorktree = "worktree"

// shared is the `workspace:` of plans that work in the checkout itself.
const shared = "shared"

// lack is what keeps worktrees from being made.
type lack struct{ message, hint string }

// MinGit is the oldest git with which worktrees can be merged.
func MinGit() GitVersion { return GitVersion{2, 38} }

func (g *Git) lacks() lack {
	switch {
	case g == nil:
		return lack{}
	case g.Missing:
		return lack{"there is no git on this machine", "install git " + MinGit().String() + " or later"}
	case !g.Repository:
		return lack{"the workspace is not in a git repository", "run `git init`"}
	case g.Version.Old():
		return lack{fmt.Sprintf("this machine has git %v", g.Version), "install git " + MinGit().String() + " or later"}
	case g.Taken:
		return lack{"the repository has a branch `piton`, so git cannot make branches `piton/...`", "rename it: `git branch -m piton other`"}
	}
	return lack{}
}

// whole reports whether a worktree has all that git keeps of the workspace, and what is done
// there can be a branch of it.
func (g *Git) whole() bool { return g != nil && g.lacks() == lack{} && g.Partly == "" }

// Git is what rules need to know of git.
type Git struct {
	Missing    bool       `json:"missing,omitempty"` // it is not on PATH
	Repository bool       `json:"repository,omitempty"`
	Version    GitVersion `json:"version,omitzero"` // zero where it does not say
	Taken      bool       `json:"taken,omitempty"`  // a branch keeps the worktrees from having theirs
	Nobody     bool       `json:"nobody,omitempty"` // it does not know who works here, so commits have no author
	Partly     string     `json:"partly,omitempty"` // what a worktree would not have as the checkout has it; "" for nothing
}

// GitVersion is the first two numbers of a version of git.
type GitVersion struct {
	Major int `json:"major"`
	Minor int `json:"minor"`
}

func (v GitVersion) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Old reports a version that is known and cannot merge worktrees.
func (v GitVersion) Old() bool {
	return v != (GitVersion{}) && cmp.Or(cmp.Compare(v.Major, MinGit().Major), cmp.Compare(v.Minor, MinGit().Minor)) < 0
}
