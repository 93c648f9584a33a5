// Package docs holds the pages that the program itself reads.
package docs

import _ "embed" // for the page below

// Findings is the page about what verify can say. Its table and its sections are
// the only place of the rules' names and texts.
//
//go:embed findings.md
var Findings string
