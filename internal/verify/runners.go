package verify

import (
	"path"
	"strings"
)

// started returns the command that a program which runs programs of a project
// starts: uv run pytest, npx jest, bundle exec rspec.
func started(c call) (call, bool) {
	run := func(verbs string, w wrapper) (call, bool) {
		v, rest := verb(c, w)
		if v == "" || !strings.Contains(" "+verbs+" ", " "+v+" ") {
			return call{}, false
		}
		return w.inner(rest, 1)
	}
	switch c.tool() {
	case "uv":
		if v, rest := verb(c, wrapper{}); v == "run" && len(rest.words) > 2 && rest.words[1].text == "-m" {
			return call{words: append([]word{{text: "python", known: true}}, rest.args()...), dir: c.dir}, true
		}
		return run("run", wrapper{short: "pC", long: []string{
			"--with", "--extra", "--group", "--python", "--project", "--directory", "--env-file", "--package",
		}})
	case "poetry", "pdm", "rye", "pipenv", "pixi":
		return run("run", wrapper{short: "ep"})
	case "hatch":
		return run("run", wrapper{short: "ep"})
	case "conda", "mamba", "micromamba":
		return run("run", wrapper{short: "np"})
	case "bundle":
		return run("exec", wrapper{})
	case "npm":
		return run("exec x", wrapper{short: "wp"})
	case "pnpm":
		return run("exec dlx", wrapper{short: "CF"})
	case "yarn":
		return run("exec dlx", wrapper{})
	case "bun":
		return run("x", wrapper{})
	case "npx", "bunx", "pnpx":
		return wrapper{short: "pw", long: []string{"--package"}}.inner(c, 1)
	case "coverage":
		return coverage(c)
	case "mise", "rtx", "asdf":
		return run("exec x", wrapper{})
	}
	return call{}, false
}

// coverage runs a script or a module as python does.
func coverage(c call) (call, bool) {
	v, rest := verb(c, wrapper{})
	if v != "run" {
		return call{}, false
	}
	rest.words = append([]word{{text: "python", known: true}}, rest.args()...)
	return rest, true
}

// runner adds what the known runners collect and are configured by. A runner
// of tests is told by its name or by its verb; other verbs add nothing.
func (g *guarding) runner(c call, tool string) {
	switch tool {
	case "make", "gmake", "bmake":
		g.make(c)
	case "go", "gotestsum", "ginkgo":
		g.golang(c, tool)
	case "pytest", "py.test", "unittest", "tox", "nox", "nosetests", "behave", "pre-commit":
		g.pythonTests(c, tool)
	case "npm", "yarn", "pnpm", "bun", "npx", "bunx", "nx", "turbo", "lerna":
		g.packages(c, tool)
	case "jest", "vitest", "mocha", "ava", "tap", "playwright", "cypress", "karma", "jasmine", "wtr":
		g.javascriptTests(c.dir)
	case "cargo":
		g.cargo(c)
	case "rspec", "rake", "rails", "cucumber", "minitest":
		g.ruby(c, tool)
	case "phpunit", "pest", "paratest":
		g.phpunit(c.dir)
	case "composer":
		g.config(c.dir, "composer.json#scripts")
		g.phpunit(c.dir)
	case "just", "task", "mage", "ctest", "bazel", "prove":
		g.tasks(c, tool)
	case "gradle", "gradlew", "mvn", "mvnw", "dotnet", "mix", "swift", "dart", "flutter", "stack", "cabal", "sbt":
		g.otherTests(c, tool)
	}
}

// moved is the directory a program is told to work in.
func moved(c call, options ...string) string {
	if w, ok := option(c, options...); ok {
		if !w.known {
			return unknownDir
		}
		return within(c.dir, w.text)
	}
	return c.dir
}

func (g *guarding) golang(c call, tool string) {
	v, rest := verb(c, wrapper{short: "C"})
	if tool == "go" && v == "run" {
		g.goRun(rest)
	}
	if tool == "go" && v != "test" {
		return
	}
	dir := moved(c, "-C")
	g.config(dir, "go.work")
	if tool != "go" || !g.goPackages(rest, dir) {
		g.existing(dir, "**/*_test.go")
	}
}

// goRun guards the files that go run is given; a package by path is the work
// itself as often as a checker of it.
func (g *guarding) goRun(run call) {
	for _, w := range run.args() {
		if strings.HasSuffix(w.text, ".go") {
			g.file(run.dir, w)
		}
	}
}

// goPackages guards the tests of the packages that are named by path; it
// reports whether all packages are.
func (g *guarding) goPackages(test call, dir string) bool {
	var globs []string
	for _, w := range test.args() {
		if strings.HasPrefix(w.text, "-") {
			continue
		}
		if !w.known {
			return false
		}
		switch name := strings.TrimSuffix(w.text, "/"); {
		case name == "." || name == "./":
			globs = append(globs, "*_test.go")
		case strings.HasPrefix(name, "./") && strings.HasSuffix(name, "/..."):
			globs = append(globs, path.Join(strings.TrimSuffix(name, "..."), "**/*_test.go"))
		case strings.HasPrefix(name, "./") && !strings.Contains(name, "..."):
			globs = append(globs, path.Join(name, "*_test.go"))
		case isGoValue(name):
		default:
			return false
		}
	}
	g.existing(dir, globs...)
	return len(globs) > 0
}

// isGoValue reports a word that can only be the value of a flag of go test:
// a number, a duration, a pattern.
func isGoValue(name string) bool {
	return strings.Trim(name, "0123456789.smh") == "" || strings.ContainsAny(name, "^$|") || !strings.ContainsAny(name, "./")
}

func (g *guarding) pythonTests(c call, tool string) {
	switch tool {
	case "tox":
		g.config(c.dir, "tox.ini", "setup.cfg#tox", "pyproject.toml#tool")
	case "nox":
		g.config(c.dir, "noxfile.py")
	case "behave":
		g.config(c.dir, "behave.ini", ".behaverc", "tox.ini", "setup.cfg#behave")
		g.existing(c.dir, "features/**")
		return
	case "pre-commit":
		g.config(c.dir, ".pre-commit-config.yaml")
		return
	case "unittest":
		g.unittest(c)
		return
	}
	g.pytest(c, tool == "pytest" || tool == "py.test")
}

// pytest guards the tests below the paths that are given, and what configures
// them on the way there.
func (g *guarding) pytest(c call, paths bool) {
	g.config(c.dir, "conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg#pytest", "pyproject.toml#tool")
	if w, ok := option(c, "-c", "--config-file"); ok && paths && w.known {
		if p := within(c.dir, w.text); p != unknownDir {
			g.config("", p)
		}
	}
	options := wrapper{short: "kmnpcoWr", long: []string{
		"--rootdir", "--ignore", "--ignore-glob", "--deselect", "--junitxml", "--junit-xml", "--maxfail", "--cov-report",
		"--tb", "--durations", "--timeout", "--color", "--basetemp", "--confcutdir", "--dist", "--numprocesses",
		"--import-mode", "--log-level", "--config-file", "--cov-config",
	}}
	found := false
	args := c.args()
	for i := 0; paths && i < len(args); i++ {
		text, _, _ := strings.Cut(args[i].text, "::")
		if strings.HasPrefix(text, "-") {
			if options.takesNext(text) {
				i++
			}
			continue
		}
		if p := within(c.dir, text); args[i].known && p != unknownDir && !isGlob(p) {
			found = true
			g.pytestPath(c.dir, p)
		}
	}
	if !found {
		g.existing(c.dir, "**/test_*.py", "**/*_test.py", "**/conftest.py")
	}
}

// pytestPath guards the tests at p, a path in the workspace.
func (g *guarding) pytestPath(root, p string) {
	dir := p
	if strings.HasSuffix(p, ".py") {
		g.existing("", p)
		dir = path.Dir(p)
	} else {
		g.existing(p, "**/test_*.py", "**/*_test.py", "**/conftest.py")
	}
	for ; dir != "." && dir != "" && dir != root && dir != "/"; dir = path.Dir(dir) {
		g.config(dir, "conftest.py")
	}
}

func (g *guarding) unittest(c call) {
	dir := moved(c, "-s", "--start-directory")
	found := false
	for _, w := range c.args() {
		if strings.HasSuffix(w.text, ".py") {
			found = true
			g.file(c.dir, w)
		}
	}
	if !found {
		g.existing(dir, "**/test*.py")
	}
}

// packages guards the scripts of a package.json, and the tests where a script
// or verb of that name is run.
func (g *guarding) packages(c call, tool string) {
	dir := moved(c, "--prefix", "--cwd", "--dir")
	if tool == "pnpm" {
		dir = moved(c, "-C", "--dir")
	}
	g.config(dir, ".npmrc")
	switch tool {
	case "npx", "bunx":
		return
	case "yarn":
		g.config(dir, ".yarnrc.yml", ".yarnrc")
	case "pnpm":
		g.config(dir, ".pnpmfile.cjs")
	case "bun":
		g.config(dir, "bunfig.toml")
	case "nx":
		g.config(dir, "nx.json")
	case "turbo":
		g.config(dir, "turbo.json")
	}
	options := wrapper{short: "wCF", long: []string{"--prefix", "--cwd", "--dir", "--workspace", "--filter"}}
	v, rest := verb(c, options)
	if tool != "npm" && v != "" {
		g.runner(rest, v) // yarn jest
	}
	if v == "run" || v == "run-script" || v == "run-many" {
		v, _ = verb(rest, wrapper{})
	}
	switch v {
	case "", "install", "i", "ci", "add", "audit", "exec", "x", "dlx", "view", "pack", "publish", "ls", "outdated":
		return
	}
	g.config(dir, "package.json#scripts")
	if dir != unknownDir {
		g.follow(target{kind: packageKind, file: path.Join(dir, "package.json"), dir: dir, args: []word{{text: scriptName(v), known: true}}})
	}
	if v == "t" || v == "tst" || strings.Contains(v, "test") || strings.Contains(v, "e2e") || strings.Contains(v, "spec") {
		g.javascriptTests(dir)
	}
}

// scriptName is the script that a short verb of npm means.
func scriptName(verb string) string {
	if verb == "t" || verb == "tst" {
		return "test"
	}
	return verb
}

// javascriptTests guards what the runners of JavaScript tests are configured by
// and collect.
func (g *guarding) javascriptTests(dir string) {
	if g.js[dir] {
		return
	}
	if g.js == nil {
		g.js = map[string]bool{}
	}
	g.js[dir] = true
	for _, name := range []string{"jest", "vitest", "vite", "playwright", "cypress", "karma"} {
		for _, ext := range []string{"js", "cjs", "mjs", "ts", "mts", "cts"} {
			g.config(dir, name+".config."+ext)
		}
	}
	g.config(dir, "jest.config.json", "karma.conf.js", ".mocharc.js", ".mocharc.cjs", ".mocharc.json", ".mocharc.yml", ".mocharc.yaml",
		"package.json#jest", "package.json#mocha", "package.json#vitest", "package.json#ava")
	const ext = "{js,jsx,ts,tsx,mjs,cjs,mts,cts}"
	g.existing(dir, "**/*.test."+ext, "**/*.spec."+ext, "**/*.cy."+ext, "**/__tests__/**", "**/__snapshots__/**", "test/**", "tests/**")
}

func (g *guarding) cargo(c call) {
	dir := c.dir
	if w, ok := option(c, "--manifest-path"); ok && w.known {
		dir = path.Dir(within(dir, w.text))
		if dir == "." {
			dir = ""
		}
	}
	v, _ := verb(c, wrapper{short: "CZ", long: []string{"--manifest-path"}})
	switch v {
	case "test", "t", "nextest", "llvm-cov", "tarpaulin", "bench":
		g.existing(dir, "tests/**", "**/tests/**/*.rs")
		g.config(dir, ".config/nextest.toml")
	case "build", "b", "run", "r", "check", "c", "miri":
	default:
		return
	}
	g.config(dir, ".cargo/config.toml", ".cargo/config")
}

func (g *guarding) ruby(c call, tool string) {
	switch tool {
	case "rspec":
		g.config(c.dir, ".rspec", ".rspec-local", "spec/spec_helper.rb", "spec/rails_helper.rb")
		if !g.paths(c, wrapper{short: "rfoeIPt"}) {
			g.existing(c.dir, "spec/**")
		}
	case "rake":
		g.config(c.dir, "Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb")
		g.existing(c.dir, "test/**", "spec/**", "rakelib/**")
	case "cucumber":
		g.config(c.dir, "cucumber.yml", "config/cucumber.yml")
		g.existing(c.dir, "features/**")
	default:
		if v, _ := verb(c, wrapper{}); tool == "minitest" || strings.HasPrefix(v, "test") {
			g.config(c.dir, "test/test_helper.rb")
			g.existing(c.dir, "test/**")
		}
	}
}

func (g *guarding) phpunit(dir string) {
	g.config(dir, "phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml", "tests/Pest.php", "tests/bootstrap.php")
	g.existing(dir, "**/*Test.php", "tests/**/*.php")
}

func (g *guarding) tasks(c call, tool string) {
	switch tool {
	case "just":
		if w, ok := option(c, "-f", "--justfile"); ok && w.known {
			if p := within(c.dir, w.text); p != unknownDir {
				g.config("", p)
			}
			return
		}
		g.config(moved(c, "-d", "--working-directory"), "justfile", "Justfile", ".justfile")
	case "task":
		g.config(moved(c, "-d", "--dir"), "Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml")
	case "mage":
		g.config(c.dir, "magefile.go")
		g.existing(c.dir, "magefiles/**")
	case "ctest":
		g.config(c.dir, "CTestConfig.cmake", "CMakePresets.json", "CMakeUserPresets.json")
		g.existing(c.dir, "test/**", "tests/**")
	case "bazel":
		g.config(c.dir, ".bazelrc", "user.bazelrc")
	case "prove":
		g.config(c.dir, ".proverc")
		if !g.paths(c, wrapper{short: "jIMPe"}) {
			g.existing(c.dir, "t/**")
		}
	}
}

func (g *guarding) otherTests(c call, tool string) {
	v, _ := verb(c, wrapper{})
	tests := strings.Contains(v, "test") || v == "check" || v == "verify" || v == "build" || v == "package" || v == "install"
	switch tool {
	case "gradle", "gradlew":
		g.config(c.dir, "gradle.properties", "gradle/wrapper/gradle-wrapper.properties", "init.gradle")
		g.existing(c.dir, "**/src/*[tT]est/**")
	case "mvn", "mvnw":
		g.config(c.dir, ".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml", ".mvn/wrapper/maven-wrapper.properties")
		g.existing(c.dir, "**/src/test/**", "**/src/it/**")
	case "dotnet":
		g.config(c.dir, "Directory.Build.props", "Directory.Build.targets", ".runsettings")
		if tests {
			g.existing(c.dir, "**/*Test*/**/*.cs", "**/*Tests.cs", "**/*.runsettings")
		}
	case "mix":
		if tests {
			g.config(c.dir, "test/test_helper.exs")
			g.existing(c.dir, "**/*_test.exs")
		}
	case "swift":
		if tests {
			g.existing(c.dir, "Tests/**")
		}
	case "dart", "flutter":
		if tests {
			g.config(c.dir, "dart_test.yaml")
			g.existing(c.dir, "test/**", "**/*_test.dart")
		}
	default:
		if tests {
			g.existing(c.dir, "test/**", "tests/**", "src/test/**")
		}
	}
}
