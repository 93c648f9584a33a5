package verify

import (
	"cmp"
	"fmt"
	"slices"
)

func ruleWorktree() Rule {
	return Rule{
		ID: "PT068", Name: "worktree", Severity: Error,
		Title: "a worktree cannot be made, or a setup prepares none",
		Text: "`workspace: worktree` gives a step, or in the header the whole run, a git worktree, which Piton merges into the workspace. That needs a git " +
			"repository around the workspace, and git 2.38 or later, which can merge without touching a checkout, and no branch that is called `piton`: those of worktrees are `piton/RUN/STEP`, and git cannot have both. It is a " +
			"warning where a `setup:` stands in a step that works in the workspace itself, or in the header of a plan " +
			"without any worktree: nothing would run it.",
		Bad:   "**setup:**\n```shell\nnpm ci\n```",
		Good:  "**workspace:** worktree\n**setup:**\n```shell\nnpm ci\n```",
		check: checkPlanWorktree,
		step:  checkWorktree,
	}
}

func checkPlanWorktree(p *pass) {
	h, lacks := p.doc.plan, p.facts.Git.lacks()
	apart := h.Workspace.Value == inWorktree
	if apart && lacks.message != "" {
		p.report(nil, h.Workspace.Pos, "the plan runs in a worktree, and "+lacks.message, lacks.hint)
	}
	if !apart && !h.Setup.IsZero() && !slices.ContainsFunc(p.doc.units, (*unit).apart) {
		p.report(nil, h.Setup.Pos, "the plan has a `setup`, and no step works in a worktree that it could prepare",
			"add `workspace: worktree` to the header, or to steps, or make it a step of its own").Severity = Warning
	}
}

// apart reports a step in a worktree of its own.
func (u *unit) apart() bool { return u.Workspace.Value == inWorktree }

func checkWorktree(p *pass, u *unit) {
	if u.apart() {
		p.noWorktree(u, p.facts.Git.lacks())
	} else if !u.Setup.IsZero() {
		p.report(u, u.Setup.Pos, fmt.Sprintf("step %q has a `setup`, and works in no worktree that it could prepare", u.ID.Value),
			"add `workspace: worktree`, or make it a step of its own").Severity = Warning
	}
}

func (p *pass) noWorktree(u *unit, lacks lack) {
	if lacks.message != "" {
		p.report(u, u.Workspace.Pos, fmt.Sprintf("step %q works in a worktree, and %s", u.ID.Value, lacks.message), lacks.hint)
	}
}

// inWorktree is the `workspace:` of steps with a git worktree of their own.
const inWorktree = "worktree"

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
		return lack{"the workspace is in no git repository", "run `git init`"}
	case g.Version.Old():
		return lack{fmt.Sprintf("this machine has git %v", g.Version), "install git " + MinGit().String() + " or later"}
	case g.Taken:
		return lack{"the repository has a branch `piton`, beside which git can have no `piton/...`", "rename it: `git branch -m piton other`"}
	}
	return lack{}
}

// Git is what rules need to know of git.
type Git struct {
	Missing    bool       `json:"missing,omitempty"` // it is not on PATH
	Repository bool       `json:"repository,omitempty"`
	Version    GitVersion `json:"version,omitzero"` // zero where it does not say
	Taken      bool       `json:"taken,omitempty"`  // a branch keeps the worktrees from having theirs
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
