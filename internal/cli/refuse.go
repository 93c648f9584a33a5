package cli

import (
	"errors"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan/tasklist"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// refuse says why a plan cannot be used: to people where notices go, to programs
// as the one document of the verb.
func (a *app) refuse(doc *api.Document) error {
	a.noteTasks(doc)
	return a.stops(view.FindingsOf(doc))
}

// noteTasks says of a document that is no plan but a task list what to do with it.
func (a *app) noteTasks(doc *api.Document) {
	if kind := tasklist.Of(doc.Source); kind != "" && !a.json {
		a.notice("%s is a task list (%s): piton import %s makes a plan of it", doc.Path, kind, engine.ShellWord(doc.Path))
	}
}

func (a *app) stops(d view.Findings) error {
	if a.json {
		a.document("findings", d)
	} else {
		a.showFindings(a.err, api.Serious(d.Findings))
	}
	return ended(exitPlan)
}

// fit compiles a plan that verifies and that this version can run, and refuses
// any other: nobody is asked for a yes to what cannot run.
func (s *session) fit(doc *api.Document) (api.Compiled, error) {
	if !doc.OK() {
		return api.Compiled{}, s.app.refuse(doc)
	}
	compiled, err := s.Compile(doc, "dry-run")
	if err != nil {
		return compiled, s.app.runnable(doc, err)
	}
	s.app.showFindings(s.app.err, api.Serious(doc.Findings))
	return compiled, nil
}

// runnable shows why a sound plan cannot be run by this version.
func (a *app) runnable(doc *api.Document, err error) error {
	refusal, ok := errors.AsType[*verify.Refusal](err)
	if !ok {
		return err
	}
	a.notice("this version cannot run the plan:")
	return a.stops(view.RefusalOf(doc, refusal))
}

// waits reports whether a verb ended because a person has to say something.
func waits(err error) bool {
	return err == ended(exitWaiting)
}
