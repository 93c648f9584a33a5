package page

import (
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

// needsGraph draws which step of a plan needs which, before anything has run: the sign of a
// node says what was found in the step.
func needsGraph(x *Review, doc *api.Document, current string) Graph {
	at := map[string]int{}
	var nodes []Node
	for i, s := range x.Steps {
		at[s.ID] = i
		n := Node{Key: s.DOM, To: "#" + s.DOM, Number: s.Number, Name: s.ID, Title: s.Title, Gate: s.Asks != "" || s.Question, Current: s.ID == current}
		n.State = s.standing()
		nodes = append(nodes, n)
	}
	needs, refs := make([][]int, len(nodes)), doc.Plan.Refs()
	for i := range nodes {
		for _, id := range view.NeedsOf(doc.Plan, refs, i) {
			if before, here := at[id]; here {
				needs[i] = append(needs[i], before)
			}
		}
	}
	g := graphOf(nodes, needs, nil, true)
	g.Plan = true
	return g
}

// standing is what a step of a plan is before it runs.
func (s *ReviewStep) standing() State {
	worst := ""
	for _, f := range s.Findings {
		if f.Tone == "bad" || worst == "" {
			worst = f.Tone
		}
	}
	switch {
	case worst == "bad":
		return State{"has an error", "bad", "bad"}
	case worst == "warn":
		return State{"has a warning", "warn", "warn"}
	case s.LeftOut:
		return State{"left out", "idle", "skip"}
	case s.Asks != "" || s.Question:
		return State{"asks you first", "idle", "gate"}
	}
	return State{"will run", "idle", "ready"}
}
