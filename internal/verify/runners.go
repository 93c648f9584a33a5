package verify

import (
	"path"
	"strings"

	"github.com/piton-dev/piton/internal/shell"
)

// collection is what a runner is configured by and collects.
type collection struct {
	configs, tests []string
	paths          *shell.Wrapper // of the options: paths among the arguments take the place of the tests
	testing        bool           // only where its verb tests or builds
	dir, file      []string       // options that name where it works, and its one configuration
}

// collections are those of the runners of which nothing else matters, by name.
var collections = gathered([]struct {
	tools, configs, tests string
	rest                  collection
}{
	{"tox", "tox.ini setup.cfg#tox pyproject.toml#tool", "", collection{}},
	{"nox", "noxfile.py", "", collection{}},
	{"behave", "behave.ini .behaverc tox.ini setup.cfg#behave", "features/**", collection{}},
	{"pre-commit", ".pre-commit-config.yaml", "", collection{}},
	{"rspec", ".rspec .rspec-local spec/spec_helper.rb spec/rails_helper.rb", "spec/**", collection{paths: &shell.Wrapper{Short: "rfoeIPt"}}},
	{"rake", "Rakefile rakefile Rakefile.rb rakefile.rb", "test/** spec/** rakelib/**", collection{}},
	{"cucumber", "cucumber.yml config/cucumber.yml", "features/**", collection{}},
	{"minitest", "test/test_helper.rb", "test/**", collection{}},
	{"rails", "test/test_helper.rb", "test/**", collection{testing: true}},
	{"composer", "composer.json#scripts", "", collection{}},
	{
		"phpunit pest paratest composer", "phpunit.xml phpunit.xml.dist phpunit.dist.xml tests/Pest.php tests/bootstrap.php",
		"**/*Test.php tests/**/*.php",
		collection{},
	},
	{
		"just", "justfile Justfile .justfile", "",
		collection{dir: []string{"-d", "--working-directory"}, file: []string{"-f", "--justfile"}},
	},
	{
		"task", "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml", "",
		collection{dir: []string{"-d", "--dir"}},
	},
	{"mage", "magefile.go", "magefiles/**", collection{}},
	{"ctest", "CTestConfig.cmake CMakePresets.json CMakeUserPresets.json", "test/** tests/**", collection{}},
	{"bazel", ".bazelrc user.bazelrc", "", collection{}},
	{"deno", "", "**/*_test.{ts,tsx,js,mjs,jsx} **/*.test.{ts,tsx,js,mjs,jsx}", collection{testing: true}},
	{"prove", ".proverc", "t/**", collection{paths: &shell.Wrapper{Short: "jIMPe"}}},
	{"gradle gradlew", "gradle.properties gradle/wrapper/gradle-wrapper.properties init.gradle", "**/src/*[tT]est/**", collection{}},
	{
		"mvn mvnw", ".mvn/maven.config .mvn/jvm.config .mvn/extensions.xml .mvn/wrapper/maven-wrapper.properties",
		"**/src/test/** **/src/it/**",
		collection{},
	},
	{"dotnet", "Directory.Build.props Directory.Build.targets .runsettings", "", collection{}},
	{"dotnet", "", "**/*Test*/**/*.cs **/*Tests.cs **/*.runsettings", collection{testing: true}},
	{"mix", "test/test_helper.exs", "**/*_test.exs", collection{testing: true}},
	{"swift", "", "Tests/**", collection{testing: true}},
	{"dart flutter", "dart_test.yaml", "test/** **/*_test.dart", collection{testing: true}},
	{"stack cabal sbt", "", "test/** tests/** src/test/**", collection{testing: true}},
})

func gathered(rows []struct {
	tools, configs, tests string
	rest                  collection
},
) map[string][]collection {
	all := map[string][]collection{}
	for _, r := range rows {
		r.rest.configs, r.rest.tests = strings.Fields(r.configs), strings.Fields(r.tests)
		for tool := range strings.FieldsSeq(r.tools) {
			all[tool] = append(all[tool], r.rest)
		}
	}
	return all
}

// runner adds what the known runners collect and are configured by. A runner
// of tests is told by its name or by its verb; other verbs add nothing.
func (g *guarding) runner(c shell.Call, tool string) {
	switch tool {
	case "make", "gmake", "bmake":
		g.make(c)
	case "go", "gotestsum", "ginkgo":
		g.golang(c, tool)
	case "pytest", "py.test", "tox", "nox", "nosetests":
		g.pytest(c, tool == "pytest" || tool == "py.test")
	case "unittest":
		g.unittest(c)
	case "npm", "yarn", "pnpm", "bun", "npx", "bunx", "nx", "turbo", "lerna":
		g.packages(c, tool)
	case "jest", "vitest", "mocha", "ava", "tap", "playwright", "cypress", "karma", "jasmine", "wtr":
		g.javascriptTests(c.Dir)
	case "cargo":
		g.cargo(c)
	}
	for _, row := range collections[tool] {
		g.collect(c, row)
	}
}

func (g *guarding) collect(c shell.Call, row collection) {
	if v, _ := shell.Verb(c, shell.Wrapper{}); row.testing && !tests(v) {
		return
	}
	if w, ok := shell.Option(c, row.file...); ok && w.Known {
		if p := shell.Within(c.Dir, w.Text); p != shell.UnknownDir {
			g.config("", p)
		}
		return
	}
	dir := moved(c, row.dir...)
	g.config(dir, row.configs...)
	if row.paths == nil || !g.paths(c, *row.paths) {
		g.existing(dir, row.tests...)
	}
}

// tests reports the verb of a program that tests or builds.
func tests(verb string) bool {
	switch verb {
	case "check", "verify", "build", "package", "install":
		return true
	}
	return strings.Contains(verb, "test")
}

// moved is the directory a program is told to work in.
func moved(c shell.Call, options ...string) string {
	if w, ok := shell.Option(c, options...); ok {
		if !w.Known {
			return shell.UnknownDir
		}
		return shell.Within(c.Dir, w.Text)
	}
	return c.Dir
}

func (g *guarding) golang(c shell.Call, tool string) {
	v, rest := shell.Verb(c, shell.Wrapper{Short: "C"})
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
func (g *guarding) goRun(run shell.Call) {
	for _, w := range run.Args() {
		if strings.HasSuffix(w.Text, ".go") {
			g.file(run.Dir, w)
		}
	}
}

// goPackages guards the tests of the packages that are named by path; it
// reports whether all packages are.
func (g *guarding) goPackages(test shell.Call, dir string) bool {
	var globs []string
	for _, w := range test.Args() {
		if strings.HasPrefix(w.Text, "-") {
			continue
		}
		if !w.Known {
			return false
		}
		switch name := strings.TrimSuffix(w.Text, "/"); {
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

// pytest guards the tests below the paths that are given, and what configures
// them on the way there.
func (g *guarding) pytest(c shell.Call, paths bool) {
	g.config(c.Dir, "conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg#pytest", "pyproject.toml#tool")
	if w, ok := shell.Option(c, "-c", "--config-file"); ok && paths && w.Known {
		if p := shell.Within(c.Dir, w.Text); p != shell.UnknownDir {
			g.config("", p)
		}
	}
	options := shell.Wrapper{Short: "kmnpcoWr", Long: []string{
		"--rootdir", "--ignore", "--ignore-glob", "--deselect", "--junitxml", "--junit-xml", "--maxfail", "--cov-report",
		"--tb", "--durations", "--timeout", "--color", "--basetemp", "--confcutdir", "--dist", "--numprocesses",
		"--import-mode", "--log-level", "--config-file", "--cov-config",
	}}
	found := false
	args := c.Args()
	for i := 0; paths && i < len(args); i++ {
		text, _, _ := strings.Cut(args[i].Text, "::")
		if strings.HasPrefix(text, "-") {
			if options.TakesNext(text) {
				i++
			}
			continue
		}
		if p := shell.Within(c.Dir, text); args[i].Known && p != shell.UnknownDir && !isGlob(p) {
			found = true
			g.pytestPath(c.Dir, p)
		}
	}
	if !found {
		g.existing(c.Dir, "**/test_*.py", "**/*_test.py", "**/conftest.py")
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

func (g *guarding) unittest(c shell.Call) {
	dir := moved(c, "-s", "--start-directory")
	found := false
	for _, w := range c.Args() {
		if strings.HasSuffix(w.Text, ".py") {
			found = true
			g.file(c.Dir, w)
		}
	}
	if !found {
		g.existing(dir, "**/test*.py")
	}
}

// packages guards the scripts of a package.json, and the tests where a script
// or verb of that name is run.
func (g *guarding) packages(c shell.Call, tool string) {
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
	options := shell.Wrapper{Short: "wCF", Long: []string{"--prefix", "--cwd", "--dir", "--workspace", "--filter"}}
	v, rest := shell.Verb(c, options)
	if tool != "npm" && v != "" {
		g.runner(rest, v) // yarn jest
	}
	if v == "run" || v == "run-script" || v == "run-many" {
		v, _ = shell.Verb(rest, shell.Wrapper{})
	}
	switch v {
	case "", "install", "i", "ci", "add", "audit", "exec", "x", "dlx", "view", "pack", "publish", "ls", "outdated":
		return
	}
	g.config(dir, "package.json#scripts")
	if dir != shell.UnknownDir {
		g.follow(target{kind: packageKind, file: path.Join(dir, "package.json"), dir: dir, args: []shell.Word{{Text: scriptName(v), Known: true}}})
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

func (g *guarding) cargo(c shell.Call) {
	dir := c.Dir
	if w, ok := shell.Option(c, "--manifest-path"); ok && w.Known {
		dir = path.Dir(shell.Within(dir, w.Text))
		if dir == "." {
			dir = ""
		}
	}
	v, _ := shell.Verb(c, shell.Wrapper{Short: "CZ", Long: []string{"--manifest-path"}})
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
