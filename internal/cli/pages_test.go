//go:build unix

package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// pages returns the text of the README and of every page under docs, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	skill, err := filepath.Glob("../../docs/skill/*.md")
	if err != nil || len(skill) != 2 {
		t.Fatalf("the skill is %v, %v", skill, err)
	}
	texts := map[string]string{}
	for _, file := range append(append(files, "../../README.md"), skill...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	return texts
}

var (
	markdownBlock = regexp.MustCompile("(?ms)^````markdown\n(---\n.*?)^````$")
	dataBlock     = regexp.MustCompile("(?ms)^```(?:yaml|json)\n(.*?)^```$")
	configKey     = regexp.MustCompile(`(?m)\A(# .*\n)?(agents|commands|web_fetch|prices|policy):`)
	planKey       = regexp.MustCompile(`\A(task:|\{\s*"taskId")`)
)

// pageConfig is the configuration that the README shows.
func pageConfig(t *testing.T, readme string) string {
	t.Helper()
	for _, block := range dataBlock.FindAllStringSubmatch(readme, -1) {
		if configKey.MatchString(block[1]) {
			return block[1]
		}
	}
	t.Fatal("the README shows no configuration")
	return ""
}

// readmeAgent does what the README's plan asks for.
const readmeAgent = `#!/bin/sh
cat >/dev/null
case $PITON_STEP in
show-the-bug) mkdir tests && echo 'test "$(sh src/slug.sh "Hello World")" = hello-world' >tests/slug_test.sh ;;
fix-the-bug) echo 'echo "$1" | tr "A-Z " a-z-' >src/slug.sh ;;
esac
`

// The plans of the other pages name this agent.
const pageAgent = "agents:\n  coder: {kind: exec, command: [claude], parse: claude}\n"

// Every complete plan, template and configuration on a page verifies. The README's
// plan has no finding at all with the README's configuration, and runs.
func TestPages(t *testing.T) {
	t.Parallel()
	texts := pages(t)
	dir, plans, configs := t.TempDir(), 0, 0
	add := func(name, script string, files ...txtar.File) {
		files = append(files, txtar.File{Name: "bin/claude", Data: []byte(readmeAgent)},
			txtar.File{Name: "ws/src/slug.sh", Data: []byte("echo \"$1\"\n")},
			txtar.File{Name: "bin/pytest", Data: []byte("#!/bin/sh\n")})
		archive := &txtar.Archive{Comment: []byte(script), Files: files}
		if err := os.WriteFile(filepath.Join(dir, name+".txtar"), txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for page, text := range texts {
		page = strings.TrimSuffix(filepath.Base(page), ".md")
		if page == "findings" {
			continue // its plans have mistakes on purpose; the tests of verify hold them to that
		}
		blocks := markdownBlock.FindAllStringSubmatch(text, -1)
		for _, b := range dataBlock.FindAllStringSubmatch(text, -1) {
			if configKey.MatchString(b[1]) {
				configs++
				add(fmt.Sprintf("%s_config_%d", page, configs), "exits 0 piton verify plan.md\n",
					txtar.File{Name: "ws/.piton/config.yaml", Data: []byte(b[1])},
					txtar.File{Name: "ws/plan.md", Data: []byte(trivialPlan)})
			}
			if planKey.MatchString(b[1]) {
				blocks = append(blocks, b)
			}
		}
		for _, b := range blocks {
			plans++
			script, file := "exits 0 piton verify plan.md\n", "ws/plan.md"
			if strings.Contains(b[1], "\ntemplate: ") {
				file = "ws/.piton/templates/page.md"
				script = "piton new Handbook --from page --var page=docs/a.md -o plan.md\n" + script
			}
			config := pageAgent
			if page == "README" {
				config = pageConfig(t, text)
				script += "! stdout .\nexits 0 piton run plan.md --yes\nstdout 'done .*: 2 proven$'\n"
			}
			add(fmt.Sprintf("%s_plan_%d", page, plans), script, txtar.File{Name: file, Data: []byte(b[1])},
				txtar.File{Name: "ws/.piton/config.yaml", Data: []byte(config)})
		}
	}
	if plans < 7 || configs < 9 {
		t.Errorf("%d plans and %d configurations on the pages", plans, configs)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Setup: setup, Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

const trivialPlan = "---\ntype: plan\nstatus: draft\nowner: you\n---\n\n# Touch\n\n## Steps\n\n### 1. Touch\n\n" +
	"**target:** script\n**task:** `touch a`\n**contract:** `test -f a`\n"

var (
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// Every link of a page to another page, and to a heading in it, leads somewhere.
func TestPageLinks(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			body, err := os.ReadFile(file)
			if info, dirErr := os.Stat(file); err != nil && (dirErr != nil || !info.IsDir()) {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			if anchor != "" && !anchors(string(body))[anchor] {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

// anchors are the names that a code host gives to the headings of a page.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range pageHeading.FindAllStringSubmatch(text, -1) {
		name := notInAnchor.ReplaceAllString(strings.ToLower(m[1]), "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}

var sourcePath = regexp.MustCompile("`([a-z/_]+(?:\\.go|\\.json|/testdata|/script))`")

var sourceName = regexp.MustCompile("`(?:[A-Za-z]+\\.)?([A-Za-z]+[A-Z][A-Za-z]+|Test[A-Za-z]+)`")

// The architecture page names only files, functions and types that exist, and every
// package.
func TestArchitecturePage(t *testing.T) {
	text := pages(t)["../../docs/architecture.md"]
	paths := sourcePath.FindAllStringSubmatch(text, -1)
	if len(paths) < 30 {
		t.Errorf("it names %d files", len(paths))
	}
	for _, m := range paths {
		_, err := os.Stat(filepath.Join("..", m[1]))
		if _, top := os.Stat(filepath.Join("../..", m[1])); err != nil && top != nil {
			t.Errorf("it names %s: %v", m[1], err)
		}
	}
	source := allSource(t)
	for _, m := range sourceName.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(source, m[1]) {
			t.Errorf("it names %s, which no package has", m[1])
		}
	}
	dirs, err := filepath.Glob("../*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if name := filepath.Base(dir); !strings.Contains(text, "`"+name+"`") {
			t.Errorf("it does not name the package %s", name)
		}
	}
}

// allSource is the text of every Go file of the product and its tests.
func allSource(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
