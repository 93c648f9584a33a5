package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/docs"
	"github.com/piton-dev/piton/internal/plan"
)

// Rule is one thing that a plan is judged by. Its id never changes its meaning
// and is never used again.
type Rule struct {
	ID       string   // "PT012"
	Severity Severity // usual one; a finding may have another where the text says so

	// What people read, from docs/findings.md:
	Name  string // "cycle"
	Title string // one line
	Text  string // why, and what to do

	// Bad is a piece of a plan that the rule speaks of, and Good one that it
	// leaves alone. A piece without frontmatter, title or heading belongs below
	// the heading of a step. Empty for rules of size.
	Bad, Good string

	// A rule has one or both of these, or none where the parser of plans keeps it.
	step  func(*pass, *unit) // judges one step
	check func(*pass)        // judges the plan as a whole; one that visits all steps reads a long plan from memory once more
}

// NoProof is the id of the rule that a step needs something that can prove it.
const NoProof = "PT020"

// judges are the rules that judge a plan, by id, without what people read.
func judges() []Rule {
	return []Rule{
		{ID: "PT010", Severity: Error, step: checkUnknownNeed},
		{ID: "PT011", Severity: Error, step: checkAmbiguousNeed},
		{ID: "PT012", Severity: Error, check: checkCycle},
		{ID: "PT013", Severity: Warning, step: checkTemplate},
		{ID: "PT014", Severity: Error, step: checkNotYet},
		{ID: NoProof, Severity: Error, step: checkNoProof},
		{ID: "PT021", Severity: Error, step: checkShellSyntax, check: checkPlanShellSyntax},
		{ID: "PT022", Severity: Error, step: checkCannotFail},
		{ID: "PT023", Severity: Error, step: checkCannotPass},
		{ID: "PT024", Severity: Warning, step: checkHiddenExit},
		{ID: "PT025", Severity: Warning, step: checkNoErrexit},
		{ID: "PT026", Severity: Note, step: checkNegated},
		{ID: "PT027", Severity: Note, step: checkWeak},
		{ID: "PT028", Severity: Error, step: checkDuplicateCheck},
		{ID: "PT029", Severity: Warning, step: checkNoRunner},
		{ID: "PT030", Severity: Error, step: checkUnknownAgent},
		{ID: "PT031", Severity: Error, step: checkNoAgent},
		{ID: "PT032", Severity: Warning, step: checkNoTask},
		{ID: "PT033", Severity: Warning, check: checkUnscoped},
		{ID: "PT034", Severity: Warning, check: checkUnmetered},
		{ID: "PT035", Severity: Error, check: checkBudget},
		{ID: "PT036", Severity: Note, step: checkShortLimit},
		{ID: "PT037", Severity: Warning, check: checkNotInstalled},
		{ID: "PT038", Severity: Error, step: checkScope, check: checkPlanScope},
		{ID: "PT039", Severity: Error, check: checkOverlap},
		{ID: "PT040", Severity: Error, step: checkMissingCommand},
		{ID: "PT041", Severity: Error, step: checkNotExecutable},
		{ID: "PT042", Severity: Error, step: checkSubscription},
		{ID: "PT043", Severity: Warning, step: checkImpliedOrder},
		{ID: "PT044", Severity: Error, step: checkJudge},
		{ID: "PT045", Severity: Note, step: checkProofReaches},
		{ID: "PT046", Severity: Warning, step: checkProofScope},
		{ID: "PT051", Severity: Warning, step: checkOutside},
		{ID: "PT054", Severity: Warning, step: checkLifted},
		{ID: "PT061", Severity: Error, step: checkOutput},
		{ID: "PT062", Severity: Error, step: checkQuestion},
		{ID: "PT063", Severity: Error, step: checkWhen},
		{ID: "PT064", Severity: Error, step: stepEach},
		{ID: "PT065", Severity: Warning, step: stepItem},
		{ID: "PT066", Severity: Error, step: checkTool},
		{ID: "PT067", Severity: Warning, step: checkClaim},
		{ID: "PT068", Severity: Error, step: checkWorktree, check: checkPlanWorktree},
		{ID: "PT069", Severity: Error, step: checkRefused},
		{ID: "PT070", Severity: Error, step: checkSubplan},
		{ID: "PT075", Severity: Error, step: checkLoop},
		{ID: "PT076", Severity: Note, step: checkDetected},
		{ID: "PT077", Severity: Error, step: checkStrong},
	}
}

// Rules lists every rule by id, those that the parser keeps too.
func Rules() []Rule {
	table, _, _ := strings.Cut(docs.Findings, "\n## ")
	byID := judges()
	var list []Rule
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(row, "| \n"), " | ")
		if len(cells) != 4 || !strings.HasPrefix(cells[0], "[PT") {
			continue
		}
		r := Rule{ID: cells[0][1:6], Name: cells[1], Severity: Severity(cells[2]), Title: cells[3]}
		if i := slices.IndexFunc(byID, func(j Rule) bool { return j.ID == r.ID }); i >= 0 {
			r.step, r.check = byID[i].step, byID[i].check
		}
		r.read(r.Markdown())
		list = append(list, r)
	}
	return list
}

// read takes the text and the examples from the rule's section.
func (r *Rule) read(section string) {
	text, examples, _ := strings.Cut(section, "\nBad:\n\n")
	_, text, _ = strings.Cut(text, ".** ")
	r.Text = strings.TrimSpace(text)
	bad, good, _ := strings.Cut(examples, "\nGood:\n\n")
	r.Bad, r.Good = unfenced(bad), unfenced(good)
}

// unfenced is what stands in a fenced block.
func unfenced(block string) string {
	lines := strings.Split(strings.TrimSpace(block), "\n")
	return strings.Join(lines[1:max(1, len(lines)-1)], "\n")
}

// Markdown is the rule's section of docs/findings.md without its heading.
func (r *Rule) Markdown() string {
	_, section, _ := strings.Cut(docs.Findings, "\n## "+r.ID+"\n\n")
	section, _, _ = strings.Cut(section, "\n## PT")
	return strings.TrimSuffix(section, "\n") + "\n"
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
		r, _ := RuleOf(fmt.Sprintf("PT%03d", number))
		return plan.Meant(r.ID)
	}
	var names []string
	for _, r := range Rules() {
		names = append(names, r.ID, r.Name)
	}
	return plan.Nearest(word, names)
}

// otherText is the id of problems that have no rule of their own.
const otherText = "PT100"

// textRule is the id of the rule for a problem of the text: its name is the code.
func textRule(code string) string {
	if at := strings.Index(docs.Findings, ") | "+code+" | "); at > 5 {
		return strings.ToUpper(docs.Findings[at-5 : at])
	}
	return otherText
}

// parsed turns the parser's problems into findings.
func (p *pass) parsed() {
	var misspelt map[plan.Pos]plan.Label
	if p.doc != nil {
		misspelt = p.doc.misspelt()
	}
	for _, problem := range p.problems {
		p.rule = &Rule{ID: textRule(problem.Code), Severity: Severity(problem.Severity)}
		f := p.report(nil, problem.Pos, problem.Message, problem.Hint)
		f.Step = p.stepAt(problem.Pos)
		p.respelt(f, misspelt[problem.Pos])
	}
}

// stepAt is the id of the step that a place belongs to.
func (p *pass) stepAt(at plan.Pos) string {
	if p.doc == nil {
		return ""
	}
	after, _ := slices.BinarySearchFunc(p.doc.units, at, func(u *unit, at plan.Pos) int {
		return cmp.Or(cmp.Compare(u.Pos.Line, at.Line), cmp.Compare(u.Pos.Column, at.Column+1))
	})
	if after == 0 {
		return ""
	}
	return p.doc.units[after-1].ID.Value
}

// Page is what `verify --explain` prints of the rule: what it says, why, and what
// it looks like, in plain text that ends with a line end.
func (r *Rule) Page() string {
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
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "    " + line
		}
	}
	return strings.Join(lines, "\n")
}
