package httpapi

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/piton-dev/piton/internal/api"
)

// described is the description as its readers get it.
func described(t *testing.T) map[string]any {
	t.Helper()
	d, err := Description("1.0")
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// The description is an OpenAPI 3.1 document, by the schema of the OpenAPI initiative.
func TestDescriptionIsOpenAPI(t *testing.T) {
	schema, err := os.ReadFile("testdata/openapi-3.1.json")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	openapi, err := c.Compile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	doc := described(t)
	if err := openapi.Validate(doc); err != nil {
		t.Error(err)
	}
	delete(doc, "info")
	if openapi.Validate(doc) == nil {
		t.Error("a document without its title passes")
	}
	// The schemas in it are schemas, and each reference leads to one.
	all := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for name := range all {
		if _, err := answerSchema(t, doc, map[string]any{"$ref": "#/components/schemas/" + name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// answerSchema compiles a schema of the description.
func answerSchema(t *testing.T, doc, schema map[string]any) (*jsonschema.Schema, error) {
	t.Helper()
	c := jsonschema.NewCompiler()
	whole := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "components": doc["components"], "allOf": []any{schema}}
	if err := c.AddResource("answer.json", whole); err != nil {
		t.Fatal(err)
	}
	return c.Compile("answer.json")
}

// Each route is in the description, and nothing else is; each use case of the owner is a route.
func TestDescriptionHasEveryRoute(t *testing.T) {
	var in, are []string
	for path, operations := range described(t)["paths"].(map[string]any) {
		for method, o := range operations.(map[string]any) {
			in = append(in, strings.ToUpper(method)+" "+path)
			if about, _ := o.(map[string]any)["summary"].(string); about == "" {
				t.Errorf("%s %s: nobody says what it does", method, path)
			}
		}
	}
	for _, r := range Routes() {
		are = append(are, r.Method+" "+strings.ReplaceAll(r.Path, "...}", "}"))
	}
	slices.Sort(in)
	slices.Sort(are)
	if !slices.Equal(in, are) || len(slices.Compact(are)) != len(in) {
		t.Errorf("described %q\nare %q", in, are)
	}
	for _, u := range api.UseTypes() {
		if !slices.Contains(are, "POST /"+u.Name) {
			t.Errorf("the use case %s has no route", u.Name)
		}
	}
	if len(abouts) != len(api.UseTypes()) {
		t.Errorf("%d use cases are explained, and there are %d", len(abouts), len(api.UseTypes()))
	}
}
