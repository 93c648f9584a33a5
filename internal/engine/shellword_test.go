package engine_test

import (
	"os/exec"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
)

// Whatever a word holds, a shell gives it to the program as it is and runs nothing of it.
func TestShellWord(t *testing.T) {
	for _, word := range []string{
		"", "plain", "plans/fix-1.md", "zwölf", "two words", "$(touch x)", "`touch x`", `a\`, `"`, "'", "it's \"so\"", "$HOME", "a;b", "~", "*", "a\nb", "#", "!!", "{a,b}", "a\u00a0b",
	} {
		out, err := exec.Command("bash", "-c", "printf %s "+engine.ShellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q is %s for a shell, which gives %q, %v", word, engine.ShellWord(word), out, err)
		}
	}
	if plain := engine.ShellWord("plans/fix-1.md"); plain != "plans/fix-1.md" {
		t.Error("a plain word is quoted:", plain)
	}
}
