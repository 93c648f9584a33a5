package piton_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/piton-dev/piton"

// layer is what one package may import: ours by short name, and modules of
// others by prefix. The standard library is free to all but the pure packages.
type layer struct {
	ours    string
	outside string
}

// layers is policy: arrows point downward only. Do not relax it to fix a build;
// decide where the new thing stands first.
var layers = map[string]layer{
	"internal/plan":          {"lazy shell", "go.yaml.in/yaml/v4"},
	"internal/plan/form":     {"lazy plan", "go.yaml.in/yaml/v4"},
	"internal/plan/tasklist": {"lazy plan plan/form", ""},
	"internal/engine":        {"lazy", "github.com/expr-lang/expr"},
	"internal/shell":         {"", "mvdan.cc/sh/v3"},
	"internal/verify":        {"plan plan/form engine judge shell lazy", module + "/docs mvdan.cc/sh/v3/syntax github.com/bmatcuk/doublestar/v4"},
	"internal/prompt":        {"engine", ""},

	"internal/template": {"lazy plan", "go.yaml.in/yaml/v4"},

	"internal/config":  {"lazy plan", "go.yaml.in/yaml/v4"},
	"internal/lazy":    {"", ""},
	"internal/durable": {"", "golang.org/x/sys"},
	"internal/judge":   {"", ""},
	"internal/dag":     {"", ""},
	"internal/observe": {"", "golang.org/x/sys"},
	"internal/proc":    {"", "golang.org/x/sys"},
	"internal/tree":    {"durable engine judge lazy proc", "golang.org/x/sys github.com/bmatcuk/doublestar/v4 github.com/aymanbagabas/go-udiff"},
	"internal/check":   {"engine judge proc tree shell lazy", "mvdan.cc/sh/v3"},
	"internal/egress":  {"plan", ""},
	"internal/tool":    {"egress plan plan/form proc", "github.com/modelcontextprotocol/go-sdk github.com/google/jsonschema-go github.com/bmatcuk/doublestar/v4"},
	"internal/agent":   {"egress engine lazy plan proc", "golang.org/x/sys"},
	"internal/model":   {"agent engine lazy proc", "github.com/hashicorp/go-retryablehttp"},
	"internal/planner": {"plan plan/form verify engine prompt model lazy", ""},
	"internal/notes":   {"engine", "golang.org/x/sys go.yaml.in/yaml/v4 github.com/expr-lang/expr github.com/bmatcuk/doublestar/v4"},
	"internal/probe":   {"durable engine plan verify config proc tool tree agent", ""},

	"internal/store":           {"engine", ""},
	"internal/store/sqlite":    {"durable engine store", "modernc.org/sqlite golang.org/x/sys"},
	"internal/store/storetest": {"engine store", "github.com/google/go-cmp"},

	"internal/run":       {"engine store", ""},
	"internal/effect":    {"egress engine judge observe check agent model tool prompt tree notes proc lazy", "golang.org/x/sys"},
	"internal/project":   {"durable plan plan/form engine", ""},
	"internal/users":     {"durable", ""},
	"internal/oidc":      {"", "golang.org/x/oauth2"},
	"internal/api":       {"plan plan/form verify engine store run probe project config users", "golang.org/x/sys"},
	"internal/view":      {"agent api engine lazy plan store verify", "github.com/rogpeppe/go-internal/diff"},
	"internal/report":    {"engine proc view", ""},
	"internal/telemetry": {"durable engine proc run store", ""},
	"internal/mcp":       {"api plan view", module + "/docs github.com/modelcontextprotocol/go-sdk"},
	"internal/httpapi":   {"api config engine run store users verify view", ""},
	"internal/page":      {"api dag engine httpapi lazy oidc plan planner proc store telemetry template users verify view", "github.com/rogpeppe/go-internal/diff"},
	"internal/owner": {
		"agent api check config effect egress engine lazy model notes plan plan/form planner probe proc project prompt run store store/sqlite telemetry tool tree verify view",
		"golang.org/x/sys",
	},
	"internal/cli": {
		"agent api check config durable effect engine httpapi mcp notes oidc owner page plan plan/form planner plan/tasklist probe proc project prompt report run store store/sqlite template tool tree users verify view lazy",
		module + "/docs github.com/spf13/cobra github.com/spf13/pflag golang.org/x github.com/charmbracelet github.com/muesli/cancelreader github.com/rogpeppe/go-internal/diff",
	},
	"internal/tier":   {"", ""}, // for tests alone, as is the next
	"internal/built":  {"", ""},
	"internal/linear": {"", ""},

	"cmd/piton": {"cli proc", ""},
	"docs":      {"", ""},
}

// pureStd is what the pure packages may use of the standard library: no clock
// that ticks, no files, no network, no processes.
var pureStd = strings.Fields(`bytes cmp container/heap crypto/sha256 encoding/hex encoding/json errors fmt iter maps
	math math/bits net/netip path regexp regexp/syntax slices strconv strings text/template time unicode unicode/utf8 unique hash/fnv`)

var pure = []string{"internal/plan", "internal/plan/form", "internal/plan/tasklist", "internal/engine", "internal/verify", "internal/prompt", "internal/shell", "internal/judge", "internal/dag"}

type pkg struct {
	ImportPath, Dir, Doc, Name string
	Imports, GoFiles           []string
}

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if len(p.GoFiles) == 0 || strings.HasPrefix(name, "bench/") {
			continue
		}
		seen[name] = true
		l, known := layers[name]
		if !known {
			t.Errorf("%s: not in the table; decide where it stands first", name)
			continue
		}
		if p.Doc == "" {
			t.Errorf("%s: no package doc", name)
		}
		for _, imp := range p.Imports {
			checkImport(t, name, l, imp)
		}
		if slices.Contains(pure, name) {
			for _, f := range p.GoFiles {
				checkPure(t, filepath.Join(p.Dir, f))
			}
		}
	}
	for name := range layers {
		if !seen[name] {
			t.Errorf("the table names %s, which does not exist", name)
		}
	}
}

func packages(t *testing.T) []pkg {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles,Doc,Name", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func checkImport(t *testing.T, name string, l layer, imp string) {
	t.Helper()
	within := func(list string) bool {
		return slices.ContainsFunc(strings.Fields(list), func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") })
	}
	if ours, ok := strings.CutPrefix(imp, module+"/internal/"); ok {
		if !slices.Contains(strings.Fields(l.ours), ours) {
			t.Errorf("%s imports %s, which its layer does not allow", name, ours)
		}
		return
	}
	if strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
		if !within(l.outside) {
			t.Errorf("%s imports %s, which its layer does not allow", name, imp)
		}
		return
	}
	if slices.Contains(pure, name) && !slices.Contains(pureStd, imp) {
		t.Errorf("%s is pure and imports %q", name, imp)
	}
}

// impure is what packages that are pure otherwise have of clocks, files and
// the terminal, by the path of the package.
var impure = map[string]string{
	"time":                             "Now Since Until After AfterFunc NewTimer NewTicker Sleep Tick Local LoadLocation",
	"fmt":                              "Print Printf Println Scan Scanf Scanln",
	"text/template":                    "ParseFiles ParseGlob ParseFS",
	"github.com/bmatcuk/doublestar/v4": "Glob GlobWalk FilepathGlob",
}

// checkPure rejects goroutines, channels, the clock and files, under whatever
// name their package is imported.
func checkPure(t *testing.T, file string) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, imp := range f.Imports {
		from := strings.Trim(imp.Path.Value, `"`)
		name := path.Base(strings.TrimSuffix(from, "/v4"))
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if names[name] = impure[from]; name == "." {
			t.Errorf("%s: %s hides what is used of it", fset.Position(imp.Pos()), from)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
			t.Errorf("%s: %T in a pure package", fset.Position(n.Pos()), n)
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(strings.Fields(names[x.Name]), n.Sel.Name) {
				t.Errorf("%s: %s.%s in a pure package", fset.Position(n.Pos()), x.Name, n.Sel.Name)
			}
		}
		return true
	})
}

// TestOneMaker keeps Program's only maker outside tests the verifier: no path
// leads from an unverified plan to a run.
func TestOneMaker(t *testing.T) {
	for _, p := range packages(t) {
		if strings.HasSuffix(p.ImportPath, "internal/verify") || strings.HasSuffix(p.ImportPath, "internal/engine") || strings.Contains(p.ImportPath, "/bench/") {
			continue
		}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok || s.Sel.Name != "NewProgram" {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "engine" {
					t.Errorf("%s/%s makes a Program; only the verifier may", p.ImportPath, name)
				}
				return true
			})
		}
	}
}
