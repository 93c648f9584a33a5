package verify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// A Call is a call of a tool as the plan has it. Scripts are asked for as calls of
// run_command, where all else of their step is of low risk.
type Call struct {
	Tool string
	Args string // JSON
}

// String is the call as [Facts.Calls] knows it.
func (c Call) String() string { return c.Tool + " " + c.Args }

// Weight is what a call would do, as far as can be told before the run.
type Weight struct {
	Tier   engine.Tier `json:"tier"`
	Effect string      `json:"effect"` // in the registry's word
	Reason string      `json:"reason,omitempty"`

	Targets []string `json:"targets,omitempty"` // files that it would change, by their paths below the workspace
	Refused string   `json:"refused,omitempty"` // why it is never made, whatever else there is by then
}

// Hazard is one reason why a plan is not of low risk.
type Hazard struct {
	Step   string `json:"step"`   // id, or "" for the plan as a whole
	Number string `json:"number"` // of the step
	Text   string `json:"text"`   // for people
}

// Hazards lists why the plan is not of low risk, one reason for each step that is
// not: a step is only if it is kept from the network, inside an explicit
// `writes:`, and from deleting, by the harness and not by what it is told. A plan
// without any is of low risk, as far as it goes: plans that it delegates to have
// their own. What the facts leave open counts as a hazard.
func Hazards(p *plan.Plan, facts Facts) []Hazard {
	var all []Hazard
	if !p.Setup.IsZero() {
		all = append(all, Hazard{Text: "the `setup` of the header may use the network"})
	}
	for _, s := range p.Steps {
		u := unit{Step: s}
		u.proven(unread)
		if u.Tool.Set {
			u.args, u.unfit = form.ReadArguments(u.Args)
		}
		if text := cmp.Or(u.trusted(facts), u.open(), u.exposed(facts), u.weighty(facts)); text != "" {
			all = append(all, Hazard{u.ID.Value, u.Number, text})
		}
	}
	return all
}

// unread is a script of which nobody wants to know what it says.
func unread(label string, text plan.Text, required bool, exit int) script {
	return script{label: label, text: text, required: required, exit: exit}
}

// String words the hazard for people.
func (h Hazard) String() string {
	if h.Step == "" {
		return h.Text
	}
	return fmt.Sprintf("step %s %q: %s", h.Number, h.Step, h.Text)
}

// Asks says why the step's call will be put to a person, as far as can be told before it
// is due; "" if it will not, or nobody knows.
func Asks(s *plan.Step, facts Facts) string {
	if !s.Tool.Set {
		return ""
	}
	u := unit{Step: s}
	if u.args, u.unfit = form.ReadArguments(s.Args); u.unfit != nil {
		return ""
	}
	refers := false
	for range engine.Refs(u.args.Value) {
		refers = true
		break
	}
	switch w := facts.Calls[u.call().String()]; {
	case w.Tier == engine.ApproveTier:
		return cmp.Or(w.Reason, "the call needs a yes")
	case refers && (w.Tier == engine.ReviewTier || w.Effect == "command"):
		return "what it is called with is only known when it runs"
	}
	return ""
}

// Reads names the steps whose outputs a step is called with, or takes its items from. It
// waits for them, whatever it says that it needs.
func Reads(s *plan.Step) []string {
	u := unit{Step: s}
	var ids []string
	if ref, ok := u.items(); ok {
		ids = append(ids, ref.Step)
	}
	if !s.Tool.Set {
		return ids
	}
	if u.args, u.unfit = form.ReadArguments(s.Args); u.unfit != nil {
		return ids
	}
	for _, ref := range engine.Refs(u.args.Value) {
		ids = append(ids, ref.Step)
	}
	return ids
}

// trusted says that the step does what its agent likes.
func (u *unit) trusted(facts Facts) string {
	if u.works() && !u.scripted(facts) {
		return "an agent does it: nothing keeps it off the network or from deleting files"
	}
	return ""
}

// open says what of the step nothing holds in, whatever it runs.
func (u *unit) open() string {
	_, delegated := Delegate(u.Step)
	switch {
	case u.ForEach.Set:
		return "what it does for each item is only known when it runs"
	case !u.Plan.IsZero() && !delegated:
		return "its plan is only known when it runs"
	case u.Mode.Value == "full":
		return "its `mode` is full"
	case u.works() && !u.Writes.Set:
		return "it may write anywhere: it has no `writes:`"
	case u.runs() && u.Network.Value != "no":
		return "what it runs may use the network: it has no `network: no`"
	case u.Tool.Set && u.unfit != nil:
		return "its arguments cannot be read"
	}
	for at, ref := range engine.Refs(u.args.Value) {
		if u.Tool.Value != "write_file" || at != "/content" {
			return fmt.Sprintf("what it is called with is only known when it runs: %s", ref)
		}
	}
	return ""
}

// exposed says what is not as the step asks for on this machine.
func (u *unit) exposed(facts Facts) string {
	file, delegated := Delegate(u.Step)
	switch {
	case delegated && !facts.Files[file].Exists:
		return "its plan " + file + " is not there yet"
	case !u.runs():
		return ""
	case facts.Exposed == nil:
		return "it is not known whether this machine can keep it off the network"
	case *facts.Exposed != "":
		return "this machine cannot keep it off the network: " + *facts.Exposed
	}
	return ""
}

// weighty says what of the step's scripts and its call is more than looking, or
// making a file inside its scope.
func (u *unit) weighty(facts Facts) string {
	for _, s := range u.scripts() {
		if w := facts.Calls[running(s.text.Value).String()]; !engine.LowCall(w.Tier, w.Effect, nil, true) {
			return fmt.Sprintf("its %s does more than look%s", s.label, because(w))
		}
	}
	if !u.Tool.Set {
		return ""
	}
	w := facts.Calls[u.call().String()]
	switch {
	case engine.LowCall(w.Tier, w.Effect, writes(u), u.offline()):
		return ""
	case w.Tier == engine.FreeTier && w.Effect == "create":
		return "it makes a file, and has no `writes:`"
	case w.Tier == engine.FreeTier:
		return fmt.Sprintf("%s has the effect %s", u.Tool.Value, w.Effect)
	}
	return fmt.Sprintf("%s does more than look, or make a file%s", u.Tool.Value, because(w))
}

func because(w Weight) string {
	switch {
	case w.Tier == "":
		return ", as far as can be told here"
	case w.Reason == "":
		return ""
	}
	return ": " + w.Reason
}

// runCommand is the tool that runs a script.
const runCommand = "run_command"

// runs reports whether anything of the step is run by a shell.
func (u *unit) runs() bool { return u.Tool.Value == runCommand || len(u.scripts()) > 0 }

// scripts are the step's work, where that is one, its setup and its proofs.
func (u *unit) scripts() []script {
	var all []script
	if u.works() {
		all = append(all, script{label: "script", text: u.Task.Code()})
	}
	if !u.setup.text.IsZero() {
		all = append(all, u.setup)
	}
	return append(all, u.proofs...)
}

// running is the call that a script amounts to.
func running(text string) Call { return newCall(runCommand, map[string]any{"command": text}) }

// call is the step's call of its tool. A text to be written is not known where it
// is a reference, and makes no difference.
func (u *unit) call() Call {
	args, _ := u.args.Value.(map[string]any)
	for range engine.Refs(args["content"]) { // what is written matters to nobody here, but where
		args = maps.Clone(args)
		args["content"] = ""
		break
	}
	known, err := engine.Resolve(args, func(string) (any, error) { return nil, errLater })
	if err != nil {
		return Call{}
	}
	return newCall(u.Tool.Value, known)
}

var errLater = errors.New("is known later")

// newCall is none where the arguments cannot be written down.
func newCall(name string, args any) Call {
	text, err := engine.EncodeValue(args)
	if err != nil {
		return Call{}
	}
	return Call{name, string(text)}
}

// calls are those of a step of which it matters what they do.
func (u *unit) calls() []Call {
	var all []Call
	if u.literal() {
		all = append(all, u.call())
	}
	if u.open() != "" {
		return all
	}
	for _, s := range u.scripts() {
		all = append(all, running(s.text.Value))
	}
	return all
}
