// Package judge has the table of what may judge a step's work: by which names the fields
// know tests and what configures their runners. It is pure.
//
// It must NEVER guess what a command reads: what a check opens is observed, and the table
// says only which of these files are there to judge.
package judge

import (
	"path"
	"slices"
	"strings"
)

// A Kind says what a file of the table is for.
type Kind string

const (
	Test     Kind = "test"     // tests, and what they compare with
	Runner   Kind = "runner"   // configures a program that tests, checks or builds
	Manifest Kind = "manifest" // of a package: some of its keys configure a runner
)

// A Row is one line of the table.
type Row struct {
	Field string
	Kind  Kind
	// Names are of files, with * for any text, or of directories of which all files
	// count, with / behind; of a manifest it is one file and behind # a key.
	Names string
}

// Table is what may judge besides what is executable, begins with #! or is run by the
// words of a contract.
func Table() []Row {
	return []Row{
		{"any", Test, "test/ tests/ Tests/ spec/ specs/ e2e/ testdata/ *.bats *.t *.feature step_definitions/"},
		{"any", Runner, "Makefile makefile GNUmakefile *.mk justfile Justfile .justfile Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml " +
			"Taskfile.dist.yml Taskfile.dist.yaml .pre-commit-config.yaml"},
		{"C, C++", Test, "*_test.c *_test.cc *_test.cpp *_unittest.cc test_*.c test_*.cpp"},
		{"C, C++", Runner, "CTestConfig.cmake CTestCustom.cmake .clang-tidy"},
		{"C#", Test, "*Test.cs *Tests.cs"},
		{"C#", Runner, "Directory.Build.props Directory.Build.targets .runsettings *.runsettings"},
		{"Dart", Test, "*_test.dart"},
		{"Dart", Runner, "dart_test.yaml analysis_options.yaml"},
		{"Deno", Runner, "deno.jsonc"},
		{"Deno", Manifest, "deno.json#tasks"},
		{"Elixir", Test, "*_test.exs"},
		{"Elixir", Runner, ".credo.exs .formatter.exs"},
		{"Go", Test, "*_test.go"},
		{"Go", Runner, "go.work .golangci.yml .golangci.yaml .golangci.toml magefile.go magefiles/"},
		{"Java, Kotlin, Scala", Test, "*Test.java *Tests.java *IT.java *Test.kt *Spec.kt *Spec.scala *Suite.scala *Spec.groovy"},
		{"Java, Kotlin, Scala", Runner, "gradle.properties gradle-wrapper.properties init.gradle .mvn/"},
		{"JavaScript, TypeScript", Test, "*.test.* *.spec.* *.cy.* *-test.js *-test.mjs *-test.cjs __tests__/ __mocks__/ __snapshots__/ cypress/"},
		{"JavaScript, TypeScript", Runner, "jest.config.* vitest.config.* vitest.workspace.* vite.config.* playwright.config.* cypress.config.* karma.conf.* .mocharc.* " +
			"ava.config.* babel.config.* .babelrc* eslint.config.* .eslintrc* biome.json biome.jsonc tsconfig*.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs bunfig.toml " +
			"nx.json turbo.json lerna.json"},
		{"JavaScript, TypeScript", Manifest, "package.json#scripts"},
		{"JavaScript, TypeScript", Manifest, "package.json#jest"},
		{"JavaScript, TypeScript", Manifest, "package.json#mocha"},
		{"JavaScript, TypeScript", Manifest, "package.json#ava"},
		{"JavaScript, TypeScript", Manifest, "package.json#vitest"},
		{"JavaScript, TypeScript", Manifest, "package.json#eslintConfig"},
		{"Lua", Test, "*_spec.lua"},
		{"Lua", Runner, ".busted .luacheckrc"},
		{"Perl", Runner, ".proverc"},
		{"PHP", Test, "*Test.php"},
		{"PHP", Runner, "phpunit.xml phpunit.xml.dist phpunit.dist.xml phpstan.neon phpstan.neon.dist phpcs.xml"},
		{"PHP", Manifest, "composer.json#scripts"},
		{"Python", Test, "test_*.py *_test.py"},
		{"Python", Runner, "conftest.py pytest.ini .pytest.ini tox.ini setup.cfg noxfile.py .coveragerc mypy.ini .mypy.ini ruff.toml .ruff.toml .flake8 .pylintrc " +
			"behave.ini .behaverc sitecustomize.py usercustomize.py *.pth"},
		{"Python", Manifest, "pyproject.toml#tool"},
		{"Ruby", Test, "*_spec.rb *_test.rb test_*.rb"},
		{"Ruby", Runner, "Rakefile rakefile Rakefile.rb rakefile.rb rakelib/ .rspec .rspec-local .rubocop.yml cucumber.yml"},
		{"Rust", Runner, "nextest.toml clippy.toml .clippy.toml rust-toolchain rust-toolchain.toml .cargo/"},
		{"Swift", Test, "*Tests.swift"},
	}
}

// Filled are directories that installations and builds fill: what is in them judges only
// where the words of a contract run it.
func Filled() []string {
	return []string{"node_modules", "bower_components", "vendor", ".venv", "venv", "site-packages", "__pycache__", ".tox", ".nox", "build", "dist", "out", "target", "_build", "deps", ".gradle"}
}

// table is the table as it is searched.
type table struct {
	files  map[string]pattern   // by name
	dirs   map[string]pattern   // by name
	globs  map[string][]pattern // of files, by the byte that they end with; under "" those that end with *
	parts  map[string][]string  // keys of manifests, by name
	filled map[string]bool
}

type pattern struct {
	text string
	kind Kind
}

func (p pattern) rule() string { return string(p.kind) + ": " + p.text }

var known = search(Table())

// search makes the table ready.
func search(rows []Row) *table {
	t := &table{files: map[string]pattern{}, dirs: map[string]pattern{}, globs: map[string][]pattern{}, parts: map[string][]string{}, filled: map[string]bool{}}
	for _, dir := range Filled() {
		t.filled[dir] = true
	}
	for _, r := range rows {
		for name := range strings.FieldsSeq(r.Names) {
			p := pattern{name, r.Kind}
			switch dir, isDir := strings.CutSuffix(name, "/"); {
			case r.Kind == Manifest:
				file, key, _ := strings.Cut(name, "#")
				t.parts[file] = append(t.parts[file], key)
			case isDir:
				t.dirs[dir] = p
			case strings.Contains(name, "*"):
				t.globs[ending(name)] = append(t.globs[ending(name)], p)
			default:
				t.files[name] = p
			}
		}
	}
	return t
}

func ending(name string) string { return strings.TrimSuffix(name[len(name)-1:], "*") }

// InFilled reports a file below a directory that is filled by others.
func InFilled(file string) bool {
	for dir := range strings.SplitSeq(path.Dir(file), "/") {
		if known.filled[dir] {
			return true
		}
	}
	return false
}

// Of says by which rule a file of this path is one of the table, and of what kind: "" is
// none. A manifest is none; see [Keys].
func Of(file string) (rule string, kind Kind) {
	if InFilled(file) {
		return "", ""
	}
	t, base := known, path.Base(file)
	p, ok := t.files[base]
	for _, ends := range []string{"", base[len(base)-1:]} {
		for _, g := range t.globs[ends] {
			if is, _ := path.Match(g.text, base); is && !ok { // they are well-formed
				p, ok = g, true
			}
		}
	}
	for dir := range strings.SplitSeq(path.Dir(file), "/") {
		if d, in := t.dirs[dir]; in && !ok {
			p, ok = d, true
		}
	}
	if !ok {
		return "", ""
	}
	return p.rule(), p.kind
}

// Keys are the keys of a manifest that configure a runner, as file#key.
func Keys(file string) []string {
	keys := slices.Clone(known.parts[path.Base(file)])
	if InFilled(file) {
		return nil
	}
	for i := range keys {
		keys[i] = file + "#" + keys[i]
	}
	return keys
}

// Looking are programs that look at files and run none of them: what a check of nothing
// but these opens does not judge, and is what it looks at. Of git these are some verbs.
func Looking() []string {
	return strings.Fields("[ basename cat cd cmp comm cut diff dirname du echo egrep exit false fgrep file git-diff git-grep git-log git-ls-files git-show git-status grep " +
		"head jq ls nl od printf rg set sha256sum sort stat tail test tr tree true uniq wc")
}

// Looks reports whether a program, with its first argument that is no option, only looks.
func Looks(tool, verb string) bool {
	if tool == "git" {
		tool += "-" + verb
	}
	return slices.Contains(Looking(), tool)
}

// Markdown is the table as the docs show it.
func Markdown() string {
	var b strings.Builder
	line := func(field, kind, names string) { b.WriteString("| " + field + " | " + kind + " | " + names + " |\n") }
	line("field", "why", "names")
	line("---", "---", "---")
	for _, r := range Table() {
		line(r.Field, string(r.Kind), "`"+strings.ReplaceAll(r.Names, " ", "` `")+"`")
	}
	return b.String()
}
