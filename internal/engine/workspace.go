package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// ByPolicy is who says yes where the configuration does.
const ByPolicy = "policy"

// planApprovalLife is how long a plan's approval may wait for its run.
const planApprovalLife = 24 * time.Hour

// Workspace is the fold of a workspace's stream: what exists without a task.
// The zero value is an empty stream. It is not safe for concurrent use.
type Workspace struct {
	seq     uint64
	epoch   uint64
	intents map[string]IntentOpened
	plans   map[string]*Revision
	order   []*Revision       // as they were drafted
	paths   map[string]string // path of a document → its newest revision
	heads   map[string]string // intent → its newest revision
	files   map[string]string // intent → the revision whose text its file has, as far as that was written or read
	shelf   map[string]bool   // runs that are archived
	errands []errand          // that have not ended, as they were asked for
	asked   map[string]ErrandRow
	sought  []string           // ids of all errands, as they were asked for
	items   map[string]ItemRow // open ones
	shown   map[string]ItemRow // opened or closed since the rows were taken
	changed map[thing]bool     // since then
	adopted []Adoption
	trusted map[string]bool // hashes of configurations that a person said yes to
}

// Revision is what is known of one revision of a plan.
type Revision struct {
	Seq      uint64
	Drafted  PlanDrafted
	At       time.Time
	Verified PlanVerified
	Answer   *PlanAnswered // the newest
	Answered time.Time
	Filed    bool       // its document had this text
	Answers  []Answered `json:"-"` // every one, in order; a row has none
}

// Answered is an answer to a revision, and when it was given.
type Answered struct {
	PlanAnswered
	At time.Time
}

// Rejected reports whether somebody said no to the revision; nobody did to nil.
func (r *Revision) Rejected() bool { return r != nil && r.Answer != nil && !r.Answer.Yes }

// Seq is the sequence number of the last record applied.
func (w *Workspace) Seq() uint64 { return w.seq }

// Clone returns a copy that goes its own way. It costs a pass over all plans.
func (w *Workspace) Clone() *Workspace {
	c := &Workspace{seq: w.seq, epoch: w.epoch, intents: maps.Clone(w.intents), paths: maps.Clone(w.paths), changed: maps.Clone(w.changed), shelf: maps.Clone(w.shelf)}
	c.errands, c.asked, c.sought = slices.Clone(w.errands), maps.Clone(w.asked), slices.Clone(w.sought)
	c.items, c.shown, c.adopted = maps.Clone(w.items), maps.Clone(w.shown), slices.Clip(w.adopted)
	c.heads, c.files, c.trusted = maps.Clone(w.heads), maps.Clone(w.files), maps.Clone(w.trusted)
	if w.plans != nil {
		c.plans = make(map[string]*Revision, len(w.plans))
	}
	for _, r := range w.order {
		own := *r
		own.Answers = slices.Clip(own.Answers)
		c.plans[own.Drafted.Plan] = &own
		c.order = append(c.order, &own)
	}
	return c
}

// Revision finds a revision by its id.
func (w *Workspace) Revision(id string) (*Revision, bool) {
	r, ok := w.plans[id]
	return r, ok
}

// Undrafted is a draft with its intent as the stream can take it: without the
// intent that it knows, and each under an id that no other text has. False says
// that it has the revision.
func (w *Workspace) Undrafted(d Draft) (Draft, bool) {
	if d.Intent != nil {
		intent := *d.Intent
		for n := 2; w.intents[intent.ID].ID != "" && w.intents[intent.ID].Prompt != intent.Prompt; n++ {
			intent.ID = fmt.Sprintf("%s-%d", d.Intent.ID, n)
		}
		d.Intent, d.PlanDrafted.Intent = &intent, intent.ID
	}
	id := d.Plan
	for n := 2; w.plans[d.Plan] != nil; n++ {
		if was := w.plans[d.Plan].Drafted; was.Source == d.Source && was.Intent == d.PlanDrafted.Intent {
			return d, false
		}
		d.Plan = fmt.Sprintf("%s-%d", id, n)
	}
	if _, known := w.intents[d.PlanDrafted.Intent]; known {
		d.Intent = nil
	}
	return d, true
}

// Head finds the newest revision of an intent, wherever its document was.
func (w *Workspace) Head(intent string) (*Revision, bool) {
	return w.Revision(w.heads[intent])
}

// InFile finds the revision whose text the document of an intent had when Piton wrote or
// read it last.
func (w *Workspace) InFile(intent string) (*Revision, bool) {
	return w.Revision(w.files[intent])
}

// Intents calls yield for every intent, in the order of their ids, until it returns
// false.
func (w *Workspace) Intents(yield func(IntentOpened) bool) {
	for _, id := range slices.Sorted(maps.Keys(w.intents)) {
		if !yield(w.intents[id]) {
			return
		}
	}
}

// Follows is a draft as the revision that follows the newest one of its intent.
func (w *Workspace) Follows(d Draft) Draft {
	newest, ok := w.Head(d.PlanDrafted.Intent)
	if !ok {
		return d
	}
	was := newest.Drafted
	base := strings.TrimSuffix(d.Plan, fmt.Sprintf("-v%d", d.Version))
	if d.Previous != was.Plan || w.plans[d.Plan] != nil {
		for d.Version = was.Version + 1; w.plans[fmt.Sprintf("%s-v%d", base, d.Version)] != nil; d.Version++ {
		}
		d.Plan = fmt.Sprintf("%s-v%d", base, d.Version)
	}
	d.Previous, d.Path, d.Intent = was.Plan, was.Path, nil
	return d
}

// Newest finds the newest revision of the document at path.
func (w *Workspace) Newest(path string) (*Revision, bool) {
	return w.Revision(w.paths[path])
}

// Revisions calls yield for every revision, in the order they were drafted,
// until it returns false.
func (w *Workspace) Revisions(yield func(*Revision) bool) {
	for _, r := range w.order {
		if !yield(r) {
			return
		}
	}
}

// waits reports whether the revision waits for approval: of a document only the text
// that it has does, or the newest where nobody has seen one there.
func (w *Workspace) waits(r *Revision) bool {
	d := r.Drafted
	newest, ok := w.Newest(d.Path)
	if !ok || newest.Drafted.Intent != d.Intent || cmp.Or(w.files[d.Intent], newest.Drafted.Plan) != d.Plan {
		return false
	}
	return d.Parent == "" && d.Run == "" && d.Path != "" && r.Answer == nil && r.Verified.OK
}

// file notes that the document of a revision has its text.
func (w *Workspace) file(r *Revision) {
	r.Filed = true
	w.touch(PlanKept, w.files[r.Drafted.Intent])
	w.files[r.Drafted.Intent] = r.Drafted.Plan
	w.touch(PlanKept, r.Drafted.Plan)
}

func (w *Workspace) admitFiled(in PlanFiled) ([]Event, error) {
	r, ok := w.plans[in.Plan]
	switch {
	case !ok:
		return nil, refuse(NotFound, "no plan "+in.Plan)
	case in.By == "" || r.Drafted.Path == "":
		return nil, refuse(Invalid, "a text is that of a file, and somebody wrote it there or read it", "")
	case w.files[r.Drafted.Intent] == in.Plan:
		return nil, nil
	}
	return []Event{in}, nil
}

// Rows returns what changed in the projections since it was last called, and
// forgets it. It is bookkeeping for the store and no part of the state.
func (w *Workspace) Rows() Rows {
	rows := Rows{Items: slices.Collect(maps.Values(w.shown))}
	slices.SortFunc(rows.Items, func(a, b ItemRow) int { return cmp.Compare(a.Item, b.Item) })
	for t := range w.changed {
		rows.Things = append(rows.Things, w.row(t))
	}
	slices.SortFunc(rows.Things, ThingRow.Compare)
	w.Forget()
	return rows
}

// thing names something of which there is a row.
type thing struct {
	kind Thing
	key  string
}

// touch notes that the row of a thing may have changed; "" is none.
func (w *Workspace) touch(kind Thing, key string) {
	if key == "" {
		return
	}
	if w.changed == nil {
		w.changed = map[thing]bool{}
	}
	w.changed[thing{kind, key}] = true
}

// row is what is kept of a thing.
func (w *Workspace) row(t thing) ThingRow {
	row, of := ThingRow{Kind: t.kind, Key: t.key}, any(nil)
	switch t.kind {
	case ArchivedRun:
		row.Open = w.shelf[t.key]
		return row
	case PlanPath:
		row.Of = w.paths[t.key]
		return row
	case ErrandKept:
		e := w.asked[t.key]
		row.Of, row.Seq, row.Open, of = cmp.Or(e.Asked.Intent, e.Asked.Run), e.Seq, !e.Over(), e
	case PlanKept:
		r := w.plans[t.key]
		row.Of, row.Seq, row.Open, of = r.Drafted.Intent, r.Seq, w.waits(r), r
	}
	text, _ := json.Marshal(of) // plain data: it always marshals
	row.Row = string(text)
	return row
}

// Forget drops what changed in the projections: the store has it.
func (w *Workspace) Forget() { w.changed, w.shown = nil, nil }

// Approved reports whether a person or policy said yes to exactly these bytes
// under this configuration, less than 24 hours before now.
func (r *Revision) Approved(config string, now time.Time) bool {
	return r.Answer != nil && r.Answer.Yes && r.Answer.Hash == r.Drafted.Covers() && r.Answer.Config == config &&
		now.Sub(r.Answered) < planApprovalLife
}

// Trusts reports whether a person said yes to a configuration, by its hash: on its
// own, or with a plan. That of a policy is its own word, and counts for nothing.
func (w *Workspace) Trusts(config string) bool { return w.trusted[config] }

func (w *Workspace) admitTrust(in SettingsApproved) ([]Event, error) {
	switch {
	case in.Config == "" || in.By == "" || in.By == ByPolicy:
		return nil, refuse(Invalid, "a configuration is approved by its hash, in the name of a person")
	case w.trusted[in.Config]:
		return nil, nil
	}
	return []Event{in}, nil
}

// Apply folds one record. An error means that the journal is corrupt at r.Seq.
func (w *Workspace) Apply(r Record) error {
	if w.plans == nil {
		w.intents, w.plans, w.paths = map[string]IntentOpened{}, map[string]*Revision{}, map[string]string{}
		w.items = map[string]ItemRow{}
		w.heads, w.files, w.trusted = map[string]string{}, map[string]string{}, map[string]bool{}
		w.asked = map[string]ErrandRow{}
	}
	err := inOrder(r, w.seq, w.epoch)
	if err == nil {
		err = w.apply(r)
	}
	if err != nil {
		return fmt.Errorf("stream %s, record %d: %w", r.Stream, r.Seq, err)
	}
	w.seq = r.Seq
	return nil
}

// inOrder reports why a record cannot be the next one of a stream.
func inOrder(r Record, seq, epoch uint64) error {
	if r.Seq != seq+1 {
		return fmt.Errorf("it follows record %d", seq)
	}
	if _, begins := r.Event.(EpochBegan); r.Epoch < epoch || r.Epoch > epoch && !begins {
		return fmt.Errorf("it was written under epoch %d, and epoch %d has begun", r.Epoch, epoch)
	}
	return nil
}

func (w *Workspace) apply(r Record) error {
	switch e := r.Event.(type) {
	case EpochBegan:
		w.epoch = r.Epoch
	case IntentOpened:
		if _, twice := w.intents[e.ID]; twice {
			return fmt.Errorf("intent %s is opened twice", e.ID)
		}
		w.intents[e.ID] = e
	case PlanDrafted:
		if w.plans[e.Plan] != nil {
			return fmt.Errorf("plan %s is drafted twice", e.Plan)
		}
		w.plans[e.Plan] = &Revision{Seq: r.Seq, Drafted: e, At: r.At}
		w.order = append(w.order, w.plans[e.Plan])
		w.touch(PlanKept, e.Plan)
		if row, ok := w.asked[e.Errand]; ok {
			row.Plan = e.Plan
			w.keep(row)
		}
		last := w.plans[w.heads[e.Intent]]
		w.heads[e.Intent] = e.Plan
		if e.Parent != "" || e.Path == "" {
			return nil // it is of no document that runs by itself, or of none yet
		}
		if before, ok := w.paths[e.Path]; ok {
			w.touch(PlanKept, before)
			w.touch(PlanKept, w.files[w.plans[before].Drafted.Intent])
		}
		if last != nil && last.Drafted.Path != e.Path && w.paths[last.Drafted.Path] == last.Drafted.Plan {
			delete(w.paths, last.Drafted.Path) // the document was moved from there
			w.touch(PlanPath, last.Drafted.Path)
			w.touch(PlanKept, last.Drafted.Plan)
			w.touch(PlanKept, w.files[e.Intent])
		}
		w.paths[e.Path] = e.Plan
		w.touch(PlanPath, e.Path)
		if e.Run == "" && e.Errand == "" {
			w.file(w.plans[e.Plan])
		}
	case PlanFiled:
		p := w.plans[e.Plan]
		if p == nil {
			return fmt.Errorf("plan %s is filed before it is drafted", e.Plan)
		}
		w.file(p)
	case PlanVerified:
		p := w.plans[e.Plan]
		if p == nil {
			return fmt.Errorf("plan %s is verified before it is drafted", e.Plan)
		}
		p.Verified = e
		w.touch(PlanKept, e.Plan)
	case PlanAnswered:
		p := w.plans[e.Plan]
		if p == nil {
			return fmt.Errorf("plan %s is answered before it is drafted", e.Plan)
		}
		p.Answer, p.Answered = &e, r.At
		p.Answers = append(p.Answers, Answered{e, r.At})
		if e.Yes && e.By != ByPolicy {
			w.trusted[e.Config] = true // whoever said it was asked under these settings
		}
		w.touch(PlanKept, e.Plan)
	case RunArchived:
		w.archive(e)
	case SettingsApproved:
		w.trusted[e.Config] = true
	case ItemOpened:
		return w.applyKeep(e, r.At)
	case ItemAnswered:
		return w.applyKept(e, r.At)
	case MemoryWritten:
		return w.applyWritten(e)
	case WorkHeard:
		return w.applyHeard(e)
	case ErrandAsked, ErrandDropped, WorkDispatched, WorkEnded:
		return w.applyErrand(e, r)
	default:
		return fmt.Errorf("%T does not belong in the workspace's stream", r.Event)
	}
	return nil
}

// Admit turns an input into facts, or refuses it with a [*Refusal].
func (w *Workspace) Admit(in Input, _ time.Time) ([]Event, error) {
	switch in := in.(type) {
	case Begin:
		return []Event{in.EpochBegan}, nil
	case Draft:
		return w.admitDraft(in)
	case Judgement:
		return w.admitJudgement(in.PlanAnswered)
	case Archive:
		return w.admitArchive(in)
	case Errand:
		return w.admitErrand(in)
	case Withdraw:
		return w.admitWithdraw(in.ErrandDropped)
	case Heard:
		return w.admitHeard(in)
	case Ended:
		return w.admitEnded(in)
	case Reply:
		return w.admitKeep(in.ItemAnswered)
	case Written:
		return w.admitWritten(in.MemoryWritten)
	case Filed:
		return w.admitFiled(in.PlanFiled)
	case Trust:
		return w.admitTrust(in.SettingsApproved)
	}
	return nil, refuse(Invalid, fmt.Sprintf("%T is not for a workspace", in))
}

// archive puts a run on the shelf, or takes it from there.
func (w *Workspace) archive(e RunArchived) {
	if w.shelf == nil {
		w.shelf = map[string]bool{}
	}
	if e.Back {
		delete(w.shelf, e.Run)
	} else {
		w.shelf[e.Run] = true
	}
	w.touch(ArchivedRun, e.Run)
}

// admitArchive leaves out the runs that are where they are to be.
func (w *Workspace) admitArchive(in Archive) ([]Event, error) {
	if in.By == "" || slices.Contains(in.Runs, "") {
		return nil, refuse(Invalid, "archiving needs the ids of runs, and the name of who does it", "")
	}
	var es []Event
	for _, run := range in.Runs {
		if w.shelf[run] == in.Back {
			es = append(es, RunArchived{Run: run, Back: in.Back, By: in.By})
		}
	}
	return es, nil
}

func (w *Workspace) admitDraft(in Draft) ([]Event, error) {
	_, known := w.intents[in.PlanDrafted.Intent]
	_, twice := w.plans[in.Plan]
	switch {
	case in.Plan == "" || in.By == "":
		return nil, refuse(Invalid, "a draft needs an id and the name of who made it")
	case twice:
		return nil, refuse(Conflict, "plan "+in.Plan+" exists already")
	case in.Intent == nil && !known:
		return nil, refuse(NotFound, "plan "+in.Plan+" belongs to no intent")
	case in.Intent != nil && (known || in.Intent.ID == "" || in.Intent.ID != in.PlanDrafted.Intent):
		return nil, refuse(Conflict, fmt.Sprintf("plan %s is of intent %q, which is not the new one %q", in.Plan, in.PlanDrafted.Intent, in.Intent.ID))
	}
	var es []Event
	if in.Intent != nil {
		es = append(es, *in.Intent)
	}
	in.Verified.Plan = in.Plan
	return append(es, in.PlanDrafted, in.Verified), nil
}

func (w *Workspace) admitJudgement(a PlanAnswered) ([]Event, error) {
	r, ok := w.plans[a.Plan]
	switch {
	case !ok:
		return nil, refuse(NotFound, "no plan "+a.Plan)
	case a.By == "":
		return nil, refuse(Invalid, "an answer needs the name of who gave it")
	case a.Hash != r.Drafted.Covers():
		return nil, refuse(Conflict, "plan "+a.Plan+" has other bytes than those that were shown", LookAgain)
	case a.Yes && !r.Verified.OK:
		return nil, refuse(Conflict, "plan "+a.Plan+" does not verify", MendErrors)
	case a.Yes && a.By == ByPolicy && len(r.Drafted.Weakened) > 0:
		return nil, refuse(Denied, "plan "+a.Plan+" proves or guards less than the text before, and no policy says yes to that", ApprovePlan, r.Drafted.Path)
	}
	return []Event{a}, nil
}
