package verify

import (
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleNotYet() Rule {
	return Rule{
		ID: "PT014", Name: "not-yet", Severity: Warning,
		Title: "the plan uses something that this version cannot run",
		Text: "The plan is right and can be kept, shown and converted. A run would not do what it says, so " +
			"it is refused rather than run without the label, and so is an approval. A `topic:` " +
			"subscription is left out instead, and the step runs. `network: no` holds for scripts, setups, contracts and " +
			"checks, where the machine has a network to give that leads nowhere, and not for an agent; `mode: read` is not enforced.",
		Bad:  "**judge:** Is the summary fair to both sides?",
		Good: "**acceptance:**\n- The summary is fair to both sides.",
		step: checkNotYet,
	}
}

func checkNotYet(p *pass, u *unit) {
	for _, l := range u.unready() {
		p.report(u, l.at, fmt.Sprintf("step %q uses `%s`, which this version cannot run yet", u.ID.Value, l.label), "").blocks = true
	}
	if name, a, ok := p.facts.Agent(u.Target.Value); ok && a.Undriven && u.works() {
		p.report(u, u.Target.Pos, fmt.Sprintf("agent %q is of kind acp, which this version cannot drive", name),
			"most such agents have a command for kind exec too").blocks = true
	}
	if u.Network.Value == "no" {
		p.checkOffline(u)
	}
	if u.works() && u.Mode.Value == "read" {
		p.report(u, u.Mode.Pos, fmt.Sprintf("step %q has `mode: read`, which its agent is told and nothing enforces", u.ID.Value), "")
	}
	if !u.Plan.IsZero() && InWords(u.Plan.Value) {
		p.report(u, u.Plan.Pos, fmt.Sprintf("step %q asks for a plan in words, which this version cannot make", u.ID.Value),
			"write the plan, and give the path of the document").blocks = true
	}
	if _, delegated := Delegate(u.Step); delegated && !u.Schema.IsZero() {
		p.report(u, u.Schema.Pos, fmt.Sprintf("step %q has a `schema`, and the run of a plan puts nothing out that it could be of", u.ID.Value), "")
	}
	for _, s := range u.Subscriptions.Value {
		if s.Kind == "topic" {
			p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to a topic, which this version leaves out", u.ID.Value), "")
		}
	}
}

// checkOffline says for whom `network: no` does not hold.
func (p *pass) checkOffline(u *unit) {
	says := func(text, hint string) {
		p.report(u, u.Network.Pos, fmt.Sprintf("step %q has `network: no`, ", u.ID.Value)+text, hint)
	}
	_, delegated := Delegate(u.Step)
	switch {
	case u.works() && !u.scripted(p.facts):
		says("which its agent is told and nothing enforces; it holds for contract and checks", "")
	case delegated:
		says("which holds for its contract and not for the steps of the plan", "give it to those")
	case u.Tool.Value == "web_fetch", strings.Contains(u.Tool.Value, "."):
		says("which holds for its contract and not for the tool", "")
	}
	if why := p.facts.Exposed; why != nil && *why != "" && u.offline() {
		says("and this machine cannot keep a script from it: "+*why, "`piton run --allow-unsealed` runs it all the same; piton doctor says more")
	}
}

// use is a label that a step uses.
type use struct {
	label string
	at    plan.Pos
}

// unready lists the labels of a step that no part of this version carries out.
func (u *unit) unready() []use {
	var list []use
	add := func(used bool, label string, at plan.Pos) {
		if used {
			list = append(list, use{label, at})
		}
	}
	add(u.Tool.Set && u.apart(), "tool` with `workspace: worktree", u.Tool.Pos)
	add(!u.Judge.IsZero(), "judge", u.Judge.Pos)
	add(u.Iterations.Set, "iterations", u.Iterations.Pos)
	add(u.Strong.Value, "strong", u.Strong.Pos)
	return list
}
