package page

import (
	"cmp"
	"fmt"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// Decision is something that a person decided, or the policy for them.
type Decision struct {
	At       When
	By, What string
}

// minutes keep who decided what in a run.
type minutes struct {
	said []Decision
	asks map[string]string // the questions of items
	at   time.Time         // of the newest answer
	by   string
	why  bool // what the person said with it is kept
}

// take keeps a happening that somebody decided. What follows from an answer is no decision of its
// own, but may have the words that were said with it.
func (m *minutes) take(h view.Happening) {
	run := h.Of.State.Run()
	switch {
	case h.What == view.Asked:
		m.asks[h.Item.Item] = h.Text
		return
	case h.Of.Up == nil && (h.What == view.Opened || h.What == view.Revised):
		m.said = append(m.said, Decision{clock(h.At), run.ApprovedBy, fmt.Sprintf("approved revision %d of the plan", run.Version)})
		return
	case h.By == "" || h.By == engine.Harness:
		return
	case h.What == view.Answered:
		m.at, m.by, m.why = h.At, h.By, h.Said != ""
	case h.At.Equal(m.at) && h.By == m.by:
		if last := &m.said[len(m.said)-1]; h.Text != "" && !m.why {
			last.What, m.why = last.What+"\n"+h.Text, true
		}
		return
	}
	if what := m.words(h); what != "" {
		m.said = append(m.said, Decision{clock(h.At), h.By, what})
	}
}

// words say what was decided; "" where nothing was.
func (m *minutes) words(h view.Happening) string {
	step, why := "the run", ""
	if h.Step >= 0 {
		row := h.Of.Row(h.Step)
		step = "step " + row.Number + " " + row.Title
	}
	if h.Text != "" {
		why = ": " + h.Text
	}
	switch h.What {
	case view.Answered:
		text := "answered: " + cmp.Or(labels[h.Text], h.Text)
		if h.Text == engine.ChooseAnswer {
			text = "answered"
		}
		for _, more := range []string{h.Said, h.Args} {
			if more != "" {
				text += ": " + more
			}
		}
		return text + "\n" + m.asks[h.Item.Item]
	case view.Skipped:
		return "skipped " + step + why
	case view.Waived:
		return "accepted " + step + " without proof" + why
	case view.Vouched:
		return "said that what " + step + " changed is its work" + why
	case view.Redone:
		return "had " + step + " tried again" + why
	case view.Forced:
		return "gave " + step + " to " + h.Agent + why
	case view.Replans:
		return "asked for a revision because of " + step + why
	case view.Configured:
		return "let the run go on with the changed configuration" + why
	case view.Commanded:
		return "told the run to " + string(h.Verb) + why
	}
	return ""
}
