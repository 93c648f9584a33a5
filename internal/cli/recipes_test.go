//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

var (
	recipePlan   = regexp.MustCompile("(?s)````markdown\n(.*?)````\n")
	recipeTitle  = regexp.MustCompile(`(?m)^## (.*)$`)
	recipeScript = regexp.MustCompile("(?s)```sh\n(.*?)```\n")
)

// Every recipe works: its shell is run in a workspace with the page's plan.
func TestRecipes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	plan := recipePlan.FindStringSubmatch(text)
	if plan == nil {
		t.Fatal("the page has no plan")
	}
	dir := t.TempDir()
	recipes := sections(strings.Replace(text, plan[0], "", 1))
	for title, shell := range recipes {
		script := "exits 0 bash -eu $WORK/recipe.sh\n"
		if strings.Contains(shell, "jq ") {
			script = "[!needs:jq] skip 'jq is not installed'\n" + script
		}
		archive := &txtar.Archive{
			Comment: []byte(script),
			Files:   []txtar.File{{Name: "recipe.sh", Data: []byte(shell)}, {Name: "ws/plans/greet.md", Data: []byte(plan[1])}},
		}
		name := strings.ReplaceAll(strings.ToLower(title), " ", "_")
		if err := os.WriteFile(filepath.Join(dir, name+".txtar"), txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(recipes) < 8 {
		t.Errorf("%d recipes", len(recipes))
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Setup: setup, Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// sections are the recipes' shell by their titles.
func sections(text string) map[string]string {
	found := map[string]string{}
	marks := recipeTitle.FindAllStringSubmatchIndex(text, -1)
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		var shell strings.Builder
		for _, block := range recipeScript.FindAllStringSubmatch(text[m[1]:end], -1) {
			fmt.Fprintln(&shell, block[1])
		}
		found[text[m[2]:m[3]]] = shell.String()
	}
	return found
}
