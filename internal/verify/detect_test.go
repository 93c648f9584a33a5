package verify_test

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// TestDetectedCommands: what builds, lints and tests a project is found in its files,
// and nothing that these say gets into a command.
func TestDetectedCommands(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		missing string // programs that are not installed
		want    string // build, lint, test; - for none
	}{
		"nothing":       {nil, "", "- | - | -"},
		"go":            {map[string]string{"go.mod": "module x"}, "", "go build ./... | go vet ./... | go test ./..."},
		"go, not there": {map[string]string{"go.mod": "module x"}, "go", "- | - | -"},
		"npm": {
			map[string]string{"package.json": `{"scripts": {"build": "tsc", "lint": "eslint . && rm -rf /", "test": "jest"}}`},
			"",
			"npm run build | npm run lint | npm run test",
		},
		"npm without tests": {map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}, "", "- | - | -"},
		"pnpm":              {map[string]string{"package.json": `{"scripts": {"build": "tsc"}}`, "pnpm-lock.yaml": ""}, "", "pnpm run build | - | -"},
		"broken json":       {map[string]string{"package.json": `{"scripts": `, "go.mod": ""}, "", "go build ./... | go vet ./... | go test ./..."},
		"odd json":          {map[string]string{"package.json": `{"scripts": ["build"]}`}, "", "- | - | -"},
		"make":              {map[string]string{"Makefile": "build: x\n\tcc x\nlint := 3\ncheck::\n\ttrue\n", "go.mod": ""}, "", "make build | go vet ./... | make check"},
		"cargo":             {map[string]string{"Cargo.toml": ""}, "cargo-clippy", "cargo build | - | cargo test"},
		"maven":             {map[string]string{"pom.xml": ""}, "", "mvn -q -B compile | - | mvn -q -B test"},
		"gradle wrapper":    {map[string]string{"build.gradle.kts": "", "gradlew": "x"}, "", "./gradlew assemble | - | ./gradlew test"},
		"deno":              {map[string]string{"deno.json": `{"tasks": {"build": "deno bundle"}}`}, "", "deno task build | deno lint | deno test"},
		"composer":          {map[string]string{"composer.json": `{"scripts": {"test": ["phpunit"]}}`}, "", "- | - | composer run-script test"},
		"mix":               {map[string]string{"mix.exs": ""}, "", "mix compile | mix format --check-formatted | mix test"},
		"python":            {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]"}, "ruff", `python3 -m compileall -q -x '(^|/)([.].*|venv|node_modules)/' . | - | pytest -q`},
		"cmake":             {map[string]string{"CMakeLists.txt": ""}, "", "cmake -S . -B build && cmake --build build | - | ctest --test-dir build"},
	} {
		t.Run(name, func(t *testing.T) {
			ask := func(q verify.Queries) verify.Facts {
				f := verify.Facts{Files: map[string]verify.File{}, Texts: map[string]string{}, Commands: map[string]string{}, Agents: map[string]verify.Agent{"coder": {Metered: true}}}
				for _, n := range q.Files {
					text, there := c.files[n]
					f.Files[n] = verify.File{Exists: there, Executable: text == "x"}
				}
				for _, n := range q.Texts {
					f.Texts[n] = c.files[n]
				}
				for _, n := range q.Commands {
					if f.Commands[n] = "/bin/" + n; n == c.missing {
						f.Commands[n] = ""
					}
				}
				return f
			}
			p, problems := plan.Parse("plan.md", []byte("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# A\n\n## Steps\n\n### 1. A\n\n**target:** coder\n**iterations:** 3\n**task:** Do it.\n**checks:**\n- own: `test -s a`\n- build\n- lint (optional)\n- test (optional)\n"))
			a, facts := verify.Study(p, problems, ask)
			a.Check(facts)
			program, err := a.Compile(verify.Options{Plan: "p"})
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]string{}
			for _, check := range program.Step(0).Checks {
				found[check.Name] = check.Command
			}
			for _, o := range program.Step(0).Omitted {
				if found[o.Name] = "-"; o.Why == "" {
					t.Errorf("%s is left out without a reason", o.Name)
				}
			}
			if got := strings.Join([]string{found["build"], found["lint"], found["test"]}, " | "); got != c.want {
				t.Errorf("found %s, want %s", got, c.want)
			}
		})
	}
}
