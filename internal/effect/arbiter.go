package effect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/prompt"
)

// rulingSchema is the form of a ruling.
const rulingSchema = `{"type":"object","properties":{"decision":{"type":"string","enum":["retry","replan","escalate","continue","complete"]},"reason":{"type":"string"},"agent":{"type":"string"}},"required":["decision","reason"],"additionalProperties":false}`

// consult asks the model that is the arbiter what follows an attempt. Whatever comes of
// it is an answer: where there is no ruling the rules choose, and this says why.
func (w *World) consult(ctx context.Context, e engine.Effect, _ Reporter) Result {
	began := time.Now()
	in := engine.Ruled{Key: e.Key}
	err := w.arbitrate(ctx, e, &in)
	if ctx.Err() != nil {
		return refusal(ctx, e, err)
	}
	if in.Ms = time.Since(began).Milliseconds(); err != nil {
		in.Err = err.Error()
	}
	return Result{Input: in}
}

func (w *World) arbitrate(ctx context.Context, e engine.Effect, in *engine.Ruled) error {
	if e.Choices[0] == engine.SayContinue && e.Steps-e.Met <= 1 {
		in.Say, in.Why = engine.SayContinue, "no other step is left"
		return nil
	}
	if e.Poor {
		return errors.New("not asked: the budget of the run has no room for it")
	}
	ask, err := w.Arbiter(environ(ctx))
	if err != nil {
		return err
	}
	dir, done, err := w.Scratch() // it can change nothing of the workspace by mistake
	if err != nil {
		return err
	}
	defer done()
	text := prompt.Arbiter(arbitration(e))
	in.Prompt = digest([]byte(text))
	in.Log = filepath.Join("attempts", e.Key.Run, fmt.Sprintf("%s.%d.%d.arbiter.log", e.Key.Step, e.Key.Attempt, e.Key.N))
	said, err := ask.Ask(ctx, model.Question{Prompt: text, Dir: dir, Log: filepath.Join(w.State, in.Log), Schema: json.RawMessage(rulingSchema)})
	in.Usage = said.Usage
	if err != nil {
		return err
	}
	in.Say, in.Role, in.Why, err = readRuling(said.Text)
	return err
}

func arbitration(e engine.Effect) prompt.Arbitration {
	in := prompt.Arbitration{
		Title: e.Title, Steps: e.Steps, Met: e.Met, Left: e.Left, Attempt: e.Failures[0], Choices: e.Choices, Agents: e.Candidates,
	}
	for _, s := range e.Ahead {
		in.Ahead = append(in.Ahead, s.Title)
	}
	for _, f := range e.Frames {
		in.History = append(in.History, f.Summary)
	}
	return in
}

// readRuling reads an answer.
func readRuling(text string) (say engine.Say, role, why string, err error) {
	var v struct{ Decision, Reason, Agent string }
	if err := model.Object(text, &v); err != nil {
		return "", "", "", fmt.Errorf("the answer is no decision with reason and agent: %w", err)
	}
	why = strings.TrimSpace(v.Reason)
	return engine.Say(v.Decision), v.Agent, strings.ToValidUTF8(why[:min(len(why), maxReason)], ""), nil
}
