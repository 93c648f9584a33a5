package template

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

//go:embed empty.md
var empty []byte

// Empty is a plan to fill in. Its step is for the agent, or a script for "".
func Empty(agent string) *plan.Plan {
	p, _ := plan.Parse("", empty)
	if agent != "" {
		s := p.Steps[0]
		s.Target = plan.Is(agent)
		s.Task = plan.Text{Value: "Say what to do, and what it is for."}
	}
	return p
}

// Entitled is the text of a plan with this title and owner. What is no title is an
// [Unfit].
func Entitled(p *plan.Plan, title, owner string) ([]byte, error) {
	title = strings.TrimSpace(title)
	p.Title, p.Issue = plan.Text{Value: title}, ""
	for i := range p.Front {
		if p.Front[i].Name == "owner" {
			p.Front[i].Value, p.Front[i].Raw = owner, ""
		}
	}
	text := plan.Format(p)
	again, problems := plan.Parse("", text)
	for _, p := range problems {
		if p.Severity == plan.Error {
			return nil, &Unfit{fmt.Sprintf("%q cannot be a title: %s", title, p.Message), titleHint}
		}
	}
	if got := again.Title.Value; got == "" || got != title && !strings.HasPrefix(title, got+" (#") {
		return nil, &Unfit{fmt.Sprintf("%q cannot be a title: a plan would show it as %q", title, got), titleHint}
	}
	return text, nil
}

const titleHint = "a title is one line of plain words"
