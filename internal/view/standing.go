package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
)

// Document is the run with its steps, for programs.
func (s Standing) Document(workspace string) Run {
	d := s.By.RunOf(s.Head, workspace, s.Now)
	d.Worktree, d.Steps = s.Place, stepDocuments(s)
	return d
}

// Carried is which runs a process carries on now.
type Carried struct {
	Streams []string
	All     bool // as far as one can know
}

// On reports whether a process carries the run on.
func (c Carried) On(h engine.HeadRow) bool { return !h.Ended && c.Stream(h.Stream) }

func (c Carried) Stream(name string) bool { return c.All || slices.Contains(c.Streams, name) }

// Stands is what the rows of runs do not say of how these stand: which of them a
// process carries on, and for which people are asked something.
type Stands struct {
	Carried
	Asks map[string][]engine.ItemRow // by run: open items of its own, and of the runs that carry out its steps
}

// Of is how people see a run.
func (s Stands) Of(h engine.HeadRow) engine.Status {
	switch is := h.Shown(); {
	case is != engine.Running && is != engine.Replanning:
		return is
	case len(s.Asks[h.Run]) > 0:
		return engine.Waiting
	case s.On(h):
		return is
	}
	return Interrupted
}

// Shown is how people see a run: where it is done, also whether all of that is proven.
func (s Stands) Shown(h engine.HeadRow) engine.Status {
	if is := s.Of(h); is != engine.Done || h.Unproven == 0 {
		return is
	}
	return DoneUnproven
}

// Open is how many items a run waits for.
func (s Stands) Open(h engine.HeadRow) int { return max(h.Open, len(s.Asks[h.Run])) }

// Standing is a run as status shows it.
type Standing struct {
	Head    engine.HeadRow
	Steps   []engine.StepRow
	Items   []engine.ItemRow    // open ones of this run, and of those under it
	Under   []engine.HeadRow    // runs that carry out its steps, and of those, the newest first
	Below   map[string]Standing // by step: the newest run that carries it out
	Carried bool                // a process carries it on
	By      Stands              // how it stands, and those under it
	Other   *api.Proposal       // what its plan document proposes, nil for nothing
	Newest  bool                // no later run of its plan took its place
	Now     time.Time
	Loops   map[string]*api.Loop // by step
	Said    map[string]Said      // by step: how far the attempt under way says it is
	Place   *Worktree            // the run's worktree, nil for none
}

// Adrift reports whether the run could go on and nobody carries it on.
func (s Standing) Adrift() bool { return !s.Head.Ended && !s.Carried }

// Shown is how people see a step. It waits where what carries it out asks somebody; it is interrupted
// where nobody carries it on, and ready if nothing of it has begun; nothing comes of it any more where
// the run has ended. Where it is done, it is said whether that is proven.
func (s Standing) Shown(st engine.StepRow) (engine.Status, engine.Phase) {
	unsettled := slices.Contains([]engine.Status{engine.Pending, engine.Ready, engine.Running, engine.Blocked}, st.Status)
	running := st.Status == engine.Running
	switch {
	case s.Head.Ended && (st.Status == engine.Waiting || s.Head.Status == engine.Cancelled && unsettled):
		return engine.Cancelled, ""
	case running && s.Asks(st.ID):
		return engine.Waiting, ""
	case running && s.Adrift() && st.Phase == engine.Baseline && st.Started.IsZero():
		return engine.Ready, ""
	case running && s.Adrift():
		return Interrupted, ""
	case bare(st):
		return DoneUnproven, st.Phase
	}
	return st.Status, st.Phase
}

// Child is the newest run that carries out a step.
func (s Standing) Child(step string) (engine.HeadRow, bool) {
	for _, h := range s.Under {
		if h.Parent.Run == s.Head.Run && h.Parent.Step == step {
			return h, true
		}
	}
	return engine.HeadRow{}, false
}

// Asks reports whether a person is asked by what carries a step out: a run, or
// instances of the step.
func (s Standing) Asks(step string) bool {
	mine := func(id string) bool {
		of, instance := engine.InstanceOf(id)
		return id == step || instance && of == step
	}
	for id, child := range s.Below {
		if mine(id) && s.By.Of(child.Head) == engine.Waiting {
			return true
		}
	}
	return slices.ContainsFunc(s.By.Asks[s.Head.Run], func(it engine.ItemRow) bool { return it.Run == s.Head.Run && mine(it.Step) })
}

// Advice is a command that a person can give as it is written here.
type Advice struct {
	Word    string // next; then, which follows it; or, which is another choice
	Command string
}

// Next is what a person can do now.
func (s Standing) Next() []Advice {
	h := s.Head
	log := []Advice{{"next", "piton log " + h.Run}}
	unproven, hasUnproven := firstUnproven(s.Steps)
	switch {
	case h.Branch.Waits && h.Branch.Name != "" && s.Newest:
		return []Advice{{"next", "piton land " + h.Run}}
	case h.Status == engine.Cancelled && s.Newest && h.Parent.Run == "" && h.Path != "":
		return []Advice{{"next", "piton run " + engine.ShellWord(h.Path)}, {"or", log[0].Command}}
	case h.Ended && h.Status == engine.Done && hasUnproven:
		next := []Advice{{"next", fmt.Sprintf("piton why %s --run %s", unproven.ID, h.Run)}}
		if s.Vouches(unproven) {
			next = append(next, Advice{"or", fmt.Sprintf("piton vouch %s --run %s", unproven.ID, h.Run)})
		}
		return next
	case h.Ended && h.Status != engine.Failed, h.Ended && h.Parent.Run != "":
		return log
	case h.Ended:
		return s.again(log)
	case len(s.Items) > 0 && s.Items[0].Starved:
		return []Advice{{"next", "piton resume " + h.Run}, {"or", "piton inbox " + s.Items[0].Item}}
	case len(s.Items) > 0:
		return []Advice{{"next", "piton inbox " + s.Items[0].Item}}
	case h.Status == engine.Paused, !s.Carried:
		return []Advice{{"next", "piton resume " + h.Run}}
	}
	return []Advice{{"next", "piton watch " + h.Run}}
}

// Vouches reports whether a person may say that what a step changed is its work.
func (s Standing) Vouches(row engine.StepRow) bool {
	return row.Bond.Leans && s.Newest && s.Head.Status != engine.Cancelled && (s.Head.Parent.Run == "" || !s.Head.Ended)
}

// again is what can be done about a run that has failed.
func (s Standing) again(log []Advice) []Advice {
	do := func(verb, step string) string {
		return fmt.Sprintf("piton %s %s --run %s && piton resume %s", verb, step, s.Head.Run, s.Head.Run)
	}
	failed, hasFailed := firstFailed(s.Steps)
	skipped, isForgone := forgone(s)
	if hasFailed {
		log[0].Command += " " + failed.ID
	}
	switch {
	case hasFailed && s.Newest:
		return append(log, Advice{"then", do("retry", failed.ID)})
	case !hasFailed && isForgone && s.Newest:
		return []Advice{{"next", do("skip", skipped.ID)}, {"or", do("retry", skipped.ID)}}
	}
	return log
}

// forgone is the skipped step that the run failed because of.
func forgone(s Standing) (engine.StepRow, bool) {
	i := slices.IndexFunc(s.Steps, func(st engine.StepRow) bool { return st.Status == engine.Skipped && st.Ends() == s.Head.Reason })
	if i < 0 {
		return engine.StepRow{}, false
	}
	return s.Steps[i], true
}

func firstUnproven(steps []engine.StepRow) (engine.StepRow, bool) {
	i := slices.IndexFunc(steps, func(st engine.StepRow) bool { return bare(st) && !st.Bond.Parts })
	if i < 0 { // of a step for each of no items
		i = slices.IndexFunc(steps, bare)
	}
	if i < 0 {
		return engine.StepRow{}, false
	}
	return steps[i], true
}

func firstFailed(steps []engine.StepRow) (engine.StepRow, bool) {
	first, found := engine.StepRow{}, false
	for _, st := range steps {
		if st.Status != engine.Failed && st.Status != engine.Waiting {
			continue
		}
		if pattern, _ := engine.InstanceOf(st.ID); found && pattern == first.ID {
			return st, true // because of which the step failed
		}
		if !found {
			first, found = st, true
		}
	}
	return first, found
}

// bare reports whether a step is done without a proof.
func bare(st engine.StepRow) bool { return st.Status == engine.Done && !st.Proven }

// Above names the step that a run carries out, and the item that the step is for.
func Above(p engine.Parent) string {
	if p.Item == "" {
		return p.Step
	}
	return fmt.Sprintf("%s (%s)", p.Step, p.Item)
}

// Worktree is the worktree of a run.
type Worktree struct {
	Dir    string `json:"dir"`
	Branch string `json:"branch"`
}
