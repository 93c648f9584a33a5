package view

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
)

// Every label of the tree is in the document, in words and numbers and not as the
// tree holds it, which knows places and more.
func TestPlanDocumentHasEveryLabel(t *testing.T) {
	t.Parallel()
	p := plan.New("Title")
	p.Steps = []*plan.Step{plan.NewStep("1", "First")}
	doc := PlanOf(&api.Document{Plan: p})
	body, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, odd := range []string{`"Value"`, `"Set"`, `"Pos"`, `"Line"`} {
		if strings.Contains(string(body), odd) {
			t.Errorf("the document has %s of the tree: %s", odd, body)
		}
	}
	step := doc["steps"].([]Plan)[0]
	for _, l := range plan.Labels() {
		name := strings.ReplaceAll(l.Name, " ", "_")
		if l.Header && !has(doc, name) || l.Step && !has(step, name) {
			t.Errorf("the document has no label %q", l.Name)
		}
	}
	for tree, keys := range map[reflect.Type]int{reflect.TypeFor[plan.Plan](): len(doc), reflect.TypeFor[plan.Step](): len(step)} {
		fields := 0
		for f := range tree.Fields() {
			if f.IsExported() && !slices.Contains(ofText, f.Name) {
				fields++
			}
		}
		if keys < fields {
			t.Errorf("%s has %d fields, and its document %d keys", tree, fields, keys)
		}
	}
}

func has(d Plan, key string) bool {
	_, there := d[key]
	_, ms := d[key+"_ms"]
	return there || ms
}
