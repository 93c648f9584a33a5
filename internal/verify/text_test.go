package verify_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// parserCodes reads the codes of problems from the source of the parser, so
// that none can be forgotten here.
func parserCodes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../plan/codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, decl := range file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			for _, value := range spec.(*ast.ValueSpec).Values {
				if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					code, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					codes = append(codes, code)
				}
			}
		}
	}
	return codes
}

func TestEveryCodeOfTheParserIsARule(t *testing.T) {
	t.Parallel()
	codes := parserCodes(t)
	if len(codes) < 40 {
		t.Fatalf("only %d codes: %v", len(codes), codes)
	}
	known := map[string]bool{}
	for _, code := range codes {
		known[code] = true
		r, ok := verify.RuleOf(code)
		if !ok {
			t.Errorf("the parser's code %s has no rule", code)
			continue
		}
		for _, severity := range []plan.Severity{plan.Error, plan.Warning, plan.Note} {
			found := verify.Check(nil, []plan.Problem{{Pos: plan.Pos{Line: 2, Column: 5}, Severity: severity, Code: code, Message: "m", Hint: "h"}}, verify.Facts{})
			want := verify.Finding{Code: r.ID, Severity: verify.Severity(severity), Line: 2, Column: 5, Message: "m", Hint: "h"}
			if len(found) != 1 || found[0] != want {
				t.Errorf("%s: %+v", code, found)
			}
		}
	}
	for _, r := range verify.Rules() {
		if verify.OfText(r) && !known[r.Name] && r.Name != "text" {
			t.Errorf("%s is for the code %q, which the parser does not have", r.ID, r.Name)
		}
	}
}

func TestProblemsOfTheText(t *testing.T) {
	text := strings.Replace(oneStep("**tagret:** coder\n"), "# One", "# One\n\n**Paralel:** 2", 1)
	var got []string
	for _, f := range check(t, "plans/x.md", []byte(text), "") {
		got = append(got, f.Step+"|"+f.String())
	}
	want := []string{
		"|plans/x.md:9:1: error: PT130 ",
		"only|plans/x.md:16:1: error: PT130 ",
	}
	if len(got) != len(want) {
		t.Fatalf("findings %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("finding %q, want %q", got[i], want[i])
		}
	}
	for _, f := range check(t, "x.md", []byte("a\x00b"), "") {
		if f.Code != "PT103" || f.Severity != verify.Error || f.Line != 1 || f.Column != 2 {
			t.Errorf("finding of bytes that are refused: %+v", f)
		}
	}
}

// TestOneMistakeOneFinding keeps rules quiet beside a label that could not be
// read: what they would miss is there, and misspelt.
func TestOneMistakeOneFinding(t *testing.T) {
	for _, change := range [][2]string{
		{"**target:**", "**tagret:**"},
		{"**target:**", "**agent:**"},
		{"**task:**", "**taks:**"},
		{"**contract:**", "**contarct:**"},
		{"**contract:**", "**contract**"},
	} {
		text := "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# One\n\n## Steps\n\n### 1. Only\n\n" +
			"**target:** coder\n**task:** Do it.\n**contract:**\n```shell\ngrep -q x a.md\n```\n"
		text = strings.Replace(text, change[0], change[1], 1)
		found := check(t, "x.md", []byte(text), "none.facts.json")
		var errs []string
		for _, f := range found {
			if f.Severity == verify.Error {
				errs = append(errs, f.String())
			}
		}
		if len(errs) != 1 || !strings.Contains(errs[0], "PT130") && !strings.Contains(errs[0], "PT020") {
			t.Errorf("%s: %q", change[1], errs)
		}
	}
	p, problems := plan.Parse("x.md", []byte("---\ntype: plan\nstatus: draft\nowner: me\n---\n# One\n## Steps\n### 1. Only\n**tagret:** coder\n"))
	for _, f := range verify.Check(p, problems, verify.Facts{}) {
		if f.Code == "PT031" {
			t.Errorf("%v", f)
		}
	}
}
