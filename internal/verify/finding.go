package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/plan"
)

// Severity says what a finding does to the plan.
type Severity string

const (
	Error   Severity = "error"   // the plan does not verify
	Warning Severity = "warning" // it does, but probably not as its author thinks
	Note    Severity = "note"    // worth knowing
)

// Finding is one thing that a rule has to say about a plan.
type Finding struct {
	Code     string   `json:"code"` // id of the rule
	Severity Severity `json:"severity"`
	Step     string   `json:"step"` // id, or "" for the plan as a whole
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint"`
	Fix      *Fix     `json:"-"` // nil where no edit is known to be right

	blocks bool // the plan verifies, and this version cannot run it
	absent bool // nor can this machine: who does the step is not installed
}

// Absent reports whether the program of who does a step is not on this machine. The plan is
// right, and cannot be run here.
func (f Finding) Absent() bool { return f.absent }

// String writes the finding like a compiler:
//
//	plan.md:12:3: error: PT012 step "deploy" waits for itself
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s %s", f.File, f.Line, f.Column, f.Severity, f.Code, f.Message)
}

// Stops reports whether [Analysis.Compile] refuses the plan because of this finding.
func (f Finding) Stops() bool { return f.Severity == Error || f.blocks }

// HasErrors reports whether a plan with these findings does not verify.
func HasErrors(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == Error })
}

// Analysis is a plan that was read once, to be checked and compiled.
type Analysis struct {
	doc      *document // nil where the bytes of the plan were refused altogether
	problems []plan.Problem
	facts    Facts
	findings []Finding
}

// Analyse reads a plan in the light of the facts. The problems are those that
// parsing the plan gave; the plan is nil where its bytes were refused altogether.
func Analyse(p *plan.Plan, problems []plan.Problem, facts Facts) *Analysis {
	a := &Analysis{problems: problems}
	if p != nil {
		a.doc = read(p, facts)
	}
	return a
}

// Check returns what the rules find in the plan, in the order of their places. The
// facts are those that the plan was read with, and what is known of sub-plans. The
// cost is linear in the size of the plan.
func (a *Analysis) Check(facts Facts) []Finding {
	ps := &pass{doc: a.doc, facts: facts, problems: a.problems}
	if a.doc != nil {
		ps.file = a.doc.plan.Name
		a.doc.distrust(a.problems)
	}
	a.facts, a.findings = facts, ps.run()
	return a.findings
}

// Check returns what the rules find in a plan; see [Analysis.Check].
func Check(p *plan.Plan, problems []plan.Problem, facts Facts) []Finding {
	return Analyse(p, problems, facts).Check(facts)
}

func (p *pass) run() []Finding {
	rules := judges()
	if p.doc != nil {
		p.whole(rules)
		p.steps(slices.DeleteFunc(rules, func(r Rule) bool { return r.step == nil }))
	}
	p.parsed()
	return inOrder(p.findings)
}

// inOrder are findings in the order of their places, those of one place and code
// as they were found. What moves while they are sorted are numbers: a finding is
// long.
func inOrder(findings []Finding) []Finding {
	at := make([]int, len(findings))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int {
		a, b := &findings[i], &findings[j]
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Code, b.Code), cmp.Compare(i, j))
	})
	list := slices.Grow([]Finding(nil), len(at))
	for _, i := range at {
		list = append(list, findings[i])
	}
	return list
}

// steps judges step after step: a long plan is looked at once, and not once for
// each rule.
func (p *pass) steps(rules []Rule) {
	for _, u := range p.doc.units {
		for i := range rules {
			p.rule = &rules[i]
			p.rule.step(p, u)
		}
	}
}

// whole judges what needs more than one step.
func (p *pass) whole(rules []Rule) {
	for i := range rules {
		if p.rule = &rules[i]; p.rule.check != nil {
			p.rule.check(p)
		}
	}
}

// pass is one check of one plan.
type pass struct {
	file     string
	doc      *document
	facts    Facts
	problems []plan.Problem
	rule     *Rule
	findings []Finding

	needs, refs, outputs nearby // names that were looked for
}

// report adds a finding of the rule at work. The unit may be nil; a place that
// is not in the text becomes that of the step, or the plan's first character.
func (p *pass) report(u *unit, at plan.Pos, message, hint string) *Finding {
	f := Finding{Code: p.rule.ID, Severity: p.rule.Severity, File: p.file, Message: message, Hint: hint}
	if u != nil {
		f.Step = u.ID.Value
		if !at.IsValid() {
			at = u.Pos
		}
	}
	f.Line, f.Column = max(at.Line, 1), max(at.Column, 1)
	if n := len(p.findings); n == cap(p.findings) {
		p.findings = slices.Grow(p.findings, max(n, 16)) // append alone would copy a long list many times
	}
	p.findings = append(p.findings, f)
	return &p.findings[len(p.findings)-1]
}
