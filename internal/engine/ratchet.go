package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// proof is the proof at the end of a run: rounds in which the checks of all steps
// are asked again, until one holds in which no check took back what another one
// had seen.
//
// The tree is looked at before and after a round. If nothing was touched, the
// round holds. Else there is another one, so that every check is asked after
// whatever the others do, and what was touched is watched: the round holds if it
// touches nothing new, unless checks changed a path and it is as it was before.
type proof struct {
	Round     int    // rounds begun
	Stage     stage  `json:",omitzero"`
	Left      []int  `json:",omitempty"` // steps that the round has still to prove, ascending
	Regressed int    `json:",omitzero"`  // in this round
	Counts    []int  `json:",omitempty"` // of regressions, by round that ended with any
	Holds     bool   `json:",omitzero"`  // the last round found nothing, and nothing ran since
	Brought   bool   `json:",omitzero"`  // the run's worktree got something that was not proved there
	By        int    `json:",omitzero"`  // the step in whose place the tree is looked at
	Tree      string `json:",omitzero"`  // object: the tree before the round
	Again     int    `json:",omitzero"`  // rounds because checks had touched something
	// Seen lists what rounds touched since the last work, Watch what is watched in
	// this one, Altered what checks changed of it, and Undone what they change back
	// and forth.
	Seen    []string           `json:",omitempty"`
	Watch   []string           `json:",omitempty"`
	Altered map[string]altered `json:",omitempty"`
	Undone  string             `json:",omitzero"`
}

// stage is what a round is about.
type stage string

const (
	noRound stage = ""
	before  stage = "before" // the tree is looked at
	proving stage = "proving"
	after   stage = "after" // the tree is looked at
)

// altered is what checks made of a path in a round.
type altered struct {
	Was, Is string
	By      []string // ids of the steps
}

// stale says that something is at work: what holds now may hold no more.
func (p *proof) stale() { p.Holds, p.Again, p.Undone, p.Seen = false, 0, "", nil }

// maxAgain is how many more rounds there are because checks touch what they had
// not touched before.
const maxAgain = 3

// reset forgets the round under way.
func (p *proof) reset() {
	p.Watch = nil
	p.Stage, p.Left, p.Holds, p.Regressed, p.Altered = noRound, nil, false, 0, nil
}

// Alteration is a path that a check changed.
type Alteration struct {
	Path string `json:"path"`
	Was  string `json:"was"` // digests
	Is   string `json:"is"`
}

// Surveyed answers a Survey effect.
type Surveyed struct {
	Key     Key
	Tree    string   // before a round: object that the look after it is compared with
	Touched []string // what was written to: in the round, or so shortly before it that more writing would not be seen
	Err     string   // why the tree could not be looked at
	CaughtUp
}

// TreeSurveyed says what a look at the tree before or after a round found. A path
// that ends in / is the list of what a directory holds, one in /** all below it.
type TreeSurveyed struct {
	Step     string   `json:"step"` // in whose place it was looked at
	Round    int      `json:"round"`
	After    bool     `json:"after,omitempty"`
	Tree     string   `json:"tree,omitempty"` // object
	Touched  []string `json:"touched,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	CaughtUp          // before the round
}

// round ends the round that is over and begins the next one where it is due. It
// reports whether there is one that goes on.
func (s *State) round() bool {
	p := &s.run.Proof
	for {
		s.endRound()
		if !s.free() {
			return false
		}
		s.beginRound()
		s.fillRound()
		if p.Stage != proving || len(s.active) > 0 {
			return p.Stage != noRound
		}
	}
}

// beginRound begins proving everything again once all steps are satisfied, and
// so nothing runs. It looks at all steps, once a round.
func (s *State) beginRound() {
	r := &s.run.Proof
	if s.undone() > 0 || r.Stage != noRound || !s.owes() {
		return
	}
	r.Round++
	r.reset()
	for i := range s.steps {
		if p := s.prog.Step(i); s.steps[i].Status == Done && p.Each == nil && p.Holds && p.Rerunnable && p.Checkable() {
			r.Left = append(r.Left, i)
		}
	}
	switch len(r.Left) {
	case 0:
		s.provenAll(true)
	case 1: // no other check can take anything back
		r.Stage, r.Tree = proving, ""
	default:
		r.Stage, r.By = before, r.Left[0]
	}
}

func (s *State) fillRound() {
	r := &s.run.Proof
	for r.Stage == proving && len(s.active) < s.proofs() && len(r.Left) > 0 {
		i := r.Left[0]
		r.Left = r.Left[1:]
		if s.steps[i].Status == Done && s.steps[i].Order == nil {
			s.steps[i].Infra = 0
			s.start(i, Ratchet)
		}
	}
}

// proofs is how many steps may be proved at once: one after the other, where it
// matters which of them changed what is watched.
func (s *State) proofs() int {
	if r := &s.run.Proof; r.Again > 0 || r.Tree == "" {
		return 1
	}
	return s.room()
}

// surveys is the look at the tree that the round needs.
func (s *State) surveys() (Key, bool) {
	r := &s.run.Proof
	if r.Stage != before && r.Stage != after || !s.free() {
		return Key{}, false
	}
	n := 2 * r.Round
	if r.Stage == before {
		n--
	}
	return Key{Task: s.task, Run: s.run.Opened.Run, Step: s.prog.Step(r.By).ID, Attempt: s.steps[r.By].Attempt, Kind: Survey, N: n}, true
}

func (s *State) admitSurveyed(in Surveyed) ([]Event, error) {
	if k, ok := s.surveys(); !ok || in.Key != k {
		return nil, refuse(Conflict, in.Key.String()+" is not wanted")
	}
	r := &s.run.Proof
	if in.Err != "" {
		in.Tree, in.Touched = "", []string{"./**"} // watch everything, then
	}
	return []Event{TreeSurveyed{Step: in.Key.Step, Round: r.Round, After: r.Stage == after, Tree: in.Tree, Touched: texts(in.Touched), Reason: text(in.Err), CaughtUp: in.CaughtUp}}, nil
}

func (s *State) applySurveyed(e TreeSurveyed) error {
	r := &s.run.Proof
	if k, ok := s.surveys(); !ok || e.Step != k.Step || e.Round != r.Round || e.After != (r.Stage == after) {
		return fmt.Errorf("the tree was looked at for round %d, and nobody wanted that", e.Round)
	}
	if e.After {
		s.closeRound(e.Touched)
	} else {
		s.caughtUp(e.CaughtUp)
		r.Stage, r.Tree, r.Watch = proving, e.Tree, union(r.Seen, e.Touched)
	}
	return nil
}

// union has what is in either list, each once.
func union(a, b []string) []string { return sorted(slices.Concat(a, b)) }

// closeRound ends a round in which everything passed, and which touched something.
func (s *State) closeRound(touched []string) {
	r := &s.run.Proof
	r.Undone = r.backAndForth()
	seen := union(r.Seen, slices.AppendSeq(slices.Clip(touched), maps.Keys(r.Altered)))
	fresh := len(seen) > len(r.Seen)
	r.reset()
	r.Seen = seen
	switch {
	case r.Undone != "":
	case fresh && r.Again < maxAgain:
		r.Again++
	default:
		s.provenAll(true)
	}
}

// alter notes what a check of step i changed of what is watched.
func (s *State) alter(i int, changes []Alteration) {
	if len(changes) == 0 {
		return
	}
	all := maps.Clone(s.run.Proof.Altered)
	if all == nil {
		all = map[string]altered{}
	}
	for _, c := range changes {
		a, known := all[c.Path]
		if !known {
			a.Was = c.Was
		}
		a.Is, a.By = c.Is, append(slices.Clip(a.By), s.prog.Step(i).ID)
		all[c.Path] = a
	}
	s.run.Proof.Altered = all
}

// backAndForth says what checks changed, and changed back: the tree is as it was
// before the round, and none of them can have held all the while.
func (p *proof) backAndForth() string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(p.Altered)) {
		if a := p.Altered[path]; a.Was == a.Is {
			list = append(list, fmt.Sprintf("%s by %s", path, strings.Join(a.By, ", ")))
		}
	}
	return strings.Join(list, "; ")
}

// proved takes the answer of a step in a round. One that still holds was done
// and stays done; for any other its settling follows.
func (s *State) proved(i int, v Verdict) {
	if v != Pass {
		return
	}
	s.release(i)
	s.change(i, func(st *step) {
		st.Verdict, st.Reason, st.Missed = Pass, s.remark(i), missed(st.Checks) != ""
		st.become(NoPhase)
	})
}

func (s *State) endRound() {
	r := &s.run.Proof
	switch {
	case r.Stage != proving || len(r.Left) > 0 || len(s.active) > 0:
	case r.Regressed > 0:
		r.Counts = append(r.Counts, r.Regressed)
		r.Stage, r.Altered = noRound, nil
		for i := range s.steps {
			if s.steps[i].Status == Waiting { // it may be asked about now
				s.touch(i)
			}
		}
	case r.Tree == "": // nothing to compare with
		s.closeRound(nil)
	default:
		r.Stage = after
	}
}

// diverging: three rounds on end did not bring the regressions down.
func (s *State) diverging() bool {
	c := s.run.Proof.Counts
	n := len(c)
	return n >= 3 && c[n-1] >= c[n-2] && c[n-2] >= c[n-3]
}

// lastRound reports whether a round is under way that the run may end with as
// not converging: what a person would be asked of it nobody could answer.
func (s *State) lastRound() bool {
	c := s.run.Proof.Counts
	n := len(c)
	return s.run.Proof.Stage != noRound && n >= 2 && c[n-1] >= c[n-2]
}

// regress lets a step that was done begin again. What the round saw stands for
// the baseline of the new attempt.
func (s *State) regress(st *step, e StepSettled) {
	st.Feedback, st.Restore = feedback(st), restore(st)
	st.become(NoPhase)
	st.fresh()
	st.anew()
	st.Attempt++
	st.Tries, st.Again = 0, true
	st.HasBase = true
	if e.Verdict == Fail {
		st.Baseline = Fail
	}
	st.Status, st.Proven, st.Started, st.Finished = Regressed, false, time.Time{}, time.Time{}
	s.run.Proof.Regressed++
}
