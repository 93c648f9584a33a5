package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/plan"
)

// TestFormatOfPrograms checks that any tree that a program makes is written as
// a text that reads as that tree, whatever its texts hold.
func TestFormatOfPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomPlan(t)
		text := plan.Format(p)
		q, problems := plan.Parse("", text)
		for _, problem := range problems {
			switch problem.Code {
			case plan.HiddenText, plan.HiddenLabel, plan.UnknownLabel, plan.MisplacedLabel, plan.TextInList, plan.UnclosedFence, plan.DuplicateNumber, plan.UnknownKey:
				continue // of what the texts hold
			}
			t.Errorf("%+v", problem)
		}
		if diff := cmp.Diff(tree(p, "Fenced", "Front"), tree(q, "Fenced", "Front")); diff != "" {
			t.Errorf("-made +read:\n%s\n%s", diff, text)
		}
		for _, key := range []string{"type", "status", "owner", "note"} {
			want, _ := p.Key(key)
			if got, _ := q.Key(key); got.Value != want.Value {
				t.Errorf("%s is %q, not %q", key, got.Value, want.Value)
			}
		}
	})
}

// tricky draws text that a parser could take for something else.
func tricky() *rapid.Generator[string] {
	line := rapid.SampledFrom([]string{
		"a", "Do it.", "  indented", "\ttab", "### 1. Step", "## Steps", "# Title", "## Notes", "**task:** x", "**status:** done", "**Note:** x", "**contarct:** y",
		"```", "~~~~", "```shell", "- item", "* item", "1. item", "- ```", "---", "", "", "exit_code == 0", "`code`", "`` ` ``", "> quote", "a: b", "é ü",
		"    code", "$x", "trailing\\", "#", "✅ done", "(optional)", "\"quoted\" # c", "<!-- x -->",
	})
	return rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(line, 1, 5).Draw(t, "lines")
		return strings.Trim(strings.Join(lines, "\n"), "\n\t ")
	}).Filter(func(s string) bool { return s != "" })
}

// phrase draws text of one line.
func phrase() *rapid.Generator[string] {
	return rapid.Map(tricky(), func(s string) string { return strings.Trim(strings.ReplaceAll(s, "\n", " "), " \t") })
}

func maybe[T any](t *rapid.T, name string, to *T, g *rapid.Generator[T]) {
	if rapid.IntRange(0, 3).Draw(t, name+"?") == 0 {
		*to = g.Draw(t, name)
	}
}

func field[T any](g *rapid.Generator[T]) *rapid.Generator[plan.Field[T]] {
	return rapid.Map(g, plan.Is[T])
}

func word(words ...string) *rapid.Generator[plan.Field[string]] {
	return field(rapid.SampledFrom(words))
}

func prose() *rapid.Generator[plan.Text] {
	return rapid.Map(tricky(), func(s string) plan.Text { return plan.Text{Value: s} })
}

// block draws a script: anything, verbatim, that is not blank.
func block(langs ...string) *rapid.Generator[plan.Text] {
	return rapid.Custom(func(t *rapid.T) plan.Text {
		pad := rapid.SampledFrom([]string{"", "", "\n", "  ", "\n\n"})
		return plan.Text{
			Value:  pad.Draw(t, "before") + tricky().Draw(t, "script") + pad.Draw(t, "after"),
			Fenced: true, Lang: rapid.SampledFrom(langs).Draw(t, "lang"),
		}
	})
}

func texts(g *rapid.Generator[string]) *rapid.Generator[plan.Field[[]plan.Text]] {
	one := rapid.Map(g, func(s string) plan.Text { return plan.Text{Value: s} })
	return field(rapid.SliceOfN(one, 0, 4))
}

func atomText() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "src/**", "a b", "{a,b}/*.go", "a, b", "`tick", "x`y`z", "none", "- a", "**", "*.md", "$one.x[0]", "é", "#1x", "a#", "_a_", "{", "}"})
}

func randomPlan(t *rapid.T) *plan.Plan {
	p := plan.New(phrase().Filter(func(s string) bool { return !strings.HasSuffix(s, ")") }).Draw(t, "title"))
	p.Front = append(p.Front, plan.Key{Name: "note", Value: tricky().Draw(t, "note")})
	maybe(t, "issue", &p.Issue, rapid.SampledFrom([]string{"1", "ABC-2"}))
	maybe(t, "context", &p.Context, prose())
	maybe(t, "budget", &p.Budget, field(budgets()))
	maybe(t, "priority", &p.Priority, word("critical", "idle"))
	maybe(t, "constraints", &p.Constraints, texts(tricky()))
	maybe(t, "tags", &p.Tags, texts(atomText()))
	maybe(t, "complexity", &p.Complexity, field(rapid.IntRange(1, 10)))
	maybe(t, "memories", &p.Memories, texts(tricky()))
	maybe(t, "estimate", &p.Estimate, field(durations()))
	maybe(t, "parallel", &p.Parallel, field(rapid.IntRange(1, 9)))
	maybe(t, "replans", &p.Replans, field(rapid.IntRange(0, 9)))
	maybe(t, "protect", &p.Protect, texts(atomText()))
	maybe(t, "isolation", &p.Isolation, word("sealed", "fenced"))
	maybe(t, "workspace", &p.Workspace, word("shared", "worktree"))
	maybe(t, "land", &p.Land, field(rapid.Bool()))
	maybe(t, "setup", &p.Setup, block("shell", "sh", ""))
	for i := range rapid.IntRange(1, 3).Draw(t, "steps") {
		p.Steps = append(p.Steps, randomStep(t, i))
	}
	p.AssignIDs()
	return p
}

func randomStep(t *rapid.T, i int) *plan.Step {
	s := plan.NewStep(rapid.SampledFrom([]string{"1", "2", "3–N", "N+1", "4-7"}).Draw(t, "number"),
		phrase().Filter(func(s string) bool { return !strings.HasPrefix(s, "✅") }).Draw(t, "title"))
	maybe(t, "mark", &s.Mark, rapid.SampledFrom([]plan.Mark{plan.MarkDone, plan.MarkFailed}))
	maybe(t, "id", &s.ID, field(rapid.Just(string(rune('a'+i))+"-1_x")))
	maybe(t, "target", &s.Target, field(phrase()))
	maybe(t, "fallback", &s.Fallback, field(phrase()))
	maybe(t, "needs", &s.Needs, texts(rapid.SampledFrom([]string{"1", "3–N", "some-id", "N+1"})))
	maybe(t, "task", &s.Task, prose())
	maybe(t, "task block", &s.Task, block("", "text", "a`b"))
	maybe(t, "acceptance", &s.Acceptance, texts(tricky()))
	maybe(t, "tool", &s.Tool, field(phrase()))
	maybe(t, "args", &s.Args, block("json", "yaml", ""))
	maybe(t, "plan", &s.Plan, prose())
	maybe(t, "when", &s.When, prose())
	maybe(t, "batch", &s.Batch, field(rapid.IntRange(1, 9)))
	maybe(t, "allow_empty", &s.AllowEmpty, field(rapid.Bool()))
	maybe(t, "judge", &s.Judge, prose())
	maybe(t, "expect", &s.Expect, word("any", "red", "green"))
	maybe(t, "on_fail", &s.OnFail, field(policies()))
	maybe(t, "backoff", &s.Backoff, field(durations()))
	maybe(t, "iterations", &s.Iterations, field(rapid.IntRange(1, 50)))
	maybe(t, "context limit", &s.ContextLimit, field(rapid.IntRange(1, 2_000_000)))
	maybe(t, "approval", &s.Approval, field(phrase()))
	maybe(t, "critical", &s.Critical, field(rapid.Bool()))
	maybe(t, "timeout", &s.Timeout, field(durations()))
	maybe(t, "writes", &s.Writes, texts(atomText()))
	maybe(t, "protect", &s.Protect, texts(atomText()))
	maybe(t, "budget", &s.Budget, field(budgets()))
	maybe(t, "mode", &s.Mode, word("read", "full"))
	maybe(t, "network", &s.Network, word("no", "contract", "api.example.org, *.example.org, example.org:8443, 127.0.0.1:80, 10.0.0.0/8, [::1]:443", "contract, *"))
	maybe(t, "env", &s.Env, texts(rapid.SampledFrom([]string{"A", "_b", "C1"})))
	maybe(t, "workspace", &s.Workspace, word("worktree"))
	maybe(t, "setup", &s.Setup, block("bash"))
	maybe(t, "isolation", &s.Isolation, word("sealed"))
	maybe(t, "holds", &s.Holds, word("step"))
	maybe(t, "rerunnable", &s.Rerunnable, field(rapid.Bool()))
	maybe(t, "strong", &s.Strong, field(rapid.Bool()))
	maybe(t, "schema", &s.Schema, block("json"))
	maybe(t, "contract timeout", &s.CheckTimeout, field(durations()))
	maybe(t, "ask", &s.Ask, prose())
	randomProof(t, s)
	return s
}

func randomProof(t *rapid.T, s *plan.Step) {
	for i := range rapid.IntRange(0, 3).Draw(t, "checks") {
		c := plan.Check{Name: plan.Text{Value: string(rune('a'+i)) + " x"}, Optional: rapid.Bool().Draw(t, "optional")}
		c.Command = plan.Text{Value: phrase().Draw(t, "command")}
		maybe(t, "block", &c.Command, block("", "sh"))
		s.Checks.Value, s.Checks.Set = append(s.Checks.Value, c), true
	}
	if !s.Ask.IsZero() {
		s.Choices = rapid.SliceOfN(prose(), 0, 3).Draw(t, "choices")
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "subscriptions") {
		kind := []string{"file", "topic", "step"}[i]
		ref := rapid.SampledFrom([]string{"a.go", "a b.md", "x, y", "a:b", "docs/_a_*.md", "t`t"}).Draw(t, "ref")
		s.Subscriptions.Value, s.Subscriptions.Set = append(s.Subscriptions.Value, plan.Subscription{Kind: kind, Ref: ref}), true
	}
	if rapid.Bool().Draw(t, "contract") {
		s.Contract = &plan.Contract{Command: block("shell", "").Draw(t, "script")}
		maybe(t, "inline", &s.Contract.Command, rapid.Map(phrase(), func(s string) plan.Text { return plan.Text{Value: s} }))
		maybe(t, "exit", &s.Contract.ExitCode, field(rapid.IntRange(0, 255)))
	}
	if rapid.Bool().Draw(t, "loop") {
		items := rapid.SliceOfN(rapid.Map(atomText(), func(s string) plan.Text { return plan.Text{Value: s} }), 1, 3)
		s.ForEach = plan.Is(plan.ForEach{Items: items.Draw(t, "items")})
	}
}

func TestReplaceStep(t *testing.T) {
	src := "\ufeff# T\r\n\r\n### 1. One\r\n**task:**   a\r\n\r\n## Step 2: ?\r\n### 2. Two ##\r\n\r\n**Task** : b\r\n\r\n### 3. Three\r\n"
	p, _ := plan.Parse("", []byte(src))
	s := *p.Steps[1]
	s.Task.Value = "c"
	got := string(plan.ReplaceStep(p, 1, &s))
	before, rest, _ := strings.Cut(src, "### 2. Two")
	_, after, _ := strings.Cut(rest, "b\r\n\r\n")
	want := before + "### 2. Two\n\n**task:**\nc\n\n" + after
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	q, _ := plan.Parse("", []byte(got))
	if len(q.Steps) != 3 || q.Steps[1].Task.Value != "c" {
		t.Errorf("the new text is another plan:\n%s", tree(q))
	}
	s = *q.Steps[2]
	if got := string(plan.ReplaceStep(p, 2, &s)); !strings.HasSuffix(got, "\r\n### 3. Three\n") {
		t.Errorf("the last step: %q", got)
	}
}

func TestForEachKind(t *testing.T) {
	for in, want := range map[string]string{"$one.files": "step", "src/*.go": "glob", "a": "list", "a, b": "list", "$a, $b": "list", "{x,y}": "glob"} {
		p, _ := plan.Parse("", []byte("# T\n### 1. One\n**for each:** "+in+"\n"))
		if got := p.Steps[0].ForEach.Value.Kind(); got != want {
			t.Errorf("%q is a %s; want %s", in, got, want)
		}
	}
}
