package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// planFlags are the flags of plan.
type planFlags struct {
	out, file   string
	constraints []string
	again, yes  bool
}

func (a *app) planCmd() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan REQUEST",
		Short: "Have a plan made of a request, by the configured planner",
		Long: `Asks the configured planner for a plan of the request and verifies the answer. If something is
wrong, it goes back with the findings. The planner is asked three times at most. Nothing is run or
approved. At a terminal the plan is written to plans/, with -o to a file, and otherwise printed.
Existing files are kept.

REQUEST is what you want, in words, or - for standard input. It may also be an issue in the JSON of
gh issue view or glab issue view. Then its title, labels, text and link are the request. Its comments
are told as what others said. piton show INTENT shows the link.

The journal keeps the question and the answer. The same question is answered from there, unless the
workspace has changed since, or you give --again.

A configuration that nobody has approved here, on its own or with a plan, needs your yes first. It
says which program is started.`,
		Example: "  piton plan \"Logins on slow connections time out after 30 s; they should not\"\n" +
			"  gh issue view 423 --json number,title,body,labels,url | piton plan - -o plans/login.md\n  piton plan --file request.txt --constraint 'the public API stays as it is'",
		RunE: func(c *cobra.Command, args []string) error {
			request, err := a.request(args, f.file)
			if err != nil {
				return err
			}
			return a.acting(c.Context(), func(s *session) error { return s.plan(c.Context(), request, f) })
		},
	}
	c.Flags().StringVarP(&f.out, "output", "o", "", "write to this new `FILE`; - is standard output")
	c.Flags().StringVar(&f.file, "file", "", "read the request from this `FILE`; - is standard input")
	c.Flags().StringArrayVar(&f.constraints, "constraint", nil, "a `SENTENCE` that the plan must keep to; may be repeated")
	c.Flags().BoolVar(&f.again, "again", false, "ask the planner even if the journal has its answer to this question")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "approve the configuration of this workspace, which says who is asked")
	c.AddCommand(a.walkCmd(false), a.walkCmd(true))
	return c
}

// request is what the person wants: the words of the command line, or what a file holds.
func (a *app) request(args []string, file string) (asked, error) {
	words := strings.Join(args, " ")
	switch {
	case file != "" && len(args) > 0:
		return asked{}, misuse("the request is given twice: as words, and by --file", "give one of them")
	case file == "" && len(args) == 0:
		return asked{}, misuse("what is wanted is missing", `say it: piton plan "Fix the login timeout", or give - or --file`)
	case file == "" && len(args) == 1 && words != "-" && a.aDocument(words):
		return asked{}, misuse(words+" is a plan, and no request", "to have it changed: piton replan "+engine.ShellWord(words)+" --why WHAT; to look at it: piton verify "+engine.ShellWord(words))
	case file == "" && words != "-":
		return asked{request: words}, nil
	}
	body, err := a.content(file)
	if err != nil {
		return asked{}, err
	}
	return ofIssue(body), nil
}

// aDocument reports whether a word names a file that a plan may be in.
func (a *app) aDocument(word string) bool {
	info, err := os.Stat(a.at(word))
	return err == nil && info.Mode().IsRegular() && plan.DocumentName(word)
}

// maxIssue is how long an issue with its comments may be, in bytes.
const maxIssue = 4 << 20

// content reads a file that a person names, or standard input.
func (a *app) content(file string) ([]byte, error) {
	in := a.in
	if file != "" && file != "-" {
		f, err := os.Open(a.at(file))
		if err != nil {
			return nil, misuse(fmt.Sprintf("%s cannot be read: %v", file, errors.Unwrap(err)), "give a file with the request")
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, maxIssue+1))
	switch {
	case err != nil:
		return nil, misuse(fmt.Sprintf("the request cannot be read: %v", err), "")
	case len(body) > maxIssue:
		return nil, misuse(fmt.Sprintf("the request has more than %d bytes", maxIssue), "give less of it")
	}
	return body, nil
}

// plan asks for a plan, waits for it and hands it out.
func (s *session) plan(ctx context.Context, q asked, f planFlags) error {
	a := s.app
	path := f.out
	switch {
	case path == "-":
		path = ""
	case path == "" && isTerminal(a.out) && !a.json && a.server != "":
		path = "plans/"
	case path == "" && isTerminal(a.out) && !a.json:
		if err := s.app.stays(s.Place.Dir, filepath.Join(s.Place.Dir, "plans", "x")); err != nil {
			return err
		}
		path = s.app.nearName(s.Place.Dir) + "/plans/"
	}
	if err := s.isFree(ctx, path); err != nil {
		return err
	}
	point("client before request")
	say := api.Planning{
		Request: q.request, Comments: q.comments, Link: q.link, Constraints: f.constraints, Path: path, Again: f.again,
	}
	_, row, err := s.errand(ctx, question{
		what: "for a plan", role: "the planner", model: s.Config.Planner, yes: f.yes,
		ask: func(yes api.Consent) (api.Planned, error) {
			say.Consent = yes
			return s.client.Plan(ctx, say)
		},
	})
	if err != nil {
		return err
	}
	return s.drawn(ctx, row)
}

// planDoc is a plan that was made, for programs. File is null where none was written.
type planDoc struct {
	File      *string          `json:"file"`
	Errand    string           `json:"errand"`
	Plan      string           `json:"plan"`
	OK        bool             `json:"ok"`
	Text      string           `json:"text"`
	Reasoning string           `json:"reasoning"`
	Changes   string           `json:"changes"`
	Rounds    int              `json:"rounds"`
	Ended     string           `json:"ended"`
	Findings  []verify.Finding `json:"findings"`
	Diff      *view.Diff       `json:"diff,omitempty"` // to the text that it takes the place of
}

// drawn hands out what came of an errand.
func (s *session) drawn(ctx context.Context, row engine.ErrandRow) error {
	doc, err := s.draft(ctx, row)
	if err != nil {
		return err
	}
	path, err := s.writeDrawn(ctx, row)
	if err != nil {
		return err
	}
	if path != "" {
		doc.File = &path
	}
	return s.showDrawn(doc)
}

// draft is the plan that a planner answered with.
func (s *session) draft(ctx context.Context, row engine.ErrandRow) (doc planDoc, err error) {
	out, err := s.answer(ctx, row)
	if err == nil && out.Source == nil {
		err = noPlan(row, out.Said)
	}
	return planDoc{
		Errand: row.Asked.Errand, Plan: row.Plan, OK: out.OK(), Text: string(out.Source), Reasoning: out.Reasoning, Changes: out.Changes, Rounds: out.Rounds,
		Ended: out.Ended, Findings: append([]verify.Finding{}, out.Findings...),
	}, err
}

// noPlan is the problem of an errand without a plan. What the planner said instead is
// shown with it.
func noPlan(row engine.ErrandRow, said string) error {
	end, log := row.Ended, "piton log "+row.Asked.Errand
	text := "the planner made no plan: " + end.Reason
	if end.How != engine.Exited {
		return api.Fault(text, log+" has what it said; piton agents and piton doctor say more; piton plan asks again")
	}
	return diverged{&api.Problem{
		Code: api.Conflict, Message: text, Words: proc.Plain([]byte(said)),
		Hint: log + " has all of what it said; say more exactly what is wanted, or write the plan by hand: piton new TITLE",
	}}
}

// writeDrawn writes the plan to the document that the journal has it for; "" is none.
func (s *session) writeDrawn(ctx context.Context, row engine.ErrandRow) (string, error) {
	if row.Asked.Path == "" || row.Plan == "" {
		return "", nil
	}
	path, err := s.Document(ctx, row.Plan)
	if err != nil {
		return "", err
	}
	if s.app.server == "" {
		if err := s.app.stays(s.Place.Dir, path); err != nil {
			return "", err
		}
		path = s.app.nearName(path)
	}
	if err := s.isFree(ctx, path); err != nil {
		return path, err
	}
	_, err = s.client.Restore(ctx, api.Restore{Path: path, Plan: row.Plan})
	return path, err
}

// isFree fails where the workspace has a file already, or could not have it. In a directory a
// file gets a name that is free.
func (s *session) isFree(ctx context.Context, path string) error {
	switch {
	case path == "" || strings.HasSuffix(path, "/") || s.app.server == "" && !isThere(s.app.at(path)):
		return nil
	case s.app.server == "":
		return taken(path)
	}
	_, err := s.Text(ctx, api.NamedText{Path: path})
	switch {
	case err == nil:
		return taken(path)
	case api.Explain(err).Code == api.NotFound:
		return nil
	}
	return err
}

// showDrawn prints a plan that was made, and what is wrong with it.
func (s *session) showDrawn(doc planDoc) error {
	a := s.app
	if a.json {
		a.document("draft", doc)
	} else {
		a.showFindings(a.err, doc.Findings)
		switch {
		case doc.File != nil:
			fmt.Fprintf(a.out, "wrote %s\n", proc.Plain([]byte(*doc.File)))
		case isTerminal(a.out):
			fmt.Fprint(a.out, proc.Plain([]byte(doc.Text)))
		default:
			fmt.Fprint(a.out, doc.Text)
		}
		a.sayDrawn(doc)
	}
	if !doc.OK {
		return ended(exitPlan)
	}
	return nil
}

func (a *app) sayDrawn(doc planDoc) {
	name := "FILE"
	if doc.File != nil {
		name = engine.ShellWord(*doc.File)
	}
	if doc.Ended != "" {
		a.notice("%s", doc.Ended)
	}
	if !doc.OK {
		a.notice("the plan does not verify; correct it, then: piton verify %s", name)
		return
	}
	a.notice("next: piton review %s, or piton run %s", name, name)
}
