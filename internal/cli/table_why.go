package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
)

// why says why a step stands as it does.
func (t theme) why(x account) []string {
	var lines []string
	if state, l := t.runState(x.standing); !x.counts() && (x.head.Ended || l == looks[interrupted]) {
		lines = t.under(0, l.tone, fmt.Sprintf("run %s: %s", x.head.Run, state))
	}
	lines = append(lines, t.stepsOf(x, []int{x.index})...)
	lines = append(lines, t.became(x, x.index)...)
	lines = append(lines, t.evidence(x)...)
	lines = append(lines, t.waits(x)...)
	if items := x.asked(); len(items) > 0 {
		lines = append(append(lines, ""), t.items(items, x.now)...)
	}
	if next := x.next(t); next != "" {
		lines = append(append(lines, ""), t.commands(0, next)...)
	}
	return lines
}

// unrun says why nothing of a plan has begun.
func (t theme) unrun(r *engine.Revision, now time.Time) []string {
	switch {
	case r.Answer == nil:
		return t.inbox(nil, []*engine.Revision{r}, now)
	case r.Rejected():
		return t.under(0, warnTone, t.rejected(r, r.Drafted.Path))
	}
	lines := t.revision(api.Entry{Revision: r})
	return append(append(lines, "nothing of it was run yet", ""), t.commands(0, "next: "+t.line(toRun(r)))...)
}

// mostWaited is how many steps are shown that a step waits for.
const mostWaited = 12

// stepsOf shows steps of the run as status does.
func (t theme) stepsOf(x account, steps []int) []string {
	s := x.standing
	shown := min(len(steps), mostWaited)
	s.steps = x.rows(steps[:shown])
	lines := t.steps(s)
	if left := len(steps) - shown; left > 0 {
		lines = append(lines, t.under(6, idleTone, fmt.Sprintf("%s %s: piton status %s shows all", t.dots(), plural(left, "more step", "more steps"), x.head.Run))...)
	}
	return lines
}

// became tells, as the log does, what came of the step last.
func (t theme) became(x account, i int) []string {
	row, p := x.row(i), x.fold.state.Program().Step(i)
	o := x.told[row.ID]
	if o == nil {
		return nil
	}
	var lines []string
	for _, h := range slices.Concat(o.became, o.began) {
		h.step = i
		lines = append(lines, t.told(&x.fold, h)...)
	}
	if (row.Status == engine.Running || row.Status == engine.Waiting || row.Status == engine.Failed || row.Status == engine.Regressed) &&
		row.Attempts > 0 && len(p.Checks) > 0 && p.Each == nil {
		lines = append(lines, t.under(logIndent, idleTone, fmt.Sprintf("attempt %d of %d; %s", row.Attempts, x.fold.allowed(i), onFailure(p.OnFail.Retries, string(p.OnFail.Then))))...)
	}
	return lines
}

// evidence lists what the step stands by, with its places in the journal.
func (t theme) evidence(x account) []string {
	var lines []string
	for _, r := range x.proof {
		switch e := r.Event.(type) {
		case engine.CheckEnded:
			lines = append(lines, t.under(logIndent, idleTone, fmt.Sprintf("event %d, attempt %d: %s", r.Seq, e.Attempt, t.answered(e)))...)
		case engine.WorkEnded:
			lines = append(lines, t.under(logIndent, idleTone, fmt.Sprintf("event %d, attempt %d: %s", r.Seq, e.Attempt, t.workEnded(e)))...)
		}
	}
	return lines
}

// waits says what keeps the step.
func (t theme) waits(x account) []string {
	h := x.hold
	var lines []string
	say := func(what string, steps []int) {
		lines = append(lines, t.under(1, boldTone, what)...)
		lines = append(lines, t.stepsOf(x, steps)...)
	}
	direct, further := "waits for:", "which wait for:"
	if h.Blocked {
		direct, further = "blocked by:", "because of:"
	}
	if len(h.Needs) > 0 {
		say(direct, h.Needs)
	}
	if len(x.roots) > 0 {
		say(further, x.roots)
	}
	if ends := x.ends(); h.Blocked && len(ends) == 1 {
		lines = append(lines, t.became(x, ends[0])...)
	}
	if len(h.Critical) > 0 {
		say("nothing begins after a critical step has failed:", h.Critical)
	}
	switch {
	case h.Full:
		say(fmt.Sprintf("no place is free, for %s at work:", plural(len(h.Beside), "step is", "steps are")), h.Beside)
	case len(h.Beside) > 0:
		say("waits for what uses the same files:", h.Beside)
	}
	for _, l := range x.words() {
		lines = append(lines, t.under(1, boldTone, l)...)
	}
	return lines
}

// ends are the steps that a blocked one is blocked by in the end.
func (x *account) ends() []int {
	if len(x.roots) > 0 {
		return x.roots
	}
	return x.hold.Needs
}

// words say what keeps the step and is no step.
func (x *account) words() []string {
	h := x.hold
	var lines []string
	if !h.Retry.IsZero() {
		lines = append(lines, fmt.Sprintf("tried again at %s, in %s", h.Retry.Local().Format("15:04:05"), span(h.Retry.Sub(x.now))))
	}
	if h.Budget {
		lines = append(lines, "the budget leaves no room for it now")
	}
	if h.Proving {
		lines = append(lines, "what is done is proved again first")
	}
	if h.Paused {
		lines = append(lines, "the run is paused; piton resume "+x.head.Run+" goes on")
	}
	return lines
}

// next is what a person can do about the step, "" for nothing.
func (x *account) next(t theme) string {
	if x.counts() {
		return ""
	}
	s := x.standing
	s.items = x.asked()
	s.steps = x.rows(append([]int{x.index}, x.ends()...))
	return strings.TrimSpace(t.next(s))
}
