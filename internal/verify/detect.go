package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

// known is how a project of one ecosystem is recognised, by a file at the root of the
// workspace, and what builds, lints and tests it. A script that its people wrote for
// the purpose comes before what the ecosystem usually runs. Nothing that a file says
// gets into a command.
type known struct {
	files   []string                                   // any of them
	command func(check, text string, f Facts) []string // what does the check, the best first; a program in brackets is needed too
}

// ecosystems are looked at in this order.
var ecosystems = []known{
	{[]string{"GNUmakefile", "makefile", "Makefile"}, makeGoals},
	{[]string{"package.json"}, nodeScripts},
	{[]string{"deno.json", "deno.jsonc"}, denoTasks},
	{[]string{"composer.json"}, composerScripts},
	{[]string{"go.mod"}, usual("go build ./...", "go vet ./...", "go test ./...")},
	{[]string{"Cargo.toml"}, usual("cargo build", "cargo clippy -- -D warnings [cargo-clippy]", "cargo test")},
	{[]string{"pom.xml"}, starter("mvn", "mvnw", "-q -B compile", "-q -B test")},
	{[]string{"build.gradle", "build.gradle.kts"}, starter("gradle", "gradlew", "assemble", "test")},
	{[]string{"mix.exs"}, usual("mix compile", "mix format --check-formatted", "mix test")},
	{[]string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"}, python},
	{[]string{"CMakeLists.txt"}, usual("cmake -S . -B build && cmake --build build", "", "ctest --test-dir build")},
}

// usual are the commands of build, lint and test.
func usual(build, lint, test string) func(string, string, Facts) []string {
	return func(check, _ string, _ Facts) []string {
		return []string{map[string]string{"build": build, "lint": lint, "test": test}[check]}
	}
}

// starter are commands of a tool of which the project may bring its own start script.
func starter(tool, script, build, test string) func(string, string, Facts) []string {
	return func(check, _ string, f Facts) []string {
		args := map[string]string{"build": build, "test": test}[check]
		switch {
		case args == "":
			return nil
		case f.Files[script].Executable:
			return []string{"./" + script + " " + args}
		}
		return []string{tool + " " + args}
	}
}

var makeGoal = regexp.MustCompile(`(?m)^(build|lint|test|check)[ \t]*::?([^=:]|$)`)

func makeGoals(check, text string, _ Facts) []string {
	var goals []string
	for _, m := range makeGoal.FindAllStringSubmatch(text, -1) {
		goals = append(goals, m[1])
	}
	switch {
	case slices.Contains(goals, check):
		return []string{"make " + check}
	case check == "test" && slices.Contains(goals, "check"):
		return []string{"make check"}
	}
	return nil
}

// scriptsOf reads an object of names and commands out of a JSON text. A value that
// is no text counts as one: some are lists.
func scriptsOf(text, key string) map[string]string {
	var doc map[string]json.RawMessage
	var scripts map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &doc) != nil || json.Unmarshal(doc[key], &scripts) != nil {
		return nil
	}
	all := map[string]string{}
	for name, raw := range scripts {
		var command string
		if json.Unmarshal(raw, &command) != nil {
			command = string(raw)
		}
		if strings.TrimSpace(command) != "" {
			all[name] = command
		}
	}
	return all
}

func nodeScripts(check, text string, f Facts) []string {
	script := scriptsOf(text, "scripts")[check]
	if script == "" || strings.Contains(script, "no test specified") { // what npm init writes
		return nil
	}
	for _, lock := range [...][2]string{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"}} {
		if f.Files[lock[0]].Exists {
			return []string{lock[1] + " run " + check}
		}
	}
	return []string{"npm run " + check}
}

func denoTasks(check, text string, _ Facts) []string {
	switch {
	case scriptsOf(text, "tasks")[check] != "":
		return []string{"deno task " + check}
	case check == "build":
		return nil
	}
	return []string{"deno " + check}
}

func composerScripts(check, text string, _ Facts) []string {
	if scriptsOf(text, "scripts")[check] == "" {
		return nil
	}
	return []string{"composer run-script " + check}
}

// python has nothing to build; that all of it compiles is what comes nearest.
func python(check, text string, f Facts) []string {
	switch check {
	case "build":
		return []string{`python3 -m compileall -q -x '(^|/)([.].*|venv|node_modules)/' .`}
	case "lint":
		return []string{"ruff check ."}
	}
	if f.Files["pytest.ini"].Exists || strings.Contains(text, "pytest") {
		return []string{"pytest -q"}
	}
	return []string{"python3 -m unittest"}
}

// besides are files that say more of an ecosystem.
var besides = []string{"pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "mvnw", "gradlew", "pytest.ini"}

// programs are those that the commands begin with, or need.
var programs = []string{
	"bun", "cargo", "cargo-clippy", "cmake", "composer", "ctest", "deno", "go", "gradle", "make", "mix", "mvn", "npm", "pnpm", "pytest", "python3", "ruff", "yarn",
}

// Detection is what came of looking for the command of a check.
type Detection struct {
	Command string // "" where there is none
	File    string // that says so
	Missing string // why there is no command
}

// Detect finds the command of build, lint or test in the facts of a plan that asks
// for it.
func Detect(check string, f Facts) Detection {
	missing := "no file of the workspace says how to " + check
	for _, k := range ecosystems {
		at := slices.IndexFunc(k.files, func(name string) bool { return f.Files[name].Exists && !f.Files[name].Dir })
		if at < 0 {
			continue
		}
		for _, command := range k.command(check, f.Texts[k.files[at]], f) {
			command, needs, _ := strings.Cut(command, " [")
			if command == "" {
				continue
			}
			program, _, _ := strings.Cut(command, " ")
			if needs != "" {
				program = strings.TrimSuffix(needs, "]")
			}
			if path, asked := f.Commands[program]; asked && path == "" {
				missing = fmt.Sprintf("`%s` would be run, but %s is not installed", command, program)
				continue
			}
			return Detection{Command: command, File: k.files[at]}
		}
	}
	return Detection{Missing: missing}
}

// markers are the files that are asked for to detect commands.
func markers() []string {
	names := slices.Clone(besides)
	for _, k := range ecosystems {
		names = append(names, k.files...)
	}
	return names
}

// bare reports whether a check of a loop is to be detected.
func bare(s *plan.Step) bool {
	return s.Iterations.Set && slices.ContainsFunc(s.Checks.Value, func(c plan.Check) bool { return c.Command.IsZero() })
}

// detects gives the checks of a loop that have no command the one that the workspace
// has for them, and takes those out of it for which there is none.
func (u *unit) detects(f Facts) {
	if !bare(u.Step) || f.Files == nil {
		return
	}
	step := *u.Step
	step.Checks.Value = nil
	u.detected = map[string]Detection{}
	for _, c := range u.Checks.Value {
		if c.Command.IsZero() {
			d := Detect(c.Name.Value, f)
			u.detected[c.Name.Value] = d
			if d.Command == "" {
				u.omitted = append(u.omitted, engine.Omission{Name: c.Name.Value, Why: d.Missing})
				continue
			}
			c.Command = plan.Text{Value: d.Command, Pos: c.Name.Pos}
		}
		step.Checks.Value = append(step.Checks.Value, c)
	}
	u.Step = &step
}

// Detected lists what was detected for the checks of the plan, a line each: it is as
// much a part of what a person says yes to as the text.
func (a *Analysis) Detected() []string {
	if a.doc == nil {
		return nil
	}
	var all []string
	for _, u := range a.doc.units {
		for _, name := range slices.Sorted(maps.Keys(u.detected)) {
			all = append(all, fmt.Sprintf("%s %s: %s", u.ID.Value, name, u.detected[name].Command))
		}
	}
	return all
}

// checkDetected says what was detected, which no reader of the plan sees.
func checkDetected(p *pass, u *unit) {
	for _, c := range p.doc.plan.Steps[u.index].Checks.Value {
		switch d, looked := u.detected[c.Name.Value]; {
		case !c.Command.IsZero() || !looked:
		case d.Command != "":
			p.report(u, c.Name.Pos, fmt.Sprintf("check %q of step %q runs `%s`, as %s says", c.Name.Value, u.ID.Value, d.Command, d.File), "")
		case c.Optional:
			p.report(u, c.Name.Pos, fmt.Sprintf("check %q of step %q is skipped: %s", c.Name.Value, u.ID.Value, d.Missing), "")
		default:
			p.report(u, c.Name.Pos, fmt.Sprintf("check %q of step %q is skipped: %s", c.Name.Value, u.ID.Value, d.Missing), "write its command").Severity = Warning
		}
	}
}

func checkLoop(p *pass, u *unit) {
	says := func(at plan.Pos, text, hint string) *Finding {
		return p.report(u, at, fmt.Sprintf("step %q ", u.ID.Value)+text, hint)
	}
	if !u.Iterations.Set {
		if u.ContextLimit.Set {
			says(u.ContextLimit.Pos, "has a `context limit` and is no loop", "add `iterations:`, or limit its tokens with `budget:`")
		}
		for _, c := range u.Checks.Value {
			if c.Command.IsZero() {
				says(c.Name.Pos, fmt.Sprintf("has the check %q without a command, and is no loop", c.Name.Value), "write its command; only a loop looks for one")
			}
		}
		return
	}
	name, agent, known := p.facts.Agent(u.Target.Value)
	switch {
	case !u.works():
		says(u.Iterations.Pos, "is a loop, but no agent does it", "remove `iterations`, or give the work to an agent")
	case u.scripted(p.facts):
		says(u.Iterations.Pos, "is a loop of a script, which does the same each time", "use `on_fail: retry(N)`, or an agent")
	case known && !agent.Metered:
		f := says(u.Iterations.Pos, fmt.Sprintf("is a loop, and agent %q reports its usage only if it writes to `$PITON_REPORT`: its context limit may not hold", name), "set `parse:` of the agent in the configuration")
		if f.Severity = Note; u.ContextLimit.Set {
			f.Severity = Warning
		}
	}
	if !u.Rerunnable.Value {
		says(u.Rerunnable.Pos, "is a loop, but its checks may run only once", "remove `rerunnable: no`")
	}
}
