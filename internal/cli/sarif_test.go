package cli

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // for its schema
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/verify"
)

// sarifSchema is the JSON schema of SARIF 2.1.0 as OASIS published it. It
// stands as a constant in the source of a package that writes such logs, which
// is imported for it alone.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	found, err := build.Import("github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(found.Dir, "schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && len(lit.Value) > len(text) {
			text = lit.Value
		}
		return true
	})
	if text, err = strconv.Unquote(text); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if title, _ := doc.(map[string]any)["title"].(string); !strings.Contains(title, "SARIF") || !strings.Contains(title, "2.1.0") {
		t.Fatalf("the schema is of %q", title)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validSARIF(t *testing.T, schema *jsonschema.Schema, log []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

func sarifDocs() []*api.Document {
	return []*api.Document{
		{Path: "plans/a plan.md", Findings: []verify.Finding{
			{Code: "PT012", Severity: verify.Error, Step: "deploy", File: "plans/a plan.md", Line: 12, Column: 3, Message: "step waits for itself", Hint: "take it away"},
			{Code: "PT116", Severity: verify.Note, File: "plans/a plan.md", Line: 3, Column: 1, Message: "key <b> means nothing"},
		}},
		{Path: "/abs/b.md", Findings: []verify.Finding{{Code: "PT042", Severity: verify.Warning, File: "/abs/b.md", Line: 1, Column: 1, Message: "m"}}},
		{Path: stdinName},
	}
}

func TestSARIFIsValid(t *testing.T) {
	schema := sarifSchema(t)
	for name, docs := range map[string][]*api.Document{"nothing": {}, "no findings": sarifDocs()[2:], "findings": sarifDocs()} {
		var out bytes.Buffer
		if err := writeSARIF(&out, docs); err != nil {
			t.Fatal(err)
		}
		if err := validSARIF(t, schema, out.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSARIFHasRulesAndPlaces(t *testing.T) {
	log := sarifOf(sarifDocs())
	run := log.Runs[0]
	if got, want := len(run.Tool.Driver.Rules), len(verify.Rules()); got != want {
		t.Fatalf("%d rules, want %d", got, want)
	}
	var got []string
	for _, r := range run.Results {
		if rule := run.Tool.Driver.Rules[r.RuleIndex]; rule.ID != r.RuleID {
			t.Errorf("%s points to rule %s", r.RuleID, rule.ID)
		}
		at := r.Locations[0].Physical
		if run.Artifacts[*at.Artifact.Index].Location.URI != at.Artifact.URI {
			t.Errorf("%s: artifact %d is not %s", r.RuleID, *at.Artifact.Index, at.Artifact.URI)
		}
		got = append(got, strings.Join([]string{r.RuleID, string(r.Level), at.Artifact.URI, r.Properties["hint"]}, " "))
	}
	want := []string{"PT012 error plans/a%20plan.md take it away", "PT116 note plans/a%20plan.md ", "PT042 warning file:///abs/b.md "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestSARIFJudge makes sure that the judge of the test above can say no.
func TestSARIFJudge(t *testing.T) {
	schema := sarifSchema(t)
	for name, broken := range map[string]func(*sarifLog){
		"version": func(l *sarifLog) { l.Version = "2.0.0" },
		"level":   func(l *sarifLog) { l.Runs[0].Results[0].Level = "fatal" },
		"line":    func(l *sarifLog) { l.Runs[0].Results[0].Locations[0].Physical.Region.StartLine = 0 },
		"columns": func(l *sarifLog) { l.Runs[0].ColumnKind = "bytes" },
	} {
		log := sarifOf(sarifDocs())
		broken(&log)
		text, err := json.Marshal(log)
		if err != nil {
			t.Fatal(err)
		}
		if validSARIF(t, schema, text) == nil {
			t.Errorf("%s: the broken log is valid", name)
		}
	}
	for name, edit := range map[string][2]string{
		"unknown property": {`"startLine"`, `"firstLine"`},
		"no driver":        {`"driver"`, `"motor"`},
		"text for a list":  {`"results":[`, `"results":["x",`},
	} {
		text, err := json.Marshal(sarifOf(sarifDocs()))
		if err != nil {
			t.Fatal(err)
		}
		if validSARIF(t, schema, bytes.Replace(text, []byte(edit[0]), []byte(edit[1]), 1)) == nil {
			t.Errorf("%s: the broken log is valid", name)
		}
	}
}
