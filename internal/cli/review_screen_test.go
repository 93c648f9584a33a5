package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/verify"
)

// A plan at a whole terminal fits it, whatever its size: no line is wider, and there are no
// more of them. The chosen step, what was found in it and the keys are there.
func TestReviewFits(t *testing.T) {
	var text strings.Builder
	text.WriteString("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# A plan of many steps ⇒ Ω 日本語\n\n## Steps\n")
	for n := range 40 {
		fmt.Fprintf(&text, "\n### %d. Step %d, %s\n\n**target:** script\n**task:** `touch f%d`\n**contract:** `true`\n", n+1, n+1, strings.Repeat("long ", n), n)
	}
	doc := api.Parse("plans/a plan.md", []byte(text.String()))
	doc.Findings = verify.Check(doc.Plan, nil, verify.Facts{})
	if doc.Plan == nil || len(doc.Plan.Steps) != 40 {
		t.Fatalf("%+v", doc.Findings)
	}
	for _, size := range []sizeMsg{{80, 24}, {120, 40}, {200, 50}, {40, 10}, {20, 5}, {3, 2}} {
		for _, look := range []theme{{}, {ascii: true}, {color: true}} {
			m := &reviewScreen{review: &review{doc: doc, path: doc.Path, said: []string{"Nothing was changed."}}, theme: look}
			m.Update(size)
			for range 12 {
				m.Update(keyMsg{name: "down"})
			}
			m.Update(keyMsg{name: "k"})
			shown := m.View()
			lines := strings.Split(shown, "\n")
			if len(lines) >= size.height && size.height > 2 {
				t.Errorf("%v: %d lines\n%s", size, len(lines), shown)
			}
			for _, l := range lines {
				if ansi.StringWidth(l) > size.width {
					t.Errorf("%v: too wide: %s", size, l)
				}
			}
			plain := ansi.Strip(shown)
			if !look.color && plain != shown {
				t.Errorf("%v: colours without a wish for them: %q", size, shown)
			}
			for _, r := range plain {
				if look.ascii && r > 0x7e {
					t.Errorf("%v: %q is not ASCII:\n%s", size, r, shown)
					break
				}
			}
			if size.width < 80 {
				continue
			}
			for _, want := range []string{">  12  Step 12", "40 steps, 80 errors", "PT022", "y approve", "Nothing was changed."} {
				if !strings.Contains(plain, want) {
					t.Errorf("%v: no %q in\n%s", size, want, plain)
				}
			}
		}
	}
}

// Keys choose a step or end the screen with what is to be done; others mean nothing.
func TestReviewKeys(t *testing.T) {
	doc := api.Parse("plan.md", []byte("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Plan\n\n## Steps\n\n### 1. One\n\n### 2. Two\n"))
	for key, want := range map[string]string{"e": "e", "m": "m", "c": "c", "y": "y", "esc": "q", "ctrl+c": "q", "j": "", "up": "", "x": "", "enter": "", " ": ""} {
		m := &reviewScreen{review: &review{doc: doc}}
		if quits := m.Update(keyMsg{name: key}); m.key != want || (quits != nil) != (want != "") {
			t.Errorf("%q: %q, want %q", key, m.key, want)
		}
	}
	m := &reviewScreen{review: &review{doc: doc}}
	for range 3 {
		m.Update(keyMsg{name: "j"})
	}
	if m.at != 1 {
		t.Errorf("the chosen step is %d", m.at)
	}
}
