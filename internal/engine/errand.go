package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrandAsked asks for work of the workspace that is no step of a run, such as a
// plan to be made of a request.
type ErrandAsked struct {
	Errand  string   `json:"errand"`
	Kind    WorkKind `json:"kind"`
	Request string   `json:"request"`          // object: the whole question, as it is put to whoever does the work
	Source  string   `json:"source,omitempty"` // object: the text of the plan that it is about
	Step    string   `json:"step,omitempty"`   // the only one that may change of that
	Why     string   `json:"why,omitempty"`    // it is to change, in a person's words
	// Contracts are the steps of that which get one. Nothing else of it may change, and no
	// revision comes of it.
	Contracts []string `json:"contracts,omitempty"`
	Intent    string   `json:"intent,omitempty"`   // that it is for
	Memories  []string `json:"memories,omitempty"` // names of those that the question has
	// Path is that of the document which is to have the plan; of a directory, with a
	// slash at its end, where the plan's title names it; "" for none.
	Path   string `json:"path,omitempty"`
	Run    string `json:"run,omitempty"`    // that it looks back at
	Config string `json:"config,omitempty"` // hash of the configuration of that
	By     string `json:"by"`
}

// ErrandDropped ends an errand that nobody wants any more.
type ErrandDropped struct {
	Errand string `json:"errand"`
	By     string `json:"by"`
}

// Errand asks for work of the workspace, with the intent where that is new.
type Errand struct {
	ErrandAsked
	Intent *IntentOpened
}

// Withdraw takes an errand back.
type Withdraw struct{ ErrandDropped }

// ErrandRow is what is known of one errand.
type ErrandRow struct {
	Seq       uint64 // of the record that asked for it
	Asked     ErrandAsked
	Ended     *WorkEnded // nil while it is under way
	Withdrawn string     // who withdrew it
	Plan      string     // id of the revision that came of it
	Heard     []WorkHeard
}

// Over reports whether nothing more comes of the errand.
func (r ErrandRow) Over() bool { return r.Ended != nil || r.Withdrawn != "" }

// Usage is what the errand used so far.
func (r ErrandRow) Usage() Usage {
	if r.Ended != nil {
		return r.Ended.Usage.least(heardUsage(r.Heard))
	}
	return heardUsage(r.Heard)
}

// errand is one that was asked for and has not ended. Its work is dispatched and
// ends like that of a step, by the id of the errand, in attempt 1.
type errand struct {
	Asked ErrandAsked
	N     int    // dispatches
	Lost  int    // of them lost with their owner
	Epoch uint64 // of the live dispatch; 0: nothing is under way
	Heard []WorkHeard
}

func (e errand) key() Key {
	return Key{Task: WorkspaceStream, Step: e.Asked.Errand, Attempt: 1, Kind: e.Asked.Kind.Effect(), N: e.N}
}

func (e errand) ended(how How, reason string) WorkEnded {
	return WorkEnded{Step: e.Asked.Errand, Attempt: 1, N: e.N, Kind: e.Asked.Kind, How: how, Reason: reason}
}

// Live reports whether the workspace has work of its own to do.
func (w *Workspace) Live() bool { return len(w.errands) > 0 }

// Decide returns the facts that follow: what an owner before this one had under
// way is lost, and what is asked for is dispatched. It changes nothing.
func (w *Workspace) Decide(time.Time) (facts []Event) {
	for _, e := range w.errands {
		switch e.Epoch {
		case 0:
			facts = append(facts, WorkDispatched{Step: e.Asked.Errand, Attempt: 1, N: e.N + 1, Kind: e.Asked.Kind, Prompt: e.Asked.Request})
		case w.epoch:
		default:
			end := e.ended(Lost, "its owner stopped")
			end.Usage = heardUsage(e.Heard)
			facts = append(facts, end)
		}
	}
	return facts
}

// Pending names what should be running now.
func (w *Workspace) Pending() (keys []Key) {
	for _, e := range w.errands {
		if w.Wants(e.key()) {
			keys = append(keys, e.key())
		}
	}
	return keys
}

// Wants reports whether the effect of this key should be running now.
func (w *Workspace) Wants(k Key) bool {
	e := w.errand(k.Step)
	return e != nil && e.Epoch != 0 && e.Epoch == w.epoch && k == e.key()
}

// Effect is what is to be done for a key that [Workspace.Wants].
func (w *Workspace) Effect(k Key) Effect {
	e := w.errand(k.Step)
	return Effect{Key: k, Work: e.Asked.Kind, Prompt: e.Asked.Request, Answers: e.Heard}
}

// Errand finds an errand by its id, also one that is over.
func (w *Workspace) Errand(id string) (ErrandRow, bool) {
	r, ok := w.asked[id]
	return r, ok
}

// Errands calls yield for every errand, the newest first, until it returns false.
func (w *Workspace) Errands(yield func(ErrandRow) bool) {
	for _, id := range slices.Backward(w.sought) {
		if !yield(w.asked[id]) {
			return
		}
	}
}

// errand finds one that has not ended.
func (w *Workspace) errand(id string) *errand {
	n := slices.IndexFunc(w.errands, func(e errand) bool { return e.Asked.Errand == id })
	if n < 0 {
		return nil
	}
	return &w.errands[n]
}

func (w *Workspace) admitErrand(in Errand) ([]Event, error) {
	switch {
	case in.ErrandAsked.Errand == "" || in.By == "":
		return nil, refuse(Invalid, "an errand needs an id and the name of who asks")
	case w.asked[in.ErrandAsked.Errand].Asked.Errand != "":
		return nil, refuse(Conflict, "errand "+in.ErrandAsked.Errand+" exists already")
	case in.Kind == ExtractWork && in.Run != "" && in.By == Harness:
	case in.Kind != PlanWork && in.Kind != ReviewWork:
		return nil, refuse(Invalid, fmt.Sprintf("work of the kind %q is no errand", in.Kind))
	case in.Kind == ReviewWork && in.Source == "":
		return nil, refuse(Invalid, "a review needs the text that is to be read")
	}
	for _, e := range w.errands {
		if other := e.Asked; in.ErrandAsked.repeats(other) {
			return nil, refuse(Conflict, "errand "+other.Errand+" asks the same already")
		} else if in.ErrandAsked.claims(other) {
			return nil, refuse(Conflict, fmt.Sprintf("a plan for %s is being made already, for the request of errand %s", other.Path, other.Errand), NameOther)
		}
	}
	if in.Intent == nil {
		return []Event{in.ErrandAsked}, nil
	}
	if in.Intent.ID == "" || in.Intent.ID != in.ErrandAsked.Intent || w.intents[in.Intent.ID].ID != "" {
		return nil, refuse(Conflict, fmt.Sprintf("errand %s is for intent %q, which is not the new one %q", in.ErrandAsked.Errand, in.ErrandAsked.Intent, in.Intent.ID))
	}
	return []Event{*in.Intent, in.ErrandAsked}, nil
}

// repeats reports whether both put the same question for the same person.
func (a ErrandAsked) repeats(b ErrandAsked) bool {
	return a.Request != "" && a.Kind == b.Kind && a.Request == b.Request && a.Source == b.Source && a.Path == b.Path && a.By == b.By
}

// claims reports whether both are to make the same new document, which only one can.
func (a ErrandAsked) claims(b ErrandAsked) bool {
	return a.Kind == PlanWork && b.Kind == PlanWork && a.Source == "" && b.Source == "" && a.Path == b.Path && a.Path != "" && !strings.HasSuffix(a.Path, "/")
}

func (w *Workspace) admitWithdraw(in ErrandDropped) ([]Event, error) {
	if in.By == "" {
		return nil, refuse(Invalid, "an errand is withdrawn in somebody's name")
	}
	if w.errand(in.Errand) == nil {
		return nil, refuse(Conflict, "errand "+in.Errand+" is not under way")
	}
	return []Event{in}, nil
}

func (w *Workspace) admitEnded(in Ended) ([]Event, error) {
	e := w.errand(in.Key.Step)
	switch {
	case !w.Wants(in.Key):
		return nil, refuse(Conflict, in.Key.String()+" is not under way")
	case !in.How.known() || in.How == Lost: // only the core says that work is lost
		return nil, refuse(Invalid, fmt.Sprintf("%s cannot end by %q", in.Key, in.How))
	}
	end := in.WorkEnded
	end.Step, end.Attempt, end.N, end.Kind = in.Key.Step, 1, e.N, e.Asked.Kind
	end.Reason = text(end.Reason)
	if end.Kind == ExtractWork {
		items, err := e.Asked.proposals(in.Memories)
		if err != nil {
			end.Reason = text(err.Error())
		}
		return append([]Event{end}, items...), nil
	}
	if in.Draft == nil || e.Asked.Kind == ReviewWork { // who reads a plan writes none
		return []Event{end}, nil
	}
	d, fresh := w.Undrafted(*in.Draft)
	d.Errand = end.Step
	drafted, err := w.admitDraft(d)
	if !fresh || err != nil {
		// The plan stands in the output all the same. To refuse the end would have the
		// work done once more.
		return []Event{end}, nil //nolint:nilerr // there is no revision of it
	}
	return append([]Event{end}, drafted...), nil
}

// applyErrand folds what happens to errands.
func (w *Workspace) applyErrand(ev Event, r Record) error {
	switch ev := ev.(type) {
	case ErrandAsked:
		if _, twice := w.asked[ev.Errand]; twice {
			return fmt.Errorf("errand %s is asked for twice", ev.Errand)
		}
		w.sought = append(w.sought, ev.Errand)
		w.keep(ErrandRow{Seq: r.Seq, Asked: ev})
		w.errands = append(w.errands, errand{Asked: ev})
	case WorkDispatched:
		e := w.errand(ev.Step)
		if e == nil || e.Epoch != 0 || ev.N != e.N+1 || ev.Kind != e.Asked.Kind {
			return fmt.Errorf("%s work %q.%d is dispatched, which nobody asked for", ev.Kind, ev.Step, ev.N)
		}
		e.N, e.Epoch = ev.N, r.Epoch
	case WorkEnded:
		e := w.errand(ev.Step)
		if e == nil || e.Epoch == 0 || ev.N != e.N || !ev.How.known() {
			return fmt.Errorf("work %q.%d ended by %q, which is not under way", ev.Step, ev.N, ev.How)
		}
		w.endErrand(e, ev)
	case ErrandDropped:
		if w.errand(ev.Errand) == nil {
			return fmt.Errorf("errand %s is withdrawn, which is not under way", ev.Errand)
		}
		row := w.asked[ev.Errand]
		row.Withdrawn = ev.By
		w.closeErrand(row)
	}
	return nil
}

// keep takes what is known of an errand now.
func (w *Workspace) keep(row ErrandRow) {
	w.asked[row.Asked.Errand] = row
	w.touch(ErrandKept, row.Asked.Errand)
}

// closeErrand takes an errand that is over from those that are not.
func (w *Workspace) closeErrand(row ErrandRow) {
	w.keep(row)
	w.errands = slices.DeleteFunc(w.errands, func(o errand) bool { return o.Asked.Errand == row.Asked.Errand })
}

// endErrand takes the end of an errand's work. What was cut off is dispatched
// again, but not for ever where it may be what ends its owner.
func (w *Workspace) endErrand(e *errand, end WorkEnded) {
	e.Epoch = 0
	if end.How == Lost {
		e.Lost++
	}
	if end.How == Stopped || end.How == Lost && e.Lost < maxLost {
		return
	}
	row := w.asked[e.Asked.Errand]
	row.Ended = &end
	w.closeErrand(row)
}
