package verify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
)

// known is how a project of one ecosystem is recognised, by a file at the root of the
// workspace, and what builds, lints and tests it. A script that its people wrote for
// the purpose comes before what the ecosystem usually runs. Nothing that a file says
// gets into a command.
type known struct {
	files   []string                                 // any of them
	command func(check, text string, f Facts) recipe // what does the check
}

// recipe is how a check is done; the zero recipe is none.
type recipe struct {
	command string
	needs   string // the program that has to be installed; the first word of the command where empty
}

func (r recipe) program() string {
	first, _, _ := strings.Cut(r.command, " ")
	return cmp.Or(r.needs, first)
}

// ecosystems are looked at in this order.
var ecosystems = []known{
	{[]string{"GNUmakefile", "makefile", "Makefile"}, makeGoals},
	{[]string{"package.json"}, nodeScripts},
	{[]string{"deno.json", "deno.jsonc"}, denoTasks},
	{[]string{"composer.json"}, composerScripts},
	{[]string{"go.mod"}, usual("go build ./...", "go vet ./...", "go test ./...")},
	{[]string{"Cargo.toml"}, cargo},
	{[]string{"pom.xml"}, starter("mvn", "mvnw", "-q -B compile", "-q -B test")},
	{[]string{"build.gradle", "build.gradle.kts"}, starter("gradle", "gradlew", "assemble", "test")},
	{[]string{"mix.exs"}, usual("mix compile", "mix format --check-formatted", "mix test")},
	{[]string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"}, python},
	{[]string{"CMakeLists.txt"}, usual("cmake -S . -B build && cmake --build build", "", "ctest --test-dir build")},
}

// usual are the commands of build, lint and test.
func usual(build, lint, test string) func(string, string, Facts) recipe {
	return func(check, _ string, _ Facts) recipe {
		return recipe{command: map[string]string{"build": build, "lint": lint, "test": test}[check]}
	}
}

func cargo(check, _ string, _ Facts) recipe {
	if check == "lint" {
		return recipe{"cargo clippy -- -D warnings", "cargo-clippy"}
	}
	return usual("cargo build", "", "cargo test")(check, "", Facts{})
}

// starter are commands of a tool of which the project may bring its own start script.
func starter(tool, script, build, test string) func(string, string, Facts) recipe {
	return func(check, _ string, f Facts) recipe {
		args := map[string]string{"build": build, "test": test}[check]
		switch {
		case args == "":
			return recipe{}
		case f.Files[script].Executable:
			return recipe{command: "./" + script + " " + args}
		}
		return recipe{command: tool + " " + args}
	}
}

var makeGoal = lazy.Regexp(`(?m)^(build|check|lint|test|typecheck)[ \t]*::?([^=:]|$)`)

func makeGoals(check, text string, _ Facts) recipe {
	var goals []string
	for _, m := range makeGoal().FindAllStringSubmatch(text, -1) {
		goals = append(goals, m[1])
	}
	switch {
	case slices.Contains(goals, check):
		return recipe{command: "make " + check}
	case check == "test" && slices.Contains(goals, "check"):
		return recipe{command: "make check"}
	}
	return recipe{}
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

func nodeScripts(check, text string, f Facts) recipe {
	script := scriptsOf(text, "scripts")[check]
	if script == "" || strings.Contains(script, "no test specified") { // what npm init writes
		return recipe{}
	}
	for _, lock := range [...][2]string{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"}} {
		if f.Files[lock[0]].Exists {
			return recipe{command: lock[1] + " run " + check}
		}
	}
	return recipe{command: "npm run " + check}
}

func denoTasks(check, text string, f Facts) recipe {
	if scriptsOf(text, "tasks")[check] != "" {
		return recipe{command: "deno task " + check}
	}
	return usual("", "deno lint", "deno test")(check, text, f)
}

func composerScripts(check, text string, _ Facts) recipe {
	if scriptsOf(text, "scripts")[check] == "" {
		return recipe{}
	}
	return recipe{command: "composer run-script " + check}
}

// python has nothing to build; that all of it compiles is what comes nearest.
func python(check, text string, f Facts) recipe {
	test := "python3 -m unittest"
	if f.Files["pytest.ini"].Exists || strings.Contains(text, "pytest") {
		test = "pytest -q"
	}
	return usual(`python3 -m compileall -q -x '(^|/)([.].*|venv|node_modules)/' .`, "ruff check .", test)(check, text, f)
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
		d := k.detect(check, f)
		if d.Command != "" {
			return d
		}
		missing = cmp.Or(d.Missing, missing)
	}
	return Detection{Missing: missing}
}

// detect finds the command of a check for one ecosystem; nothing where the workspace has none of it.
func (k known) detect(check string, f Facts) Detection {
	at := slices.IndexFunc(k.files, func(name string) bool { return f.Files[name].Exists && !f.Files[name].Dir })
	if at < 0 {
		return Detection{}
	}
	w := k.command(check, f.Texts[k.files[at]], f)
	if path, asked := f.Commands[w.program()]; w.command != "" && asked && path == "" {
		return Detection{Missing: fmt.Sprintf("`%s` would be run, but %s is not installed", w.command, w.program())}
	}
	return Detection{Command: w.command, File: k.files[at]}
}

// usualNames are names that projects give to what builds, checks or tests them.
var usualNames = []string{"build", "check", "lint", "test", "typecheck"}

// Commands are all commands that build, check or test a workspace, those of each
// ecosystem of it, sorted.
func Commands(f Facts) (all []string) {
	for _, k := range ecosystems {
		for _, check := range usualNames {
			if d := k.detect(check, f); d.Command != "" {
				all = append(all, d.Command)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Detecting is what has to be looked up for [Detect] and [Commands].
func Detecting() Queries {
	var own []string
	for _, k := range ecosystems {
		own = append(own, k.files...)
	}
	return Queries{Files: slices.Concat(besides, own), Texts: own, Commands: programs}
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
