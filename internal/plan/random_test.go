package plan_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// randomText draws a text from pieces that mean something to the parser, which
// meet here as no author would have them meet.
func randomText(t *rapid.T) string {
	indents := rapid.SampledFrom([]string{"", "", "", "", " ", "  ", "   ", "    ", "     ", "      ", "\t", "  \t", "> "})
	bullets := rapid.SampledFrom([]string{"", "", "", "", "- ", "* ", "+   ", "1. ", "-", "-      ", "10) ", "- - "})
	texts := rapid.SampledFrom([]string{
		"", "", "", "a", "b c", "none", "`x`", "`` y` ``", "`", "```", "```", "```", "````", "~~~", "~~~ sh", "```shell", "```json x",
		"``` `x` ```", "# T (#1)", "# #", "## Steps", "## Notes", "### 1. One", "### 1. ✅ One", "### 2. ⏸️", "### 3–N. x #", "### ✅", "#### N+1. ❌ ✅ y",
		"### 1. ✅#", "##### 5. z", "### 1) w", "**target:** coder", "**target:**", "**task:**", "**task:** do", "**Task**: - x", "**task:** ```",
		"**ask:** q?", "**ask:**", "**needs:** 1, [2], `3`", "**needs:**", "**contract:**", "**contract:** `true`", "**contract:** `a` exit_code == 1",
		"**contract:** run it", "exit_code == 0", "exit_code = 300", "**checks:**", "**checks:** a: b", "x: `y`", "lint (optional):", "lint: go vet",
		"**writes:** a/**, `b,c`", "**writes:**", "**subscriptions:**", "file:a.go, topic:t", "step:`x`", "**acceptance:**", "**acceptance:** one",
		"**setup:**", "**setup:** `x` y", "**args:**", "**plan:** `p.md`", "**plan:**", "**when:** `a` b", "**for each:** $x", "**on_fail:** retry(1)", "**timeout:** soon",
		"**status:** done", "**status: failed (x)**", "**status:** nonsense", "**Note:** x", "**contarct:**", "**context:** c", "**Tags:** a, {b,c}",
		"**parallel:** 2", "**iterations:**", "**id:** a", "**budget:** $1", "**judge:**", "---", "***", "<!-- x -->", "[x]: y", "**", "\r", "x\r", "\u200b", "\ufeff",
	})
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{
		"", "\ufeff", "---\ntype: plan\nstatus: draft\nowner: me\n---\n", "---\nstatus: 'x'\n---\n", "---\nx:\n- y\n", "---\r\ntype: plan\r\nstatus: a # b\r\n---\r\n", "---\n", "---\n# c\n\n---\n",
	}).Draw(t, "front"))
	for range rapid.IntRange(0, 14).Draw(t, "lines") {
		b.WriteString(indents.Draw(t, "indent"))
		b.WriteString(bullets.Draw(t, "bullet"))
		b.WriteString(texts.Draw(t, "text"))
		b.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\n", "\n", "\n\n", "  \n", "\r\n", ""}).Draw(t, "end"))
	}
	return b.String()
}

// TestRandomTexts checks the laws of every text on texts of that kind.
func TestRandomTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkLaws(t, []byte(randomText(t))) })
}
