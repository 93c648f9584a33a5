package form_test

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan/form"
)

// TestUnedited writes what was not edited back: nothing that Piton writes is refused.
func TestUnedited(t *testing.T) {
	for name, f := range map[string]form.Form{"everything.md": form.YAML, "auth.yaml": form.JSON, "copy.dag.json": form.DAG, "loop.md": form.JSON, "login.taskplan.json": form.TaskPlan} {
		d, _ := form.Read(name, sourceOf(t, name))
		src, _ := write(t, d, f)
		d, problems := form.Read(name, src)
		md, losses, err := d.Markdown()
		if err != nil || len(losses) > 0 {
			t.Errorf("%s is not edited: %v\n%s%s", name, err, lossList(losses), problemList(problems))
			continue
		}
		again, losses, err := d.Rewritten(md.Source)
		if err != nil || len(losses) > 0 || string(again) != string(src) {
			t.Errorf("%s as %s is not the same: %v\n%s%s", name, d.Form, err, lossList(losses), again)
		}
	}
}

// TestUnkept refuses every edit of a document that says what would be gone, and no edit
// of one that says the usual in other words.
func TestUnkept(t *testing.T) {
	plain := func(keys string) string {
		return "task: T\nsteps:\n  - description: A\n    instructions: a\n  - description: B\n    instructions: b\n    " + keys + "\n"
	}
	loop := func(config string) string {
		return `{"taskId": "T", "checklist": [{"id": "implement", "description": "a"}, {"id": "build", "description": "Build passes without errors"},
{"id": "lint", "description": "Lint passes (if available)"}, {"id": "test", "description": "Tests pass (if available)", "required": true}],
"config": {` + config + `}}`
	}
	for _, c := range []struct{ src, want string }{
		{plain("dependsOn: []"), ""},
		{plain("dependsOn: [0]"), ""},
		{plain("needs: ['1']"), ""},
		{plain("needs: [a]"), ""},
		{plain("contract: |\n      true"), ""},
		{plain("aproval: []"), `line 7: there is no key "aproval" here`},
		{plain("approval: false"), "line 7: this is true or false"},
		{plain("approval: null"), "line 7: this is null"},
		{plain("approval: auto\n    approval: auto"), `line 8: the key "approval" is here twice`},
		{plain("checks: [{name: unit, command: 'true', optinal: true}]"), `line 7: there is no key "optinal" here`},
		{plain("affectedFiles: [a, 7]"), "line 7: this is a number"},
		{plain("dependsOn: [0, 9]"), "line 7: there is no step with index 9"},
		{plain("exitCode: 1"), "line 7: there is an exit code and no contract"},
		{plain("status: complete"), `line 7: the key "status"`},
		{loop(`"runLint": true`), ""},
		{loop(`"runLint": false, "lintCommand": "x"`), `line 3: the key "lintCommand"`},
	} {
		d, _ := form.Read("", []byte(c.src))
		md, _, err := d.Markdown()
		if err != nil {
			t.Fatal(err)
		}
		_, losses, err := d.Rewritten(md.Source)
		switch {
		case c.want == "" && (err != nil || len(losses) > 0):
			t.Errorf("it is refused: %v %s\n%s", err, lossList(losses), c.src)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("it is refused with %v and not %s\n%s", err, c.want, c.src)
		}
	}
}
