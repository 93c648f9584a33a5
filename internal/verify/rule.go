package verify

import "strings"

// Rule is one thing that a plan is judged by. Its id never changes its meaning
// and is never used again.
type Rule struct {
	ID       string   // "PT012"
	Name     string   // "cycle"
	Title    string   // one line
	Text     string   // why, and what to do; what `verify --explain` prints
	Severity Severity // usual one; a finding may have another where the text says so

	check func(*pass) // nil for a rule that the parser of plans keeps
}

// Rules lists every rule by id.
func Rules() []Rule {
	rules := []Rule{
		ruleUnknownNeed(), ruleAmbiguousNeed(), ruleCycle(), ruleTemplate(), ruleNotYet(),
		ruleNoProof(), ruleShellSyntax(), ruleCannotFail(), ruleCannotPass(), ruleHiddenExit(),
		ruleNoErrexit(), ruleNegated(), ruleWeak(), ruleDuplicateCheck(), ruleNoRunner(),
		ruleUnknownAgent(), ruleNoAgent(), ruleNoTask(), ruleUnscoped(), ruleUnmetered(),
		ruleBudget(), ruleShortLimit(), ruleNotInstalled(), ruleScope(),
		ruleMissingCommand(), ruleNotExecutable(), ruleSubscription(),
	}
	return append(rules, textRules()...)
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
