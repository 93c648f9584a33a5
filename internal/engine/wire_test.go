package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piton-dev/piton/internal/engine"
	"pgregory.net/rapid"
)

// anything makes values for every field of an event but the ones that are
// never on the wire.
var anything = rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{
	reflect.TypeFor[*engine.Program](): rapid.Just[any]((*engine.Program)(nil)),
	reflect.TypeFor[time.Time](): rapid.Map(rapid.Int64Range(0, 1<<33), func(s int64) any {
		return time.Unix(s, s%1000*1000).UTC()
	}),
}}

func anyOf[E engine.Event]() *rapid.Generator[engine.Event] {
	return rapid.Map(rapid.MakeCustom[E](anything), func(e E) engine.Event { return e })
}

// makers has a generator for every event there is.
func makers() map[string]*rapid.Generator[engine.Event] {
	return map[string]*rapid.Generator[engine.Event]{
		"EpochBegan":       anyOf[engine.EpochBegan](),
		"IntentOpened":     anyOf[engine.IntentOpened](),
		"PlanDrafted":      anyOf[engine.PlanDrafted](),
		"PlanVerified":     anyOf[engine.PlanVerified](),
		"PlanAnswered":     anyOf[engine.PlanAnswered](),
		"RunArchived":      anyOf[engine.RunArchived](),
		"ErrandAsked":      anyOf[engine.ErrandAsked](),
		"ErrandDropped":    anyOf[engine.ErrandDropped](),
		"MemoryWritten":    anyOf[engine.MemoryWritten](),
		"WorkHeard":        anyOf[engine.WorkHeard](),
		"PlanFiled":        anyOf[engine.PlanFiled](),
		"SettingsApproved": anyOf[engine.SettingsApproved](),
		"TaskOpened":       anyOf[engine.TaskOpened](),
		"RunOpened":        anyOf[engine.RunOpened](),
		"RunConfigured":    anyOf[engine.RunConfigured](),
		"RunEnded":         anyOf[engine.RunEnded](),
		"Command":          anyOf[engine.Command](),
		"WorkDispatched":   anyOf[engine.WorkDispatched](),
		"WorkReported":     anyOf[engine.WorkReported](),
		"WorkEnded":        anyOf[engine.WorkEnded](),
		"CheckEnded":       anyOf[engine.CheckEnded](),
		"StepSettled":      anyOf[engine.StepSettled](),
		"StepExpanded":     anyExpansion(),
		"LeaseGranted":     anyOf[engine.LeaseGranted](),
		"TreeSurveyed":     anyOf[engine.TreeSurveyed](),
		"LeaseAwaited":     anyOf[engine.LeaseAwaited](),
		"PreviewMade":      anyOf[engine.PreviewMade](),
		"ItemOpened":       anyOf[engine.ItemOpened](),
		"ItemAnswered":     anyOf[engine.ItemAnswered](),
		"ArbiterRuled":     anyOf[engine.ArbiterRuled](),
		"JudgeVoted":       anyOf[engine.JudgeVoted](),
		"PartTried":        anyOf[engine.PartTried](),
		"ChangeReverted":   anyOf[engine.ChangeReverted](),
		"FramePushed":      anyOf[engine.FramePushed](),
	}
}

// anyExpansion holds items as the core writes them.
func anyExpansion() *rapid.Generator[engine.Event] {
	items := rapid.SampledFrom([]string{`"a"`, `["a","b"]`, `{"k":1}`, `1.50`, `null`, `"\u2028 <é>"`})
	return rapid.Custom(func(t *rapid.T) engine.Event {
		e := engine.StepExpanded{Step: rapid.String().Draw(t, "step")}
		for _, item := range rapid.SliceOf(items).Draw(t, "items") {
			e.Items = append(e.Items, json.RawMessage(item))
		}
		return e
	})
}

// TestEventsAreRead reads the package's source: a type with a method Type must
// be decoded, folded and tried on the wire, or it would be lost one day.
func TestEventsAreRead(t *testing.T) {
	src := sources(t)
	events := withMethod(src, "Type")
	if len(events) < 15 {
		t.Fatalf("found only %v", events)
	}
	decoded := typeArguments(src, "decodeAs")
	folded := append(cases(src, "State", "apply"), cases(src, "Workspace", "apply")...)
	tried := makers()
	for _, name := range events {
		if !slices.Contains(decoded, name) {
			t.Errorf("%s is not decoded", name)
		}
		if !slices.Contains(folded, name) {
			t.Errorf("%s is not folded by State or Workspace", name)
		}
		if tried[name] == nil {
			t.Errorf("%s is not tried on the wire", name)
		}
	}
	for _, name := range append(decoded, folded...) {
		if !slices.Contains(events, name) {
			t.Errorf("%s is no event", name)
		}
	}
	if len(tried) != len(events) {
		t.Errorf("%d events are tried, and there are %d", len(tried), len(events))
	}
}

// TestInputsAreAdmitted: every input is a case of State.Admit or Workspace.Admit.
func TestInputsAreAdmitted(t *testing.T) {
	src := sources(t)
	inputs := withMethod(src, "Actor")
	if len(inputs) < 9 {
		t.Fatalf("found only %v", inputs)
	}
	admitted := append(cases(src, "State", "admit"), cases(src, "Workspace", "Admit")...)
	for _, name := range inputs {
		if !slices.Contains(admitted, name) {
			t.Errorf("nobody admits %s", name)
		}
	}
}

// sources parses the package less its tests.
func sources(t *testing.T) []*ast.File {
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, n := range names {
		if !strings.HasSuffix(n.Name(), ".go") || strings.HasSuffix(n.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), n.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// methods yields the package's methods with the name of their receiver's type.
func methods(files []*ast.File, yield func(receiver string, f *ast.FuncDecl)) {
	for _, file := range files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			typ := f.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			yield(typ.(*ast.Ident).Name, f)
		}
	}
}

func withMethod(files []*ast.File, name string) []string {
	var types []string
	methods(files, func(receiver string, f *ast.FuncDecl) {
		if f.Name.Name == name {
			types = append(types, receiver)
		}
	})
	return types
}

// cases lists the types that a method's type switch names.
func cases(files []*ast.File, receiver, name string) []string {
	var types []string
	methods(files, func(r string, f *ast.FuncDecl) {
		if r != receiver || f.Name.Name != name {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sw, ok := n.(*ast.TypeSwitchStmt)
			if !ok {
				return true
			}
			for _, c := range sw.Body.List {
				for _, typ := range c.(*ast.CaseClause).List {
					types = append(types, typ.(*ast.Ident).Name)
				}
			}
			return false
		})
	})
	return types
}

// typeArguments lists the types with which a generic function is named.
func typeArguments(files []*ast.File, function string) []string {
	var types []string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if x, ok := n.(*ast.IndexExpr); ok {
				if f, ok := x.X.(*ast.Ident); ok && f.Name == function {
					types = append(types, x.Index.(*ast.Ident).Name)
				}
			}
			return true
		})
	}
	return types
}

// TestEventRoundTrip: what is written is what is read, for any event whatever.
func TestEventRoundTrip(t *testing.T) {
	for name, maker := range makers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				e := maker.Draw(t, "event")
				switch x := e.(type) {
				case engine.ItemAnswered:
					x.Args = someJSON(x.Args)
					e = x
				case engine.WorkEnded:
					x.Value = someJSON(x.Value)
					e = x
				case engine.RunOpened:
					x.Item = someJSON(x.Item)
					e = x
				}
				body, err := engine.Encode(e)
				if err != nil {
					t.Fatal(err)
				}
				got, err := engine.Decode(e.Type(), body)
				if err != nil {
					t.Fatal(err)
				}
				if again, err := engine.Encode(got); err != nil || !bytes.Equal(again, body) {
					t.Fatalf("%v\n%s\n%s", err, body, again)
				}
				if diff := cmp.Diff(e, got, empties); diff != "" {
					t.Fatal(diff)
				}
			})
		})
	}
}

// someJSON makes of any bytes such as are JSON.
func someJSON(b []byte) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	return json.RawMessage(strconv.Quote(fmt.Sprintf("%x", b)))
}

// empties makes an empty list equal to none: the wire knows no difference.
var empties = cmp.FilterValues(func(x, y any) bool {
	a, b := reflect.ValueOf(x), reflect.ValueOf(y)
	list := func(v reflect.Value) bool {
		return v.IsValid() && (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
	}
	return list(a) && list(b)
}, cmp.Ignore())

// A field that a newer program added is left out; a name nobody knows, or a
// broken body, is an error that says which event.
func TestDecode(t *testing.T) {
	e, err := engine.Decode("command", []byte(`{"verb":"pause","by":"ann","colour":"red"}`))
	if diff := cmp.Diff(engine.Event(engine.Command{Verb: engine.DoPause, By: "ann"}), e); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for typ, body := range map[string]string{"command": `{`, "run.ended": `{"exit":"one"}`, "coffee.made": `{}`, "": ``} {
		if e, err := engine.Decode(typ, []byte(body)); err == nil || e != nil || !strings.Contains(err.Error(), typ) {
			t.Errorf("%s %s: %v, %v", typ, body, e, err)
		}
	}
}

// A prompt full of markup exists and is not changed written, for people who read journals.
func TestEncodeKeepsMarkup(t *testing.T) {
	body, err := engine.Encode(engine.Command{Why: "<b> & 'c'"})
	if err != nil || !strings.Contains(string(body), "<b> & 'c'") || bytes.HasSuffix(body, []byte("\n")) {
		t.Errorf("%v: %q", err, body)
	}
}
