package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// AnyAgent is the target of a step that leaves it open who does it.
const AnyAgent = "any"

// Candidate is an agent that may do a step which names none, and that a person may
// give any step of an agent to.
type Candidate struct {
	Role string `json:"role"`
	When string `json:"when,omitempty"` // what it is good at, in words
}

// faulty is how long an agent that could not be run is passed over, where the plan or its
// words name another one.
const faulty = 5 * time.Minute

// forced is a person's word on who does a step.
type forced struct {
	Role string
	By   string
	Why  string `json:",omitzero"`
}

// open reports whether the plan leaves it open who does the step.
func (s *Step) open() bool {
	return s.Kind == Agent && (s.Target == "" || s.Target == AnyAgent)
}

// Agents lists who may be chosen for a step. The caller must not change it.
func (p *Program) Agents() []Candidate { return p.def.Agents }

// Elective reports whether somebody else than the default agent can do the step.
func (p *Program) Elective(i int) bool {
	s := p.Step(i)
	return s.open() && slices.ContainsFunc(p.def.Agents, func(c Candidate) bool { return c.Role != s.Role })
}

func (p *Program) candidate(role string) bool {
	return slices.ContainsFunc(p.def.Agents, func(c Candidate) bool { return c.Role == role })
}

// weigh compares the steps that are open with the words of the agents. What it finds
// is a matter of the program alone, so it is looked up once.
func (p *Program) weigh() {
	if len(p.def.Agents) == 0 {
		return
	}
	p.suits = map[int][]int{}
	words := vocabulary(p.def.Agents)
	for i := range p.def.Steps {
		if s := &p.def.Steps[i]; s.open() {
			p.suits[i] = counts(words.in(s.Title, s.Task), len(p.def.Agents))
		}
	}
}

// Suits says of each agent how many of the words that say when it is taken occur in
// the title or in the task of a step.
func Suits(agents []Candidate, title, task string) []int {
	return counts(vocabulary(agents).in(title, task), len(agents))
}

func counts(found map[string][]int, agents int) []int {
	n := make([]int, agents)
	for _, of := range found {
		for _, a := range of {
			n[a]++
		}
	}
	return n
}

// lexicon has the agents of each word, without its ending.
type lexicon map[string][]int

func vocabulary(agents []Candidate) lexicon {
	words := lexicon{}
	for n, c := range agents {
		for w := range wordsOf(c.When) {
			if of := words[stem(w)]; !slices.Contains(of, n) {
				words[stem(w)] = append(of, n)
			}
		}
	}
	return words
}

// in are the words of texts that say who is taken, each once.
func (l lexicon) in(texts ...string) map[string][]int {
	found := map[string][]int{}
	for _, t := range texts {
		for w := range wordsOf(t) {
			if of := l[stem(w)]; len(of) > 0 {
				found[stem(w)] = of
			}
		}
	}
	return found
}

// wordsOf are the words of a text in small letters, less those that say nothing.
func wordsOf(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if w = strings.ToLower(w); len(w) > 1 && !slices.Contains(fillers, w) && !yield(w) {
				return
			}
		}
	}
}

// fillers are words that say nothing of what is to be done.
var fillers = strings.Fields("a an and any are as at be but by do for from has have if in into is it its no not of on only or so than that the then there these this to use when where which who with")

// stem is a word without the ending of its form: tests, tested and testing are test.
func stem(w string) string {
	const shortest = 3
	for _, end := range [...]string{"ing", "ed", "es", "s"} {
		if rest, ok := strings.CutSuffix(w, end); ok && len(rest) >= shortest {
			w = rest
			break
		}
	}
	if rest, ok := strings.CutSuffix(w, "e"); ok && len(rest) >= shortest {
		return rest
	}
	return w
}

// pick is who does the step, and by which rule. Replay does not need it: a dispatch
// says whom it was.
type pick struct {
	role string
	rule pickRule
}

type pickRule int

const (
	asPlanned  pickRule = iota // the plan, or nobody else is there
	asForced                   // a person's word
	asNamed                    // the arbiter's
	asFallback                 // its agent failed
	asSuited                   // the words of the agent fit the step
	asTried                    // so do those of others, and it proved more steps of this run
	asDefault                  // no words of an agent fit
)

// picks chooses who does the next attempt of step i.
func (s *State) picks(i int, now time.Time) pick {
	st, p := &s.steps[i], s.prog.Step(i)
	planned := pick{p.Role, asPlanned}
	if p.Kind != Agent {
		return planned
	}
	if f := s.force(i); f != nil {
		return pick{f.Role, asForced}
	}
	if n := st.Named; n != nil && p.open() && !s.down(n.Role, now) {
		return pick{n.Role, asNamed}
	}
	if p.open() {
		planned = s.elects(i, now)
	}
	if p.Fallback != "" && (st.Tries > 0 || s.down(planned.role, now) && !s.down(p.Fallback, now)) {
		return pick{p.Fallback, asFallback}
	}
	return planned
}

// force is a person's word on the step, or on the step that it is an instance of.
func (s *State) force(i int) *forced {
	if f := s.steps[i].Forced; f != nil {
		return f
	}
	if own, instance := s.prog.Pattern(i); instance {
		return s.steps[own].Forced
	}
	return nil
}

// elects chooses for a step that leaves it open: the agent whose words fit the step best, of
// several the one that proved the most steps of this run; where no words fit, the default
// one. Of those whose words fit, one that could not be run a moment ago is passed over. Nobody
// else takes its place: that is for a person to say.
func (s *State) elects(i int, now time.Time) pick {
	agents, standard := s.prog.def.Agents, s.prog.Step(i).Role
	if own, instance := s.prog.Pattern(i); instance {
		i = own // what is different in an instance is data
	}
	suits := s.prog.suits[i]
	var fit, up []int
	for n, c := range agents {
		if suits[n] == 0 {
			continue
		}
		if fit = append(fit, n); !s.down(c.Role, now) {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		up = fit
	}
	switch {
	case len(agents) == 0 || len(agents) == 1 && agents[0].Role == standard:
		return pick{standard, asPlanned}
	case len(up) == 0:
		return pick{standard, asDefault}
	}
	best, equal := up[0], 0
	for _, n := range up {
		if s.before(suits, n, best, standard) {
			best = n
		}
	}
	for _, n := range up {
		if suits[n] == suits[best] {
			equal++
		}
	}
	role := agents[best].Role
	if equal > 1 && s.run.Proofs[role] > 0 {
		return pick{role, asTried}
	}
	return pick{role, asSuited}
}

// before reports whether the n-th agent is taken before the m-th.
func (s *State) before(suits []int, n, m int, standard string) bool {
	a, b := s.prog.def.Agents[n].Role, s.prog.def.Agents[m].Role
	switch {
	case suits[n] != suits[m]:
		return suits[n] > suits[m]
	case s.run.Proofs[a] != s.run.Proofs[b]:
		return s.run.Proofs[a] > s.run.Proofs[b]
	}
	return a == standard // else the first by name stays
}

// down reports whether the agent could not be run a moment ago.
func (s *State) down(role string, now time.Time) bool {
	at, ok := s.run.Faults[role]
	return ok && now.Sub(at) < faulty
}

// faulted reports whether the agent could not be run when it was last asked to.
func (s *State) faulted(role string) bool { _, ok := s.run.Faults[role]; return ok }

// because says for people why this agent was taken; nothing where the plan says so.
func (s *State) because(i int, k pick) string {
	p := s.prog.Step(i)
	switch k.rule {
	case asForced:
		f := s.force(i)
		return worded("forced by", f.By, f.Why)
	case asNamed:
		return "the arbiter: " + s.steps[i].Named.Why
	case asFallback:
		return "fallback: " + s.lastFault(i)
	case asSuited, asTried:
		why := s.fitting(p, k.role)
		if n := s.run.Proofs[k.role]; k.rule == asTried && n > 0 {
			why += fmt.Sprintf("; proved %d of this run", n)
		}
		return strings.TrimPrefix(why, "; ")
	case asDefault:
		return "the default agent"
	}
	return ""
}

// lastFault says of whom the fallback takes the place.
func (s *State) lastFault(i int) string {
	if last := s.steps[i].Role; last != "" && last != s.prog.Step(i).Fallback {
		return last + " failed"
	}
	return "an earlier agent failed"
}

// fitting names the words of the step for which the agent was taken.
func (s *State) fitting(p *Step, role string) string {
	for _, c := range s.prog.def.Agents {
		if c.Role != role {
			continue
		}
		own := vocabulary([]Candidate{c})
		var words []string
		for _, t := range []string{p.Title, p.Task} {
			for w := range wordsOf(t) {
				if own[stem(w)] != nil && !slices.ContainsFunc(words, func(o string) bool { return stem(o) == stem(w) }) {
					words = append(words, w)
				}
			}
		}
		const most = 5
		if len(words) > 0 {
			return "its `when:` fits " + strings.Join(words[:min(len(words), most)], ", ")
		}
	}
	return ""
}

// employs reports whether the step's work may be dispatched to the role.
func (s *State) employs(i int, role string) bool {
	p := s.prog.Step(i)
	f := s.force(i)
	return role == p.Role || p.Kind == Agent &&
		(role == p.Fallback || f != nil && role == f.Role || p.open() && s.prog.candidate(role))
}

// tried notes how the work of an agent ended: one that could not be run is passed
// over for a while. Where nothing was prepared the agent is not to blame.
func (s *State) tried(st *step, e WorkEnded, at time.Time) {
	switch {
	case e.Kind != AgentWork || st.Role == "":
	case (e.How == NoStart || e.Cause.Outside()) && st.Prompt != "":
		if s.run.Faults == nil {
			s.run.Faults = map[string]time.Time{}
		}
		s.run.Faults[st.Role] = at
	case e.How == Exited || e.How == TimedOut:
		delete(s.run.Faults, st.Role)
	}
}

// credits counts a proof for the agent that did the work.
func (s *State) credits(i int, e StepSettled) {
	if e.Status != Done || !e.Proven || s.prog.Step(i).Kind != Agent || s.steps[i].Role == "" {
		return
	}
	if s.run.Proofs == nil {
		s.run.Proofs = map[string]int{}
	}
	s.run.Proofs[s.steps[i].Role]++
}

// refuseForce refuses a word on who does a step that no agent can heed.
func (s *State) refuseForce(c Command) error {
	i, err := s.refuseStep(c)
	switch {
	case err != nil:
		return err
	case s.prog.Step(i).Kind != Agent:
		return refuse(Invalid, fmt.Sprintf("step %q is not done by an agent", c.Step))
	case !s.prog.candidate(c.Role):
		var roles []string
		for _, a := range s.prog.def.Agents {
			roles = append(roles, a.Role)
		}
		return refuse(Invalid, fmt.Sprintf("no agent %q that could do the step was configured and installed when the plan was approved", c.Role), Choose, strings.Join(roles, ", "))
	case s.steps[i].satisfied():
		return refuse(Conflict, fmt.Sprintf("step %q is %s", c.Step, s.steps[i].Status), RetryFrom, c.Step, s.run.Opened.Run)
	}
	return nil
}

func (s *State) applyForce(c Command) error {
	i, err := s.find(c.Step)
	if err != nil {
		return err
	}
	if s.prog.Step(i).Kind != Agent || !s.prog.candidate(c.Role) {
		return fmt.Errorf("step %q is forced on %q", c.Step, c.Role)
	}
	s.change(i, func(st *step) { st.Forced = &forced{Role: c.Role, By: c.By, Why: c.Why} })
	for _, n := range s.prog.Instances(i) {
		s.show(n)
	}
	return nil
}

// doer is who does the step, or did: nobody where that is still open.
func (s *State) doer(i int) string {
	st, p := &s.steps[i], s.prog.Step(i)
	f := s.force(i)
	switch {
	case p.Kind != Agent:
		return p.Role
	case st.Live || st.settled() && st.Role != "":
		return st.Role
	case f != nil:
		return f.Role
	case st.Role == "" && p.open() && len(s.prog.def.Agents) > 1:
		return ""
	case st.Role == "":
		return p.Role
	}
	return st.Role
}

// relieved reports whether another agent can take over from the one that could not be
// run.
func (s *State) relieved(i int, now time.Time) bool {
	st := &s.steps[i]
	if s.prog.Step(i).Kind != Agent || st.Ended == nil || endVerdict(st.Ended) != Infra && !s.hindered(i) {
		return false
	}
	next := s.picks(i, now).role
	return next != st.Role && !s.down(next, now)
}
