package plan_test

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
)

// edited is a plan with what a formatter would change, in every step.
const edited = "# Plan\n\nSome words.\n\n## Steps\n\n### 1. ✅ One\n**task:**   `a`\n**contract:** `true`\n\n\n### 2) Two\nProse of two.\n\n**when:** $one.ok\n**contract:** `b`\n### 3. Three\n\nno labels here"

func parsed(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, problems := plan.Parse("plan.md", []byte(text))
	if p == nil || len(p.Steps) == 0 {
		t.Fatalf("no plan: %v in %q", problems, text)
	}
	return p
}

func titles(p *plan.Plan) string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.Title.Value)
	}
	return strings.Join(all, " ")
}

// Each edit changes its own step and nothing else, with the line ends of the text.
func TestEdits(t *testing.T) {
	for _, crlf := range []bool{false, true} {
		text := strings.Replace(edited, "2)", "2.", 1)
		if crlf {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		p := parsed(t, text)
		piece := func(i int) string { return strings.TrimSpace(string(p.Source[p.Steps[i].Start:p.Steps[i].End])) }
		written, err := plan.RewrittenStep(p, 1, []byte("### 2. Zwei\n\n**contract:**  `c`\n\n"))
		if err != nil {
			t.Fatal(err)
		}
		out, err := plan.ToggledStep(p, 2)
		if err != nil {
			t.Fatal(err)
		}
		for want, got := range map[string][]byte{
			"One Three":      plan.WithoutStep(p, 1),
			"Two One Three":  plan.MovedStep(p, 0, 1),
			"Three One Two":  plan.MovedStep(p, 2, 0),
			"One Two N Thre": plan.WithStep(p, 2, []byte("### 9. N")),
			"One Zwei Three": written,
			"One Two Three":  out,
		} {
			q := parsed(t, string(got))
			if !strings.HasPrefix(titles(q), want) {
				t.Errorf("%s: %s\n%q", want, titles(q), got)
			}
			if crlf != strings.Contains(string(got), "\r\n") || crlf && strings.Contains(strings.ReplaceAll(string(got), "\r\n", ""), "\n") {
				t.Errorf("%s: other line ends in %q", want, got)
			}
			for i, s := range p.Steps {
				if changed := s.Title.Value == "Two" && strings.Contains(want, "Zwei") || s.Title.Value == "Three" && want == "One Two Three"; changed || !strings.Contains(want, s.Title.Value) {
					continue
				}
				if !strings.Contains(string(got), piece(i)) {
					t.Errorf("%s: step %s has other bytes in %q", want, s.Title.Value, got)
				}
			}
		}
	}
}

// A step that is left out and taken in again has its bytes again. A condition is not lost.
func TestToggledStep(t *testing.T) {
	p := parsed(t, strings.Replace(edited, "2)", "2.", 1))
	for i := range p.Steps {
		text, err := plan.ToggledStep(p, i)
		if i == 1 {
			if err == nil || !strings.Contains(err.Error(), "$one.ok") {
				t.Errorf("a condition is overwritten: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		q := parsed(t, string(text))
		if !plan.LeftOut(q.Steps[i]) || len(q.Steps) != len(p.Steps) {
			t.Errorf("step %d is not left out of\n%s", i, text)
		}
		back, err := plan.ToggledStep(q, i)
		if err != nil || strings.TrimSpace(string(back)) != strings.TrimSpace(string(p.Source)) {
			t.Errorf("step %d comes back, %v, as\n%q", i, err, back)
		}
	}
}

// What a person writes for a step is one step, or is refused with its line.
func TestRewrittenStep(t *testing.T) {
	p := parsed(t, edited)
	for text, want := range map[string]string{
		"just words":                           "line 1",
		"### 1. A\n\n### 2. B":                 "line 3: a second step",
		"### 1. A\n\n**contract:** `x`\n\n# B": "continues after the step",
		"words\n\n### 1. A":                    "before the heading",
		"### 1. A\n\n**Contarct:** `x`":        "line 3: there is no label",
	} {
		if got, err := plan.RewrittenStep(p, 0, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, %q", text, err, got)
		}
	}
}

// A step waits for one more, and for what it waited for before.
func TestAlsoNeeds(t *testing.T) {
	text := "# P\n\n### 1. A\n\n### 2. B\n\n**contract:** `x`\n**needs:**\n- a\n- 1\n### 3. C\n**needs:** none\n\n### 4. D\n**task:** x"
	for i, want := range []string{"d", "a, 1, d", "d", "c, a"} {
		p := parsed(t, text)
		id := "d"
		if i == 3 {
			id = "a"
		}
		q := parsed(t, string(plan.Changed(p.Source, plan.AlsoNeeds(p, i, id))))
		var got []string
		for _, n := range q.Steps[i].Needs.Value {
			got = append(got, n.Value)
		}
		if strings.Join(got, ", ") != want || titles(q) != "A B C D" || q.Steps[1].Contract == nil {
			t.Errorf("step %d needs %v, not %s, in\n%s", i, got, want, q.Source)
		}
	}
}

// A change finds its place by lines and characters, behind a mark of the byte order too.
func TestChanged(t *testing.T) {
	for _, c := range []struct {
		source, want string
		change       plan.Change
	}{
		{"äb\ncd\n", "äX\ncd\n", plan.Change{From: plan.Pos{Line: 1, Column: 2}, To: plan.Pos{Line: 1, Column: 3}, Text: "X"}},
		{"\ufeffab", "\ufeffX", plan.Change{From: plan.Pos{Line: 1, Column: 1}, To: plan.Pos{Line: 9, Column: 9}, Text: "X"}},
		{"a\r\nb", "a\r\nX\r\nb", plan.Change{From: plan.Pos{Line: 2, Column: 1}, To: plan.Pos{Line: 2, Column: 1}, Text: "X\n"}},
	} {
		if got := string(plan.Changed([]byte(c.source), c.change)); got != c.want {
			t.Errorf("%q becomes %q, not %q", c.source, got, c.want)
		}
	}
}
