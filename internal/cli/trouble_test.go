package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/view"
)

// The page about trouble has a row for each word of these kinds that the source has, and no
// other rows: statuses, verdicts, questions, beginnings of lines, checks of the doctor, answers
// of agents, and codes of errors.
func TestTroublePage(t *testing.T) {
	var statuses []string
	for s := range looks {
		statuses = append(statuses, strings.Split(view.Word(s, engine.NoPhase), ", ")...)
	}
	for _, p := range constants(t, "../engine", "Phase") {
		for _, s := range []engine.Status{engine.Running, engine.Done} {
			statuses = append(statuses, view.Word(s, engine.Phase(p)))
		}
	}
	lines := slices.DeleteFunc(constants(t, "../view", "Deed"), func(w string) bool { return w == string(view.Commanded) })
	for _, m := range regexp.MustCompile(`out, "%s ([a-z]+) `).FindAllStringSubmatch(allText(t, "lines.go"), -1) {
		lines = append(lines, m[1])
	}
	var agents []string
	for _, k := range constants(t, "../engine", "CauseKind") {
		agents = append(agents, (&engine.Cause{Kind: engine.CauseKind(k)}).String())
	}
	for title, words := range map[string][]string{
		"Verdicts":        constants(t, "../engine", "Verdict"),
		"Statuses":        statuses,
		"Questions":       constants(t, "../engine", "ItemKind"),
		"Lines of a run":  slices.Concat(lines, constants(t, "../engine", "Verb"), []string{"check", "left", "next", "or", "plan", "then", "work"}),
		"The doctor":      doctorChecks(t),
		"Agents":          append(agents, "works", "not installed", "too old", "failed"),
		"Codes of errors": append(constants(t, "../api", "Code"), constants(t, "../tool", "Code")...),
	} {
		if len(words) < 5 {
			t.Errorf("%s: the source has only %q", title, words)
		}
		slices.Sort(words)
		words = slices.DeleteFunc(slices.Compact(words), func(w string) bool { return w == "" })
		if rows := troubleRows(t, title); !slices.Equal(rows, words) {
			t.Errorf("docs/trouble.md, %s: the rows are\n%q\nand the words of the source are\n%q", title, rows, words)
		}
	}
}

// troubleRows are the words that the rows below a heading explain, sorted. Each row says
// something.
func troubleRows(t *testing.T, title string) []string {
	t.Helper()
	_, part, ok := strings.Cut(allText(t, "../../docs/trouble.md"), "# "+title+"\n")
	if !ok {
		t.Fatalf("docs/trouble.md has no heading %q", title)
	}
	part, _, _ = strings.Cut(part, "\n#")
	var words []string
	for line := range strings.Lines(part) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 4 {
			continue
		}
		if strings.TrimSpace(cells[2]) == "" {
			t.Errorf("docs/trouble.md, %s: a row says nothing: %s", title, line)
		}
		for w := range strings.SplitSeq(cells[1], ",") {
			words = append(words, strings.TrimSpace(w))
		}
	}
	if len(words) < 2 {
		t.Fatalf("docs/trouble.md, %s: no table", title)
	}
	words = words[2:] // its head
	slices.Sort(words)
	return slices.Compact(words)
}

// constants are the values of all string constants of a type, but for "", in the order of
// the files.
func constants(t *testing.T, dir, typ string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				values = append(values, valuesOf(g, typ)...)
			}
		}
	}
	if values == nil {
		t.Fatalf("%s has no constants of type %s", dir, typ)
	}
	return values
}

func valuesOf(g *ast.GenDecl, typ string) (values []string) {
	for _, s := range g.Specs {
		v := s.(*ast.ValueSpec)
		if id, ok := v.Type.(*ast.Ident); !ok || id.Name != typ {
			continue
		}
		for _, e := range v.Values {
			if lit, ok := e.(*ast.BasicLit); ok {
				if text, err := strconv.Unquote(lit.Value); err == nil && text != "" {
					values = append(values, text)
				}
			}
		}
	}
	return values
}

// doctorChecks are what the doctor looks at where everything is configured, and where
// nothing is.
func doctorChecks(t *testing.T) (checks []string) {
	t.Helper()
	asked := config.Model{API: "openai", Model: "m"}
	full := config.Config{
		Agents:     map[string]config.Agent{"NAME": {Kind: config.Exec}},
		MCPServers: map[string]config.Server{"NAME": {URL: "http://127.0.0.1:1"}},
		Sandbox:    config.Sandbox{Visible: []string{"/usr"}},
		Planner:    asked, Arbiter: asked, Judge: asked, Reviewer: asked, Extraction: asked,
	}
	for _, c := range []config.Config{full, {}} {
		for _, l := range probe.Doctor(t.Context(), probe.Env{Workspace: t.TempDir(), State: t.TempDir(), Environ: os.Environ(), Config: c}) {
			checks = append(checks, l.Check)
		}
	}
	return checks
}

func allText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
