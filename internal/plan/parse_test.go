package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/linear"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/tier"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		src, code string
		pos       plan.Pos
	}{
		{strings.Repeat("a", plan.MaxBytes+1), plan.TooLarge, plan.Pos{Line: 1, Column: 1}},
		{"# é\n\xff", plan.NotUTF8, plan.Pos{Line: 2, Column: 1}},
		{"\ufeff# é\x00", plan.NULByte, plan.Pos{Line: 1, Column: 4}},
		{"a\n\xed\xa0\x80", plan.NotUTF8, plan.Pos{Line: 2, Column: 1}},
	} {
		p, problems := plan.Parse("x.md", []byte(test.src))
		if p != nil || len(problems) != 1 || problems[0].Code != test.code || problems[0].Pos != test.pos || problems[0].Severity != plan.Error {
			t.Errorf("%.10q: %v, %+v", test.src, p, problems)
		}
	}
	if p, _ := plan.Parse("", []byte(strings.Repeat("a\n", plan.MaxBytes/2))); p == nil {
		t.Error("the largest plan is refused")
	}
}

// TestCaps checks each cap from both sides.
func TestCaps(t *testing.T) {
	t.Parallel()
	const front = "---\ntype: plan\nstatus: draft\nowner: me\n---\n# T\n"
	step := func(body string) string { return front + "### 1. One\n" + body }
	script := func(n int) string { return "**contract:**\n```shell\n" + strings.Repeat("a\n", n/2) + "```\n" }
	for _, test := range []struct{ name, code, below, above string }{
		{
			"line", plan.LineTooLong,
			step("**task:**\n" + strings.Repeat("a", plan.MaxLine)), step("**task:**\n" + strings.Repeat("a", plan.MaxLine+1)),
		},
		{"contract", plan.ScriptTooLong, step(script(plan.MaxContract)), step(script(plan.MaxContract + 4))},
		{
			"check", plan.ScriptTooLong,
			step("**checks:**\n- a:\n  ```\n" + strings.Repeat("  a\n", plan.MaxContract/2) + "  ```\n"),
			step("**checks:**\n- a:\n  ```\n" + strings.Repeat("  a\n", plan.MaxContract/2+2) + "  ```\n"),
		},
		{"steps", plan.TooManySteps, front + manySteps(plan.MaxSteps), front + manySteps(plan.MaxSteps+2)},
		{"bullets", plan.TooManyItems, step("**acceptance:**\n" + bullets(plan.MaxItems)), step("**acceptance:**\n" + bullets(plan.MaxItems+2))},
		{"atoms", plan.TooManyItems, step("**tool:** a\n**env:**" + commas(plan.MaxItems)), step("**env:**" + commas(plan.MaxItems+2))},
		{
			"frontmatter", plan.FrontmatterTooLong,
			"---\ntype: plan\nx: " + strings.Repeat("a", plan.MaxFrontmatter-15) + "\n---\n", "---\ntype: plan\nx: " + strings.Repeat("a", plan.MaxFrontmatter-14) + "\n---\n",
		},
		{
			"depth", plan.BadFrontmatter,
			"---\nx: " + strings.Repeat("[", plan.MaxDepth-1) + "a" + strings.Repeat("]", plan.MaxDepth-1) + "\n---\n",
			"---\nx: " + strings.Repeat("[", plan.MaxDepth) + "a" + strings.Repeat("]", plan.MaxDepth) + "\n---\n",
		},
		{
			"problems", plan.TooManyProblems,
			step(strings.Repeat("**contarct:** x\n", plan.MaxProblems)), step(strings.Repeat("**contarct:** x\n", plan.MaxProblems+1)),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, side := range []struct {
				src  string
				want int
			}{{test.below, 0}, {test.above, 1}} {
				p, problems := plan.Parse("", []byte(side.src))
				n := 0
				for _, problem := range problems {
					if problem.Code == test.code {
						n++
					}
				}
				if n != side.want || p == nil || len(p.Steps) > plan.MaxSteps || len(problems) > plan.MaxProblems+1 {
					t.Errorf("%d problems %s; want %d (%d problems in all)", n, test.code, side.want, len(problems))
				}
			}
		})
	}
}

func bullets(n int) string { return strings.Repeat("- a\n", n) }

func commas(n int) string { return strings.Repeat(" a,", n) }

func manySteps(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "### %d. Step %d\n\n**task:** Do it.\n\n**contract:** `true`\n\n", i+1, i+1)
	}
	return b.String()
}

// TestAt checks that places inside a script are places in the file.
func TestAt(t *testing.T) {
	src := "\ufeff# T\n\n### 1. One\n\n**contract:**\n- ```shell\n  é && a\n\n  \tb\n  ```\n\n**setup:** `` x `y` ``\n\n### 2. Two\n**contract:**\n```\na\n  b\n```\n" +
		"**checks:**\n* x: `go  test`\n* y:\n    ```\n    1\n    2\n    ```\n**task:** one\n**status:** done\ntwo"
	lines := strings.Split(strings.TrimPrefix(src, "\ufeff"), "\n")
	p, _ := plan.Parse("", []byte(src))
	texts := []plan.Text{
		p.Title, p.Steps[0].Title, p.Steps[0].Contract.Command, p.Steps[0].Setup, p.Steps[1].Contract.Command,
		p.Steps[1].Checks.Value[0].Command, p.Steps[1].Checks.Value[1].Command, p.Steps[1].Checks.Value[1].Name, p.Steps[1].Task,
	}
	for _, text := range texts {
		if text.IsZero() {
			t.Fatal("a text is missing")
		}
		for offset, r := range text.Value {
			at := text.At(offset)
			line := []rune(lines[at.Line-1])
			switch {
			case r == '\n' && at.Column != len(line)+1:
				t.Errorf("%q: the end of the line at %d is at %v", text.Value, offset, at)
			case r != '\n' && (at.Column > len(line) || line[at.Column-1] != r):
				t.Errorf("%q: %q at %d is not at %v", text.Value, r, offset, at)
			}
		}
		if text.At(-1) != text.Pos || text.At(1000) != text.At(len(text.Value)) {
			t.Errorf("%q: an offset outside is not moved to the end", text.Value)
		}
	}
	if at := (plan.Text{Value: "x"}).At(0); at.IsValid() {
		t.Errorf("a text from nowhere is at %v", at)
	}
}

// TestDefaults checks what a step and a plan are when they say nothing.
func TestDefaults(t *testing.T) {
	p, _ := plan.Parse("", []byte("# T\n### 1. One\n"))
	s := p.Steps[0]
	got := fmt.Sprintln(
		p.Priority.Value, p.Parallel.Value, p.Replans.Value, p.Workspace.Value, p.Isolation.Value == "", p.Protect.Set,
		s.ID.Value, s.Target.Value, s.Needs.Set, s.Batch.Value, s.Expect.Value, s.OnFail.Value, s.Backoff.Value, s.Iterations.Value,
		s.Critical.Value, s.Timeout.Value, s.Writes.Set, s.Mode.Value, s.Network.Value, s.Workspace.Value, s.Holds.Value, s.Rerunnable.Value,
		s.Strong.Value, s.CheckTimeout.Value, s.Contract == nil, s.Approval.Value == "",
	)
	want := fmt.Sprintln(
		"normal", 1, 3, "", true, false,
		"one", "any", false, 1, "any", "retry(2), then escalate", 0*time.Second, 0,
		true, 10*time.Minute, false, "edit", "yes", "shared", "run", true,
		false, time.Minute, true, true,
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// hard is long texts of the kinds that hurt parsers most, of about a size.
func hard(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, (size-1000)/len(s)) }
	growing := func(s, sep string) string {
		var b strings.Builder
		for n := 1; b.Len() < plan.MaxLine-3000; n++ {
			b.WriteString(strings.Repeat(s, n%2000+1) + sep)
		}
		return strings.Repeat("**writes:** "+b.String()+"\n", size/plan.MaxLine)
	}
	deeper := func() string {
		var b strings.Builder
		for n := 0; b.Len() < size-2000; n++ {
			b.WriteString(strings.Repeat("  ", n%500) + "- a\n")
		}
		return b.String()
	}
	return map[string]string{
		"blank lines":      fill("\n"),
		"carriage returns": fill("\r"),
		"CRLF":             fill("\r\n"),
		"one line":         fill("a"),
		"backticks":        fill("`"),
		"growing runs":     growing("`", " "),
		"braces":           "### 1. a\n**writes:** " + fill("{,"),
		"commas":           "### 1. a\n**writes:** " + fill(","),
		"fences":           fill("```\n"),
		"open fences":      fill("- ```\n"),
		"nested lists":     fill(strings.Repeat("- ", 10_000) + "\n"),
		"deep lists":       "### 1. a\n**acceptance:**\n" + fill("- - - - a\n"),
		"quotes":           fill("> "),
		"labels":           "### 1. a\n" + fill("**contarct:** x\n"),
		"far labels":       "### 1. a\n" + fill("**xyzzy:**\n"),
		"bold":             fill("**a"),
		"headings":         fill("# a\n"),
		"steps":            fill("### 1. a\n"),
		"status":           "### 1. a\n**task:** x\n" + fill("**status:** done\nx\n"),
		"stars":            fill("*"),
		"hidden":           fill("<!--"),
		"tags":             fill("<a "),
		"long tags":        growing("<a", "=\""),
		"images":           fill("!["),
		"targets":          fill("](("),
		"footnotes":        fill("[^a]: b\n"),
		"zero width":       fill("\u200b"),
		"many zero widths": fill("a\u200b"),
		"definitions":      fill("[a]: b\n"),
		"frontmatter":      "---\n" + fill("a: b\n") + "---\n",
		"no end":           "---\n" + fill("a: b\n"),
		"titles":           fill("# a (#"),
		"lists":            "### 1. a\n**needs:**\n" + fill("- 1\n"),
		"subscriptions":    "### 1. a\n**subscriptions:** " + fill("file:a, "),
		"one subscription": "### 1. a\n**subscriptions:**\n" + fill("- "+strings.Repeat("file:a, ", 8000)+"\n"),
		"subscribed":       "### 1. a\n**subscriptions:**\n" + fill("- file:a\n"),
		"many labels":      fill("### 1. a\n**target:** x\n**mode:** read\n**holds:** run\n**strong:** no\n**task:** y\n"),
		"deeper lists":     "### 1. a\n**acceptance:**\n" + deeper(),
		"needs":            "### 1. a\n**needs:** " + fill("step [#"),
		"checks":           "### 1. a\n**checks:**\n" + fill("- a:\n  ```\n  b\n  ```\n"),
		"prose":            "### 1. a\n" + fill("**mode:** read\nx\n"),
		"contract text":    "### 1. a\n**contract:**\n" + fill("exit_code == 0\nx\n"),
		"contract codes":   "### 1. a\n**contract:**\n" + fill("`a`\n"),
		"choices":          "### 1. a\n**ask:** x\n" + fill("- a\n"),
		"durations":        "### 1. a\n**timeout:** " + fill("1s "),
		"budgets":          "### 1. a\n**budget:** " + fill("1,"),
		"policies":         "### 1. a\n**on_fail:** " + fill("retry("),
		"same ids":         fill("### 1. a\n**id:** a-2\n### 2. a\n"),
	}
}

// TestLinear gives the parser long texts, and counts the memory. What is quadratic
// and takes none would never end in the gate.
func TestLinear(t *testing.T) {
	size := tier.Draws(plan.MaxBytes/16, plan.MaxBytes/2)
	long := hard(size)
	for name, text := range hard(size / 4) {
		t.Run(name, func(t *testing.T) {
			linear.Memory(t, func() { readAndWrite(t, text) }, func() { readAndWrite(t, long[name]) })
		})
	}
}

// readAndWrite parses, writes and hashes a text.
func readAndWrite(t *testing.T, text string) {
	p, _ := plan.Parse("", []byte(text))
	if p == nil {
		t.Fatal("refused")
	}
	plan.Format(p)
	p.Hash()
}
