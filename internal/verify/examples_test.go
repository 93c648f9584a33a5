package verify_test

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// framed makes a whole plan of a piece of one.
func framed(piece string) string {
	switch front := "---\ntype: plan\nstatus: draft\nowner: you\n---\n\n"; {
	case strings.HasPrefix(piece, "---"), piece == "# Title\n\n## Steps\n\n### 1. Fix the pager":
		return piece + "\n"
	case strings.HasPrefix(piece, "# "):
		return front + piece + "\n"
	case strings.HasPrefix(piece, "### "):
		return front + "# Title\n\n## Steps\n\n" + piece + "\n"
	default:
		return front + "# Title\n\n## Steps\n\n### 1. Fix the pager\n\n" + piece + "\n"
	}
}

// TestExamples makes sure that what people are shown is true: a rule speaks of
// its bad piece, and of its good one neither it nor the parser does.
func TestExamples(t *testing.T) {
	change := map[string]func(*verify.Facts){
		"PT029": func(f *verify.Facts) {
			for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
				f.Files[name] = verify.File{}
			}
		},
		"PT031": func(f *verify.Facts) {
			f.Agents, f.DefaultAgent = map[string]verify.Agent{"script": {Shell: true}}, ""
		},
		"PT036": func(f *verify.Facts) { f.Agents["coder"] = verify.Agent{Time: 20 * 60 * 1e9} },
		"PT037": func(f *verify.Facts) { f.Agents["coder"] = verify.Agent{Missing: "codex"} },
		"PT040": func(f *verify.Facts) { f.Commands["pytset"] = "" },
		"PT041": func(f *verify.Facts) { f.Files["scripts/check.sh"] = verify.File{Exists: true} },
		"PT052": func(f *verify.Facts) {
			f.Texts = map[string]string{"Makefile": "lint:\n\tgolint ./...\n"}
			f.Files["lint"] = verify.File{Exists: true}
		},
		"PT053": func(f *verify.Facts) {
			f.Texts = map[string]string{"Makefile": "include mk/*.mk\nlint:\n\tgolint ./...\n"}
		},
		"PT054": func(f *verify.Facts) { f.Files["lib/check.sh"] = verify.File{Exists: true} },
		"PT042": func(f *verify.Facts) {
			f.Files["docs/none.md"], f.Files["docs/design.md"] = verify.File{}, verify.File{Exists: true}
		},
	}
	without := 0
	for _, rule := range verify.Rules() {
		if rule.Bad == "" || rule.Good == "" {
			if rule.ID >= "PT170" {
				continue // of other forms than Markdown
			}
			if without++; !verify.OfText(rule) {
				t.Errorf("%s has no examples", rule.ID)
			}
			continue
		}
		for piece, bad := range map[string]bool{rule.Bad: true, rule.Good: false} {
			p, problems := plan.Parse("plan.md", []byte(framed(piece)))
			f := facts(t, verify.Needs(p), "none")
			if c := change[rule.ID]; c != nil {
				c(&f)
			}
			spoke := false
			for _, found := range verify.Check(p, problems, f) {
				spoke = spoke || found.Code == rule.ID
				if !bad && found.Severity != verify.Note && found.Code >= "PT100" {
					t.Errorf("%s: good example: %v", rule.ID, found)
				}
			}
			if spoke != bad {
				t.Errorf("%s: of this it says something: %v\n%s", rule.ID, spoke, piece)
			}
		}
	}
	if without > 15 {
		t.Errorf("%d rules have no examples", without)
	}
}
