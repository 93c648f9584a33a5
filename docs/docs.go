// Package docs holds the pages that the program itself reads.
package docs

import (
	_ "embed" // for the pages below
	"strings"
)

// Findings is the page about what verify can say. Its table and its sections are
// the only place of the rules' names and texts.
//
//go:embed findings.md
var Findings string

// Skill teaches an agent to write plans, as the file SKILL.md of an agent's skill.
//
//go:embed skill/SKILL.md
var Skill string

// Agents is the section about Piton of the file AGENTS.md of a project.
//
//go:embed skill/AGENTS.md
var Agents string

// Lesson is the skill without its frontmatter.
func Lesson() string {
	_, body, _ := strings.Cut(strings.TrimPrefix(Skill, "---\n"), "\n---\n")
	return strings.TrimSpace(body)
}
