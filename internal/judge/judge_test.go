package judge_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/judge"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct{ file, rule string }{
		{"a_test.go", "test: *_test.go"},
		{"pkg/deep/a_test.go", "test: *_test.go"},
		{"pkg/a.go", ""},
		{"tests/a.sh", "test: tests/"},
		{"tests", ""},
		{"src/app.test.tsx", "test: *.test.*"},
		{"src/contest.ts", ""},
		{"conftest.py", "runner: conftest.py"},
		{"tests/conftest.py", "runner: conftest.py"},
		{"sub/jest.config.mjs", "runner: jest.config.*"},
		{".babelrc", "runner: .babelrc*"},
		{"Makefile", "runner: Makefile"},
		{"inc/rules.mk", "runner: *.mk"},
		{".mvn/wrapper/x", "runner: .mvn/"},
		{"node_modules/x/test/a.js", ""},
		{"x/target/a_test.go", ""},
		{"package.json", ""},
		{"README.md", ""},
	} {
		rule, kind := judge.Of(tt.file)
		if rule != tt.rule || !strings.HasPrefix(rule, string(kind)) {
			t.Errorf("%s judges by %q (%s), want %q", tt.file, rule, kind, tt.rule)
		}
	}
	if got := strings.Join(judge.Keys("web/package.json"), " "); !strings.HasPrefix(got, "web/package.json#scripts ") {
		t.Errorf("keys of web/package.json: %s", got)
	}
	if got := judge.Keys("node_modules/a/package.json"); got != nil {
		t.Errorf("keys of an installed package: %s", got)
	}
}

// The names of the table are well-formed, and the page shows all of it.
func TestTable(t *testing.T) {
	for _, r := range judge.Table() {
		for name := range strings.FieldsSeq(r.Names) {
			if _, err := path.Match(name, "x"); err != nil || strings.Contains(strings.TrimSuffix(name, "/"), "/") || strings.Contains(name, "#") != (r.Kind == judge.Manifest) {
				t.Errorf("%s: %q is no name of the table", r.Field, name)
			}
		}
	}
	page, err := os.ReadFile("../../docs/judges.md")
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{
		"table": judge.Markdown(), "directories": listed(judge.Filled()), "programs": listed(judge.Looking()),
	} {
		if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("docs/judges.md has another list of %s; want\n%s", what, want)
		}
	}
}

func listed(names []string) string { return "`" + strings.Join(names, "` `") + "`" }
