package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// why says why a step stands as it does.
func (t theme) why(x view.Account) []string {
	var lines []string
	if state, l := t.runState(x.Standing); !x.Counts() && (x.Head.Ended || l == lookOf(view.Interrupted, "")) {
		lines = t.under(0, l.tone, fmt.Sprintf("run %s: %s", x.Head.Run, state))
	}
	lines = append(lines, t.stepsOf(x, []int{x.Index})...)
	lines = append(lines, t.became(x, x.Index)...)
	lines = append(lines, t.evidence(x)...)
	lines = append(lines, t.waits(x)...)
	lines = append(lines, t.origin(x.Origin)...)
	if items := x.Asked(); len(items) > 0 {
		lines = append(append(lines, ""), t.items(items, x.Now)...)
	}
	if next := x.Next(); len(next) > 0 {
		lines = append(append(lines, ""), t.advice(next)...)
	}
	return lines
}

// origin says what led to how a step stands.
func (t theme) origin(o view.Origin) []string {
	by := ""
	if o.Revision.ApprovedBy != "" {
		by = ", approved by " + t.line(o.Revision.ApprovedBy)
	}
	lines := t.under(1, boldTone, fmt.Sprintf("revision %d of the plan (%s)%s", o.Revision.Version, short(o.Revision.PlanHash), by))
	for _, a := range o.Yes {
		lines = append(lines, t.under(1, plainTone, fmt.Sprintf("%s was answered by %s: %s", a.Item, t.line(a.By), t.line(strings.TrimSpace(a.Choice+" "+a.Text))))...)
		if before, edited := o.Before[a.Item]; edited {
			lines = append(lines, t.under(2, plainTone, "with other arguments, from: "+t.line(string(before)))...)
			lines = append(lines, t.under(2, plainTone, "to: "+t.line(string(a.Args)))...)
		}
	}
	if o.Dispatch != nil {
		for _, in := range o.Dispatch.Injected {
			what := short(in.Hash)
			if in.Hash == "" {
				what = "not there"
			}
			lines = append(lines, t.under(1, plainTone, fmt.Sprintf("was given %s (%s)", t.line(in.Ref), what))...)
		}
	}
	lines = append(lines, t.frames("was given", view.FramesOf(o.Consumed))...)
	return append(lines, t.frames("left", view.FramesOf(o.Produced))...)
}

// frames lists frames, the newest few of many.
func (t theme) frames(did string, frames []view.FrameDoc) []string {
	var lines []string
	if more := len(frames) - mostWaited; more > 0 {
		lines = t.under(1, idleTone, fmt.Sprintf("%s %s before these", did, view.Plural(more, "frame", "frames")))
		frames = frames[more:]
	}
	for _, f := range frames {
		lines = append(lines, t.under(1, plainTone, fmt.Sprintf("%s frame %d, %s: %s", did, f.ID, f.Kind, t.line(f.Summary)))...)
	}
	return lines
}

// short is the beginning of a hash.
func short(hash string) string { return hash[:min(12, len(hash))] }

// unrun says why nothing of a plan has begun.
func (t theme) unrun(r *engine.Revision, now time.Time) []string {
	switch {
	case r.Answer == nil:
		return t.inbox(nil, []*engine.Revision{r}, now)
	case r.Rejected():
		return t.under(0, warnTone, t.rejected(r, r.Drafted.Path))
	}
	lines := t.revision(api.Entry{Revision: r})
	return append(append(lines, "nothing of it was run yet", ""), t.advice([]view.Advice{{Word: "next", Command: view.ToRun(r)}})...)
}

// mostWaited is how many steps are shown that a step waits for.
const mostWaited = 12

// stepsOf shows steps of the run as status does.
func (t theme) stepsOf(x view.Account, steps []int) []string {
	s := x.Standing
	shown := min(len(steps), mostWaited)
	s.Steps = x.Rows(steps[:shown])
	lines := t.steps(s)
	if left := len(steps) - shown; left > 0 {
		lines = append(lines, t.under(6, idleTone, fmt.Sprintf("%s %s: piton status %s shows all", t.dots(), view.Plural(left, "more step", "more steps"), x.Head.Run))...)
	}
	return lines
}

// became tells, as the log does, what came of the step last.
func (t theme) became(x view.Account, i int) []string {
	row, p := x.Row(i), x.Fold.Step(i)
	o := x.Told[row.ID]
	if o == nil {
		return nil
	}
	var lines []string
	for _, h := range slices.Concat(o.Became, o.Began) {
		h.Step = i
		lines = append(lines, t.told(h)...)
	}
	if (row.Status == engine.Running || row.Status == engine.Waiting || row.Status == engine.Failed || row.Status == engine.Regressed) &&
		row.Attempts > 0 && len(p.Checks) > 0 && p.Each == nil {
		lines = append(lines, t.under(logIndent, idleTone, tried(x, i)+"; "+view.OnFailure(p.OnFail.Retries, string(p.OnFail.Then)))...)
	}
	return lines
}

// tried says how often the step was tried, and may be.
func tried(x view.Account, i int) string {
	row := x.Row(i)
	if row.Loop != nil {
		return fmt.Sprintf("attempt %d, %s", row.Attempts, view.LoopLine(row.Loop))
	}
	return fmt.Sprintf("attempt %d of %d", row.Attempts, x.Fold.Allowed(i))
}

// evidence lists what the step stands by, with its places in the journal.
func (t theme) evidence(x view.Account) []string {
	var lines []string
	for _, r := range x.Proof {
		switch e := r.Event.(type) {
		case engine.WorkDispatched:
			lines = append(lines, t.under(logIndent, idleTone, fmt.Sprintf("event %d, attempt %d: given to agent %s: %s", r.Seq, e.Attempt, t.line(e.Role), t.line(e.Why)))...)
		case engine.CheckEnded:
			lines = append(lines, t.under(logIndent, idleTone, fmt.Sprintf("event %d, attempt %d: %s", r.Seq, e.Attempt, t.answered(e)))...)
			if e.Opened != nil {
				lines = append(lines, t.under(logIndent+2, idleTone, t.looked(*e.Opened))...)
				lines = append(lines, t.adopts(x, e)...)
			}
		case engine.ChangeReverted:
			lines = append(lines, t.under(logIndent, idleTone, fmt.Sprintf("event %d, attempt %d: %s", r.Seq, e.Attempt, t.line(reverted(e))))...)
			lines = append(lines, t.parts("the proof does not see", e.Unseen)...)
			lines = append(lines, t.parts("not tried for want of time", e.Untried)...)
		case engine.WorkEnded:
			lines = append(lines, t.under(logIndent, idleTone, fmt.Sprintf("event %d, attempt %d: %s", r.Seq, e.Attempt, t.workEnded(e)))...)
		}
	}
	return lines
}

// reverted says what came of taking back what a strong step changed.
func reverted(e engine.ChangeReverted) string {
	if e.Verdict != engine.Pass {
		return fmt.Sprintf("taken back in a copy: %s (%s)", e.Verdict, e.Reason)
	}
	said := "without the change the checks fail, in a copy"
	if e.Parts > 1 {
		said += fmt.Sprintf("; it has %d parts, taken back one by one", e.Parts)
	}
	return said
}

// parts lists places of parts of a change.
func (t theme) parts(what string, places []string) (lines []string) {
	for _, p := range places {
		lines = append(lines, t.under(logIndent+2, idleTone, what+": "+t.line(p))...)
	}
	return lines
}

// looked says which files were opened while a check ran.
func (t theme) looked(o engine.Opened) string {
	if o.Unseen != "" {
		return "which files it opened is not known, so what judges is what its words name: " + t.line(o.Unseen)
	}
	said := "opened " + view.Plural(o.Files, "file", "files")
	if o.Files == 0 {
		said = "opened no file of the workspace"
	}
	var own []string
	for _, list := range []struct {
		what  string
		files []string
	}{{"changed", o.Changed}, {"made", o.Made}} {
		if len(list.files) > 0 {
			own = append(own, list.what+" "+t.line(some(list.files)))
		}
	}
	if len(own) > 0 {
		said += ", of which the step " + view.Join(own)
	}
	if len(o.Gone) > 0 {
		said += "; before the work it opened as well " + t.line(some(o.Gone))
	}
	return said
}

// adopts says how a proof that rests on what the step itself changed becomes one: where the
// plan says that these files are the work.
func (t theme) adopts(x view.Account, e engine.CheckEnded) []string {
	row, o := x.Row(x.Index), e.Opened
	if e.Phase != engine.Verifying || e.Verdict != engine.Pass || row.Proven || len(o.Changed) == 0 || len(x.Fold.Step(x.Index).Writes) > 0 {
		return nil
	}
	label := "**writes:** " + strings.Join(slices.Concat(o.Changed, o.Made), ", ")
	lines := t.under(logIndent+2, boldTone, "if they are the work, write in the step: "+t.line(label))
	if x.Vouches(row) {
		lines = append(lines, t.under(logIndent+2, boldTone, "or, for this run alone: piton vouch "+t.line(row.ID)+" --run "+x.Head.Run)...)
	}
	return lines
}

// some names a few of many.
func some(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", more))
	}
	return view.Join(names)
}

// waits says what keeps the step.
func (t theme) waits(x view.Account) []string {
	h := x.Hold
	var lines []string
	say := func(what string, steps []int) {
		lines = append(lines, t.under(1, boldTone, what)...)
		lines = append(lines, t.stepsOf(x, steps)...)
	}
	direct, further := "waits for:", "waiting for:"
	if h.Blocked {
		direct, further = "blocked by:", "because of:"
	}
	if len(h.Needs) > 0 {
		say(direct, h.Needs)
	}
	if len(x.Roots) > 0 {
		say(further, x.Roots)
	}
	if ends := x.Ends(); h.Blocked && len(ends) == 1 {
		lines = append(lines, t.became(x, ends[0])...)
	}
	if len(h.Critical) > 0 {
		say("nothing starts after a critical step has failed:", h.Critical)
	}
	switch {
	case h.Full:
		say(fmt.Sprintf("all places are taken by %s:", view.Plural(len(h.Beside), "step is", "steps are")), h.Beside)
	case len(h.Beside) > 0:
		say("waits for steps that use the same files:", h.Beside)
	}
	for _, l := range x.Words() {
		lines = append(lines, t.under(1, boldTone, l)...)
	}
	return lines
}
