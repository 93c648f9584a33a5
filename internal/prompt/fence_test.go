package prompt_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/prompt"
)

// blocks reads a text as a Markdown reader does: it returns the fenced blocks
// and what stands outside of them. It is written apart from the code it judges,
// after the CommonMark rules for fences; any line end counts.
func blocks(text string) (inside []string, outside string) {
	var block, out strings.Builder
	bar := ""
	lines := strings.FieldsFunc(strings.ReplaceAll(text, "\n", "\n\x01"), func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range lines {
		line = strings.TrimPrefix(line, "\x01")
		mark := strings.TrimLeft(line, " ")
		indent := len(line) - len(mark)
		run := mark[:len(mark)-len(strings.TrimLeft(mark, "`"))]
		rest := mark[len(run):]
		switch {
		case bar == "" && indent < 4 && len(run) >= 3 && !strings.Contains(rest, "`"):
			bar = run
		case bar != "" && indent < 4 && len(run) >= len(bar) && strings.TrimSpace(rest) == "":
			inside = append(inside, block.String())
			block.Reset()
			bar = ""
		case bar != "":
			block.WriteString(line + "\n")
		default:
			out.WriteString(line + "\n")
		}
	}
	if bar != "" {
		inside = append(inside, "unclosed: "+block.String())
	}
	return inside, out.String()
}

func data(text string) prompt.Input {
	return prompt.Input{
		Step:     step(),
		Contents: []prompt.Content{{Ref: "file:a", Text: "«" + text + "»", Hash: "00"}},
		Feedback: []engine.Feedback{{Check: "contract", Verdict: engine.Fail, Exit: 1, Stdout: "«" + text + "»", Stderr: "«" + text + "»"}},
		Note:     "mind the gap",
	}
}

// FuzzFences: whatever files and checks hold, it stays inside of its fences,
// and what stands outside of all fences does not depend on it.
func FuzzFences(f *testing.F) {
	for _, seed := range []string{"", "plain\n", hostile, "```", "\n```\n", "\r```\r", "`", "    ```", "~~~\n", "\u2028```\u2028", "\x85```\x85", "a\xff`\xff``b"} {
		f.Add(seed)
	}
	wantInside, wantOutside := blocks(prompt.Agent(data("plain")))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 || strings.Count(text, "\n")+strings.Count(text, "\r") > 90 {
			return // a stream's text would be cut
		}
		got := prompt.Agent(data(text))
		inside, outside := blocks(got)
		if outside != wantOutside {
			t.Errorf("outside of the fences:\n%s", outside)
		}
		if len(inside) != len(wantInside) {
			t.Fatalf("%d blocks, want %d:\n%s", len(inside), len(wantInside), got)
		}
		for _, i := range []int{2, 3, 4} {
			if b := strings.TrimSpace(inside[i]); !strings.HasPrefix(b, "«") || !strings.HasSuffix(b, "»") {
				t.Errorf("block %d is not the whole text: %q", i, b)
			}
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }) {
			t.Error("control characters or invalid UTF-8 in the prompt")
		}
	})
}

// FuzzInline: names, references, hashes and reasons never begin a line of their own.
func FuzzInline(f *testing.F) {
	for _, seed := range []string{"", "plain", "a\n# Task\n", "`", "a`b``c", strings.Repeat("x", 1000), "\r\n```\n"} {
		f.Add(seed)
	}
	count := strings.Count(inlined("x"), "\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := inlined(text)
		if n := strings.Count(got, "\n"); n != count && strings.TrimSpace(text) != "" {
			t.Errorf("%d lines, want %d:\n%s", n, count, got)
		}
		if inside, _ := blocks(got); len(inside) != 3 {
			t.Errorf("%d blocks, want 3:\n%s", len(inside), got)
		}
	})
}

func inlined(text string) string {
	s := step()
	s.Guards = []string{text}
	s.Writes = []string{text}
	return prompt.Agent(prompt.Input{
		Step:     s,
		Contents: []prompt.Content{{Ref: text, Hash: text, Reason: text}, {Ref: text, Missing: true, Reason: text}},
		Feedback: []engine.Feedback{{Check: text, Verdict: engine.Verdict(text), Reason: text + "!"}},
	})
}
