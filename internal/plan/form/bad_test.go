package form_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/piton-dev/piton/internal/linear"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/tier"
)

// sound is a document with every part that the bad ones change: @ is the place
// of more keys of the plan, % of the step.
const sound = `{"task": "T", "steps": [{"description": "One", "contract": "true" %}] @}`

// badDocuments are refused by [form.Read] and by the schema alike.
func badDocuments() map[string]string {
	return map[string]string{
		"task missing":        `{"steps": [{"description": "One"}], "owner": "me"}`,
		"task empty":          `{"task": " ", "steps": [{"description": "One"}]}`,
		"task of two lines":   `{"task": "a\nb", "steps": [{"description": "One"}]}`,
		"task a number":       `{"task": 7, "steps": [{"description": "One"}]}`,
		"steps missing":       `{"task": "T"}`,
		"steps empty":         `{"task": "T", "steps": []}`,
		"steps an object":     `{"task": "T", "steps": {"a": 1}}`,
		"a step is text":      `{"task": "T", "steps": ["One"]}`,
		"description missing": `{"task": "T", "steps": [{"contract": "true"}]}`,
		"description null":    `{"task": "T", "steps": [{"description": null}]}`,
		"unknown key":         `@"tsak": "x"`,
		"status word":         `@"status": "done"`,
		"version text":        `@"version": "1"`,
		"priority":            `@"priority": "urgent"`,
		"budget":              `@"budget": "a lot"`,
		"budget number":       `@"budget": 5`,
		"estimate":            `@"estimate": "soon"`,
		"parallel zero":       `@"parallel": 0`,
		"parallel half":       `@"parallel": 1.5`,
		"replans":             `@"replans": -1`,
		"protect text":        `@"protect": "a"`,
		"protect empty item":  `@"protect": [""]`,
		"isolation":           `@"isolation": "none"`,
		"metadata list":       `@"metadata": []`,
		"metadata key":        `@"metadata": {"tag": ["a"]}`,
		"complexity":          `@"metadata": {"complexity": 11}`,
		"frontmatter type":    `@"frontmatter": {"type": "plan"}`,
		"frontmatter number":  `@"frontmatter": {"a": 1}`,
		"frontmatter key":     `@"frontmatter": {"a b": "c"}`,
		"fences key":          `@"fences": {"contract": "sh"}`,
		"issue":               `@"issue": "a b"`,
		"step key":            `%"instruction": "x"`,
		"step status":         `%"status": "done"`,
		"index text":          `%"index": "0"`,
		"id capital":          `%"id": "One"`,
		"number":              `%"number": "first"`,
		"dependsOn text":      `%"dependsOn": ["1"]`,
		"dependsOn negative":  `%"dependsOn": [-1]`,
		"needs number":        `%"needs": [1]`,
		"subscription":        `%"subscriptions": ["http:x"]`,
		"subscription empty":  `%"subscriptions": ["file:"]`,
		"exit code":           `%"exitCode": 256`,
		"timeout":             `%"timeout": "soon"`,
		"timeout number":      `%"timeout": 10`,
		"expect":              `%"expect": "blue"`,
		"onFail":              `%"onFail": "retry twice"`,
		"backoff":             `%"backoff": "never"`,
		"iterations":          `%"iterations": 0`,
		"critical word":       `%"critical": "yes"`,
		"mode":                `%"mode": "write"`,
		"network":             `%"network": true`,
		"env":                 `%"env": ["A=1"]`,
		"checks empty":        `%"checks": []`,
		"check without name":  `%"checks": [{"command": "true"}]`,
		"check bare":          `%"checks": [{"name": "a"}]`,
		"check name":          `%"checks": [{"name": "a:b", "command": "true"}]`,
		"check key":           `%"checks": [{"name": "a", "command": "true", "required": true}]`,
		"forEach empty":       `%"forEach": []`,
		"batch":               `%"batch": 0`,
		"allowEmpty":          `%"allowEmpty": "yes"`,
		"args number":         `%"args": 3`,
		"choices text":        `%"choices": "a"`,
		"fence blank":         `%"fences": {"contract": "a b"}`,
		"fence true":          `%"fences": {"contract": true}`,
		"output number":       `%"output": 1`,
	}
}

// grown puts keys into the sound document.
func grown(keys string) string {
	plan, step := "", ""
	switch {
	case strings.HasPrefix(keys, "@"):
		plan = ", " + keys[1:]
	case strings.HasPrefix(keys, "%"):
		step = ", " + keys[1:]
	default:
		return keys
	}
	return strings.NewReplacer("@", plan, "%", step).Replace(sound)
}

func schemaOf(t testing.TB, f form.Form) *jsonschema.Schema {
	t.Helper()
	text, err := form.Schema(f)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("form.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("form.json")
}

func validate(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s.Validate(doc)
}

func hasError(problems []plan.Problem) bool {
	return strings.Contains(problemList(problems), ": error: ")
}

// TestBadDocuments checks that the schema and the reader refuse the same.
func TestBadDocuments(t *testing.T) {
	schema := schemaOf(t, form.JSON)
	plain := strings.NewReplacer("@", "", "%", "").Replace(sound)
	if _, problems := form.Read("", []byte(plain)); hasError(problems) || validate(t, schema, plain) != nil {
		t.Fatal("the sound document is refused")
	}
	if len(badDocuments()) < 60 {
		t.Fatal("too few bad documents")
	}
	for name, keys := range badDocuments() {
		text := grown(keys)
		if _, problems := form.Read("", []byte(text)); !hasError(problems) {
			t.Errorf("%s is read: %s", name, text)
		}
		if validate(t, schema, text) == nil {
			t.Errorf("%s: the schema accepts %s", name, text)
		}
	}
}

// TestBadDocumentsOfOtherForms does the same for tool calls and task plans.
func TestBadDocumentsOfOtherForms(t *testing.T) {
	for f, texts := range map[form.Form][]string{
		form.DAG: {
			`{"taskId": "T"}`,
			`{"taskId": "T", "steps": []}`,
			`{"taskId": "T", "steps": [{"id": "a"}]}`,
			`{"steps": [{"tool": "x"}]}`,
			`{"steps": [{"id": "A", "tool": "x"}]}`,
			`{"steps": [{"id": "a", "tool": "x", "args": [1]}]}`,
			`{"steps": [{"id": "a", "tool": "x", "args": "$b"}]}`,
			`{"steps": [{"id": "a", "tool": "x", "depends_on": []}]}`,
			`{"steps": [{"id": "a", "tool": "x", "dependsOn": [0]}]}`,
			`{"steps": [{"id": "a", "tool": "x", "status": "complete"}]}`,
			`{"estimatedDuration": "1h", "steps": [{"id": "a", "tool": "x"}]}`,
			`{"steps": [{"id": "a", "tool": "x", "critical": "no"}]}`,
			`{"steps": [{"id": "a", "tool": ""}]}`,
		},
		form.TaskPlan: {
			`{"taskId": "T", "maxIterations": 3}`,
			`{"checklist": []}`,
			`{"taskId": "T", "checklist": [], "maxIterations": 0}`,
			`{"taskId": "T", "checklist": [{"id": "a"}]}`,
			`{"taskId": "T", "checklist": [{"id": "a", "description": "b", "status": "done"}]}`,
			`{"taskId": "T", "checklist": [], "config": {"runBuild": "yes"}}`,
			`{"taskId": "T", "checklist": [], "config": {"runTest": true}}`,
			`{"taskId": "T", "checklist": [], "config": {"buildCommand": ""}}`,
			`{"taskId": "T", "checklist": [], "status": "done"}`,
			`{"taskId": "T", "checklist": [], "activity": {}}`,
		},
	} {
		schema := schemaOf(t, f)
		for _, text := range texts {
			d, problems := form.Read("", []byte(text))
			if d.Form != f {
				t.Errorf("%s is read as %s", text, d.Form)
			}
			if !hasError(problems) {
				t.Errorf("%s is read", text)
			}
			if validate(t, schema, text) == nil {
				t.Errorf("the schema accepts %s", text)
			}
		}
	}
}

// TestProblems checks what only reading can find, with its place.
func TestProblems(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	for name, c := range map[string]struct{ text, want string }{
		"key twice":             {"task: T\ntask: U\nsteps: [{description: a}]\n", "2:1: error: duplicate-field:"},
		"key twice in args":     {`{"task": "T", "steps": [{"description": "a", "args": {"x": 1, "x": 2}}]}`, `1:64: error: duplicate-field: the key "x" is here twice`},
		"index":                 {"task: T\nsteps:\n- {index: 1, description: a}\n", "3:11: error: bad-index:"},
		"no such step":          {"task: T\nsteps:\n- description: a\n  dependsOn: [1]\n", "4:15: error: bad-index: there is no step with index 1: the plan has 1 steps"},
		"both needs":            {"task: T\nsteps:\n- description: a\n  dependsOn: [0]\n  needs: [a]\n", "5:10: error: duplicate-field:"},
		"id twice":              {"task: T\nsteps:\n- {id: a, description: a}\n- {id: a, description: b}\n", `4:8: error: duplicate-id:`},
		"id a number":           {"task: T\nsteps:\n- {id: '7', description: a}\n", "3:9: error: bad-id:"},
		"alias":                 {"task: T\nx: &a [1]\nsteps: *a\n", "2:4: error: bad-alias: anchors and aliases are not allowed"},
		"bomb":                  {"task: T\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nsteps: *c\n", "2:4: error: bad-alias:"},
		"merge":                 {"task: T\n<<: {a: 1}\nsteps: [{description: a}]\n", `2:1: error: unknown-field: there is no key "<<" here`},
		"tag":                   {"task: !!str T\nsteps: [{description: a}]\n", "1:7: error: bad-alias: a plan uses no tags"},
		"key of a list":         {"task: T\n? [a]\n: b\nsteps: [{description: a}]\n", "2:3: error: bad-alias: a key is a plain name"},
		"two documents":         {"task: T\nsteps: [{description: a}]\n--- \ntask: U\n", "error: bad-syntax: this is not YAML"},
		"tab":                   {"task: T\nsteps:\n\t- description: a\n", "3:1: error: bad-syntax: this is not YAML"},
		"deep":                  {`{"task": "T", "steps": [{"description": "a", "args": ` + deep + `}]}`, "error: too-deep: values are nested more than 64 deep"},
		"deep yaml":             {"task: T\nsteps: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n", "2:71: error: too-deep:"},
		"very deep":             {`{"task": ` + strings.Repeat("[", 100_000), "1:10009: error: bad-syntax: this is not JSON: invalid character '[' exceeded max depth"},
		"NUL":                   {"{\"task\": \"a\x00b\"}", "1:12: error: nul-byte:"},
		"NUL escaped":           {`{"task": "a\u0000b", "steps": [{"description": "a"}]}`, "1:11: error: bad-character: a control character (U+0000)"},
		"not UTF-8":             {"{\"task\": \"a\xff\"}", "1:12: error: not-utf8:"},
		"direction":             {"task: a\u202eb\nsteps: [{description: a}]\n", "1:8: error: bad-character: a direction override"},
		"direction escaped":     {"task: \"a\\u202eb\"\nsteps: [{description: a}]\n", "1:8: error: bad-character: a direction override"},
		"half a pair":           {`{"task": "a\ud83d", "steps": [{"description": "a"}]}`, "1:11: error: bad-character: half of a surrogate pair"},
		"octal":                 {"task: T\nparallel: 010\nsteps: [{description: a}]\n", `2:11: error: wrong-type: "010" is a number that people read in two ways`},
		"null":                  {"task: T\nowner:\nsteps: [{description: a}]\n", "error: wrong-type: this is null; it must be a text"},
		"exit code alone":       {"task: T\nsteps: [{description: a, exitCode: 1}]\n", "2:36: error: missing-field:"},
		"choices alone":         {"task: T\nsteps: [{description: a, choices: [b]}]\n", "2:35: error: missing-field:"},
		"nothing":               {"{}", `1:1: error: missing-field: the key "task" is missing`},
		"comma":                 {"{\"task\": \"T\",\n \"steps\": [],}", "2:14: error: bad-syntax: this is not JSON"},
		"long line":             {"{\"task\": \"T\", \"steps\": [{\"description\": \"a\", \"instructions\": \"" + strings.Repeat("x", plan.MaxLine+1) + "\"}]}", "1:63: error: line-too-long:"},
		"long script":           {"{\"task\": \"T\", \"steps\": [{\"description\": \"a\", \"contract\": \"" + strings.Repeat("true\\n", 20_000) + "\"}]}", "1:59: error: script-too-long:"},
		"many steps":            {"task: T\nsteps:\n" + strings.Repeat("- description: a\n", plan.MaxSteps+1), "10003:3: error: too-many-steps:"},
		"many problems":         {"task: T\nsteps:\n- description: a\n" + strings.Repeat("- x: a\n", 2000), "1:1: error: too-many-problems:"},
		"too large":             {"{" + strings.Repeat(" ", plan.MaxBytes), "1:1: error: too-large:"},
		"task command of build": {`{"taskId": "T", "checklist": [{"id": "build", "description": "b", "command": "make"}]}`, `1:63: error: bad-check: the item "build" cannot have a command`},
		"task optional words":   {`{"taskId": "T", "checklist": [{"id": "a", "description": "b", "required": false}]}`, `1:59: error: bad-check: the item "a" has no command, so it cannot be optional`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := form.Read("", []byte(c.text))
			if got := problemList(problems); !strings.Contains("\n"+got, "\n"+c.want) && !(strings.HasPrefix(c.want, "error") && strings.Contains(got, c.want)) {
				t.Errorf("%.300s\n%.1000s, want %s", c.text, got, c.want)
			}
		})
	}
}

// TestLinear reads and writes long documents of the kinds that hurt parsers most, and
// counts the memory. What is quadratic and takes none would never end in the gate.
func TestLinear(t *testing.T) {
	size := tier.Draws(plan.MaxBytes/64, plan.MaxBytes/2)
	steps := tier.Draws(2000, 9000)
	long := hard(size, steps)
	for name, text := range hard(size/4, steps/4) {
		t.Run(name, func(t *testing.T) {
			linear.Memory(t, func() { readAndWrite(text) }, func() { readAndWrite(long[name]) })
		})
	}
}

// readAndWrite reads a document, and writes its plan in all forms.
func readAndWrite(text string) {
	d, _ := form.Read("", []byte(text))
	if d.Plan == nil {
		return
	}
	for _, to := range form.Forms() {
		d.Write(to) //nolint:errcheck // it may be none
	}
}

// hard is long documents of about a size, or of so many steps.
func hard(size, steps int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	counted := func(line string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, line, i)
		}
		return b.String()
	}
	return map[string]string{
		"keys":          "task: T\n" + counted("key%d: x\n"),
		"json keys":     `{"task": "T"` + counted(`, "key%d": 1`) + "}",
		"long keys":     "task: T\n" + fill(strings.Repeat("x", 1000)+": y\n"),
		"same key":      `{"task": "T"` + fill(`, "a": 1`) + "}",
		"steps":         "task: T\nsteps:\n" + fill("- description: a\n"),
		"needs":         "task: T\nsteps:\n- description: a\n- description: a\n  dependsOn: [" + fill("0, ") + "]\n",
		"chain":         "task: T\nsteps:\n- {description: a, id: a}\n" + strings.Repeat("- {description: b, needs: [a]}\n", steps),
		"escapes":       `{"task": "T", "steps": [{"description": "a", "instructions": "` + fill(`\n\u00e9`) + `"}]}`,
		"backslashes":   `{"task": "` + fill(`\\`) + `"}`,
		"open lists":    `{"task": ` + fill("["),
		"lists":         `{"task": [` + fill("[],") + "[]]}",
		"flow":          "task: " + fill("[a, "),
		"comments":      "task: T\n" + fill("# a\n") + "steps:\n- description: a\n",
		"literal":       "task: T\nsteps:\n- description: a\n  instructions: |\n" + fill("    a b\n"),
		"folded":        "task: T\nsteps:\n- description: a\n  instructions: >\n" + fill("    a\n\n"),
		"dashes":        "task: T\nsteps:\n" + fill("- "),
		"blank":         "{" + fill(" \n") + "}",
		"emoji":         "task: T\nsteps:\n- description: a\n  instructions: \"" + fill("\U0001f680 \\\n  ") + "\"\n",
		"documents":     "task: T\n" + fill("---\n"),
		"not quite":     "task: T\n" + fill("steps :"),
		"tool calls":    `{"steps": [` + strings.Repeat(`{"id": "a", "tool": "x", "args": {"a": "$b"}, "dependsOn": ["a", "b"]},`, steps) + `{"id": "b", "tool": "y"}]}`,
		"checklist":     `{"taskId": "T", "checklist": [` + strings.Repeat(`{"id": "a", "description": "b"},`, steps/4) + `{"id": "implement", "description": "c"}]}`,
		"args":          `{"task": "T", "steps": [{"description": "a", "args": {"a": [` + strings.Repeat("1, ", steps) + `1]}}]}`,
		"surrogates":    `{"task": "T", "owner": "` + fill(`\ud83d`) + `"}`,
		"hidden":        `{"task": "T", "owner": "` + fill("\u200b") + `"}`,
		"wrong indexes": "task: T\nsteps:\n- description: a\n  dependsOn: [" + strings.Repeat("7, ", steps) + "7]\n",
	}
}
