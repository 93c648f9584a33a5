package cli

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
)

// renamed are the fields of the tree that programs know by another name, or by
// the names of their parts.
var renamed = map[string]string{
	"pos": "place", "timeout": "timeout_ms", "check_timeout": "contract_timeout_ms", "backoff": "backoff_ms", "estimate": "estimate_ms",
}

// of the text rather than of the plan
var ofText = []string{"Source", "Front", "Labels", "Start", "End", "Mark", "Name"}

func TestPlanDocumentHasEveryLabel(t *testing.T) {
	t.Parallel()
	checkKeys(t, reflect.TypeFor[plan.Plan](), reflect.TypeFor[planDoc]())
	checkKeys(t, reflect.TypeFor[plan.Step](), reflect.TypeFor[planStep]())
}

func checkKeys(t *testing.T, tree, doc reflect.Type) {
	t.Helper()
	keys := map[string]bool{}
	for f := range doc.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys[key] = true
	}
	text := map[string]bool{}
	for _, name := range ofText {
		text[name] = true
	}
	for f := range tree.Fields() {
		if !f.IsExported() || text[f.Name] {
			continue
		}
		key := snake(f.Name)
		if other, ok := renamed[key]; ok {
			key = other
		}
		if !keys[key] {
			t.Errorf("%s.%s has no key %q in the document", tree.Name(), f.Name, key)
		}
	}
}

var capital = regexp.MustCompile(`([a-z])([A-Z])`)

func snake(name string) string {
	return strings.ToLower(capital.ReplaceAllString(name, "${1}_$2"))
}
