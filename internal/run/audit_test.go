package run_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// audit judges what a world left behind.
func (w *world) audit() {
	used := map[string]bool{}
	for _, j := range w.jobs {
		records := w.records(j.stream)
		w.auditStream(j.stream, records, used)
		w.auditRows(j.stream, records)
	}
	w.auditRevisions()
	w.auditPeople()
	w.auditBeside()
}

// records reads a stream, once: nothing is written any more.
func (w *world) records(stream string) (records []engine.Record) {
	if known := w.journals[stream]; known != nil {
		return known
	}
	for r, err := range w.store.Read(context.Background(), stream, 0) {
		if err != nil {
			w.find("replay", "read %s: %v", stream, err)
			break
		}
		records = append(records, r)
	}
	w.journals[stream] = records
	return records
}

// auditStream reads a task's records in order, and beside them the log of what
// was started when exactly so many of them were durable.
func (w *world) auditStream(stream string, records []engine.Record, used map[string]bool) {
	starts, answers := w.efforts(stream)
	s := &streamAudit{world: w, stream: stream, answers: answers, used: used}
	for i, r := range records {
		if r.Seq != uint64(i)+1 || r.Stream != stream {
			w.find("sequence", "record %d of %s says %s %d", i+1, stream, r.Stream, r.Seq)
		}
		s.enter(r)
		s.begun(r, starts[r.Seq])
		s.cleanEnds(r.Seq)
	}
	for head, xs := range starts {
		if head == 0 || head > uint64(len(records)) {
			w.find("dispatch", "%s was started after record %d of %d", xs[0].token, head, len(records))
		}
	}
	if s.ledger != nil {
		w.auditSpent(s.ledger)
	}
	if s.ledger != nil && s.ledger.live {
		w.find("stuck", "the run of %s never ends:\n%v", stream, s.ledger)
	}
	if s.ledger == nil && w.bug.name == "" {
		w.find("stuck", "%s was never opened", stream)
	}
}

// efforts returns a task's efforts by the record after which they started, and
// by what they answered with.
func (w *world) efforts(stream string) (starts map[uint64][]*effort, answers map[string]*effort) {
	starts, answers = map[uint64][]*effort{}, map[string]*effort{}
	for _, m := range w.log {
		if m.begins && m.effect.Key.Task == stream {
			starts[m.head] = append(starts[m.head], m.effort)
			answers[m.token] = m.effort
		}
	}
	return starts, answers
}

// streamAudit is an audit on its way through a stream.
type streamAudit struct {
	world   *world
	stream  string
	epoch   uint64
	ledger  *ledger // of the run at hand; nil before one was opened
	answers map[string]*effort
	used    map[string]bool // answers that are in the journal
	early   []*effort       // inquiries that began before what they rest on was durable
	before  engine.Event
}

func (s *streamAudit) find(rule, format string, args ...any) {
	s.world.find(rule, format, args...)
}

func (s *streamAudit) enter(r engine.Record) {
	began, begins := r.Event.(engine.EpochBegan)
	switch {
	case r.Epoch < s.epoch:
		s.find("epoch", "%s %d is of epoch %d, and %d has begun", s.stream, r.Seq, r.Epoch, s.epoch)
	case begins == (r.Epoch == s.epoch):
		s.find("epoch", "%s %d: epoch %d begins twice, or not at all: %+v", s.stream, r.Seq, r.Epoch, began)
	}
	s.epoch = max(s.epoch, r.Epoch)
	switch e := r.Event.(type) {
	case engine.TaskOpened:
	case engine.RunOpened:
		s.opened(e)
	default:
		if s.ledger != nil {
			s.ledger.enter(r)
		}
	}
	s.source(r)
	s.before = r.Event
}

func (s *streamAudit) opened(e engine.RunOpened) {
	if e.Revises != "" && s.ledger != nil {
		s.revised(e)
		return
	}
	if s.ledger != nil && s.ledger.live {
		s.find("ended", "%s opens before %s has ended", e.Run, s.ledger.opened.Run)
	}
	plan, known := s.world.plans[e.Program]
	if !known {
		s.find("objects", "%s runs a program that nobody approved", e.Run)
	}
	s.object(e.Program)
	s.ledger = newLedger(s.find, e, plan)
}

// source checks that what a record says was really answered, by the effort it
// names, in the epoch that wrote it, and that it is said once.
func (s *streamAudit) source(r engine.Record) {
	switch e := r.Event.(type) {
	case engine.WorkDispatched:
		s.object(e.Prompt)
		s.notTold(r)
	case engine.WorkEnded:
		s.object(e.Output)
		if s.ledger != nil && s.ledger.wasLeft {
			s.world.counts["left work ended by "+string(e.How)]++
		}
		s.sourceOfEnd(r, e)
	case engine.CheckEnded:
		token, name, _ := strings.Cut(e.Output, " ")
		x := s.answer(r, token, e.Output)
		if x == nil {
			return
		}
		k := x.effect.Key
		if k.Step != e.Step || k.Attempt != e.Attempt || phaseOf[k.Kind] != e.Phase || name != e.Check {
			s.find("source", "%s %d uses an answer of %s", s.stream, r.Seq, token)
		}
		if x.cut && x.effect.Work == "" {
			s.find("source", "%s %d uses an answer of %s, which was told to stop", s.stream, r.Seq, token)
		}
		s.truth(r, x, e)
	}
}

var phaseOf = map[engine.EffectKind]engine.Phase{
	engine.Prepare: engine.Baseline, engine.Verify: engine.Verifying, engine.Prove: engine.Ratchet,
}

// notTold: an owner that was told to stop dispatches no work.
func (s *streamAudit) notTold(r engine.Record) {
	for _, l := range s.world.lives {
		if l.epoch() == r.Epoch && !l.told.IsZero() && r.At.After(l.told) {
			s.find("stopping", "%s %d dispatches work at %v; its owner was interrupted at %v", s.stream, r.Seq, r.At, l.told)
		}
	}
}

// answer finds the effort whose token a record carries.
func (s *streamAudit) answer(r engine.Record, token, once string) *effort {
	x := s.answers[token]
	switch {
	case x == nil || !x.answered:
		s.find("source", "%s %d, %s, says what nobody answered: %q", s.stream, r.Seq, r.Event.Type(), token)
		return nil
	case s.used[once]:
		s.find("source", "%s %d says again what %s answered", s.stream, r.Seq, token)
	case x.life.epoch() != r.Epoch:
		s.find("source", "%s %d of epoch %d uses an answer of epoch %d", s.stream, r.Seq, r.Epoch, x.life.epoch())
	}
	s.used[once] = true
	return x
}

func (s *streamAudit) sourceOfEnd(r engine.Record, e engine.WorkEnded) {
	token := e.Log
	if token == "" && strings.HasPrefix(e.Reason, "no room for ") {
		token = strings.TrimPrefix(e.Reason, "no room for ")
	}
	switch {
	case token != "":
		if x := s.answer(r, token, token); x != nil {
			k := x.effect.Key
			if k.Step != e.Step || k.Attempt != e.Attempt || k.N != e.N {
				s.find("source", "%s %d, the end of %s %d.%d, uses an answer of %s", s.stream, r.Seq, e.Step, e.Attempt, e.N, token)
			}
			s.claims(r, x, e)
		}
	case e.How == engine.Lost:
	case e.Kind == engine.ContractWork && e.How == engine.Exited && s.follows(e):
	case e.Kind == engine.ContractWork && e.How == engine.Exited && s.ledger.wasLeft && s.started(e, r.Epoch):
	case e.How == engine.Stopped && !s.started(e, r.Epoch):
	default:
		s.find("source", "%s %d: work ended as nobody saw it: %+v", s.stream, r.Seq, e)
	}
}

// follows reports whether checks that run only once ended with their answers.
func (s *streamAudit) follows(e engine.WorkEnded) bool {
	c, ok := s.before.(engine.CheckEnded)
	return ok && c.Step == e.Step
}

// started reports whether dispatched work was really begun by its owner.
func (s *streamAudit) started(e engine.WorkEnded, epoch uint64) bool {
	for _, x := range s.answers {
		k := x.effect.Key
		if x.effect.Work != "" && k.Run == s.ledger.opened.Run && k.Step == e.Step && k.Attempt == e.Attempt && k.N == e.N && x.life.epoch() == epoch {
			return true
		}
	}
	return false
}

// truth compares a check in the journal with what the world answered.
func (s *streamAudit) truth(r engine.Record, x *effort, e engine.CheckEnded) {
	for _, c := range checksOf(x.answer) {
		if c.Check == e.Check && (c.Verdict != e.Verdict || c.Exit != e.Exit || len(c.Tampered) != len(e.Tampered)) {
			s.find("truth", "%s %d has %s of %s as %s, exit %d; it was %s, exit %d", s.stream, r.Seq, e.Check, e.Step, e.Verdict, e.Exit, c.Verdict, c.Exit)
		}
	}
}

func checksOf(a run.Answer) []engine.CheckEnded {
	switch in := a.Input.(type) {
	case engine.Prepared:
		return in.Checks
	case engine.Checked:
		return in.Checks
	}
	return nil
}

func (s *streamAudit) object(hash string) {
	if hash == "" {
		return
	}
	if _, err := s.world.store.Object(context.Background(), hash); err != nil {
		s.find("objects", "%s names an object: %v", s.stream, err)
	}
}

// begun judges what began after a record. Work rests on what was durable then;
// an inquiry may also rest on the commit that was under way, if there is one:
// when that failed the owner is gone, and so is what it asked.
func (s *streamAudit) begun(r engine.Record, starts []*effort) {
	waiting := s.early
	s.early = nil
	for _, x := range waiting {
		switch {
		case x.life.epoch() != r.Epoch:
		case !s.world.ends[s.stream][r.Seq]:
			s.early = append(s.early, x)
		default:
			s.mayBegin(x)
		}
	}
	for _, x := range starts {
		known := len(s.world.found)
		if s.mayBegin(x); len(s.world.found) > known && x.effect.Work == "" {
			s.world.found = s.world.found[:known]
			s.early = append(s.early, x)
		}
	}
}

// committed remembers where a commit ended.
func (w *world) committed(b store.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ends[b.Stream] == nil {
		w.ends[b.Stream] = map[uint64]bool{}
	}
	w.ends[b.Stream][b.Last()] = true
}

// mayBegin judges an effort by the records that it may rest on.
func (s *streamAudit) mayBegin(x *effort) {
	k, g := x.effect.Key, s.ledger
	if g == nil || !g.live || g.opened.Run != k.Run {
		s.find("dispatch", "%s begins, and its run is not open", x.token)
		return
	}
	a := g.account(k.Step)
	if work := x.effect.Work != ""; work != (a.live != nil) {
		s.find("dispatch", "%s begins, and work is under way: %v", x.token, a.live != nil)
	} else if work {
		d, _ := a.live.Event.(engine.WorkDispatched)
		if d.Attempt != k.Attempt || d.N != k.N || a.live.Epoch != x.life.epoch() {
			s.find("dispatch", "%s begins; dispatched was %d.%d in epoch %d", x.token, d.Attempt, d.N, a.live.Epoch)
		}
	}
	if g.cancel {
		s.find("cancelled", "%s begins after the run was cancelled", x.token)
	}
	s.fits(x, a)
}

// fits judges whether the step is where such an effort makes sense.
func (s *streamAudit) fits(x *effort, a *account) {
	switch k := x.effect.Key; k.Kind {
	case engine.Prepare, engine.Work:
		if a.satisfied() || a.status == engine.Failed || a.status == engine.Skipped || a.item != "" {
			s.find("settled", "%s begins while the step is %s", x.token, a.status)
		}
		if s.ledger.paused && k.Kind == engine.Prepare {
			s.find("paused", "%s begins while the run is paused", x.token)
		}
		for _, n := range a.step.Needs {
			if need := s.ledger.plan.Steps[n].ID; !s.ledger.steps[need].satisfied() {
				s.find("needs", "%s begins and needs %s", x.token, need)
			}
		}
	case engine.Verify:
		if a.ended == nil || a.ended.How != engine.Exited || a.ended.Attempt != k.Attempt {
			s.find("settled", "%s begins after no work: %+v", x.token, a.ended)
		}
	case engine.Prove:
		if a.status != engine.Done || !s.ledger.complete {
			s.find("settled", "%s begins while the step is %s and %d are left", x.token, a.status, s.ledger.unsatisfied())
		}
	}
}

// cleanEnds: an owner that ended in good order has recorded how its work ended.
func (s *streamAudit) cleanEnds(seq uint64) {
	for _, l := range s.world.lives {
		if !l.clean || l.zombie.Load() || l.disk.head(s.stream) != seq || s.ledger == nil {
			continue
		}
		for id, a := range s.ledger.steps {
			if a.live != nil && a.live.Epoch == l.epoch() {
				s.find("left", "life %d ended in good order and left work of %s %s open", l.n, s.stream, id)
			}
		}
		for _, left := range s.ledger.leaving {
			if left.work.Epoch == l.epoch() {
				s.find("left", "life %d ended in good order and left work of %s, which was changed, open", l.n, left.step.ID)
			}
		}
	}
}

func (l *life) epoch() uint64 {
	if l.host == nil {
		return 0
	}
	return l.host.Epoch()
}

// auditRows compares the rows in the store with those of a full replay, and a
// state loaded from a snapshot with the replayed one.
func (w *world) auditRows(stream string, records []engine.Record) {
	if len(records) == 0 {
		return
	}
	ctx := context.Background()
	full, err := run.Load(ctx, withoutSnapshots{w.store}, stream)
	if err != nil {
		w.find("replay", "%v", err)
		return
	}
	short, err := run.Load(ctx, w.store, stream)
	if err != nil {
		w.find("replay", "from a snapshot: %v", err)
		return
	}
	whole := picture(full)
	if diff := cmp.Diff(whole, picture(short)); diff != "" {
		w.find("snapshot", "%s replayed, and from its snapshot:\n%s", stream, diff)
	}
	stored, err := store.Rows(ctx, w.store, stream)
	if err != nil {
		w.find("rows", "%v", err)
	}
	rows, err := run.Rows(ctx, w.store, stream)
	if err != nil {
		w.find("rows", "%v", err)
	}
	if diff := cmp.Diff(rows, stored); diff != "" {
		w.find("rows", "%s replayed, and as it is in the store:\n%s", stream, diff)
	}
	if alone := w.alone(stream); full.Program() != nil && alone != whole {
		w.find("rows", "%s replayed, and its newest run alone:\n%s", stream, cmp.Diff(whole, alone))
	}
}

// withoutSnapshots is a store that has lost its shortcuts.
type withoutSnapshots struct{ store.Store }

func (withoutSnapshots) Snapshot(context.Context, string) (uint64, []byte, error) { return 0, nil, nil }

// picture is all that can be seen of a state from outside.
func picture(s *engine.State) string {
	at, due := s.Wake()
	var text strings.Builder
	text.WriteString(fmt.Sprintf("seq %d live %v idle %v wake %v %v\n", s.Seq(), s.Live(), s.Idle(), at.UTC(), due))
	for _, k := range s.Pending() {
		e := s.Effect(k)
		text.WriteString(fmt.Sprintf("%v %s %v %q %q\n", e.Key, e.Work, e.Baseline, e.Prompt, e.Note))
	}
	if s.Program() != nil {
		for _, row := range rowsOf(s).Steps {
			if row.Loop != nil {
				fmt.Fprintf(&text, "%+v\n", *row.Loop)
				row.Loop = nil
			}
			text.WriteString(fmt.Sprintf("%+v\n", row))
		}
		text.WriteString(fmt.Sprintf("%+v", s.Head()))
	}
	return text.String()
}

// rowsOf are all rows of a state, whether they changed lately or not.
func rowsOf(s *engine.State) engine.Rows {
	if s.Program() == nil {
		return engine.Rows{}
	}
	head := s.Head()
	head.Started, head.Finished = store.Micro(head.Started), store.Micro(head.Finished)
	rows := engine.Rows{Head: &head}
	for i := range s.Program().Len() {
		row := s.StepRow(i)
		row.Started, row.Finished = store.Micro(row.Started), store.Micro(row.Finished)
		rows.Steps = append(rows.Steps, row)
	}
	return rows
}

// alone replays the newest run and nothing before it.
func (w *world) alone(stream string) string {
	var state *engine.State
	heads, err := w.store.Heads(context.Background(), store.HeadFilter{Stream: stream, Limit: 1})
	if err != nil || len(heads) == 0 {
		return fmt.Sprintf("%d runs, %v", len(heads), err)
	}
	for r, err := range run.ReadRun(context.Background(), w.store, heads[0]) {
		if err == nil && state == nil {
			state = engine.Before(r)
		}
		if err == nil {
			err = state.Apply(r)
		}
		if err != nil {
			return err.Error()
		}
	}
	if state == nil {
		return "no records"
	}
	return picture(state)
}

// auditPeople: what was acknowledged is in the journal since then, and what
// was refused is not.
func (w *world) auditPeople() {
	seq := map[string]uint64{}
	for _, stream := range w.streams() {
		for _, r := range w.records(stream) {
			if _, known := seq[r.Actor]; !known {
				seq[r.Actor] = r.Seq
			}
		}
	}
	for _, s := range w.said {
		at, recorded := seq[s.by]
		switch {
		case s.err == nil && (!recorded || at > s.head):
			w.find("acknowledged", "%s was answered after record %d of %s; it is at %d", s.by, s.head, s.stream, at)
		case s.refused() && recorded:
			w.find("refused", "%s was refused (%v), and is in %s at %d", s.by, s.err, s.stream, at)
		}
	}
}

// auditBeside reads the log alone: what ran at the same time.
func (w *world) auditBeside() {
	live := map[string][]*effort{} // by life and task
	for _, m := range w.log {
		place := fmt.Sprintf("%d %s", m.life.n, m.effect.Key.Task)
		if !m.begins {
			for i, x := range live[place] {
				if x == m.effort {
					live[place] = append(live[place][:i:i], live[place][i+1:]...)
					break
				}
			}
			continue
		}
		for _, x := range live[place] {
			w.beside(x, m.effort)
		}
		for _, j := range w.jobs {
			for _, x := range live[fmt.Sprintf("%d %s", m.life.n, j.stream)] {
				w.across(x, m.effort)
			}
		}
		live[place] = append(live[place], m.effort)
		if w.crowd(live[place]) {
			w.find("parallel", "%s begins as number %d", m.token, len(live[place]))
		}
	}
}

// crowd reports more work at once than there may be, the last of it begun now.
// Where there may be more than one, another step is made ready or checked besides.
func (w *world) crowd(live []*effort) bool {
	last := live[len(live)-1]
	room, working := w.room(last), 0
	for _, x := range live {
		if x.effect.Key.Kind == engine.Work {
			working++
		}
	}
	return working > room || len(live) > room+min(1, room-1)
}

// across: runs of one workspace do not disturb each other.
func (w *world) across(x, y *effort) {
	a, b := x.effect.Key, y.effect.Key
	if a.Task == b.Task {
		return
	}
	if a.Kind == engine.Prove && b.Kind == engine.Prove || a.Kind == engine.Survey || b.Kind == engine.Survey {
		return // they only look
	}
	s, o := w.step(x), w.step(y)
	agents := s.Kind == engine.Agent && o.Kind == engine.Agent
	if agents && (len(s.Writes) == 0 || len(o.Writes) == 0) || len(s.Writes) > 0 && len(o.Writes) > 0 && s.Writes[0][0] == o.Writes[0][0] {
		w.find("lease", "%s begins beside %s of another run", y.token, x.token)
	}
}

// step is the step of an effort as it was approved.
func (w *world) step(x *effort) engine.Step {
	for _, s := range w.textOf(x).plan.Steps {
		if s.ID == x.effect.Key.Step {
			return s
		}
	}
	return engine.Step{}
}

func (w *world) beside(x, y *effort) {
	a, b := w.step(x), w.step(y)
	switch {
	case !w.sameStep(x, y):
		w.find("leaving", "%s begins while %s goes on, of a step that a revision left", y.token, x.token)
	case a.ID == b.ID:
		w.find("twice", "%s begins while %s is under way", y.token, x.token)
	case x.effect.Key.Kind == engine.Prove:
	case a.Kind == engine.Agent && b.Kind == engine.Agent && (len(a.Writes) == 0 || len(b.Writes) == 0):
		w.find("scopes", "%s begins beside %s", y.token, x.token)
	case len(a.Writes) > 0 && len(b.Writes) > 0 && a.Writes[0][0] == b.Writes[0][0]:
		w.find("scopes", "%s begins beside %s in one scope", y.token, x.token)
	}
}
