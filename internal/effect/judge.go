package effect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/tree"
)

// Bounds of the evidence that a judge is shown.
const (
	maxJudged   = 50      // files that the step changed
	maxJudgedIn = 8 << 10 // bytes of each
	maxReason   = 2 << 10 // bytes of what a judge says
	maxVotes    = 3
)

// voteSchema is the form of a vote.
const voteSchema = `{"type":"object","properties":{"verdict":{"type":"string","enum":["pass","fail"]},"reason":{"type":"string"}},"required":["verdict","reason"],"additionalProperties":false}`

// judgement asks the model that judges, once all that is required of the other checks
// has passed. A model that is away, or says what is no vote, is this machine's fault.
func (w *World) judgement(ctx context.Context, e engine.Effect, r Reporter, checks []engine.CheckEnded) engine.CheckEnded {
	began := time.Now()
	a := engine.CheckEnded{
		Step: e.Step.ID, Attempt: e.Key.Attempt, Check: engine.Judge, Required: true, Dir: w.Dir, Exit: -1, Shared: e.Shared,
	}
	if engine.Said(checks) != engine.Pass {
		a.Verdict, a.Reason = engine.Inconclusive, "not asked: another check did not pass"
		return a
	}
	err := w.vote(ctx, e, r, checks, &a)
	a.Ms = time.Since(began).Milliseconds()
	pass, over := engine.Majority(a.Votes)
	switch {
	case err != nil || !over:
		a.Verdict, a.Reason = engine.Infra, fmt.Sprintf("no judgement: %v", err)
	case pass:
		a.Verdict, a.Exit = engine.Pass, 0
	default:
		a.Verdict, a.Exit = engine.Fail, 1
	}
	if over {
		a.Reason = reasonOf(a.Votes, pass)
	}
	return a
}

// reasonOf is the newest reason of those who won.
func reasonOf(votes []engine.Vote, pass bool) string {
	for _, v := range slices.Backward(votes) {
		if v.Pass == pass {
			return v.Reason
		}
	}
	return ""
}

// vote asks until there is a majority. Each vote is kept before the next question, and one
// that the journal has is not asked for again while the question and the judge are the same.
func (w *World) vote(ctx context.Context, e engine.Effect, r Reporter, checks []engine.CheckEnded, a *engine.CheckEnded) error {
	text, err := w.evidence(ctx, e, checks)
	if err != nil {
		return err
	}
	a.Command = digest([]byte(text + "\x00" + w.Judging))
	if e.Poll.Prompt == a.Command {
		a.Votes = slices.Clone(e.Poll.Votes)
	}
	if _, over := engine.Majority(a.Votes); over {
		return nil
	}
	ask, err := w.Judge(environ(ctx))
	if err != nil {
		return err
	}
	dir, done, err := w.Scratch() // it judges what it is shown, and can change nothing of the workspace by mistake
	if err != nil {
		return err
	}
	defer done()
	log := filepath.Join(w.State, "attempts", e.Key.Run, fmt.Sprintf("%s.%d.%d.judge.log", e.Key.Step, e.Key.Attempt, e.Key.N))
	for _, over := engine.Majority(a.Votes); !over && len(a.Votes) < maxVotes; _, over = engine.Majority(a.Votes) {
		said, err := ask.Ask(ctx, model.Question{Prompt: text, Dir: dir, Log: log, Schema: json.RawMessage(voteSchema)})
		var v engine.Vote
		if err == nil {
			v, err = readVote(said.Text)
		}
		if err != nil {
			a.Usage = a.Usage.Plus(said.Usage) // no vote has it
			f, failed := errors.AsType[*model.Failure](err)
			a.Voteless = !failed || f.How == engine.Exited || f.How == engine.TimedOut
			return err
		}
		heard := engine.JudgeVoted{Round: len(a.Votes) + 1, Vote: v, Prompt: a.Command, Usage: said.Usage}
		if err := r.Voted(ctx, heard); err != nil {
			a.Usage = a.Usage.Plus(said.Usage)
			return err
		}
		a.Votes = append(a.Votes, v)
	}
	return nil
}

// readVote reads an answer: strictly, for what a judge quotes is no vote of it.
func readVote(text string) (engine.Vote, error) {
	var v struct{ Verdict, Reason string }
	if err := model.Object(text, &v); err != nil {
		return engine.Vote{}, fmt.Errorf("the answer is no verdict with a reason: %w", err)
	}
	v.Reason = strings.TrimSpace(v.Reason)
	switch {
	case v.Verdict != "pass" && v.Verdict != "fail":
		return engine.Vote{}, fmt.Errorf("the answer's verdict is %.20q, and pass or fail is wanted", v.Verdict)
	case v.Reason == "":
		return engine.Vote{}, errors.New("the answer has no reason")
	}
	return engine.Vote{Pass: v.Verdict == "pass", Reason: strings.ToValidUTF8(v.Reason[:min(len(v.Reason), maxReason)], "")}, nil
}

// evidence is the question with all that the judge gets to see.
func (w *World) evidence(ctx context.Context, e engine.Effect, checks []engine.CheckEnded) (string, error) {
	in := prompt.Evidence{Step: e.Step, Checks: checks}
	in.Question, _ = e.Step.Judge()
	if e.Tree == "" {
		return prompt.Judge(in), nil
	}
	before, err := w.before(e.Tree)
	if err != nil {
		return "", err
	}
	after, err := w.Tree.Scan(ctx, &before)
	if err != nil {
		return "", err
	}
	for _, c := range tree.Diff(before, after) {
		if len(tree.OutOfScope([]engine.Change{c}, e.Step.Writes)) > 0 {
			continue
		}
		if len(in.Changed) == maxJudged {
			in.More++
			continue
		}
		f := prompt.File{Path: c.Path, What: c.What}
		body, err := w.Tree.Content(after.Files[c.Path])
		if f.Unseen = err != nil; !f.Unseen {
			f.Text, f.Cut = string(body[:min(len(body), maxJudgedIn)]), len(body) > maxJudgedIn
		}
		in.Changed = append(in.Changed, f)
	}
	in.Known = true
	return prompt.Judge(in), nil
}
