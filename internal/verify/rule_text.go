package verify

import "github.com/piton-dev/piton/internal/plan"

// textRule is a rule that the parser of plans keeps: a code of its problems
// with the id and the words under which people see it.
type textRule struct {
	id, code, title, text string
}

// textRules lists the rules of the document's text. Their findings have the
// severity of the problem.
func textRules() []Rule {
	var rules []Rule
	examples := textExamples()
	for _, t := range textTable() {
		piece := examples[t.id]
		rules = append(rules, Rule{ID: t.id, Name: t.code, Title: t.title, Text: t.text, Severity: t.severity(), Bad: piece[0], Good: piece[1]})
	}
	return rules
}

// severity is what most findings of the rule have.
func (t textRule) severity() Severity {
	switch t.code {
	case plan.UnknownKey:
		return Note
	case plan.HeadingInStep, plan.DuplicateNumber, plan.HiddenLabel, plan.TextBesideBlock, plan.TextInList, plan.BadStatus:
		return Warning
	}
	return Error
}

// otherText is the id of problems that have no rule of their own.
const otherText = "PT100"

// parsed turns the parser's problems into findings.
func (p *pass) parsed() {
	ids := map[string]string{}
	for _, t := range textTable() {
		ids[t.code] = t.id
	}
	for _, problem := range p.problems {
		id, known := ids[problem.Code]
		if !known {
			id = otherText
		}
		p.rule = &Rule{ID: id, Severity: Severity(problem.Severity)}
		p.report(nil, problem.Pos, problem.Message, problem.Hint).Step = p.stepAt(problem.Pos)
	}
}

// stepAt is the id of the step that a place belongs to.
func (p *pass) stepAt(at plan.Pos) string {
	if p.doc == nil {
		return ""
	}
	units := p.doc.units
	low, high := 0, len(units)
	for low < high { // the first step that begins after the place
		middle := (low + high) / 2
		if from := units[middle].Pos; from.Line > at.Line || from.Line == at.Line && from.Column > at.Column {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if low == 0 {
		return ""
	}
	return units[low-1].ID.Value
}

func textTable() []textRule {
	return []textRule{
		{otherText, "text", "the text of the plan has a problem", "The message says what it is."},
		{"PT101", plan.TooLarge, "the file is too large", "A plan is at most 8 MiB, so that reading it never costs more than its size. Move long context into files and subscribe to them."},
		{"PT102", plan.NotUTF8, "the file is not UTF-8", "Plans are UTF-8 text: what a reviewer reads is what runs."},
		{"PT103", plan.NULByte, "the file has a NUL byte", "A NUL byte ends a text for some programs and not for others."},
		{"PT104", plan.BadCharacter, "a character hides what is written", "Control characters, direction overrides and characters without width make a reader see something else than what runs."},
		{"PT105", plan.LineTooLong, "a line is too long", "A line is at most 64 KiB. Break it."},
		{"PT106", plan.TooManySteps, "the plan has too many steps", "A plan has at most 10,000 steps; the rest is not read. Split it."},
		{"PT107", plan.TooManyProblems, "the plan has more problems than are listed", "Mend the listed ones first."},
		{"PT108", plan.ScriptTooLong, "a script is too long", "A contract, check or setup is at most 64 KiB. Move it into a file of the workspace and call it."},
		{"PT109", plan.HiddenText, "the text is not shown where the plan is read", "What a code host does not show, a reviewer does not see. Write it as visible text."},
		{"PT110", plan.UnclosedFrontmatter, "the frontmatter has no end", "The frontmatter stands between two lines of `---`."},
		{"PT111", plan.FrontmatterTooLong, "the frontmatter is too long", "It is at most 16 KiB. What is for people belongs into the body."},
		{"PT112", plan.BadFrontmatter, "the frontmatter cannot be read", "It is YAML: one key with a value a line."},
		{"PT113", plan.MissingFrontmatter, "the plan has no frontmatter", "A plan begins with `---`, `type: plan`, `status: draft`, `owner:` and `---`."},
		{"PT114", plan.MissingKey, "the frontmatter lacks a key", "`type`, `status` and `owner` are required by the format."},
		{"PT115", plan.DuplicateKey, "a key of the frontmatter occurs twice", "Only one of them can be meant."},
		{"PT116", plan.UnknownKey, "a key of the frontmatter means nothing here", "It is kept and ignored."},
		{"PT117", plan.NotAPlan, "the document is no plan", "The frontmatter says `type: plan`."},
		{"PT120", plan.MissingTitle, "the plan has no title", "A plan has one heading `# Title`."},
		{"PT121", plan.MissingStepTitle, "a step has no title", "Write it after the number: `### 1. Title`."},
		{"PT122", plan.NoSteps, "the plan has no steps", "Steps are headings such as `### 1. Title` below `## Steps`."},
		{"PT123", plan.BadStepHeading, "a heading looks like a step and is none", "A step begins with `### N. Title`."},
		{"PT124", plan.HeadingInStep, "a heading stands inside of a step", "Only steps have headings below `## Steps`; what follows would not be read as part of the step."},
		{"PT125", plan.TwoMarks, "a heading has two marks", "The mark after the number is written by the harness, one at most."},
		{"PT126", plan.DuplicateNumber, "two steps have the same number", "Numbers are for people, and a reference to this one is ambiguous."},
		{"PT127", plan.DuplicateID, "two steps have the same id", "An id names one step, in this revision and in later ones."},
		{"PT128", plan.UnclosedFence, "a fenced block has no end", "Everything after it would belong to the block."},
		{"PT130", plan.UnknownLabel, "a label is not known", "Labels are the words of the format; a misspelt one would silently do nothing."},
		{"PT131", plan.MisplacedLabel, "a label stands where it means nothing", "Some labels belong to the header, some to a step."},
		{"PT132", plan.DuplicateLabel, "a label occurs twice", "Only one of them can be meant."},
		{"PT133", plan.HiddenLabel, "a label stands where it is not read", "A label begins its line."},
		{"PT134", plan.EmptyLabel, "a label has no value", "Write a value, or take the label away."},
		{"PT135", plan.UnexpectedFence, "a fenced block belongs to no label", "A block belongs to the label above it, and this label takes none."},
		{"PT136", plan.NeedsFence, "a value must stand in a fenced block", "What runs is shown verbatim: between two lines of ```."},
		{"PT137", plan.TextBesideBlock, "text stands beside a fenced block", "Only the block is the value."},
		{"PT138", plan.TextInList, "text stands in a list", "A list has one item a line, each with a bullet."},
		{"PT139", plan.TwoContracts, "a step has two contracts", "One contract decides; further commands are `checks:`."},
		{"PT140", plan.TwoBlocks, "a label has two fenced blocks", "Only one of them can be meant."},
		{"PT141", plan.NotShell, "a block that runs is not marked as shell", "Contracts, checks and setups are shell scripts."},
		{"PT142", plan.BadLanguage, "a block is not in a language its label takes", "The word after the opening fence says what the block is."},
		{"PT150", plan.BadID, "an id cannot be used", "Ids are lower-case letters, digits, `-` and `_`, with at least one letter, at most 60 characters."},
		{"PT151", plan.BadWord, "a value is none of the allowed words", "The message lists them."},
		{"PT152", plan.BadNumber, "a value is not a number in range", "The message gives the range."},
		{"PT153", plan.BadDuration, "a value is not a duration", "Durations have a unit: 30s, 10m, 1h30m, 2 days."},
		{"PT154", plan.BadBudget, "a budget cannot be read", "As in `max 200k tokens, $1.50, 20 minutes`: any of them, in any order."},
		{"PT155", plan.BadOnFail, "`on_fail` cannot be read", "As in `retry(2), then escalate`: escalate, abort, skip or replan."},
		{"PT156", plan.BadExitCode, "an exit code cannot be read", "Below the contract's block: `exit_code == N`, 0 to 255."},
		{"PT157", plan.BadSubscription, "a subscription cannot be read", "A list of `file:path`, `topic:name` and `step:id`."},
		{"PT158", plan.BadCheck, "a check cannot be read", "A list of `name: command`, with `(optional)` after a name that need not pass."},
		{"PT159", plan.BadEnv, "a name of a variable cannot be used", "Letters, digits and `_`, and no digit first."},
		{"PT160", plan.BadStatus, "a status was written by hand", "It is a projection that the harness writes; editing it changes nothing."},
		{"PT170", plan.BadSyntax, "the text is neither YAML nor JSON", "A plan in YAML or JSON is one document of that syntax. The message says what was expected."},
		{"PT171", plan.BadAlias, "the document uses anchors, aliases or tags", "They make a text mean something else than it shows. Write each value out."},
		{"PT172", plan.TooDeep, "the document is nested too deep", "At most 64 levels: more is no plan that people read."},
		{"PT173", plan.WrongType, "a value is of another type than its key takes", "The message says which one; `piton schema` prints all of them."},
		{"PT174", plan.UnknownField, "a key is not known", "A misspelt key would silently do nothing. `piton schema` prints all keys of a form."},
		{"PT175", plan.DuplicateField, "a key occurs twice", "Only one of them can be meant."},
		{"PT176", plan.MissingField, "a key is missing", "The form requires it; `piton schema` prints which ones."},
		{"PT177", plan.BadIndex, "an index is not a step's", "`dependsOn` counts steps from 0, in the order of the list; `index` is the step's own place in it."},
		{"PT178", plan.SeveralLines, "a value must be one line", "Titles, names and numbers are one line; what is longer belongs into `instructions` or `context`."},
		{"PT179", plan.NotHeld, "the form cannot hold this", "The value means nothing to a run. It is kept as long as the plan stays in its form."},
		{"PT161", plan.TooManyItems, "a list has too many items", "Use a glob, or split the step."},
	}
}
