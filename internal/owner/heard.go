package owner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
)

// remembering asks a model nothing that the journal has the answer to, and puts every
// other answer there before it gives it. It is for work that asks the same questions
// again once it is told the same answers.
type remembering struct {
	model.Asker
	keep  func(ctx context.Context, round int, answer []byte, usage engine.Usage) error
	had   []spoken
	asked int
}

// spoken is an answer as the journal has it: a text, or why that is none.
type spoken struct {
	Text  string       `json:"text,omitempty"`
	Wrong string       `json:"wrong,omitempty"`
	usage engine.Usage // is in the event
}

func (h spoken) answer() (model.Answer, error) {
	a := model.Answer{Text: h.Text, Usage: h.usage}
	if h.Wrong != "" {
		return a, &model.Failure{How: engine.Exited, Reason: h.Wrong}
	}
	return a, nil
}

// remembering goes on behind the answers that an effect had.
func (o *Owner) remembering(ctx context.Context, ask model.Asker, e engine.Effect, r effect.Reporter) (*remembering, error) {
	m := &remembering{Asker: ask, keep: r.Heard}
	for _, was := range e.Answers {
		body, err := o.store.Object(ctx, was.Answer)
		h := spoken{usage: was.Usage}
		if err == nil {
			err = json.Unmarshal(body, &h)
		}
		if err != nil {
			return nil, fmt.Errorf("read answer %d: %w", was.Round, err)
		}
		m.had = append(m.had, h)
	}
	return m, nil
}

// Ask gives the next answer. One that could not be had is none, and is not kept.
func (m *remembering) Ask(ctx context.Context, q model.Question) (model.Answer, error) {
	m.asked++
	if m.asked <= len(m.had) {
		return m.had[m.asked-1].answer()
	}
	a, err := m.Asker.Ask(ctx, q)
	h := spoken{Text: a.Text}
	if f, failed := errors.AsType[*model.Failure](err); failed && f.How == engine.Exited {
		h.Wrong = f.Reason
	} else if err != nil {
		return a, err
	}
	body, other := json.Marshal(h)
	if other == nil {
		other = m.keep(ctx, m.asked, body, a.Usage)
	}
	if other != nil {
		return a, &model.Failure{How: engine.Stopped, Reason: "the answer could not be kept: " + other.Error()}
	}
	return a, err
}
