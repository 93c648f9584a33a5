package verify

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleScope() Rule {
	return Rule{
		ID: "PT038", Name: "scope", Severity: Error,
		Title: "a path of `writes:` or `protect:` cannot be used",
		Text: "Scopes are paths and patterns below the workspace, with slashes: `*` within a name, `**` for any " +
			"directories, `{a,b}` for alternatives. They cannot be absolute, lead out with `..`, or be longer " +
			"or more tangled than a person can check.",
		Bad:   "**writes:** ../other-repo/**",
		Good:  "**writes:** src/**",
		check: checkPlanScope,
		step:  checkScope,
	}
}

func checkPlanScope(p *pass) { p.scopes(nil, "Protect", p.doc.plan.Protect.Value) }

func checkScope(p *pass, u *unit) {
	p.scopes(u, "writes", u.Writes.Value)
	p.scopes(u, "protect", u.Protect.Value)
}

func (p *pass) scopes(u *unit, label string, list []plan.Text) {
	if len(list) > maxScopes {
		p.report(u, list[maxScopes].Pos, fmt.Sprintf("`%s:` has more than %d entries", label, maxScopes), "write patterns")
		return
	}
	for _, t := range list {
		if why := badScope(t.Value); why != "" {
			p.report(u, t.Pos, fmt.Sprintf("`%s: %s` %s", label, t.Value, why), scopeHint)
		}
	}
}

// scopeHint says what a scope that can be used looks like.
const scopeHint = "write a path or a short pattern below the workspace, such as src/** or docs/*.md"

// maxScopes is how many entries one list may have.
const maxScopes = 200

// Caps on a pattern, so that matching it costs little whatever it says.
const (
	maxPattern      = 256
	maxAlternatives = 3 // groups
	maxStars        = 12
)

// badScope says why a scope cannot be used, or "".
func badScope(scope string) string {
	clean := cleanScope(scope)
	switch {
	case strings.HasPrefix(scope, "/") || strings.HasPrefix(scope, "~"):
		return "is outside of the workspace"
	case clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains("/"+scope+"/", "/../"):
		return "leads out of the workspace"
	case strings.Contains(scope, "\\"):
		return "has a backslash; paths are written with slashes"
	case strings.HasPrefix(scope, "!"):
		return "begins with `!`; a scope says what is in it, not what is not"
	case !doublestar.ValidatePattern(scope):
		return "is no pattern"
	case len(scope) > maxPattern || strings.Count(scope, "{") > maxAlternatives || strings.Count(scope, "*") > maxStars:
		return "is too long or too tangled"
	}
	return ""
}
