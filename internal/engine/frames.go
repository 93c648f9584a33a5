package engine

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/lazy"
)

// FrameKind says what a frame tells. A word that is none of these is an agent's own.
type FrameKind string

const (
	IntentAnalysis FrameKind = "intent_analysis" // what was asked for
	StepSummary    FrameKind = "step_summary"    // what came of a step
	CodeChange     FrameKind = "code_change"     // which files an attempt changed
	SystemState    FrameKind = "system_state"    // what happened to the machine or the harness
	ErrorRecovery  FrameKind = "error_recovery"  // an attempt that did not pass, and what follows
	Checkpoint     FrameKind = "checkpoint"      // how things stood when a run or a revision took over
	ToolCall       FrameKind = "tool_call"       // a call and how it ended
	Discovery      FrameKind = "discovery"       // what an agent says it found
)

// frameKinds are the kinds that only the harness pushes.
var frameKinds = []FrameKind{IntentAnalysis, StepSummary, CodeChange, SystemState, ErrorRecovery, Checkpoint, ToolCall}

// ownKind is how an agent's own kind is written.
var ownKind = lazy.Regexp(`^[a-z][a-z0-9_]{0,31}$`)

// CanReport reports whether an agent may push frames of the kind: those of the
// harness, some of which are never evicted, it may not.
func (k FrameKind) CanReport() bool {
	return ownKind().MatchString(string(k)) && !slices.Contains(frameKinds, k)
}

// lasts reports a kind that is never evicted.
func (k FrameKind) lasts() bool { return k == IntentAnalysis || k == Checkpoint }

// handed reports a kind that a step gets of the steps it needs.
func (k FrameKind) handed() bool { return k == StepSummary || k.CanReport() }

// FramePushed adds a frame to the pipeline of the intent, which all plans and runs
// of its task share. A frame is evicted when there are too many newer ones; that is
// derived, and its id stays its own.
type FramePushed struct {
	ID      int       `json:"frame"` // 1 for the first of the pipeline
	Kind    FrameKind `json:"kind"`
	Step    string    `json:"step,omitempty"` // whose attempt produced it
	Attempt int       `json:"attempt,omitempty"`
	Summary string    `json:"summary"`
	Data    string    `json:"data,omitempty"` // object: the whole of what it sums up
	Tokens  int       `json:"tokens"`         // estimate of the summary's
}

// Window is a range of frame ids: Start belongs to it and End does not.
type Window struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Len is how many ids there are in the range.
func (w Window) Len() int { return w.End - w.Start }

// Limits of frames.
const (
	DefaultFrames = 40   // that are visible, where the policy does not say
	maxSummary    = 1024 // bytes of one summary
	maxNamed      = 5    // files that a summary names
	maxHanded     = 2000 // tokens of the frames that an agent gets
)

// pipeline is what the task's pipeline holds.
type pipeline struct {
	Last   int           `json:",omitzero"`  // id of the newest frame
	Kept   []FramePushed `json:",omitempty"` // visible ones that are never evicted
	Recent []FramePushed `json:",omitempty"` // the other visible ones, oldest first
	Owed   []FramePushed `json:",omitempty"` // that follow from what happened, without their ids
}

// window is the range in which all frames are visible. Before it only those are
// that are never evicted.
func (p *pipeline) window() Window {
	w := Window{p.Last + 1, p.Last + 1}
	if len(p.Recent) > 0 {
		w.Start = p.Recent[0].ID
	}
	return w
}

// visible yields the visible frames, newest first.
func (p *pipeline) visible(yield func(FramePushed) bool) {
	k, r := len(p.Kept)-1, len(p.Recent)-1
	for k >= 0 || r >= 0 {
		var f FramePushed
		if r < 0 || k >= 0 && p.Kept[k].ID > p.Recent[r].ID {
			f, k = p.Kept[k], k-1
		} else {
			f, r = p.Recent[r], r-1
		}
		if !yield(f) {
			return
		}
	}
}

// Frames are the visible frames of the task, oldest first.
func (s *State) Frames() []FramePushed {
	frames := slices.Collect(s.pipe.visible)
	slices.Reverse(frames)
	return frames
}

// Window is the range of frames that is visible now. What is visible before it
// are the frames that are never evicted.
func (s *State) Window() Window { return s.pipe.window() }

// owe notes a frame that follows. Its id comes when it is pushed.
func (s *State) owe(f FramePushed) {
	f.Summary = brief(f.Summary)
	f.Tokens = tokensOf(f.Summary)
	s.pipe.Owed = append(s.pipe.Owed, f)
}

// owed is the frame that follows next.
func (s *State) owed() (FramePushed, bool) {
	if len(s.pipe.Owed) == 0 {
		return FramePushed{}, false
	}
	f := s.pipe.Owed[0]
	f.ID = s.pipe.Last + 1
	return f, true
}

func (s *State) applyFrame(e FramePushed) error {
	want, owed := s.owed()
	switch {
	case !owed || e.ID != want.ID || e.Kind != want.Kind || e.Step != want.Step || e.Attempt != want.Attempt:
		return fmt.Errorf("frame %d (%s) of step %q is pushed, which does not follow", e.ID, e.Kind, e.Step)
	case len(e.Summary) > maxSummary || e.Tokens < 0:
		return fmt.Errorf("frame %d has a summary of %d bytes and %d tokens", e.ID, len(e.Summary), e.Tokens)
	}
	p := &s.pipe
	p.Last, p.Owed = e.ID, p.Owed[1:]
	if len(p.Owed) == 0 {
		p.Owed = nil
	}
	if e.Kind.lasts() {
		p.Kept = append(p.Kept, e)
		return nil
	}
	p.Recent = append(p.Recent, e)
	limit := s.run.Opened.Policy.Frames
	if limit == 0 {
		limit = DefaultFrames
	}
	if over := len(p.Recent) - limit; over > 0 {
		p.Recent = p.Recent[over:]
	}
	return nil
}

// promise says of each settling which frames it produces, and of each run that
// opens or is revised which are visible.
func (s *State) promise(es []Event) []Event {
	for n, e := range es {
		switch e := e.(type) {
		case RunOpened:
			e.Frames = s.Window()
			es[n] = e
		case StepSettled:
			if i, err := s.at(e.Step); err == nil {
				e.Produced = s.next(len(s.produces(i, e)))
				es[n] = e
			}
		}
	}
	return es
}

// next are the ids of the n frames that will be owed next.
func (s *State) next(n int) Window {
	first := s.pipe.Last + len(s.pipe.Owed) + 1
	return Window{first, first + n}
}

// yields owes the frames that a settling of step i produces, before that changes
// the step.
func (s *State) yields(i int, e StepSettled) error {
	frames := s.produces(i, e)
	if want := s.next(len(frames)); e.Produced != want {
		return fmt.Errorf("step %q settles and produces frames %v, not %v", e.Step, want, e.Produced)
	}
	for _, f := range frames {
		s.owe(f)
	}
	return nil
}

// produces are the frames of an attempt that is over, and of how the step stands
// now. What settles a step without that, such as the end of a wait, produces none.
func (s *State) produces(i int, e StepSettled) []FramePushed {
	st := &s.steps[i]
	if s.waits(i) && e.By == "" || s.keeps(i, e) {
		return nil
	}
	var frames []FramePushed
	add := func(kind FrameKind, data, text string) {
		frames = append(frames, FramePushed{Kind: kind, Step: e.Step, Attempt: e.Attempt, Summary: brief(text), Data: data})
	}
	if end := st.Ended; end != nil {
		s.attempted(i, end, add)
	}
	switch {
	case e.RetryAt != nil && e.Verdict == Infra:
	case e.RetryAt != nil:
		add(ErrorRecovery, "", fmt.Sprintf("%s: attempt %d did not pass: %s. It is tried again.", s.prog.Step(i).Title, e.Attempt, e.Reason))
	case e.Status == Waiting || e.Status == Regressed:
		add(ErrorRecovery, "", fmt.Sprintf("%s: %s: %s", s.prog.Step(i).Title, e.Status, e.Reason))
	case e.Status == Done || e.Status == Waived || e.Status == Skipped || e.Status == Failed:
		add(StepSummary, st.Output, s.summed(i, e))
	}
	return frames
}

// found owes what an attempt that was cut off had found by then.
func (s *State) found(i int, end *WorkEnded) {
	s.told(i, end, func(kind FrameKind, data, text string) {
		s.owe(FramePushed{Kind: kind, Step: end.Step, Attempt: end.Attempt, Summary: text, Data: data})
	})
}

// attempted adds what the end of an attempt's work tells.
func (s *State) attempted(i int, end *WorkEnded, add func(kind FrameKind, data, text string)) {
	p := s.prog.Step(i)
	if p.Kind == Tool && end.How == Exited {
		how := "ok"
		if end.Failed {
			how = "failed: " + end.Reason
		}
		add(ToolCall, end.Output, fmt.Sprintf("%s: %s, %d bytes", p.Tool, how, end.Size))
	}
	if len(end.Changed) > 0 {
		add(CodeChange, end.Tree, "changed "+pathList(end.Changed))
	}
	s.told(i, end, add)
}

// told adds what an agent says it found, less what is known of the step already.
func (s *State) told(i int, end *WorkEnded, add func(kind FrameKind, data, text string)) {
	id := s.prog.Step(i).ID
	said := map[string]bool{}
	tell := func(kind FrameKind, text string) {
		if text = brief(text); text != "" && !said[text] && !s.knows(id, kind, text) {
			said[text] = true
			add(kind, "", text)
		}
	}
	for _, d := range end.Discoveries {
		tell(Discovery, d)
	}
	for _, r := range end.Remarks {
		tell(r.Kind, r.Text)
	}
}

// knows reports whether a visible frame of the step says the same already, one that
// was pushed since the run, or its revision, was opened: a run can be replayed alone.
func (s *State) knows(step string, kind FrameKind, text string) bool {
	for f := range s.pipe.visible {
		if f.ID < s.run.Opened.Frames.End {
			return false
		}
		if f.Kind == kind && f.Step == step && f.Summary == text {
			return true
		}
	}
	return false
}

// summed says what came of a step.
func (s *State) summed(i int, e StepSettled) string {
	st := &s.steps[i]
	text := s.prog.Step(i).Title + ": " + string(e.Status)
	switch {
	case e.Proven:
		text += ", proven"
	case e.Status == Done && len(s.prog.Step(i).Checks) > 0:
		text += ", unproven"
	case e.Reason != "":
		text += ": " + e.Reason
	}
	if end := st.Ended; end != nil {
		if len(end.Changed) > 0 {
			text += "; changed " + pathList(end.Changed)
		}
		if said := st.unseen(); said != "" && e.Status == Done {
			text += "; " + said
		}
		if end.Words != "" && e.Status == Done {
			text += "\nWho did it says: " + end.Words
		}
	}
	return text
}

// pathList lists files, the first few by name.
func pathList(paths []string) string {
	list := strings.Join(paths[:min(len(paths), maxNamed)], ", ")
	if more := len(paths) - maxNamed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// consumes are the frames that whoever works on step i gets, oldest first: what
// came of the steps it needs and what was found there, and what its own attempts
// found. Of too many the newest are taken.
func (s *State) consumes(i int) []FramePushed {
	if s.prog.Step(i).Kind != Agent {
		return nil
	}
	own, needs := s.prog.Step(i).ID, map[string]bool{}
	for _, id := range s.prog.names[i] {
		needs[id] = true
	}
	var frames []FramePushed
	tokens := 0
	for f := range s.pipe.visible {
		if !f.Kind.handed() || !needs[f.Step] && (f.Step != own || f.Kind == StepSummary) {
			continue
		}
		if tokens += f.Tokens; tokens > maxHanded {
			break
		}
		frames = append(frames, f)
	}
	slices.Reverse(frames)
	return frames
}

// FrameIDs are the ids of frames.
func FrameIDs(frames []FramePushed) []int {
	var ids []int
	for _, f := range frames {
		ids = append(ids, f.ID)
	}
	return ids
}

// knowable reports frame ids that a dispatch can have consumed.
func (s *State) knowable(ids []int) bool {
	for n, id := range ids {
		if id < 1 || id > s.pipe.Last || n > 0 && id <= ids[n-1] {
			return false
		}
	}
	return true
}

// sees checks the range of frames that a run, or a revision of one, opens with. A
// state that was begun with a later run does not know the frames before it.
func (s *State) sees(e RunOpened) error {
	if e.Frames.Start < 1 || e.Frames.Start > e.Frames.End || e.Frames.End != s.pipe.Last+1 {
		return fmt.Errorf("run %s opens with the frames %v visible, after frame %d", e.Run, e.Frames, s.pipe.Last)
	}
	return nil
}

// opensWith owes the frame that a run, or a revision of one, begins with: what was
// asked for, and later where things stood.
func (s *State) opensWith(e RunOpened, stood string) {
	if e.Frames.End == 1 {
		text := e.Title
		if about := strings.TrimSpace(e.Compiled.def.Context); about != "" {
			text += "\n" + about
		}
		s.owe(FramePushed{Kind: IntentAnalysis, Summary: text, Data: e.Source})
		return
	}
	s.owe(FramePushed{Kind: Checkpoint, Summary: stood, Data: e.Source})
}

// stood says how the newest run stands, for the checkpoint of what follows it.
func (s *State) stood() string {
	r := &s.run
	if s.prog == nil {
		return "another run follows"
	}
	return fmt.Sprintf("version %d, %s: %d of %d steps count, %d proven, %d unproven", r.Opened.Version, r.Status, len(s.steps)-r.Unsat, len(s.steps), r.Proven, r.Unproven)
}

// brief cuts a text to what a frame may hold.
func brief(s string) string {
	s = strings.TrimSpace(text(s))
	if len(s) <= maxSummary {
		return s
	}
	cut := maxSummary - len("…")
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// tokensOf estimates the tokens of a text.
func tokensOf(s string) int { return (len(s) + 3) / 4 }
