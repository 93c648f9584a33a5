package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/shell"
)

// said writes guards one a word: a literal whose absence counts has a +.
func said(list []guard) []string {
	var out []string
	for _, g := range list {
		name := g.path
		if g.absent {
			name += "+"
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// derived reads a contract in a workspace at /ws with some files.
func derived(contract string, files map[string]string) *reading {
	facts := Facts{Workspace: "/ws", Texts: files, Files: map[string]File{}}
	if _, ok := files[".git"]; ok {
		facts.Files[".git"] = File{Exists: true}
	}
	return newTracer(facts, shell.NewParser()).read(contract)
}

func TestGuards(t *testing.T) {
	const (
		pytest = "conftest.py+ pytest.ini+ .pytest.ini+ tox.ini+ setup.cfg#pytest+ pyproject.toml#tool+"
		tests  = "**/test_*.py **/*_test.py **/conftest.py"
		makes  = "GNUmakefile+ makefile+ Makefile+"
		cargo  = ".cargo/config.toml+ .cargo/config+"
		rust   = cargo + " tests/** **/tests/**/*.rs .config/nextest.toml+"
		justs  = "justfile+ Justfile+ .justfile+"
	)
	for _, test := range []struct{ contract, want string }{
		// Files that are executed.
		{`bash scripts/check.sh`, "scripts/check.sh"},
		{`sh -eu ./check.sh --fast`, "check.sh"},
		{`bash -o pipefail check.sh`, "check.sh"},
		{`./check.sh`, "check.sh"},
		{`tools/lint --all src`, "tools/lint"},
		{`. ./env.sh && true`, "env.sh"},
		{`source env.sh`, "env.sh"},
		{`python x.py`, "x.py"},
		{`python3.12 -u -W error tools/x.py in.txt`, "tools/x.py"},
		{`uv run tools/x.py`, "tools/x.py"},
		{`node x.js`, "x.js"},
		{`node -r ./hook.js x.js`, "x.js"},
		{`ruby -Ilib t.rb`, "t.rb"},
		{`perl t.pl`, "t.pl"},
		{`awk -f rules.awk data.txt`, "rules.awk"},
		{`cd tools && ./check.sh`, "tools/check.sh"},
		{`(cd tools; ./check.sh); ./other.sh`, "tools/check.sh other.sh"},
		{`if ./a.sh; then ./b.sh; else ./c.sh; fi`, "a.sh b.sh c.sh"},
		{`x=$(./a.sh) && test "$x" = "$(./b.sh)"`, "a.sh b.sh"},
		{`timeout 5 ./a.sh`, "a.sh"},
		{`env -i A=1 B=2 ./a.sh`, "a.sh"},
		{`! ./a.sh | grep -q x`, "a.sh"},
		{`sh -c "./a.sh && cat b.txt"`, "a.sh"},
		{`eval './a.sh'`, "a.sh"},
		{`find . -name x | xargs -n 1 ./a.sh`, "a.sh"},
		{`time ./a.sh`, "a.sh"},
		{`go run tools/check.go ./...`, "tools/check.go"},
		{`go run ./cmd/app`, ""},

		// Files that are only read, made by the contract or by a build.
		{`test -f docs/a.md && [ -s docs/b.md ]`, ""},
		{`grep -q x docs/a.md`, ""},
		{`test "$(wc -l < docs/a.md)" -gt 10`, ""},
		{`cat a.txt b.txt | sort | uniq`, ""},
		{`ls -l src`, ""},
		{`ruff check src && pyright src`, ""},
		{`eslint src/a.js; shellcheck x.sh; golangci-lint run`, ""},
		{`go vet ./... && go build ./...`, ""},
		{`go build -o app . && ./app --version`, ""},
		{`make -f m.mk && ./build/app`, "m.mk+"},
		{`./build/app`, "build/app"},
		{`.venv/bin/python -c 'import x'`, ".venv/bin/python"},
		{`python -c "import httpx"`, ""},
		{`node -e "require('./x')"`, ""},
		{`perl -ne 'print' x.txt`, ""},
		{`"$TOOL" x.sh`, ""},
		{`/usr/bin/env true`, ""},
		{`../outside.sh`, ""},
		{`bash 'a[b.sh' 'c\d.sh'`, "a?b.sh"},
		{`bash 'a#b.sh'`, "a?b.sh"},
		{`gh pr view --json state -q .state | grep -q OPEN`, ""},

		// Runners of tests.
		{`make`, makes},
		{`make -C sub test`, "sub/GNUmakefile+ sub/makefile+ sub/Makefile+"},
		{`make -f build/rules.mk test`, "build/rules.mk+"},
		{`go test ./...`, "**/*_test.go go.work+"},
		{`go test`, "**/*_test.go go.work+"},
		{`go test -race -run TestX -count=1 ./internal/a ./b/...`, "go.work+ internal/a/*_test.go b/**/*_test.go"},
		{`go test example.com/m/...`, "**/*_test.go go.work+"},
		{`cd svc && go test ./...`, "svc/**/*_test.go svc/go.work+"},
		{`gotestsum -- ./...`, "**/*_test.go go.work+"},
		{`pytest`, pytest + " " + tests},
		{`pytest -q -k "a or b" -x`, pytest + " " + tests},
		{`python -m pytest`, "pytest.py+ pytest/__init__.py+ " + pytest + " " + tests},
		{`uv run pytest tests/auth/ -x --timeout=60`, pytest + " tests/conftest.py+ tests/auth/conftest.py+ tests/auth/**/test_*.py tests/auth/**/*_test.py tests/auth/**/conftest.py"},
		{`uv run -m pytest tests/test_a.py::test_x`, "pytest.py+ pytest/__init__.py+ " + pytest + " tests/conftest.py+ tests/test_a.py"},
		{`poetry run pytest -c alt.ini`, pytest + " alt.ini+ " + tests},
		{`coverage run -m pytest`, "pytest.py+ pytest/__init__.py+ " + pytest + " " + tests},
		{`.venv/bin/pytest`, ".venv/bin/pytest " + pytest + " " + tests},
		{`cd "$DIR" && pytest`, "**/conftest.py **/pytest.ini **/.pytest.ini **/tox.ini **/setup.cfg#pytest **/pyproject.toml#tool **/**/test_*.py **/**/*_test.py **/**/conftest.py"},
		{`python -m unittest discover -s tests`, "unittest.py+ unittest/__init__.py+ tests/**/test*.py"},
		{`tox -e py312`, "setup.cfg#tox+ " + pytest + " " + tests},
		{`nox`, "noxfile.py+ " + pytest + " " + tests},
		{`cargo test --workspace`, rust},
		{`cargo build`, cargo},
		{`cargo clippy`, ""},
		{`just check`, justs},
		{`task build`, "Taskfile.yml+ Taskfile.yaml+ taskfile.yml+ taskfile.yaml+ Taskfile.dist.yml+ Taskfile.dist.yaml+"},
		{`npm run lint`, ".npmrc+ package.json#scripts+"},
		{`npm ci`, ".npmrc+"},
		{`bundle exec rspec spec/a_spec.rb`, ".rspec+ .rspec-local+ spec/spec_helper.rb+ spec/rails_helper.rb+ spec/a_spec.rb"},
		{`rspec`, ".rspec+ .rspec-local+ spec/spec_helper.rb+ spec/rails_helper.rb+ spec/**"},
		{`mix test`, "test/test_helper.exs+ **/*_test.exs"},
		{`prove -l`, ".proverc+ t/**"},
		{`bats test/a.bats`, "test/a.bats"},
		{`ctest --test-dir build`, "CTestConfig.cmake+ CMakePresets.json+ CMakeUserPresets.json+ test/** tests/**"},
		{`node --test`, "**/*.test.{js,cjs,mjs,ts,mts,cts} **/*-test.{js,cjs,mjs} **/test.{js,cjs,mjs} **/test/**/*.{js,cjs,mjs}"},
		{`node --test test/a.test.js`, "test/a.test.js"},
		{`deno test`, "deno.json#tasks+ deno.jsonc+ **/*_test.{ts,tsx,js,mjs,jsx} **/*.test.{ts,tsx,js,mjs,jsx}"},
		{`deno task check`, "deno.json#tasks+ deno.jsonc+"},
		{`deno run check.ts`, "check.ts deno.json#tasks+ deno.jsonc+"},
		{`ruby -E UTF-8 check.rb`, "check.rb"},
		{`ruby -ne 'print' x.txt`, ""},
		{`php -e check.php`, "check.php"},
		{`php -r 'echo 1;' x.txt`, ""},
		{`lua check.lua; pwsh -Command x.ps1`, "check.lua"},
		{`php vendor/bin/phpunit`, "vendor/bin/phpunit phpunit.xml+ phpunit.xml.dist+ phpunit.dist.xml+ tests/Pest.php+ tests/bootstrap.php+ **/*Test.php tests/**/*.php"},
		{`pre-commit run --all-files`, ".pre-commit-config.yaml+"},
		{`./gradlew test`, "gradlew gradle.properties+ gradle/wrapper/gradle-wrapper.properties+ init.gradle+ **/src/*[tT]est/**"},
	} {
		want := strings.Fields(test.want)
		slices.Sort(want)
		s := derived(test.contract, nil)
		if s.Fault != "" {
			t.Errorf("%s: %s", test.contract, s.Fault)
			continue
		}
		if diff := cmp.Diff(want, said(s.guards), cmp.Transformer("set", func(l []string) []string { return append([]string{}, l...) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.contract, diff)
		}
	}
}

// TestJavaScriptGuards looks at the runners whose lists are long.
func TestJavaScriptGuards(t *testing.T) {
	for _, contract := range []string{
		`npm test`, `npm run test:unit -- --ci`, `yarn test`, `pnpm -C app test`, `npx jest src`, `yarn vitest run`,
		`pnpm exec playwright test`, `bun test`, `node_modules/.bin/mocha`,
	} {
		got := strings.Join(said(derived(contract, nil).guards), " ")
		for _, want := range []string{"jest.config.js+", "vitest.config.ts+", ".mocharc.json+", "package.json#jest+", "**/*.spec.{"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not guard %s: %s", contract, want, got)
			}
		}
	}
	for _, contract := range []string{`npm test`, `yarn test`, `pnpm test`} {
		if got := strings.Join(said(derived(contract, nil).guards), " "); !strings.Contains(got, "package.json#scripts+") || !strings.Contains(got, ".npmrc+") {
			t.Errorf("%s guards %s", contract, got)
		}
	}
}

// TestHostileScripts keeps what a contract may cost within what it may say.
func TestHostileScripts(t *testing.T) {
	for name, text := range map[string]string{
		"npm":        strings.Repeat("npm test;", 7_000),
		"cd":         strings.Repeat("cd abc;./x;", 5_900),
		"and":        strings.Repeat("a&&", 21_000) + "a",
		"pipe":       strings.Repeat("a|", 32_000) + "a",
		"subst":      strings.Repeat("$(a ", 12_000) + strings.Repeat(")", 12_000),
		"strings":    strings.Repeat(`sh -c 'sh -c "sh -c a"';`, 2_700),
		"assign":     strings.Repeat("a=$(b);", 9_000),
		"find":       strings.Repeat("find -exec ", 5_900) + "a",
		"wrappers":   strings.Repeat("env ", 16_000) + "a",
		"if":         strings.Repeat("if a;then ", 6_000) + "b" + strings.Repeat(";fi", 6_000),
		"braces":     strings.Repeat("{ ", 21_000) + "a" + strings.Repeat(";}", 21_000),
		"words":      "bash " + strings.Repeat("x ", 32_000),
		"test paths": "pytest " + strings.Repeat("a/b/c/d/e/f.py ", 4_300),
	} {
		start := time.Now()
		derived(text, nil)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %d bytes take %v", name, len(text), took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}
