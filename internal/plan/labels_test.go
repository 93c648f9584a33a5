package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
)

// TestNearestLabel checks which label an unknown one is taken for, if any.
func TestNearestLabel(t *testing.T) {
	for key, want := range map[string]string{
		"contarct": "contract", "Task ": "", "tasks": "task", "subscribtions": "subscriptions", "check": "checks", "timeouts": "timeout",
		"on failure": "on_fail", "Retries": "on_fail", "agent": "target", "Role": "target", "depends_on": "needs", "dependencies": "needs",
		"blocked by": "needs", "acceptance criteria": "acceptance", "max iterations": "iterations", "scope": "writes", "exit_code": "contract",
		"step timeout": "timeout", "bugdet": "budget", "note": "", "goal": "", "files": "", "x": "", "completely different": "",
	} {
		_, problems := plan.Parse("", []byte("---\ntype: plan\nstatus: draft\nowner: me\n---\n# T\n### 1. One\n**"+key+":** x\n"))
		hint := ""
		for _, p := range problems {
			if p.Code == plan.UnknownLabel && p.Severity == plan.Error {
				hint = p.Hint
			}
		}
		if want != "" {
			want = fmt.Sprintf("is `%s` meant?", want)
		}
		if hint != want {
			t.Errorf("%q: %q; want %q", key, hint, want)
		}
	}
}

// TestCharacters checks which characters a plan may have.
func TestCharacters(t *testing.T) {
	for _, r := range "\a\x1b\x7f\u0080\u0085\u009f\u00ad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u202a\u202e\u2028\u2029\u2060\u2066\u2069\u206a\u2800\u3164\ufeff\ufff9\U000e0041\u17b4\ufff0\U0001bca0\U0001d173\U0001d17a\ufe00\ufe0f" {
		if n := bad("a" + string(r) + "b"); n != 1 {
			t.Errorf("U+%04X gives %d problems; want 1", r, n)
		}
		if n := bad("a" + strings.Repeat(string(r), 100) + "b"); n > 100 || n < 1 {
			t.Errorf("a run of U+%04X gives %d problems", r, n)
		}
	}
	for _, s := range []string{"\ta\r\n", "\ufeffa", "é ß 中文 עברית ไทย", "👨\u200d👩\u200d👧 🏳️\u200d🌈 ✅️", "می\u200cخواهم", "क्\u200dष", "\u00a0\u2003", "1\ufe0f\u20e3 ©\ufe0f ❤\ufe0f\u200d🔥 葛\ufe00"} {
		if n := bad(s); n != 0 {
			t.Errorf("%q gives %d problems; want none", s, n)
		}
	}
}

func bad(text string) int {
	_, problems := plan.Parse("", []byte(text))
	n := 0
	for _, p := range problems {
		if p.Code == plan.BadCharacter {
			n++
		}
	}
	return n
}

func TestFrontmatterOfPlan(t *testing.T) {
	p, _ := plan.Parse("", []byte("---\nowner: me\nstatus: \"no\"\n---\n"))
	if p.Status() != "no" || p.Owner() != "me" {
		t.Errorf("status %q, owner %q", p.Status(), p.Owner())
	}
	if p := plan.New("T"); p.Status() != "draft" || p.Owner() != "orchestrator" {
		t.Errorf("a new plan has status %q, owner %q", p.Status(), p.Owner())
	}
}
