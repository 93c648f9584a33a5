package verify

import "fmt"

func ruleNoTask() Rule {
	return Rule{
		ID: "PT032", Name: "no-task", Severity: Warning,
		Title: "a step has no task",
		Text: "An agent without a `task:` gets the step's title as its prompt. A script without one has nothing " +
			"to run, which is an error.",
		Bad:  "**target:** coder\n**contract:**\n```shell\ngo test ./pager\n```",
		Good: "**target:** coder\n**task:** Make the pager count from 1.\n**contract:**\n```shell\ngo test ./pager\n```",
		step: checkNoTask,
	}
}

func checkNoTask(p *pass, u *unit) {
	switch {
	case !u.works() || !u.Task.IsZero() || u.unread("task"):
	case u.scripted(p.facts):
		p.report(u, u.Pos, fmt.Sprintf("step %q has no task, and a script has nothing else to run", u.ID.Value),
			"add a `task:` with a fenced shell block").Severity = Error
	default:
		p.report(u, u.Pos, fmt.Sprintf("step %q has no task; its agent gets the title alone", u.ID.Value), "add a `task:`")
	}
}
