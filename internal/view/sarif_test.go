package view

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/verify"
)

// sarifSchema is the JSON schema of SARIF 2.1.0 as OASIS published it.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open("testdata/sarif-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	doc, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
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
		{Path: "<stdin>"},
	}
}

func TestSARIFIsValid(t *testing.T) {
	t.Parallel()
	schema := sarifSchema(t)
	for name, docs := range map[string][]*api.Document{"nothing": {}, "no findings": sarifDocs()[2:], "findings": sarifDocs()} {
		var out bytes.Buffer
		if err := WriteSARIF(&out, "0.1.0", docs); err != nil {
			t.Fatal(err)
		}
		if err := validSARIF(t, schema, out.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSARIFHasRulesAndPlaces(t *testing.T) {
	text, err := json.Marshal(sarifOf("0.1.0", sarifDocs()))
	if err != nil {
		t.Fatal(err)
	}
	type file struct {
		URI   string
		Index int
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Artifacts []struct{ Location file }
			Results   []struct {
				RuleID, Level string
				RuleIndex     int
				Locations     []struct {
					PhysicalLocation struct{ ArtifactLocation file }
				}
				Properties map[string]string
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if got, want := len(run.Tool.Driver.Rules), len(verify.Rules()); got != want {
		t.Fatalf("%d rules, want %d", got, want)
	}
	var got []string
	for _, r := range run.Results {
		if rule := run.Tool.Driver.Rules[r.RuleIndex]; rule.ID != r.RuleID {
			t.Errorf("%s points to rule %s", r.RuleID, rule.ID)
		}
		at := r.Locations[0].PhysicalLocation.ArtifactLocation
		if run.Artifacts[at.Index].Location.URI != at.URI {
			t.Errorf("%s: artifact %d is not %s", r.RuleID, at.Index, at.URI)
		}
		got = append(got, strings.Join([]string{r.RuleID, r.Level, at.URI, r.Properties["hint"]}, " "))
	}
	want := []string{"PT012 error plans/a%20plan.md take it away", "PT116 note plans/a%20plan.md ", "PT042 warning file:///abs/b.md "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestSARIFJudge makes sure that the judge of the test above can say no.
func TestSARIFJudge(t *testing.T) {
	t.Parallel()
	schema := sarifSchema(t)
	for name, edit := range map[string][2]string{
		"version":          {`"version":"2.1.0"`, `"version":"2.0.0"`},
		"level":            {`"level":"note","locations"`, `"level":"fatal","locations"`},
		"line":             {`"startLine":1}`, `"startLine":0}`},
		"columns":          {`"unicodeCodePoints"`, `"bytes"`},
		"unknown property": {`"startLine"`, `"firstLine"`},
		"no driver":        {`"driver"`, `"motor"`},
		"text for a list":  {`"results":[`, `"results":["x",`},
	} {
		text, err := json.Marshal(sarifOf("0.1.0", sarifDocs()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte(edit[0])) {
			t.Fatalf("%s: the log has no %s", name, edit[0])
		}
		if validSARIF(t, schema, bytes.Replace(text, []byte(edit[0]), []byte(edit[1]), 1)) == nil {
			t.Errorf("%s: the broken log is valid", name)
		}
	}
}
