package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// Code is the machine's word for what went wrong; the faces show it as is.
type Code string

const (
	Invalid     Code = "invalid"
	Conflict    Code = "conflict"
	NotFound    Code = "not_found"
	Denied      Code = "denied"
	Unavailable Code = "unavailable"
	Internal    Code = "internal"
)

// Problem is an error for people: what is wrong and what to do. It may wrap one of
// the causes that faces tell apart.
type Problem struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Words are those of a model that led to it: text from outside, for people.
	Words string `json:"words,omitempty"`

	cause error
}

func (p *Problem) Error() string { return p.Message }

func (p *Problem) Unwrap() error { return p.cause }

// ErrMachine is the cause of a problem that is this machine's fault.
var ErrMachine = errors.New("this machine's fault")

// Fault is something that this machine cannot do.
func Fault(text, hint string) *Problem {
	return &Problem{Code: Unavailable, Message: text, Hint: hint, cause: ErrMachine}
}

// Misconfigured is a configuration that cannot be used, with all that is to be
// mended.
type Misconfigured []config.Problem

func (m Misconfigured) Error() string {
	lines := make([]string, len(m))
	for i, p := range m {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Configuration reads all sources, or fails with everything there is to mend.
func Configuration(from config.Sources) (config.Config, error) {
	conf, problems, err := config.Load(from)
	switch {
	case err != nil:
		return conf, &Problem{Code: Invalid, Message: err.Error()}
	case len(problems) > 0:
		return conf, Misconfigured(problems)
	}
	return conf, nil
}

// causes are told apart by faces. On the socket they have these names.
var causes = map[string]error{
	"machine": ErrMachine, "corrupt": store.ErrCorrupt, "full": store.ErrFull, "read-only": store.ErrReadOnly, "version": store.ErrVersion,
	"stopped": run.ErrStopped, "elsewhere": store.ErrElsewhere, "gone": errGone,
}

// sent is a problem on the socket.
type sent struct {
	Problem
	Cause string `json:"cause,omitempty"`
}

func encodeProblem(err error) sent {
	return sent{Problem: *Explain(err), Cause: CauseOf(err)}
}

// CauseOf is the name of what faces tell apart about an error; "" for nothing.
func CauseOf(err error) string {
	for _, name := range slices.Sorted(maps.Keys(causes)) {
		if errors.Is(err, causes[name]) {
			return name
		}
	}
	return ""
}

// Caused is a problem with the cause of a name.
func Caused(p Problem, cause string) *Problem { return sent{p, cause}.problem() }

func (s sent) problem() *Problem {
	s.cause = causes[s.Cause]
	return &s.Problem
}

// Explain turns any error into a problem.
func Explain(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return &Problem{Code: Code(r.Code), Message: r.Message, Hint: hintOf(r)}
	}
	if m, ok := errors.AsType[Misconfigured](err); ok {
		return &Problem{Code: Invalid, Message: m.Error(), Hint: m[0].Hint}
	}
	code := Internal
	switch {
	case errors.Is(err, store.ErrOwned), errors.Is(err, store.ErrElsewhere), errors.Is(err, store.ErrFenced), errors.Is(err, run.ErrStopped),
		errors.Is(err, store.ErrFull), errors.Is(err, store.ErrReadOnly):
		code = Unavailable
	case errors.Is(err, store.ErrNotFound):
		code = NotFound
	}
	return &Problem{Code: code, Message: err.Error()}
}

// remedies says in the words of the command line what helps against a refusal.
var remedies = map[string]string{
	engine.AnswerItem:    "answer item %s",
	engine.ApprovePlan:   "a person can: piton approve %s",
	engine.AtLeast:       "give at least --args %s",
	engine.AwaitEnd:      "piton status %s says what it waits for",
	engine.AwaitNextRun:  "the next run of that plan takes the text as it is then",
	engine.Choose:        "choose one of: %s",
	engine.EndRunFirst:   "resume or cancel it first",
	engine.ExplainAnswer: "give it with --text; it is recorded with your name",
	engine.FitSchema:     "the schema is %s",
	engine.GiveReason:    "give it with --why",
	engine.GiveText:      "give it with --text",
	engine.GiveValue:     "give it with --args, as JSON of this schema: %s",
	engine.LandRun:       "piton land %s merges it",
	engine.LeaveWork:     "piton answer %s leave ends the run with its work on its branch",
	engine.ListItems:     "piton inbox lists the open items",
	engine.ListRuns:      "piton list shows which is",
	engine.ListSteps:     "piton status lists them",
	engine.LookAgain:     "look at it again",
	engine.MendErrors:    "fix its errors first",
	engine.MergeBranch:   "piton status shows its branch, which git merge brings into your checkout",
	engine.NameInstance:  "name the one you mean, such as %s",
	engine.NamePlanner:   "configure `planner:`, cancel the run and run the plan again, or edit the plan and approve the change",
	engine.NameRun:       "name the one you mean",
	engine.NewLimit:      "give the new limit, such as --args %s",
	engine.NoArgs:        "leave --args out",
	engine.OpenRun:       "piton run opens a new one",
	engine.ResumeRun:     "piton resume %s does the rest",
	engine.RetryStep:     "piton retry %s --run %s runs the step again",
	engine.RetryFrom:     "piton retry %s --from --run %s runs it again, with all steps that need it",
	engine.RunAnew:       "cancel it, and run the plan anew",
	engine.NameOther:     "name another file with -o, or wait for it",
	engine.WaitOrCancel:  "wait for it, or cancel the run",
	engine.WriteLimits:   "write them as in --args %s",
}

func hintOf(r *engine.Refusal) string {
	with := make([]any, len(r.With))
	for i, s := range r.With {
		switch r.Remedy {
		case engine.Choose, engine.FitSchema, engine.GiveValue: // to be read
			with[i] = s
		default: // to be pasted
			with[i] = engine.ShellWord(s)
		}
	}
	return fmt.Sprintf(remedies[r.Remedy], with...)
}

// EncodeProblem is an error as one line of JSON.
func EncodeProblem(err error) []byte {
	line, _ := json.Marshal(encodeProblem(err)) // texts always can
	return line
}

// DecodeProblem is the error that such a line tells of.
func DecodeProblem(line []byte) error { return problemOf(bytes.NewReader(line)) }

// CannotWrite says why a file of the user's cannot be written, without the
// name of a system call. A full disk is this machine's fault.
func CannotWrite(path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	if project.IsFull(err) {
		return Fault(fmt.Sprintf("cannot write %s: %v", path, err), "free some space, then run this again")
	}
	return &Problem{Code: Invalid, Message: fmt.Sprintf("cannot write %s: %v", path, err), Hint: "check the directory and who may write there"}
}
