package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/plan"
)

const small = `---
type: plan
status: draft   # where it stands
owner: me
---
# T

### 1. One

**task:** a

## 2. ✅ Two ##

**id:** second
**task:** b
**status:** done

### 3. ⏸️  Three
`

func TestSetStatus(t *testing.T) {
	marks := func(pairs ...string) map[string]plan.Mark {
		m := map[string]plan.Mark{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = plan.Mark(pairs[i+1])
		}
		return m
	}
	for _, test := range []struct {
		name, status string
		marks        map[string]plan.Mark
		edits        []string // old, new, …
	}{
		{"nothing", "", nil, nil},
		{"status", "in-progress", nil, []string{"status: draft ", "status: in-progress "}},
		{"no status word", "done # now", nil, nil},
		{"new mark", "", marks("one", "✅"), []string{"1. One", "1. ✅ One"}},
		{"other mark", "", marks("second", "❌"), []string{"2. ✅ Two", "2. ❌ Two"}},
		{"mark with a selector", "", marks("three", "⏭"), []string{"3. ⏸️  Three", "3. ⏭  Three"}},
		{"no mark", "", marks("second", "", "three", ""), []string{"2. ✅ Two", "2. Two", "3. ⏸️  Three", "3.  Three"}},
		{"no such mark", "", marks("one", "x"), nil},
		{"no such step", "", marks("nobody", "✅"), nil},
		{"all", "done", marks("one", "✅", "second", "✅", "three", "✅"), []string{
			"status: draft ", "status: done ", "1. One", "1. ✅ One", "3. ⏸️  Three", "3. ✅  Three",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, ends := range []string{"\n", "\r\n"} {
				src := strings.ReplaceAll(small, "\n", ends)
				want := strings.NewReplacer(test.edits...).Replace(src)
				got := plan.SetStatus([]byte(src), test.status, test.marks)
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if hash(t, src) != hash(t, string(got)) {
					t.Error("the hash changed")
				}
			}
		})
	}
}

// TestSetStatusLeavesNoPlaceAlone checks the texts that have no place to write to.
func TestSetStatusLeavesNoPlaceAlone(t *testing.T) {
	for _, src := range []string{
		"", "# T\n", "\x00", "\xff", "---\nstatus:\n---\n### 1.\n", "---\nstatus: |\n  draft\n---\n### 1. ✅ ❌ a\n",
		"---\nowner: me\n---\n### 1. \n", "---\nstatus: [draft\n---\n", "```\n### 1. a\n```\n", "---\nstatus: draft\n  more\n---\n",
	} {
		p, _ := plan.Parse("", []byte(src))
		marks := map[string]plan.Mark{"step": plan.MarkDone, "a": plan.MarkDone}
		if got := plan.SetStatus([]byte(src), "done", marks); string(got) != src {
			t.Errorf("SetStatus(%q) = %q", src, got)
		}
		if p != nil && p.Hash() == "" {
			t.Errorf("%q has no hash", src)
		}
	}
}

// TestHash checks that every byte counts but the projected ones.
func TestHash(t *testing.T) {
	base := hash(t, small)
	same := map[string][]string{
		"status":      {"status: draft", "status: done"},
		"quoted":      {"status: draft", `status: "in progress"`},
		"mark":        {"2. ✅ Two", "2. Two"},
		"status line": {"**status:** done\n", ""},
		"two lines":   {"**status:** done\n", "**status:** done\n**status: failed (x)**\n"},
		"in a task":   {"**task:** a\n", "**task:** a\n**status:** skipped (no need)\n"},
	}
	for name, edit := range same {
		if text := strings.Replace(small, edit[0], edit[1], 1); hash(t, text) != base || text == small {
			t.Errorf("%s counts", name)
		}
	}
	other := map[string][]string{
		"comment":             {"where it", "Where it"},
		"owner":               {"owner: me", "owner: you"},
		"no status":           {"status: draft   # where it stands\n", ""},
		"title":               {"# T", "# U"},
		"task":                {"**task:** a", "**task:** c"},
		"blank line":          {"\n\n### 1", "\n\n\n### 1"},
		"number":              {"### 1.", "### 4."},
		"two marks":           {"2. ✅ Two", "2. ✅ ❌ Two"},
		"other sign":          {"2. ✅ Two", "2. ✔ Two"},
		"blank after mark":    {"2. ✅ Two", "2. ✅  Two"},
		"no status word":      {"**status:** done", "**status:** donee"},
		"capital status":      {"**status:** done", "**Status:** done"},
		"indented status":     {"**status:** done", " **status:** done"},
		"status in the title": {"# T", "# T\n**status:** done"},
		"status in a block":   {"**task:** a", "**task:**\n```\n**status:** done\n```"},
		"CRLF":                {"# T\n", "# T\r\n"},
		"BOM":                 {"---\ntype", "\ufeff---\ntype"},
	}
	for name, edit := range other {
		if text := strings.Replace(small, edit[0], edit[1], 1); hash(t, text) == base {
			t.Errorf("%s does not count", name)
		}
	}
}

// TestHashOfAProgramsPlan checks that a plan that was never a text has the hash
// of the text that it is written as.
func TestHashOfAProgramsPlan(t *testing.T) {
	p := plan.New("T")
	p.Steps = append(p.Steps, plan.NewStep("1", "One"))
	if got, want := p.Hash(), hash(t, string(plan.Format(p))); got != want {
		t.Errorf("%s is not %s", got, want)
	}
	if q := plan.New("U"); q.Hash() == p.Hash() {
		t.Error("another title has the same hash")
	}
}

func hash(t *testing.T, src string) string {
	t.Helper()
	p, _ := plan.Parse("", []byte(src))
	if p == nil {
		t.Fatalf("%q is refused", src)
	}
	return p.Hash()
}
