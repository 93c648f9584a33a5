package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Say is what follows an attempt.
type Say string

// What an arbiter may say.
const (
	SayRetry    Say = "retry"    // another attempt
	SayReplan   Say = "replan"   // the plan is revised; the step stands as it does
	SayEscalate Say = "escalate" // a person is asked
	SayContinue Say = "continue" // the step is done: the next one
	SayComplete Say = "complete" // the step is done, and nothing else is needed; a person is asked whether that is so
)

// ArbiterRuled says what a model as arbiter chose after an attempt, among what the
// plan leaves open, or why it chose nothing so that the rules did. Replay needs no
// model. It is a claim about what helps, and moves no verdict.
type ArbiterRuled struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Say     Say    `json:"say"`
	Role    string `json:"role,omitempty"` // retry: who is to do it, of a step that leaves it open
	Why     string `json:"why"`
	Fault   bool   `json:"fault,omitempty"` // the rules chose: Why says what came of the model
	Prompt  string `json:"prompt_hash,omitempty"`
	Usage   Usage  `json:"usage"`
	Ms      int64  `json:"ms"`
	Log     string `json:"log,omitempty"`
}

// Ruled answers a Consult effect. Err is why there is no ruling.
type Ruled struct {
	Key Key
	ArbiterRuled
	Err string
}

func (Ruled) Actor() string       { return Harness }
func (ArbiterRuled) Type() string { return "arbiter.ruled" }

func rulingFails(e *Effect, _ How, reason string) Input { return Ruled{Key: e.Key, Err: reason} }

// choices is what may follow the attempt of step i that has been judged, the choice of
// the rules first: only what the plan gives, now or once its tries are used up. Where
// less than two are left nobody need be consulted.
func (s *State) choices(i int) []Say {
	st, p := &s.steps[i], s.prog.Step(i)
	switch s.verdict(i) {
	case Pass:
		if st.Phase == Ratchet || s.lands(i) {
			return nil
		}
		if s.undone() > 1 && s.advisable() {
			return []Say{SayContinue, SayReplan, SayComplete}
		}
		return []Say{SayContinue, SayComplete}
	case Fail, Timeout, Tampered, OutOfScope:
	default:
		return nil
	}
	last := map[Then]Say{Escalate: SayEscalate, Replan: SayReplan}[p.OnFail.Then]
	if last == SayReplan && !s.revises() {
		last = SayEscalate
	}
	var all []Say
	switch {
	case st.Phase == Ratchet || p.loops() || last == "":
		return nil
	case s.retries(i):
		all = append(all, SayRetry)
	}
	if all = append(all, last); last == SayReplan {
		all = append(all, SayEscalate)
	}
	return all
}

// consults reports whether the arbiter is to be asked about step i.
func (s *State) consults(i int) bool {
	return s.run.Opened.Policy.Arbiter && s.steps[i].Ruling == nil && len(s.choices(i)) > 1
}

func (s *State) admitRuled(in Ruled) ([]Event, error) {
	i, err := s.wanted(in.Key)
	if err != nil {
		return nil, err
	}
	if in.Key.Kind != Consult {
		return nil, refuse(Conflict, in.Key.String()+" consults nobody")
	}
	e, all := in.ArbiterRuled, s.choices(i)
	e.Step, e.Attempt, e.Fault = in.Key.Step, in.Key.Attempt, false
	e.Why, e.Role, e.Say = text(e.Why), text(e.Role), Say(text(string(e.Say)))
	wrong := in.Err
	switch {
	case wrong != "":
	case !slices.Contains(all, e.Say):
		wrong = fmt.Sprintf("it says %.40q, which the plan does not leave open", e.Say)
	case e.Role != "" && !s.rules(i, e):
		wrong = fmt.Sprintf("it names %.40q, who cannot do the next attempt", e.Role)
	case strings.TrimSpace(e.Why) == "":
		wrong = "it gives no reason"
	}
	if wrong != "" {
		e.Say, e.Role, e.Fault, e.Why = all[0], "", true, "the arbiter gave no ruling: "+text(wrong)
	}
	return []Event{e}, nil
}

// rules reports whether a ruling may name who does the next attempt.
func (s *State) rules(i int, e ArbiterRuled) bool {
	p := s.prog.Step(i)
	return e.Say == SayRetry && p.open() && p.Fallback == "" && s.prog.candidate(e.Role)
}

func (s *State) applyRuled(e ArbiterRuled) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	if e.Attempt != s.steps[i].Attempt || !s.consults(i) || !slices.Contains(s.choices(i), e.Say) || e.Role != "" && !s.rules(i, e) {
		return fmt.Errorf("the arbiter rules %q on step %q, attempt %d, which was not asked", e.Say, e.Step, e.Attempt)
	}
	s.account(WorkEnded{How: Exited, Usage: e.Usage, Ms: e.Ms}, "", Amount{})
	if e.Prompt != "" && e.Usage.untold(Amount{}, s.run.Limits) {
		s.run.Unmetered++
	}
	s.change(i, func(st *step) { st.Ruling = &ruling{Say: e.Say, Role: e.Role, Why: e.Why} })
	return nil
}

// ruling is what follows the attempt of a step, as an arbiter chose.
type ruling struct {
	Say  Say
	Role string `json:",omitzero"`
	Why  string
}

// names is who is to do the next attempt.
func (r *ruling) names() *forced {
	if r == nil || r.Role == "" {
		return nil
	}
	return &forced{Role: r.Role, Why: r.Why}
}

// early reports whether the arbiter gives up the attempts that are left.
func (r *ruling) early() bool { return r != nil && (r.Say == SayReplan || r.Say == SayEscalate) }

// rethinks reports whether the arbiter wants the plan revised.
func (r *ruling) rethinks() bool { return r != nil && r.Say == SayReplan }

// completes reports whether the arbiter thinks that nothing else is needed.
func (r *ruling) completes() bool { return r != nil && r.Say == SayComplete }

// asks reports whether the arbiter wants a person asked.
func (r *ruling) asks() bool { return r != nil && r.Say == SayEscalate }

// consultation is the question to an arbiter.
func (s *State) consultation(i int, e *Effect) {
	st, p := &s.steps[i], s.prog.Step(i)
	v := s.verdict(i)
	e.Choices, e.Left = s.choices(i), max(0, p.OnFail.Retries-st.Tries)
	e.Failures = []Failure{{Step: p, Attempt: st.Attempt, Role: st.Role, Verdict: v, Reason: s.reason(i, v), Feedback: feedback(st), Claims: st.claims()}}
	e.Poor = s.spent(Amount{}, s.run.Used.Held) || s.run.Opened.Policy.Unmetered == UnmeteredRefuse && s.run.Unmetered > s.run.Excused
	if p.open() && p.Fallback == "" {
		e.Candidates = s.prog.def.Agents
	}
	for f := range s.pipe.visible {
		if f.Kind != StepSummary && f.Kind != ErrorRecovery {
			continue
		}
		if e.Frames = append(e.Frames, f); len(e.Frames) == MaxHistory {
			break
		}
	}
	slices.Reverse(e.Frames)
	for n := range s.steps {
		switch {
		case s.steps[n].satisfied():
			e.Met++
		case n != i && len(e.Ahead) < maxAhead:
			e.Ahead = append(e.Ahead, s.prog.Step(n))
		}
	}
	e.Steps = len(s.steps)
}

// MaxHistory is how many entries of what came of attempts an arbiter is shown.
const MaxHistory = 10

// maxAhead is how many of the steps that are left an arbiter is shown.
const maxAhead = 30

// claims are those of the newest attempt.
func (st *step) claims() Claims {
	if st.Ended != nil {
		return st.Ended.Claims
	}
	return Claims{}
}
