package verify

import (
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

// Compile checks and compiles a plan.
func Compile(p *plan.Plan, problems []plan.Problem, facts Facts, o Options) (*engine.Program, error) {
	a := Analyse(p, problems, facts)
	a.Check(facts)
	return a.Compile(o)
}

// OfText reports a rule that the parser of plans keeps.
func OfText(r Rule) bool { return r.check == nil && r.step == nil }

// Judges are the rules that the code has.
func Judges() []Rule { return judges() }
