package engine

import (
	"fmt"
	"slices"
	"time"
)

// applyEpoch lets a new owner go on; was is when the one before last wrote.
func (s *State) applyEpoch(r Record, was time.Time) error {
	s.epoch, s.past = r.Epoch, nil
	if n := s.atWork(); n > 0 {
		s.owe(FramePushed{Kind: SystemState, Summary: fmt.Sprintf("Piton or its machine stopped while work was under way (steps: %d); owner %d went on", n, r.Epoch)})
	}
	if s.run.Live {
		s.expectNews()
	}
	s.forgetLeases()
	s.run.Used.Work.takeOver(was, r.At)
	for _, i := range s.active {
		s.steps[i].Used.Work.takeOver(was, r.At)
	}
	return nil
}

func (s *State) applyTask(e TaskOpened) error {
	if s.task != "" || e.Task == "" {
		return fmt.Errorf("task %q opens after task %q", e.Task, s.task)
	}
	s.task = e.Task
	return nil
}

func (s *State) applyRun(e RunOpened, r Record) error {
	if s.task == "" {
		return fmt.Errorf("run %s has no task", e.Run)
	}
	if err := s.mayOpen(e); err != nil {
		return fmt.Errorf("run %s: %w", e.Run, err)
	}
	if err := s.sees(e); err != nil {
		return err
	}
	s.opensWith(e, s.stood())
	s.turnPage()
	s.run = run{Opened: e, First: r.Seq, Live: true}
	s.run.Status, s.run.Started, s.run.Leave = Running, r.At, e.Compiled.leaves()
	s.allot(nil, e.Compiled)
	s.items = map[string]ItemRow{}
	steps := make([]step, e.Compiled.Len())
	for i := range steps {
		steps[i].Status = Pending
	}
	s.settleIn(e.Compiled, steps)
	return nil
}

func (s *State) applyRunEnded(e RunEnded, at time.Time) error {
	live := s.working()
	switch {
	case !s.run.Live:
		return fmt.Errorf("run %q ends, which is not open", s.run.Opened.Run)
	case live:
		return fmt.Errorf("run %s ends while work is under way", s.run.Opened.Run)
	case len(s.pipe.Owed) > 0:
		return fmt.Errorf("run %s ends before a frame that follows is pushed", s.run.Opened.Run)
	case e.Status == Done && (s.run.Unsat > 0 || len(s.active) > 0 || s.owes()):
		return fmt.Errorf("run %s ends as done with %d steps left", s.run.Opened.Run, s.run.Unsat)
	case e.Status != Done && e.Status != Failed && e.Status != Cancelled && e.Status != Superseded:
		return fmt.Errorf("run %s cannot end as %q", s.run.Opened.Run, e.Status)
	}
	s.showReady()
	s.endReplan()
	s.run.Replans.Advised = nil
	r := &s.run
	r.Live, r.Status, r.Reason, r.Exit, r.Finished = false, e.Status, e.Reason, e.Exit, at
	r.Proof.Stage, r.Proof.Left = noRound, nil
	for _, i := range slices.Clone(s.active) {
		s.stop(i)
	}
	for i := range s.steps {
		s.rest(i)
	}
	s.showItems()
	return nil
}

// showItems tells lists which items wait: those of a run that has ended do not,
// and do again under their names once somebody takes the run up.
func (s *State) showItems() {
	for name, row := range s.items {
		row.Open = s.run.Live
		s.items[name] = row
		s.dirty.item(row)
	}
}

// atWork counts the steps whose work was dispatched and has not ended.
func (s *State) atWork() (n int) {
	for _, i := range s.active {
		if s.steps[i].Live {
			n++
		}
	}
	return n
}

// working reports whether any work was dispatched and has not ended.
func (s *State) working() bool {
	return len(s.run.Leaving) > 0 || s.run.drawing() || slices.ContainsFunc(s.active, func(i int) bool { return s.steps[i].Live })
}

// rest takes back what a step waited for when its run ended, less a person's
// answer: that is asked for again, should the run be taken up.
func (s *State) rest(i int) {
	st := &s.steps[i]
	if st.Status == Waiting {
		s.show(i)
	}
	if st.Answer == nil && st.Status != Running && st.Order == nil {
		s.touch(i)
		return
	}
	s.change(i, func(st *step) {
		s.unwait(i)
		st.Order, st.Answer = nil, nil
		if st.Status == Running {
			st.become(NoPhase)
			st.Status = Pending
		}
	})
}

// reopen takes a failed run up again.
func (s *State) reopen() {
	s.run.reopen()
	s.showItems()
	for i := range s.steps {
		s.touch(i)
	}
	s.dirty.all = true
}

func (r *run) reopen() {
	r.Live, r.control, r.ending = true, control{}, ending{Status: Running, Started: r.Started}
	r.Proof.Counts = nil
	r.Proof.stale()
}

// halt makes all live work end. What still follows for any step is looked at
// again, because less does.
func (s *State) halt(flag *bool) {
	s.showReady()
	*flag = true
	for _, i := range append(s.must.all(), s.active...) {
		s.touch(i)
	}
	for _, e := range s.run.Expanded {
		i, _ := s.prog.Index(e.Step)
		s.touch(i)
	}
}

// showReady notes that what was ready is so no longer.
func (s *State) showReady() {
	for i := range s.steps {
		if s.eligible(i) {
			s.show(i)
		}
	}
}

// ends is the end of the run, once nothing can move.
func (s *State) ends() (RunEnded, bool) {
	switch {
	case s.working():
		return RunEnded{}, false
	case s.run.Cancelled:
		return s.ended(Cancelled, exitCancelled, s.run.Reason), true
	case s.run.Aborted:
		return s.failed(), true
	case s.run.Futile.Over != "":
		return s.ended(Failed, 1, s.run.Futile.Over), len(s.active) == 0
	case s.run.Replan != nil:
		r := s.run.Replan
		return s.ended(Failed, r.Exit, r.Over), r.Over != "" && !s.run.Paused && len(s.active) == 0
	case s.run.Proof.Undone != "":
		return s.ended(Failed, 6, "not converging: checks change files back and forth: "+s.run.Proof.Undone), true
	case s.run.Paused || s.run.Proof.Stage != noRound:
		return RunEnded{}, false
	case s.run.Unsat > 0 && s.diverging():
		return s.ended(Failed, 6, "not converging: proven steps keep breaking"), true
	case len(s.active) > 0:
		return RunEnded{}, false
	case s.run.Critical > 0:
		return s.failed(), true
	case s.run.Unsat == 0 && !s.owes():
		return s.ended(Done, 0, ""), true
	case s.run.Unsat == 0 || len(s.due) > 0 || len(s.items) > 0:
		return RunEnded{}, false
	}
	return s.failed(), true
}

func (s *State) ended(status Status, exit int, reason string) RunEnded {
	return RunEnded{Status: status, Exit: exit, Reason: reason, Left: s.run.Unsat, Waits: status == Done && s.stays(), Proven: s.run.Proven, Unproven: s.run.Unproven}
}

// failed ends the run by what cannot go on. It looks at all steps, once, at the
// run's end.
func (s *State) failed() RunEnded {
	for _, want := range []Status{Failed, Skipped} {
		for i := range s.steps {
			st := &s.steps[i]
			if st.Status != want || st.satisfied() {
				continue
			}
			exit := 1
			if st.Verdict == OverBudget {
				exit = exitBudget
			}
			return s.ended(Failed, exit, s.StepRow(i).Ends())
		}
	}
	return s.ended(Failed, 1, "no step can continue")
}

// Forgone is how many steps were skipped and do not count as satisfied: a person
// denied them, or their `on_fail:` gave them up.
func (s *State) Forgone() int {
	n := 0
	for i := range s.steps {
		if st := &s.steps[i]; st.Status == Skipped && !st.satisfied() {
			n++
		}
	}
	return n
}

// exitCancelled is the exit code of a run that a person stopped: it says nothing of the work.
const exitCancelled = 130

// exitBudget is the exit code of a run that ends for want of a larger budget.
const exitBudget = 5

// move moves the protected base where a finished step's writes covered it. The map
// is never changed in place, because effects hold it; the copy costs what was moved
// so far, and only a step that moves something pays it.
func (s *State) move(paths map[string]string) {
	if len(paths) > 0 {
		s.run.Moved = overlaid(s.run.Moved, paths)
	}
}
