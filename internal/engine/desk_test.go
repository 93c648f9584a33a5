package engine_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/piton-dev/piton/internal/engine"
)

// dawn is when every test begins.
var dawn = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// desk is the smallest host: it admits, decides, applies, and keeps the
// journal. After every record it holds the state against the laws that are
// true at all times; what it finds is in broken.
type desk struct {
	state   *engine.State
	journal []engine.Record
	now     time.Time
	epoch   uint64
	rows    *shelf
	broken  error
	twin    *engine.State       // restored from a snapshot some time ago
	live    map[engine.Key]bool // work that was dispatched and has not ended
	// elsewhere is that of it which runs of their own carry out.
	elsewhere map[engine.Key]bool
	looks     int
	active    int           // steps under way after the last record
	hold      bool          // admit does not decide: the turn takes in more
	mark      int           // where the last wait began
	frames    bool          // the story shows them
	manual    bool          // leases are given by the story
	drawn     engine.Revise // what was drawn last
	surveys   bool          // the tree is looked at by the story; else nothing of it was touched
	read      *engine.State // what the journal makes, as a store gives it back
	auditor   *auditor      // who has read the journal so far
	unwatched bool          // nothing is held against the laws: another test does that for such histories
}

func newDesk() *desk {
	return &desk{state: &engine.State{}, now: dawn, epoch: 1, rows: newShelf(), live: map[engine.Key]bool{}, elsewhere: map[engine.Key]bool{}}
}

// admit takes an input in and decides until nothing follows. It returns the
// records that came of it, or the refusal.
func (d *desk) admit(in engine.Input) ([]engine.Record, error) {
	from := len(d.journal)
	in = d.poll(in)
	same := d.watch()
	es, err := d.state.Admit(in, d.now)
	same("Admit")
	if err != nil {
		if _, ok := errors.AsType[*engine.Refusal](err); !ok || len(es) > 0 {
			d.fail("Admit returned %d events and %v, which is no refusal", len(es), err)
		}
		return nil, err
	}
	for _, e := range es {
		d.apply(in.Actor(), e)
	}
	if !d.hold {
		d.decide()
	}
	return d.journal[from:], nil
}

// poll lets the judge of a step say one vote after the other, before what they come to is
// the answer of the check.
func (d *desk) poll(in engine.Input) engine.Input {
	c, is := in.(engine.Checked)
	if !is || len(c.Checks) == 0 || len(c.Checks[len(c.Checks)-1].Votes) == 0 {
		return in
	}
	c.Checks = slices.Clone(c.Checks)
	last := &c.Checks[len(c.Checks)-1]
	had := 0
	if d.state.Wants(c.Key) {
		if p := d.state.Effect(c.Key).Poll; p.Prompt == "prompt" && len(p.Votes) > 0 {
			had = len(p.Votes)
			sticks(last, p.Votes[0])
		}
	}
	for n, v := range last.Votes {
		if n < had {
			continue
		}
		vote := engine.Voted{Key: c.Key, JudgeVoted: engine.JudgeVoted{Round: n + 1, Vote: v, Prompt: "prompt", Usage: last.Usage}}
		es, err := d.state.Admit(vote, d.now)
		if err != nil {
			if d.state.Wants(c.Key) {
				d.fail("a vote is refused: %w", err)
			}
			break
		}
		last.Usage = engine.Usage{} // it counts once
		for _, e := range es {
			d.apply(vote.Actor(), e)
		}
	}
	return c
}

// sticks lets a judge whose first vote is on record already come to what that vote says.
func sticks(c *engine.CheckEnded, first engine.Vote) {
	switch {
	case first.Pass:
		c.Verdict, c.Exit, c.Stderr, c.Votes = engine.Pass, 0, "", []engine.Vote{first}
	case c.Verdict == engine.Pass:
		c.Verdict, c.Exit, c.Votes = engine.Fail, 1, []engine.Vote{first, first}
	}
}

// decide applies what follows until nothing does.
func (d *desk) decide() {
	for n := 0; d.broken == nil; n++ {
		same := d.watch()
		es := d.state.Decide(d.now)
		if !d.unwatched {
			if again := d.state.Decide(d.now); !reflect.DeepEqual(es, again) {
				d.fail("Decide says %v and then %v", es, again)
			}
			d.state.Effects()
			d.state.Idle()
		}
		same("Decide or Pending")
		if len(es) == 0 {
			if es = append(d.lease(), d.survey()...); len(es) == 0 {
				return
			}
		}
		if n > 10*len(d.journal)+1000 {
			d.fail("Decide reaches no end: %v", es)
		}
		for _, e := range es {
			d.apply(engine.Harness, e)
		}
	}
}

// lease gives the next lease that is wanted. Every third step is told first
// that it has to wait.
func (d *desk) lease() []engine.Event {
	for _, c := range d.state.Claims() {
		if c.Held || d.manual {
			continue
		}
		in := engine.Lease{Step: c.Step.ID, Attempt: c.Attempt}
		i, _ := d.state.Program().Index(c.Step.ID)
		if d.state.StepRow(i).Reason == "" && len(d.journal)%3 == 0 {
			in.Behind = &engine.Holder{Run: "other", Step: "x", Scope: c.Step.Writes}
		}
		es, err := d.state.Admit(in, d.now)
		if err != nil {
			d.fail("the lease of %s is refused: %w", in.Step, err)
		}
		return es
	}
	return nil
}

// survey looks at a tree in which nothing was touched.
func (d *desk) survey() []engine.Event {
	for _, k := range d.state.Pending() {
		if k.Kind != engine.Survey || d.surveys {
			continue
		}
		es, err := d.state.Admit(engine.Surveyed{Key: k, Tree: "tree"}, d.now)
		if err != nil {
			d.fail("%s is refused: %w", k, err)
		}
		return es
	}
	return nil
}

// asking reports whether a step wants a lease.
func (d *desk) asking() bool {
	return slices.ContainsFunc(d.state.Claims(), func(c engine.Claim) bool { return !c.Held })
}

// watch notes everything the state holds, now and then, because that is slow.
// What it returns reports a change.
func (d *desk) watch() func(who string) {
	if d.looks++; d.looks%8 != 1 || d.unwatched {
		return func(string) {}
	}
	before := d.image()
	return func(who string) {
		if after := d.image(); !bytes.Equal(before, after) {
			d.fail("%s changed the state:\n%s", who, gocmp.Diff(string(before), string(after)))
		}
	}
}

func (d *desk) apply(actor string, e engine.Event) {
	r := engine.Record{Stream: "task", Seq: d.state.Seq() + 1, At: d.now, Actor: actor, Epoch: d.epoch, Event: e}
	if err := d.state.Apply(r); err != nil {
		d.fail("Apply refused %s %+v: %w", e.Type(), e, err)
		return
	}
	d.journal = append(d.journal, r)
	d.note(e)
	d.rows.take(d.state.Rows())
	if !d.unwatched {
		d.laws(r)
	}
}

// laws holds the state after a record against what is true at all times.
func (d *desk) laws(r engine.Record) {
	if d.twin != nil {
		if err := d.twin.Apply(r); err != nil {
			d.fail("the restored state refuses record %d: %w", r.Seq, err)
		}
	}
	if err := d.state.Scan(); err != nil {
		d.fail("after record %d, %s %+v: %w", r.Seq, r.Event.Type(), r.Event, err)
	}
	if d.state.Program() != nil {
		d.crowded(r)
	}
	d.active = len(d.state.Active())
	if err := apart(d.state); err != nil {
		d.fail("after record %d: %w", r.Seq, err)
	}
}

// crowded reports more steps at work, or under way, than there may be. One more
// is made ready while another is checked. A revision with less room lets what is
// under way come to its end.
func (d *desk) crowded(r engine.Record) {
	active, working, room := len(d.state.Active()), d.atWork(), d.state.Room()
	if active > max(room+min(1, room-1), d.active) || working > max(room, d.active) {
		d.fail("after record %d: %d steps are under way and %d at work, where %d may be", r.Seq, active, working, room)
	}
}

// atWork counts the steps at work, less those that a revision took leave of.
func (d *desk) atWork() (n int) {
	for k := range d.live {
		if k.Kind == engine.Work && !d.leaves(k) {
			n++
		}
	}
	return n
}

// note keeps what is under way, read off the records.
func (d *desk) note(e engine.Event) {
	key := func(step string, attempt, n int, kind engine.WorkKind) engine.Key {
		k := engine.Key{Task: "task", Run: d.state.Run().Run, Step: step, Attempt: attempt, N: n, Kind: kind.Effect()}
		return k
	}
	switch e := e.(type) {
	case engine.WorkDispatched:
		if e.Kind == engine.ChildWork {
			d.elsewhere[key(e.Step, e.Attempt, e.N, e.Kind)] = true
		}
		d.live[key(e.Step, e.Attempt, e.N, e.Kind)] = true
	case engine.WorkEnded:
		delete(d.live, key(e.Step, e.Attempt, e.N, e.Kind))
		delete(d.elsewhere, key(e.Step, e.Attempt, e.N, e.Kind))
	}
}

// moves reports a live run that nothing and nobody could ever move.
func (d *desk) moves() error {
	if !d.state.Live() || d.broken != nil || d.hold {
		return nil
	}
	at, wakes := d.state.Wake()
	if wakes && !at.After(d.now) {
		return fmt.Errorf("it wants to be woken at %s, and has nothing to say at %s", at, d.now)
	}
	left := slices.ContainsFunc(d.state.Delegations(), func(c engine.Delegation) bool { return d.leaves(c.Key) })
	wants := slices.ContainsFunc(d.state.Effects(), func(e engine.Effect) bool { return !d.elsewhere[e.Key] }) || d.asking()
	paused := d.state.Head().Status == engine.Paused
	under := len(d.live) > len(d.elsewhere) || left
	byItself := wants || under || wakes
	byPerson := len(d.rows.open()) > 0 || paused || len(d.elsewhere) > 0
	switch idle := d.state.Idle(); {
	case !byItself && !byPerson:
		return errors.New("the run is live and nothing can move it")
	case idle != (byPerson && !wants && !under && (!wakes || paused && !d.holding())):
		return fmt.Errorf("idle is %v: by itself %v, by a person %v", idle, byItself, byPerson)
	}
	return nil
}

// leaves reports whether the work of a key is of a step that a revision took
// leave of: the run waits for its end.
func (d *desk) leaves(k engine.Key) bool {
	i, ok := d.state.Program().Index(k.Step)
	return !ok || d.state.StepRow(i).Phase != engine.Working || d.state.StepRow(i).Attempts != k.Attempt
}

// holding reports whether a step keeps its place while it waits, and no run of
// another task does its work.
func (d *desk) holding() bool {
	elsewhere := map[string]bool{}
	for _, c := range d.state.Delegations() {
		elsewhere[c.Key.Step] = true
	}
	for _, i := range d.state.Active() {
		if row := d.state.StepRow(i); elsewhere[row.ID] {
			continue
		} else if phase := row.Phase; phase != engine.Baseline && phase != engine.Expanding {
			return true
		}
	}
	return false
}

func (d *desk) fail(format string, args ...any) {
	if d.broken == nil {
		d.broken = fmt.Errorf(format, args...)
	}
}

// image is everything the state holds, as bytes.
func (d *desk) image() []byte {
	body, err := d.state.Snapshot()
	if err != nil {
		d.fail("%w", err)
	}
	return body
}

// apart reports two steps under way that must not be.
func apart(s *engine.State) error {
	active := s.Active()
	for n, i := range active {
		for _, j := range active[:n] {
			a, b := s.Program().Step(i), s.Program().Step(j)
			if a.Worktree || b.Worktree || a.Each != nil || b.Each != nil {
				continue // their leases keep them apart; patterns do nothing
			}
			agents := a.Kind == engine.Agent && b.Kind == engine.Agent
			if exclusive := agents && (len(a.Writes) == 0 || len(b.Writes) == 0); (exclusive || meet(a.Writes, b.Writes)) && !proving(s, i, j) {
				return fmt.Errorf("%q and %q are under way together", a.ID, b.ID)
			}
		}
	}
	return nil
}

// proving: in a ratchet round no agent works, only checks run.
func proving(s *engine.State, is ...int) bool {
	for _, i := range is {
		if s.StepRow(i).Phase != engine.Ratchet {
			return false
		}
	}
	return true
}

// agree reports how another state differs from this one in what can be seen.
func agree(a, b *engine.State) error {
	one, err := seen(a)
	if err != nil {
		return err
	}
	return one.agrees(b)
}

// sight is all that can be seen of a state.
type sight struct {
	effects []engine.Effect
	rows    *shelf
	image   []byte // nil without a run
}

func seen(s *engine.State) (x sight, err error) {
	x.effects, x.rows = s.Effects(), table(s)
	if s.Program() != nil {
		x.image, err = s.Snapshot()
	}
	return x, err
}

// agrees reports how a state differs from what was seen of another one.
func (x sight) agrees(s *engine.State) error {
	o, err := seen(s)
	switch {
	case err != nil:
		return err
	case !reflect.DeepEqual(x.effects, o.effects):
		return fmt.Errorf("effects differ, in their contents if this is all:\n%s", gocmp.Diff(keys(x.effects), keys(o.effects)))
	case !x.rows.Equal(o.rows):
		return fmt.Errorf("rows differ:\n%s%s", gocmp.Diff(x.rows.Head, o.rows.Head), gocmp.Diff(x.rows.Steps, o.rows.Steps))
	case !bytes.Equal(x.image, o.image):
		return fmt.Errorf("snapshots differ:\n%s", gocmp.Diff(string(x.image), string(o.image)))
	}
	return nil
}

func keys(fx []engine.Effect) []string {
	var ks []string
	for _, e := range fx {
		ks = append(ks, e.Key.String())
	}
	return ks
}

// table is what lists show, asked of the state itself.
func table(s *engine.State) *shelf {
	t := newShelf()
	if s.Program() == nil {
		return t
	}
	t.Head = s.Head()
	for i := range s.Program().Len() {
		t.Steps[i] = s.StepRow(i)
	}
	return t
}

// shelf keeps rows as a store does.
type shelf struct {
	Head  engine.HeadRow
	Steps map[int]engine.StepRow
	items map[string]engine.ItemRow
}

func newShelf() *shelf {
	return &shelf{Steps: map[int]engine.StepRow{}, items: map[string]engine.ItemRow{}}
}

func (h *shelf) Equal(o *shelf) bool {
	return reflect.DeepEqual(h.Head, o.Head) && reflect.DeepEqual(h.Steps, o.Steps)
}

func (h *shelf) take(rows engine.Rows) {
	if rows.Head != nil {
		if rows.All {
			clear(h.Steps)
		}
		h.Head = *rows.Head
	}
	for _, row := range rows.Steps {
		h.Steps[row.Index] = row
	}
	for _, row := range rows.Items {
		h.items[row.Item] = row
	}
}

// open lists the items that wait for an answer, the oldest first.
func (h *shelf) open() []engine.ItemRow {
	var rows []engine.ItemRow
	for _, row := range h.items {
		if row.Open {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b engine.ItemRow) int {
		return cmp.Or(len(a.Item)-len(b.Item), strings.Compare(a.Item, b.Item))
	})
	return rows
}

// around is what rows and the program know of a step.
func (h *shelf) around(p *engine.Program, i int) engine.Around {
	a := engine.Around{Head: h.Head, Row: h.Steps[i], Step: p.Step(i)}
	needs := p.Step(i).Needs
	if a.Row.Bond.Parts {
		needs = p.Instances(i)
	}
	for _, n := range needs {
		a.Needs = append(a.Needs, h.Steps[n])
	}
	for _, n := range slices.Sorted(maps.Keys(h.Steps)) {
		if h.Head.Bar.Fatal > 0 && h.Steps[n].Status == engine.Failed {
			a.Fatal = append(a.Fatal, h.Steps[n])
		}
	}
	for _, n := range h.Head.Bar.Active {
		a.Beside = append(a.Beside, p.Step(n))
	}
	return a
}

// kept reports a step of which the rows tell another hold than the state. Where a step
// that comes first finds no room in the budget, those behind it wait for the budget too.
func (d *desk) kept() error {
	p := d.state.Program()
	if p == nil {
		return nil
	}
	short := false
	for i := range p.Len() {
		short = short || d.state.Hold(i, d.now).Budget
	}
	for i := range p.Len() {
		want, got := d.state.Hold(i, d.now), d.rows.around(p, i).Hold()
		if short && got.Budget && !want.Budget {
			want.Budget, want.Item = true, d.rows.Head.Bar.Asking
		}
		if reflect.DeepEqual(want, got) {
			continue
		}
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			return fmt.Errorf("what keeps %q (- state, + rows):\n%s%+v", p.Step(i).ID, diff, d.rows.Steps[i])
		}
	}
	return nil
}

// replay folds a journal from the beginning.
func replay(journal []engine.Record) (*engine.State, error) {
	s := &engine.State{}
	for _, r := range journal {
		if err := s.Apply(r); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// reread folds what came since the last time, as a store gives it back: from the wire.
func (d *desk) reread() error {
	if d.read == nil {
		d.read = &engine.State{}
	}
	for _, r := range d.journal[d.read.Seq():] {
		body, err := engine.Encode(r.Event)
		if err != nil {
			return err
		}
		e, err := engine.Decode(r.Event.Type(), body)
		if err != nil {
			return err
		}
		if open, ok := e.(engine.RunOpened); ok {
			open.Compiled = r.Event.(engine.RunOpened).Compiled
			e = open
		}
		r.Event = e
		if err := d.read.Apply(r); err != nil {
			return err
		}
	}
	return nil
}

// audit lets the auditor read on.
func (d *desk) audit() error {
	if d.auditor == nil {
		d.auditor = &auditor{}
	}
	return d.auditor.goOn(d.journal[d.auditor.seq:])
}

// anew is settled, by those who read the whole journal once more.
func (d *desk) anew() error {
	d.read, d.auditor = nil, nil
	return d.settled()
}

// settled reports every way in which the state is not what its journal, its
// snapshot and its rows make of it, and a run that nothing can move.
func (d *desk) settled() error {
	if d.broken != nil {
		return d.broken
	}
	if err := d.moves(); err != nil {
		return err
	}
	return d.sound()
}

// sound is settled, in the middle of a turn too.
func (d *desk) sound() error {
	now, err := seen(d.state)
	if err != nil {
		return err
	}
	if err := d.reread(); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if err := now.agrees(d.read); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if err := d.kept(); err != nil {
		return err
	}
	if !now.rows.Equal(d.rows) {
		return fmt.Errorf("rows that were handed out are stale:\n%s%s", gocmp.Diff(d.rows.Head, now.rows.Head), gocmp.Diff(d.rows.Steps, now.rows.Steps))
	}
	if d.twin != nil {
		if err := now.agrees(d.twin); err != nil {
			return fmt.Errorf("what was restored and followed: %w", err)
		}
	}
	if d.state.Program() == nil {
		return nil
	}
	restored, err := engine.Restore(now.image, d.state.Program())
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := restored.Scan(); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := now.agrees(restored); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if d.twin == nil || len(d.journal)%2 == 0 { // one that is kept drifts further
		d.twin = restored
	}
	return d.audit()
}
