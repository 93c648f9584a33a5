package view

import (
	"encoding/json"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// Answering is the command that answers an item with a choice.
func Answering(item, schema, choice string) string {
	words := "piton answer " + item
	switch {
	case choice == engine.ChooseSkip || choice == engine.ChooseWaive || choice == engine.ChooseReplan:
		return words + " " + choice + " --text WHY"
	case choice != engine.ChooseAnswer:
		return words + " " + engine.ShellWord(choice)
	case schema != "":
		return words + " --args JSON"
	}
	return words + " --text TEXT"
}

// Resolving are the commands that a person types about a conflict, one after the other; nothing
// for an item that is about none. EDITOR, or vi, opens the files with both sides. run is that which
// goes on then, "" for the newest.
func Resolving(it engine.ItemOpened, run string) []string {
	if len(it.Files) == 0 {
		return nil
	}
	var edit strings.Builder
	edit.WriteString("(cd " + engine.ShellWord(it.Dir) + " && ${EDITOR:-vi}")
	for _, f := range it.Files {
		edit.WriteString(" " + engine.ShellWord(f))
	}
	return []string{edit.String() + ")", Answering(it.Item, "", engine.ChooseRetry) + strings.TrimRight(" && piton resume "+run, " ")}
}

// ToRun is the verb by which something of the plan is run.
func ToRun(r *engine.Revision) string {
	switch {
	case r.Answer != nil && r.Answer.Yes:
		return "piton run " + engine.ShellWord(r.Drafted.Path)
	case len(r.Drafted.Weakened) > 0:
		return Approving(r.Drafted.Path) + " --weaker"
	}
	return Approving(r.Drafted.Path)
}

// Approving is the command that approves a plan.
func Approving(path string) string { return "piton approve " + engine.ShellWord(path) }

// Inbox is what waits for people. Plans that wait for a yes are not items:
// they are approved, not answered.
type Inbox struct {
	Items []Item     `json:"items"`
	Plans []Proposal `json:"plans"`
}

type Item struct {
	ID      string          `json:"id"`
	Run     string          `json:"run"`
	Step    string          `json:"step"`
	Parent  *Parent         `json:"parent,omitempty"` // the step that the run carries out
	Kind    engine.ItemKind `json:"kind"`
	Limit   string          `json:"limit,omitempty"` // of the run, that is met
	Cause   *engine.Verdict `json:"cause"`
	Text    string          `json:"question"`
	Choices []string        `json:"choices"`
	Args    any             `json:"args"`
	Schema  string          `json:"schema,omitempty"`
	Context string          `json:"context"`
	Tool    string          `json:"tool,omitempty"`
	Effect  string          `json:"effect,omitempty"` // of the call
	Plan    string          `json:"plan,omitempty"`   // path of a plan that is to be approved
	Behind  []string        `json:"behind,omitempty"`
	AskedAt Stamp           `json:"asked_at"`
}

type Proposal struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Title   string `json:"title"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`
	AskedAt Stamp  `json:"asked_at"`

	Kind     string   `json:"kind"`              // approval; weakened where it proves or guards less than before
	Changes  string   `json:"changes,omitempty"` // since the text before
	Weakened []string `json:"weakened"`
}

// planKind is what a yes to a recorded plan would mean.
func planKind(p engine.PlanDrafted) string {
	if len(p.Weakened) > 0 {
		return "weakened"
	}
	return "approval"
}

// InboxOf takes the arguments of calls by their hash.
func InboxOf(items []engine.ItemRow, plans []*engine.Revision, args map[string]json.RawMessage) Inbox {
	d := Inbox{Items: []Item{}, Plans: []Proposal{}}
	for _, it := range items {
		doc := Item{
			ID: it.Item, Run: it.Run, Step: it.Step, Kind: it.Kind, Limit: it.Limit, Cause: OrNull(it.Cause), Text: it.Question,
			Choices: List(it.Choices), Schema: it.Schema, Context: it.Context, AskedAt: Stamp(it.Opened),
			Tool: it.Tool, Effect: it.Effect, Plan: it.Plan, Behind: it.Behind, Parent: parentDocument(it.Parent),
		}
		if it.Shortage != nil {
			doc.Args = limitsDocument(it.Shortage.Raise)
		}
		if body, ok := args[it.Args]; ok {
			doc.Args = body
		}
		d.Items = append(d.Items, doc)
	}
	for _, r := range plans {
		p := r.Drafted
		d.Plans = append(d.Plans, Proposal{p.Plan, p.Path, p.Title, p.Version, p.Hash, Stamp(r.At), planKind(p), p.Changes, List(p.Weakened)})
	}
	return d
}

// Consequence says what a choice of an item does.
func Consequence(it engine.ItemRow, choice string) string {
	if it.Kind == engine.Proposal || it.Kind == engine.Weakened {
		switch {
		case choice == engine.ChooseApprove:
			return "the run goes on with the revision"
		case it.Step == "":
			return "the run goes on as it was"
		}
		return "the run fails"
	}
	if it.Kind == engine.Limit {
		return map[string]string{
			engine.ChooseApprove: "the run goes on", engine.ChooseAbort: "the run fails",
			engine.ChooseSkip: "all that is left is left out, in your name",
		}[choice]
	}
	if it.Kind == engine.Permission && choice == engine.ChooseDeny {
		return "the agent is told no; --text goes with it"
	}
	switch choice {
	case engine.ChooseAllow:
		return "the agent does it, this once"
	case engine.ChooseAllowRun:
		return "the agent does it, and the same again in this run"
	case engine.ChooseApprove:
		return "the step runs"
	case engine.ChooseDeny:
		return "left out; blocks what needs it; the run fails"
	case engine.ChooseRetry:
		return "one more attempt; --text goes with it"
	case engine.ChooseFallback:
		return "one more attempt, by the step's fallback"
	case engine.ChooseReplan:
		return "the planner revises the plan; --text tells it what is to be otherwise"
	case engine.ChooseLeave:
		return "the run ends with its work on its branch, not merged"
	case engine.ChooseSkip:
		return "left out; what needs it goes on without it"
	case engine.ChooseWaive:
		return "accepted without proof, in your name"
	case engine.ChooseVouch:
		return "what it changed is the work; its contract is asked again"
	case engine.ChooseAnswer:
		return "your own words, with --text; a value, with --args"
	case engine.ChooseAdopt:
		return "it is written to .piton/memories; --args gives it otherwise"
	case engine.ChooseDrop:
		return "nothing is kept of it"
	case engine.ChooseAbort:
		return "the step fails, and the run with it"
	}
	return ""
}
