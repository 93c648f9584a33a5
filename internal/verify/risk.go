package verify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// A Call is a call of a tool as the plan has it.
type Call struct {
	Tool string
	Args string // JSON
}

// String is the call as [Facts.Calls] knows it.
func (c Call) String() string { return c.Tool + " " + c.Args }

// Weight is what a call would do, as far as can be told before the run.
type Weight struct {
	Effect string `json:"effect"`           // in the registry's word
	Asks   bool   `json:"asks,omitempty"`   // a person is asked for this very call
	Reason string `json:"reason,omitempty"` // why

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
// not. A step is only if the system holds all that it runs: without network, and unable to
// change a file but below the directories of its `writes:`. Calls of tools are no hazard:
// a person is asked for each that is not of low risk when it is due, with the arguments at
// hand, and so for a plan that is made during the run. A plan without any hazard is of low
// risk as far as it goes: plans that it delegates to have their own.
func Hazards(p *plan.Plan, facts Facts) []Hazard {
	var all []Hazard
	if !p.Setup.IsZero() {
		all = append(all, Hazard{Text: "the `setup` of the header may use the network"})
	}
	for _, s := range p.Steps {
		u := unit{Step: s}
		u.proven(unread)
		if text := cmp.Or(u.trusted(facts), u.open(facts)); text != "" {
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
	u := unit{Step: s}
	if !u.calls() {
		return ""
	}
	w := facts.Calls[u.call().String()]
	if w.Asks {
		return cmp.Or(w.Reason, "the call needs a yes")
	}
	for range engine.Refs(u.args.Value) {
		if u.Tool.Value == runCommand && (!u.holdable() || facts.Loose == nil || *facts.Loose != "") {
			return "what it is called with is only known when it runs"
		}
	}
	return ""
}

// Unasked says what the step's call does without anybody being asked, and why, as far as can
// be told before the run; "" for a step that asks, calls nothing, or of which it is not known.
func Unasked(s *plan.Step, facts Facts) string {
	u := unit{Step: s}
	if s.Approval.Set && s.Approval.Value != "auto" || !u.calls() || Asks(s, facts) != "" {
		return ""
	}
	w, known := facts.Calls[u.call().String()]
	args, _ := u.args.Value.(map[string]any)
	command, _ := args["command"].(string)
	switch {
	case !known || w.Refused != "":
		return ""
	case u.Tool.Value == runCommand && slices.Contains(facts.Allow, command):
		return "`policy.allow` names this very command"
	case u.Tool.Value == runCommand:
		return "the system holds the command inside its `writes:`, without network"
	case len(w.Targets) > 0:
		return w.Effect + " " + strings.Join(w.Targets, ", ")
	}
	return w.Effect
}

// Reads names the steps whose outputs a step is called with, or takes its items from. It
// waits for them, whatever it says that it needs.
func Reads(s *plan.Step) []string {
	u := unit{Step: s}
	var ids []string
	if ref, ok := u.items(); ok {
		ids = append(ids, ref.Step)
	}
	if u.calls() {
		for _, ref := range engine.Refs(u.args.Value) {
			ids = append(ids, ref.Step)
		}
	}
	return ids
}

// trusted says that the step does what its agent likes.
func (u *unit) trusted(facts Facts) string {
	if u.works() && !u.scripted(facts) {
		return "an agent does it, and decides what to run"
	}
	return ""
}

// open says what of the step nothing holds in.
func (u *unit) open(facts Facts) string {
	_, delegated := Delegate(u.Step)
	named := func(s script) bool { return slices.Contains(facts.Allow, s.text.Value) }
	switch {
	case !u.Plan.IsZero() && !delegated:
		return "its plan is only known when it runs"
	case u.Mode.Value == "full":
		return "its `mode` is full"
	case !slices.ContainsFunc(u.scripts(), func(s script) bool { return !named(s) }):
		return ""
	case u.Network.Value != "no":
		return "what it runs may use the network: it has no `network: no`"
	}
	if _, why := engine.Rooms(writes(u)); why != "" {
		return why
	}
	switch {
	case facts.Loose == nil:
		return "it is not known whether this machine can hold it inside its `writes:`"
	case *facts.Loose != "":
		return "this machine cannot hold it inside its `writes:`: " + *facts.Loose
	}
	return ""
}

// holdable reports whether what the step runs could be held inside its scope.
func (u *unit) holdable() bool {
	_, why := engine.Rooms(writes(u))
	return why == "" && (u.Tool.Value == runCommand || u.offline() && len(u.scripts()) > 0)
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

// calls reads what the step's tool is called with. False where it calls none, and where
// that cannot be read.
func (u *unit) calls() bool {
	if u.Tool.Set {
		u.args, u.unfit = form.ReadArguments(u.Args)
	}
	return u.Tool.Set && u.unfit == nil
}

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
