package plan

import (
	"cmp"
	"slices"
	"strings"
)

// Codes of problems. They are stable: tools and texts refer to them.
const (
	TooLarge        = "too-large"
	NotUTF8         = "not-utf8"
	NULByte         = "nul-byte"
	BadCharacter    = "bad-character"
	LineTooLong     = "line-too-long"
	TooManySteps    = "too-many-steps"
	TooManyItems    = "too-many-items"
	TooManyProblems = "too-many-problems"
	ScriptTooLong   = "script-too-long"
	HiddenText      = "hidden-text"

	UnclosedFrontmatter = "unclosed-frontmatter"
	FrontmatterTooLong  = "frontmatter-too-long"
	BadFrontmatter      = "bad-frontmatter"
	MissingFrontmatter  = "missing-frontmatter"
	MissingKey          = "missing-key"
	DuplicateKey        = "duplicate-key"
	UnknownKey          = "unknown-key"
	NotAPlan            = "not-a-plan"
	LabelInFront        = "label-in-frontmatter"

	MissingTitle     = "missing-title"
	MissingStepTitle = "missing-step-title"
	NoSteps          = "no-steps"
	BadStepHeading   = "bad-step-heading"
	HeadingInStep    = "heading-in-step"
	TwoMarks         = "two-marks"
	DuplicateNumber  = "duplicate-number"
	DuplicateID      = "duplicate-id"
	UnclosedFence    = "unclosed-fence"

	UnknownLabel    = "unknown-label"
	MisplacedLabel  = "misplaced-label"
	DuplicateLabel  = "duplicate-label"
	HiddenLabel     = "hidden-label"
	EmptyLabel      = "empty-label"
	UnexpectedFence = "unexpected-fence"
	NeedsFence      = "needs-fence"
	TextBesideBlock = "text-beside-block"
	TextInList      = "text-in-list"
	TwoContracts    = "two-contracts"
	TwoBlocks       = "two-blocks"
	NotShell        = "not-shell"
	BadLanguage     = "bad-language"

	BadID           = "bad-id"
	BadWord         = "bad-word"
	BadNumber       = "bad-number"
	BadDuration     = "bad-duration"
	BadBudget       = "bad-budget"
	BadOnFail       = "bad-on-fail"
	BadExitCode     = "bad-exit-code"
	BadSubscription = "bad-subscription"
	BadCheck        = "bad-check"
	BadEnv          = "bad-env"
	BadStatus       = "bad-status"

	// of forms that are not Markdown
	BadSyntax      = "bad-syntax"
	BadAlias       = "bad-alias"
	TooDeep        = "too-deep"
	WrongType      = "wrong-type"
	UnknownField   = "unknown-field"
	DuplicateField = "duplicate-field"
	MissingField   = "missing-field"
	BadIndex       = "bad-index"
	SeveralLines   = "several-lines"
)

// Problems gathers what was found, up to [MaxProblems]. The zero value has none.
type Problems struct {
	list []Problem
	more bool
}

// Add notes a problem, or that there are too many.
func (p *Problems) Add(at Pos, s Severity, code, message, hint string) {
	if p.Full() {
		p.more = true
		return
	}
	p.list = append(p.list, Problem{at, s, code, clipped(message), hint})
}

// clipped is a message that holds no more of a long value than people read.
func clipped(message string) string {
	const most = 400
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most], "") + "…"
}

// Full reports whether further problems are only counted.
func (p *Problems) Full() bool { return len(p.list) >= MaxProblems }

// Sorted returns the problems in the order of their places.
func (p *Problems) Sorted() []Problem {
	if p.more {
		p.list = append(p.list, Problem{
			Pos: Pos{1, 1}, Severity: Error, Code: TooManyProblems,
			Message: "the plan has more problems than are listed here",
			Hint:    "fix these first",
		})
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return p.list
}
