package verify

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

func ruleRefused() Rule {
	return Rule{
		ID: "PT069", Name: "refused", Severity: Error,
		Title: "a call that is never made",
		Text: "Some calls Piton refuses, whoever says yes to them: a command that ruins a machine, runs what it fetched, or " +
			"is blocked by the configuration; a path that leads out of the workspace, or into `.git` or `.piton`; a host " +
			"that `web_fetch.allow` does not list; a file outside of the step's own `writes:`. Calls of built-in tools " +
			"whose arguments the plan has in full are looked at before the run; the others when the step is due, and a " +
			"refused call is not tried again.",
		Bad:  "**tool:** read_file\n**args:**\n```json\n{\"path\": \"../notes.md\"}\n```",
		Good: "**tool:** read_file\n**args:**\n```json\n{\"path\": \"notes.md\"}\n```",
		step: checkRefused,
	}
}

func checkRefused(p *pass, u *unit) {
	if !u.literal() {
		return
	}
	w := p.facts.Calls[u.call().String()]
	c := calling{p, u, u.args}
	switch {
	case w.Refused != "" && u.Tool.Value == "web_fetch":
		c.wrong("", "add the host to `web_fetch.allow` in the configuration, or take the step out", "the call is never made: %s", w.Refused)
	case w.Refused != "":
		c.wrong("", "name a path below the workspace, outside of .git and .piton", "the call is never made: %s", w.Refused)
	case w.Tier == engine.BlockTier:
		c.wrong("", "write another command; no yes allows this one", "the command is blocked: %s", cmp.Or(w.Reason, "by a rule"))
	}
	for _, file := range w.Targets {
		if u.Writes.Set && !covered(file, writes(u)) {
			c.wrong("", fmt.Sprintf("add %s to the `writes:` of the step", file), "%s is outside of the step's `writes:`, so the call is never made", file)
		}
	}
}

// literal reports whether the plan has all that the step's tool is called with.
func (u *unit) literal() bool {
	return u.Tool.Set && u.unfit == nil && !(u.ForEach.Set && strings.Contains(u.Args.Value, engine.ItemMark)) && u.call() != Call{}
}
