package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// Rule is one thing that a plan is judged by. Its id never changes its meaning
// and is never used again.
type Rule struct {
	ID       string   // "PT012"
	Name     string   // "cycle"
	Title    string   // one line
	Text     string   // why, and what to do; what `verify --explain` prints
	Severity Severity // usual one; a finding may have another where the text says so

	// Bad is a piece of a plan that the rule speaks of, and Good one that it
	// leaves alone. Where a piece does not begin with frontmatter, a title or a
	// step's heading, it stands below the heading of a step. Empty for rules
	// of size.
	Bad, Good string

	// A rule has one or both of these, or none where the parser of plans keeps it.
	step  func(*pass, *unit) // judges one step
	check func(*pass)        // judges the plan as a whole; where it goes through the steps, a long plan is read from memory once more
}

// Rules lists every rule by id.
func Rules() []Rule {
	rules := []Rule{
		ruleUnknownNeed(), ruleAmbiguousNeed(), ruleCycle(), ruleTemplate(), ruleNotYet(), ruleEach(), ruleItem(),
		ruleNoProof(), ruleShellSyntax(), ruleCannotFail(), ruleCannotPass(), ruleHiddenExit(),
		ruleNoErrexit(), ruleNegated(), ruleWeak(), ruleDuplicateCheck(), ruleNoRunner(),
		ruleUnknownAgent(), ruleNoAgent(), ruleNoTask(), ruleUnscoped(), ruleUnmetered(),
		ruleBudget(), ruleShortLimit(), ruleNotInstalled(), ruleScope(),
		ruleOverlap(), ruleMissingCommand(), ruleNotExecutable(), ruleSubscription(), ruleImpliedOrder(), ruleUntold(), ruleOutside(), ruleUpToDate(), ruleOpenInclude(), ruleLifted(), ruleOutput(), ruleQuestion(), ruleWhen(), ruleTool(), ruleClaim(), ruleRefused(), ruleSubplan(), ruleWorktree(),
	}
	rules = append(rules, textRules()...)
	slices.SortFunc(rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return rules
}

// RuleOf finds a rule by its id or name, whatever the case.
func RuleOf(name string) (Rule, bool) {
	for _, r := range Rules() {
		if strings.EqualFold(name, r.ID) || strings.EqualFold(name, r.Name) {
			return r, true
		}
	}
	return Rule{}, false
}

// NearestRule is a hint that names the rule whose id or name is closest to a
// word, or "".
func NearestRule(word string) string {
	var number int
	if _, err := fmt.Sscanf(strings.ToUpper(word), "PT%d", &number); err == nil {
		r, ok := RuleOf(fmt.Sprintf("PT%03d", number))
		if !ok {
			return ""
		}
		return fmt.Sprintf("did you mean %q?", r.ID)
	}
	var names []string
	for _, r := range Rules() {
		names = append(names, r.ID, r.Name)
	}
	return plan.Nearest(word, names)
}

// Page is what a person reads about the rule: what it says, why, and what it
// looks like, in plain text that ends with a line end.
func (r Rule) Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s)\n%s\n\n%s\n", r.ID, r.Name, r.Severity, r.Title, wrapped(r.Text, 80))
	for _, example := range []struct{ name, text string }{{"Bad", r.Bad}, {"Good", r.Good}} {
		if example.text != "" {
			fmt.Fprintf(&b, "\n%s:\n\n%s\n", example.name, indented(example.text))
		}
	}
	return b.String()
}

// wrapped breaks the lines of a text at a width in bytes, at blanks. Lines that
// are indented stay as they are.
func wrapped(text string, width int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, " ") || line == "" {
			out = append(out, line)
			continue
		}
		at := ""
		for word := range strings.FieldsSeq(line) {
			switch {
			case at == "":
				at = word
			case len(at)+1+len(word) > width:
				out, at = append(out, at), word
			default:
				at += " " + word
			}
		}
		out = append(out, at)
	}
	return strings.Join(out, "\n")
}

func indented(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "    " + line
		}
	}
	return strings.Join(lines, "\n")
}

// Markdown is the same as [Rule.Page], as a section of the documentation
// without its heading.
func (r Rule) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s.** %s\n", sentence(r.Title), r.Text)
	for _, example := range []struct{ name, text string }{{"Bad", r.Bad}, {"Good", r.Good}} {
		if example.text != "" {
			fence := fenceFor(example.text)
			fmt.Fprintf(&b, "\n%s:\n\n%smarkdown\n%s\n%s\n", example.name, fence, strings.TrimRight(example.text, "\n"), fence)
		}
	}
	return b.String()
}

// sentence begins with a capital letter.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// fenceFor is a fence that no line of the text can close.
func fenceFor(text string) string {
	fence := "````"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}
