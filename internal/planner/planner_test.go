package planner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/verify"
)

// script answers questions one after the other, and keeps them.
type script struct {
	answers []any // a text, or an error
	asked   []model.Question
}

func (s *script) Ask(_ context.Context, q model.Question) (model.Answer, error) {
	s.asked = append(s.asked, q)
	next := s.answers[min(len(s.asked), len(s.answers))-1]
	used := engine.Usage{In: new(int64(10)), Out: new(int64(1))}
	if err, failed := next.(error); failed {
		return model.Answer{Usage: used}, err
	}
	return model.Answer{Text: next.(string), Usage: used}, nil
}

// verifies judges a draft as the verifier does, without looking at a machine.
func verifies(_ context.Context, source []byte) ([]verify.Finding, bool, error) {
	p, problems := plan.Parse(planner.Name, source)
	facts := verify.Facts{Agents: map[string]verify.Agent{"script": {Shell: true}, "coder": {}}}
	return verify.Check(p, problems, facts), false, nil
}

func document(step string) string {
	return "---\ntype: plan\nstatus: draft\nowner: you\n---\n\n# Greet\n\n## Steps\n\n### 1. Say hello\n\n" +
		"**target:** script\n**task:**\n```shell\necho hello > hello.txt\n```\n" + step +
		"**contract:**\n```shell\ngrep -q hello hello.txt\n```\nexit_code == 0\n"
}

var (
	good  = document("")
	cycle = document("**needs:** 1\n")
)

func draw(t *testing.T, s *script, judges ...planner.Judge) planner.Outcome {
	t.Helper()
	out, err := planner.Run(t.Context(), planner.Job{Ask: s, Prompt: "Plan it.\n", Judges: append([]planner.Judge{verifies}, judges...)})
	if err != nil {
		t.Fatal(err)
	}
	if n := int64(len(s.asked)); len(s.asked) != out.Rounds || *out.Usage.In != 10*n || *out.Usage.Out != n {
		t.Errorf("asked %d times: %d rounds, used %d and %d", n, out.Rounds, *out.Usage.In, *out.Usage.Out)
	}
	return out
}

// TestFindingsGoBack: a draft that does not verify goes back with its findings, with
// their places, until one does.
func TestFindingsGoBack(t *testing.T) {
	s := &script{answers: []any{cycle, "I mended it.\n\n````markdown\n" + good + "````\n"}}
	out := draw(t, s)
	if string(out.Source) != good || !out.OK() || out.Ended != "" || out.Reasoning != "I mended it." {
		t.Errorf("%+v", out)
	}
	question := s.asked[1].Prompt
	for _, want := range []string{"Plan it.\n", "plan.md:18:12: error: PT012", "waits for itself", "grep -q hello hello.txt"} {
		if !strings.Contains(question, want) {
			t.Errorf("the second question does not have %q:\n%s", want, question)
		}
	}
}

// TestNeverMoreThanRounds: the best draft comes out with what is wrong with it.
func TestNeverMoreThanRounds(t *testing.T) {
	worse := strings.Replace(cycle, "exit_code == 0\n", "", 1) + "\n**mdoe:** edit\n### 2. Again\n\n**needs:** 7\n"
	s := &script{answers: []any{worse, cycle, strings.Replace(worse, "Again", "Once more", 1)}}
	out := draw(t, s)
	if len(s.asked) != planner.Rounds || string(out.Source) != cycle || out.OK() || out.Ended != "after 3 answers something is still wrong with the plan" {
		t.Errorf("%d questions, %+v", len(s.asked), out)
	}
}

// TestRepeats: who says the same twice is not asked a third time.
func TestRepeats(t *testing.T) {
	for name, tt := range map[string]struct {
		answer any
		want   string
	}{
		"draft":    {cycle, "the same answer came twice"},
		"nonsense": {"Sure!", "the same answer came twice, and it is no plan: the answer has no plan: a plan is a Markdown document that begins with frontmatter between two lines of ---"},
		"too long": {&model.Failure{How: engine.Exited, Reason: "it answered too much"}, "the same answer came twice, and it is no plan: it answered too much"},
	} {
		s := &script{answers: []any{tt.answer}}
		out := draw(t, s)
		if len(s.asked) != 2 || out.Ended != tt.want || out.OK() || out.How != engine.Exited {
			t.Errorf("%s: %d questions, %+v", name, len(s.asked), out)
		}
	}
}

// TestNonsense: answers that are no plan go back like others, and end.
func TestNonsense(t *testing.T) {
	s := &script{answers: []any{"Sure!", "{", "{}"}}
	out := draw(t, s)
	if out.Source != nil || !strings.HasPrefix(out.Ended, "none of 3 answers is a plan: ") || out.How != engine.Exited {
		t.Errorf("%+v", out)
	}
	if out.Said != "{}" {
		t.Errorf("the last words are %q", out.Said)
	}
	if !strings.Contains(s.asked[2].Prompt, "This was your answer:\n\n```\n{\n```\n") {
		t.Error(s.asked[2].Prompt)
	}
	if !strings.Contains(s.asked[1].Prompt, "Your last answer was not taken: the answer has no plan") {
		t.Error(s.asked[1].Prompt)
	}
}

// TestAbort: a planner that may give up ends it so, bare, fenced or held to a schema. Where
// there is a plan it has not given up, and one that may not give up is asked again.
func TestAbort(t *testing.T) {
	quoted, _ := json.Marshal(good)
	for name, tt := range map[string]struct {
		answer, want string
	}{
		"bare":    {`{"abort": "nobody can"}`, "nobody can"},
		"fenced":  {"I see no way.\n\n```json\n{\"abort\": \"nobody can\"}\n```\n", "nobody can"},
		"schema":  {`{"plan": "", "reasoning": "no way", "changes": "", "abort": "nobody can"}`, "nobody can"},
		"null":    {`{"plan": null, "abort": "nobody can"}`, "nobody can"},
		"a plan":  {`{"plan": ` + string(quoted) + `, "abort": "none"}`, ""},
		"nothing": {`{"plan": ` + string(quoted) + `, "abort": ""}`, ""},
	} {
		s := &script{answers: []any{cycle, tt.answer}}
		out, err := planner.Run(t.Context(), planner.Job{Ask: s, Prompt: "Revise it.\n", Judges: []planner.Judge{verifies}, Abort: true})
		if err != nil {
			t.Fatal(err)
		}
		if out.Abort != tt.want || (out.Source == nil) != (tt.want != "") || out.Rounds != 2 || out.How != engine.Exited || *out.Usage.In != 20 {
			t.Errorf("%s: %+v", name, out)
		}
		for _, schema := range []json.RawMessage{planner.Schema, planner.RevisionSchema} {
			if !json.Valid(schema) {
				t.Errorf("%s is no JSON", schema)
			}
		}
	}
	s := &script{answers: []any{`{"abort": "nobody can"}`, good}}
	if out := draw(t, s); out.Abort != "" || string(out.Source) != good || !strings.Contains(s.asked[1].Prompt, "the answer gives up, and a plan is wanted") {
		t.Errorf("%+v", out)
	}
}

// TestAway: a model that cannot be heard ends it at once; what it said before stands.
func TestAway(t *testing.T) {
	away := &model.Failure{How: engine.TimedOut, Reason: "it gave no answer within 10m"}
	out := draw(t, &script{answers: []any{away}})
	if out.How != engine.TimedOut || out.Ended != away.Reason || out.Source != nil {
		t.Errorf("%+v", out)
	}
	out = draw(t, &script{answers: []any{cycle, away}})
	if out.How != engine.Exited || out.Ended != away.Reason || string(out.Source) != cycle {
		t.Errorf("%+v", out)
	}
}

// TestLaterJudges: they see only what those before them let pass, and what they say
// goes back without being an error.
func TestLaterJudges(t *testing.T) {
	var seen []string
	later := func(_ context.Context, source []byte) ([]verify.Finding, bool, error) {
		seen = append(seen, string(source))
		return []verify.Finding{{Code: "baseline", Severity: verify.Warning, File: planner.Name, Line: 9, Column: 1, Message: "it passes already"}}, len(seen) == 1, nil
	}
	other := document("**timeout:** 5m\n")
	s := &script{answers: []any{cycle, good, other}}
	out := draw(t, s, later)
	if diff := cmp.Diff([]string{good, other}, seen); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(s.asked[2].Prompt, "plan.md:9:1: warning: baseline it passes already") || !out.OK() || out.Ended != "" {
		t.Errorf("%+v", out)
	}
	failed := errors.New("no disk")
	_, err := planner.Run(t.Context(), planner.Job{Ask: &script{answers: []any{good}}, Judges: []planner.Judge{
		func(context.Context, []byte) ([]verify.Finding, bool, error) { return nil, false, failed },
	}})
	if !errors.Is(err, failed) {
		t.Error(err)
	}
}

// TestAnswers reads each answer of testdata as the first and only plan.
func TestAnswers(t *testing.T) {
	body, err := os.ReadFile("testdata/answers.txtar")
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(body)
	if len(archive.Files) < 10 {
		t.Fatal("there are no answers")
	}
	for _, f := range archive.Files {
		answer := string(f.Data)
		t.Run(f.Name, func(t *testing.T) {
			out := draw(t, &script{answers: []any{answer, answer}})
			text := string(out.Source)
			if strings.HasPrefix(f.Name, "no ") {
				if out.Source != nil || out.Ended == "" {
					t.Errorf("%q; %s", text, out.Ended)
				}
				return
			}
			p, problems := plan.Parse(planner.Name, out.Source)
			if out.Source == nil || len(p.Steps) != 2 || len(problems) > 0 || !out.OK() {
				t.Fatalf("%q, %v, %v, %s", text, problems, out.Findings, out.Ended)
			}
			if strings.Contains(text, "Hope") || !strings.Contains(text, "grep -q again hello.txt") {
				t.Errorf("the document is %q", text)
			}
			if reasons := strings.Contains(f.Name, "reasons"); reasons != (out.Reasoning == "Two steps do it.") {
				t.Errorf("reasoning %q", out.Reasoning)
			}
			if changes := strings.Contains(f.Name, "changes"); changes != (out.Changes == "split the step") {
				t.Errorf("changes %q", out.Changes)
			}
		})
	}
}

// TestExampleVerifies: what a planner is shown as a plan is one.
func TestExampleVerifies(t *testing.T) {
	for _, agents := range [][]prompt.Role{{{Name: "coder"}, {Name: "script", Shell: true}}, {{Name: "script", Shell: true}}} {
		found, _, err := verifies(t.Context(), []byte(prompt.Example(agents, "ann")))
		for _, f := range found {
			if f.Severity != verify.Note {
				t.Error(f, f.Hint)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// FuzzAnswer: no answer makes it panic, and what comes out is Markdown of a bounded size.
func FuzzAnswer(f *testing.F) {
	body, err := os.ReadFile("testdata/answers.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range txtar.Parse(body).Files {
		f.Add(string(file.Data))
	}
	f.Fuzz(func(t *testing.T, answer string) {
		out, err := planner.Run(t.Context(), planner.Job{Ask: &script{answers: []any{answer}}, Judges: []planner.Judge{verifies}})
		if err != nil {
			t.Fatal(err)
		}
		if out.OK() != (out.Ended == "") {
			t.Errorf("ok %v, ended %q", out.OK(), out.Ended)
		}
		if len(out.Reasoning) > 17<<10 {
			t.Error("the reasoning is too long")
		}
	})
}

// BenchmarkRound is what a round costs beside the model's own time.
func BenchmarkRound(b *testing.B) {
	var steps strings.Builder
	for n := 2; n <= 200; n++ {
		fmt.Fprintf(&steps, "\n### %d. Step %d\n\n**target:** script\n**task:**\n```shell\necho %d > f%d\n```\n**contract:**\n```shell\ngrep -q %d f%d\n```\nexit_code == 0\n", n, n, n, n, n, n)
	}
	s := &script{answers: []any{good + steps.String()}}
	for b.Loop() {
		out, err := planner.Run(b.Context(), planner.Job{Ask: s, Prompt: "Plan it.\n", Judges: []planner.Judge{verifies}})
		if err != nil || !out.OK() {
			b.Fatal(err, out.Findings)
		}
	}
}

// TestTakenOverSentBack: a draft that nothing goes back for comes out, however many remarks
// stand with it and however few with the one before.
func TestTakenOverSentBack(t *testing.T) {
	first, second := good, strings.Replace(good, "# Greet", "# Greet all", 1)
	s := &script{answers: []any{first, second}}
	out := draw(t, s, func(_ context.Context, source []byte) ([]verify.Finding, bool, error) {
		remark := verify.Finding{Severity: verify.Warning, Message: "a remark"}
		if string(source) == first {
			return []verify.Finding{remark}, true, nil
		}
		return []verify.Finding{remark, {Severity: verify.Note, Message: "one more"}}, false, nil
	})
	if string(out.Source) != second || out.Ended != "" {
		t.Errorf("%q: %s", out.Ended, out.Source)
	}
}
