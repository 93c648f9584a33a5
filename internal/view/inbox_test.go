package view_test

import (
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// What plans say does nothing in a command that a person pastes.
func TestCommandsForPeople(t *testing.T) {
	path := engine.PlanDrafted{Path: "plans/$(touch x) y.md"}
	weaker := path
	weaker.Weakened = []string{"less"}
	for want, is := range map[string]string{
		`piton answer 7f/1 '$(touch x)'`:                 view.Answering("7f/1", "", "$(touch x)"),
		`piton answer 7f/1 'a\'`:                         view.Answering("7f/1", "", `a\`),
		`piton answer 7f/1 small`:                        view.Answering("7f/1", "", "small"),
		`piton approve 'plans/$(touch x) y.md'`:          view.ToRun(&engine.Revision{Drafted: path}),
		`piton approve 'plans/$(touch x) y.md' --weaker`: view.ToRun(&engine.Revision{Drafted: weaker}),
		`piton run 'plans/$(touch x) y.md'`:              view.ToRun(&engine.Revision{Drafted: path, Answer: &engine.PlanAnswered{Yes: true}}),
		`piton approve plans/fix.md`:                     view.ToRun(&engine.Revision{Drafted: engine.PlanDrafted{Path: "plans/fix.md"}}),
	} {
		if is != want {
			t.Errorf("%s, want %s", is, want)
		}
	}
}
