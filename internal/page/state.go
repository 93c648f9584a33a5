package page

import (
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// State is a status with its sign and its tone: never a colour alone.
type State struct{ Word, Tone, Glyph string }

// looks are the signs and tones of all statuses; the words are those of [view.Word].
var looks = map[engine.Status]State{
	engine.Pending:    {Tone: "idle", Glyph: "idle"},
	engine.Ready:      {Tone: "idle", Glyph: "ready"},
	engine.Blocked:    {Tone: "idle", Glyph: "block"},
	engine.Running:    {Tone: "run", Glyph: "run"},
	engine.Waiting:    {Tone: "you", Glyph: "you"},
	engine.Done:       {Tone: "ok", Glyph: "ok"},
	view.DoneUnproven: {Tone: "warn", Glyph: "ok"},
	engine.Failed:     {Tone: "bad", Glyph: "bad"},
	engine.Skipped:    {Tone: "idle", Glyph: "skip"},
	engine.Waived:     {Tone: "warn", Glyph: "skip"},
	engine.Regressed:  {Tone: "warn", Glyph: "retry"},
	engine.Paused:     {Tone: "warn", Glyph: "pause"},
	engine.Replanning: {Tone: "run", Glyph: "retry"},
	engine.Cancelled:  {Tone: "idle", Glyph: "stop"},
	view.Interrupted:  {Tone: "warn", Glyph: "stop"},
	view.Verified:     {Tone: "you", Glyph: "you"},
	view.Approved:     {Tone: "idle", Glyph: "ready"},
	view.Rejected:     {Tone: "bad", Glyph: "bad"},
}

// stateOf is the state of a run, or of a step in a phase.
func stateOf(s engine.Status, p engine.Phase) State {
	l, ok := looks[s]
	switch {
	case !ok:
		l = State{Tone: "idle", Glyph: "idle"}
	case s == engine.Running && p == engine.Retrying:
		l = State{Tone: "warn", Glyph: "retry"}
	}
	l.Word = view.Word(s, p)
	return l
}

// When is a moment: for people, and exact.
type When struct{ Text, Exact string }

// clock is the time of the day of a moment.
func clock(at time.Time) When {
	if at.IsZero() {
		return When{}
	}
	return When{at.Local().Format("15:04:05"), at.Local().Format(time.RFC3339)}
}

// ago says how long ago a moment was.
func ago(at, now time.Time) When {
	w := clock(at)
	if !at.IsZero() {
		w.Text = view.Age(now.Sub(at))
	}
	return w
}

// percent is the part of a whole, from 0 to 100.
func percent(part, whole int64) int {
	if whole <= 0 {
		return 0
	}
	return int(min(100, max(0, 100*part/whole)))
}
