package form_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan/form"
)

const docs = "../../../docs/forms.md"

// TestDocsExamples reads every example of the documentation, in its form, and
// takes it through Markdown and back without a loss.
func TestDocsExamples(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	want := []form.Form{form.YAML, form.DAG, form.DAG, form.TaskPlan}
	blocks := regexp.MustCompile("(?ms)^```(?:yaml|json)\n(.*?)^```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != len(want) {
		t.Fatalf("%d examples", len(blocks))
	}
	for i, b := range blocks {
		d, problems := form.Read("", []byte(b[1]))
		if d.Form != want[i] || hasError(problems) {
			t.Fatalf("the example is read as %s:\n%s%s", d.Form, problemList(problems), b[1])
		}
		md, losses := write(t, d, form.Markdown)
		losses = slices.DeleteFunc(losses, func(l form.Loss) bool { return strings.HasPrefix(l.Label, "checklist ") }) // names of criteria
		back, problems := form.Read("", md)
		if hasError(problems) {
			t.Errorf("its Markdown has problems:\n%s%s", problemList(problems), md)
		}
		_, more := write(t, back, d.Form)
		if len(losses)+len(more) > 0 {
			t.Errorf("it lost:\n%s%s", lossList(losses), lossList(more))
		}
	}
}

// keyTable matches a table of keys and the line that says whose they are.
var keyTable = regexp.MustCompile(`(?m)^<!-- keys of (\w+)( step)? -->\n(\n\|[^\n]*(\n\|[^\n]*)*\n)?`)

// TestDocsKeys keeps the tables of keys as the schemas have them; -update
// writes them anew.
func TestDocsKeys(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	got := keyTable.ReplaceAllStringFunc(string(text), func(old string) string {
		seen++
		m := keyTable.FindStringSubmatch(old)
		return fmt.Sprintf("<!-- keys of %s%s -->\n\n%s", m[1], m[2], tableOf(t, m[1], m[2] != ""))
	})
	if seen != 5 {
		t.Fatalf("%d tables", seen)
	}
	if *update {
		if err := os.WriteFile(docs, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(text) {
		t.Error("the tables of keys are old: go test ./internal/plan/form -update")
	}
}

type schemaDoc struct {
	Description, Type, Pattern any
	Enum                       []string
	Minimum, Maximum           *int
	Properties                 ordered
	Required                   []string
	Items                      *schemaDoc
}

// ordered are the keys of an object in their order.
type ordered []struct {
	key   string
	value schemaDoc
}

func (o *ordered) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var v schemaDoc
		if err := dec.Decode(&v); err != nil {
			return err
		}
		*o = append(*o, struct {
			key   string
			value schemaDoc
		}{key.(string), v})
	}
	return nil
}

func tableOf(t *testing.T, name string, step bool) string {
	t.Helper()
	f := form.Form(name)
	if name == "plan" {
		f = form.JSON
	}
	text, err := form.Schema(f)
	if err != nil {
		t.Fatal(err)
	}
	var s schemaDoc
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if step {
		i := slices.IndexFunc(s.Properties, func(p struct {
			key   string
			value schemaDoc
		},
		) bool {
			return p.key == "steps"
		})
		s = *s.Properties[i].value.Items
	}
	var b strings.Builder
	b.WriteString("| key | value | |\n|---|---|---|\n")
	for _, p := range s.Properties {
		about, _ := p.value.Description.(string)
		if slices.Contains(s.Required, p.key) {
			about = strings.TrimSpace("**Required.** " + about)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.key, p.value.kind(), about)
	}
	return b.String()
}

// kind is the type of a value in words.
func (s schemaDoc) kind() string {
	switch {
	case len(s.Enum) > 0:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("%d to %d", *s.Minimum, *s.Maximum)
	case s.Type == "array":
		return "list"
	case s.Type == "string":
		return "text"
	case s.Type == "boolean":
		return "true, false"
	case s.Type == "object":
		return "object"
	}
	return "any value"
}
