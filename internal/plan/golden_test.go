package plan_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/piton-dev/piton/internal/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// corpus returns the golden files: name → archive.
func corpus(t testing.TB) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plans in testdata: %v", err)
	}
	out := map[string]*txtar.Archive{}
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Files) == 0 || a.Files[0].Name != "plan.md" {
			t.Fatalf("%s does not begin with plan.md", f)
		}
		out[f] = a
	}
	return out
}

// TestGolden shows what each plan of the corpus is read as: the tree and the
// problems, with their places.
func TestGolden(t *testing.T) {
	for file, a := range corpus(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			src := a.Files[0].Data
			p, problems := plan.Parse("", src)
			got := []txtar.File{a.Files[0], {Name: "tree", Data: []byte(dump(p))}, {Name: "problems", Data: []byte(list(problems))}}
			checkLaws(t, src)
			if *update {
				a.Files = got
				if err := os.WriteFile(file, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(text(a.Files[1:]), text(got[1:])); diff != "" {
				t.Errorf("-want +got (see -update):\n%s", diff)
			}
		})
	}
}

func text(files []txtar.File) string {
	return string(txtar.Format(&txtar.Archive{Files: files}))
}

// laws is what a test of a law needs: a [testing.T] or a [rapid.T].
type laws interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// checkLaws checks what holds for every text whatsoever.
func checkLaws(t laws, src []byte) {
	t.Helper()
	p, problems := plan.Parse("", src)
	checkPlaces(t, src, problems)
	checkTreePlaces(t, src, p)
	if p == nil {
		if len(problems) != 1 {
			t.Errorf("a refused text has %d problems; want 1", len(problems))
		}
		return
	}
	text := plan.Format(p)
	q, _ := plan.Parse("", text)
	if q == nil {
		t.Fatalf("Format wrote what Parse refuses:\n%s", text)
	}
	if diff := cmp.Diff(tree(p), tree(q)); diff != "" {
		t.Errorf("Parse(Format(p)) is another plan (-p +Parse(Format(p))):\n%s\nFormat(p):\n%s", diff, text)
	}
	if again := plan.Format(q); string(again) != string(text) {
		t.Errorf("Format is not stable (-once +twice):\n%s", cmp.Diff(string(text), string(again)))
	}
	checkProjection(t, p)
}

// checkTreePlaces checks that every place in the tree is in the text.
func checkTreePlaces(t laws, src []byte, p *plan.Plan) {
	t.Helper()
	lines := strings.Split(strings.TrimPrefix(string(src), "\ufeff"), "\n")
	for _, at := range places(reflect.ValueOf(p)) {
		if at == (plan.Pos{}) {
			continue
		}
		if at.Line < 1 || at.Line > len(lines) || at.Column < 1 || at.Column > 1+utf8.RuneCountInString(lines[at.Line-1]) {
			t.Errorf("%v in the tree is outside of the text", at)
		}
	}
}

// checkPlaces checks that every problem points into the text.
func checkPlaces(t laws, src []byte, problems []plan.Problem) {
	t.Helper()
	lines := strings.Split(strings.TrimPrefix(string(src), "\ufeff"), "\n")
	last := plan.Pos{}
	for _, p := range problems {
		if p.Pos.Line < 1 || p.Pos.Line > len(lines) || p.Pos.Column < 1 ||
			p.Pos.Column > 1+utf8.RuneCountInString(lines[p.Pos.Line-1]) {
			t.Errorf("%v of %q is outside of the text", p.Pos, p.Message)
		}
		if p.Pos.Line < last.Line || p.Pos.Line == last.Line && p.Pos.Column < last.Column {
			t.Errorf("problems are out of order: %v after %v", p.Pos, last)
		}
		if p.Code == "" || p.Message == "" || p.Severity == "" {
			t.Errorf("incomplete problem %+v", p)
		}
		last = p.Pos
	}
}

// checkProjection checks that the projected bytes mean nothing: with other
// marks and another status, the plan has the same hash and the same tree.
func checkProjection(t laws, p *plan.Plan) {
	t.Helper()
	for _, m := range []plan.Mark{plan.NoMark, plan.MarkDone, plan.MarkSkipped} {
		marks := map[string]plan.Mark{}
		for _, s := range p.Steps {
			marks[s.ID.Value] = m
		}
		text := plan.SetStatus(p.Source, "in-progress", marks)
		q, _ := plan.Parse("", text)
		if p.Hash() != q.Hash() {
			t.Errorf("SetStatus changed the hash:\n%s", cmp.Diff(string(p.Source), string(text)))
		}
		if diff := cmp.Diff(tree(p, "Mark", "Status", "Front"), tree(q, "Mark", "Status", "Front")); diff != "" {
			t.Errorf("SetStatus changed the plan:\n%s", diff)
		}
	}
	bare, ok := withoutStatusLines(p)
	if !ok {
		return
	}
	q, _ := plan.Parse("", bare)
	if p.Hash() != q.Hash() {
		t.Errorf("a status line is in the hash:\n%s", bare)
	}
	if diff := cmp.Diff(tree(p, "Status"), tree(q, "Status")); diff != "" {
		t.Errorf("a status line changed the plan (-with +without):\n%s", diff)
	}
}

// withoutStatusLines takes the status lines that the parser found out of the text.
func withoutStatusLines(p *plan.Plan) ([]byte, bool) {
	lines := strings.SplitAfter(string(p.Source), "\n")
	found := false
	for _, s := range p.Steps {
		if !s.Status.IsZero() {
			lines[s.Status.Pos.Line-1], found = "", true
		}
	}
	return []byte(strings.Join(lines, "")), found
}

// TestEveryCodeIsShown checks that the corpus has an example of every problem,
// and no problem without a code that is known.
func TestEveryCodeIsShown(t *testing.T) {
	refused := map[string]bool{ // shown by TestRefused and TestCaps
		plan.TooLarge: true, plan.NotUTF8: true, plan.NULByte: true, plan.LineTooLong: true, plan.TooManySteps: true, plan.TooManyItems: true,
		plan.TooManyProblems: true, plan.ScriptTooLong: true, plan.FrontmatterTooLong: true,
	}
	for _, code := range []string{ // shown by package form
		plan.BadSyntax, plan.BadAlias, plan.TooDeep, plan.WrongType, plan.UnknownField, plan.DuplicateField, plan.MissingField, plan.BadIndex,
		plan.SeveralLines,
	} {
		refused[code] = true
	}
	shown := map[string]bool{}
	for _, a := range corpus(t) {
		_, problems := plan.Parse("", a.Files[0].Data)
		for _, p := range problems {
			shown[p.Code] = true
		}
	}
	for _, code := range codes(t) {
		if !shown[code] && !refused[code] {
			t.Errorf("no plan in testdata has the problem %s", code)
		}
		delete(shown, code)
	}
	for code := range shown {
		t.Errorf("%s is not among the constants of codes.go", code)
	}
}

// codes reads the constants of codes.go.
func codes(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				code, _ := strconv.Unquote(lit.Value)
				out = append(out, code)
			}
		}
		return true
	})
	if len(out) == 0 {
		t.Fatal("no codes in codes.go")
	}
	return out
}
