package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/planner"
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
	case file == "" && len(args) == 1 && words != "-" && aDocument(words):
		return asked{}, misuse(words+" is a plan, and no request", "to have it changed: piton replan "+words+" --why WHAT; to look at it: piton verify "+words)
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
func aDocument(word string) bool {
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular() && slices.Contains([]string{".md", ".yaml", ".yml", ".json"}, filepath.Ext(word))
}

// maxIssue is how long an issue with its comments may be, in bytes.
const maxIssue = 4 << 20

// content reads a file that a person names, or standard input.
func (a *app) content(file string) ([]byte, error) {
	in := a.in
	if file != "" && file != "-" {
		f, err := os.Open(file)
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

// mostOwners is how many owners may die while one errand is waited for.
const mostOwners = 5

// errDrawn ends waiting for an errand.
var errDrawn = errors.New("the errand is over")

// plan asks for a plan, waits for it and hands it out.
func (s *session) plan(ctx context.Context, q asked, f planFlags) error {
	a := s.app
	path := f.out
	switch {
	case path == "-":
		path = ""
	case path == "" && isTerminal(a.out) && !a.json:
		if err := stays(s.Place.Dir, filepath.Join(s.Place.Dir, "plans", "x")); err != nil {
			return err
		}
		path = nearName(s.Place.Dir) + "/plans/"
	case path != "":
		if _, err := os.Lstat(path); err == nil {
			return &api.Problem{Code: api.Conflict, Message: path + " exists already and is not overwritten", Hint: "give another file with -o, or remove it first"}
		}
	}
	point("client before request")
	say := api.Planning{
		Request: q.request, Comments: q.comments, Link: q.link, Constraints: f.constraints, Path: path, Again: f.again,
	}
	planned, err := s.consented(f.yes, "the planner", s.Config.Planner, "piton plan --yes", func(yes api.Consent) (api.Planned, error) {
		say.Consent = yes
		return s.client.Plan(ctx, say)
	})
	if err != nil {
		return err
	}
	row, err := s.awaitErrand(ctx, planned, "for a plan")
	if err != nil {
		return err
	}
	return s.drawn(ctx, row)
}

// consented asks, and once more with a person's yes to the configuration where that is
// missing: it names who is asked.
func (s *session) consented(yes bool, role string, m config.Model, how string, ask func(api.Consent) (api.Planned, error)) (api.Planned, error) {
	planned, err := ask(api.Consent{Yes: yes})
	if err != nil || planned.Needs == "" {
		return planned, err
	}
	if err := s.trust(planned.Who, role, m, how); err != nil {
		return planned, err
	}
	return ask(api.Consent{Yes: true, Settings: s.Settings()})
}

// trust asks for a yes to the configuration.
func (s *session) trust(who, role string, m config.Model, how string) error {
	a := s.app
	what := fmt.Sprintf("%s, at %s", who, cmp.Or(m.BaseURL, m.API))
	if m.KeyEnv != "" {
		what += ", which gets the key in " + m.KeyEnv
	}
	if m.Agent != "" {
		what = fmt.Sprintf("%s: %s", who, strings.Join(s.Config.Agents[m.Agent].Command, " "))
	}
	text := fmt.Sprintf("nobody has approved the configuration of this workspace, %s; by it %s is %s", config.File, role, a.theme(a.err).line(what))
	if a.asks() {
		a.notice("%s", text)
		if a.confirm("Approve this configuration?") {
			return nil
		}
		a.notice("not approved; nobody was asked")
		return ended(exitWaiting)
	}
	return waiting{&api.Problem{Code: api.Denied, Message: text, Hint: "look at it with piton config show --origin, then: " + how}}
}

// waiting is a problem that a person's yes takes away.
type waiting struct{ *api.Problem }

func (w waiting) Unwrap() error { return w.Problem }

// awaitErrand waits until an errand is over. Ctrl-C withdraws it; without this process
// it goes on.
func (s *session) awaitErrand(ctx context.Context, planned api.Planned, what string) (row engine.ErrandRow, err error) {
	if row, err = s.Errand(ctx, planned.Errand); err != nil || row.Over() {
		if err == nil {
			s.app.notice("the journal has the answer of %s to this question; --again asks once more", planned.Who)
		}
		return row, err
	}
	verb := "asking"
	if planned.Known {
		verb = "still asking"
	}
	s.app.notice("%s %s %s; Ctrl-C withdraws the request", verb, planned.Who, what)
	until, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	for deaths := 0; err == nil && !row.Over(); {
		err = s.client.Carry(until, engine.WorkspaceStream, api.Leave, func() (err error) {
			if row, err = s.Errand(ctx, planned.Errand); err == nil && row.Over() {
				err = errDrawn
			}
			return err
		})
		if deaths++; api.ErrGone(err) && deaths < mostOwners {
			err = nil // the next owner goes on
		}
	}
	if until.Err() != nil && !row.Over() {
		if _, err := s.client.Withdraw(ctx, api.Withdrawal{Errand: planned.Errand}); err != nil {
			return row, err
		}
		s.app.notice("the request is withdrawn")
		return row, ended(exitInterrupt)
	}
	if errors.Is(err, errDrawn) {
		err = nil
	}
	return row, err
}

// planDoc is a plan that was made, for programs. File is null where none was written.
type planDoc struct {
	File      *string          `json:"file"`
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
	a := s.app
	if row.Ended == nil {
		a.notice("the request was withdrawn by %s", row.Withdrawn)
		return ended(exitInterrupt)
	}
	out, err := s.outcome(ctx, row)
	if err != nil {
		return err
	}
	doc := planDoc{
		Plan: row.Plan, OK: out.OK(), Text: string(out.Source), Reasoning: out.Reasoning, Changes: out.Changes, Rounds: out.Rounds,
		Ended: out.Ended, Findings: append([]verify.Finding{}, out.Findings...),
	}
	path, err := s.writeDrawn(ctx, row, out.Source)
	if err != nil {
		return err
	}
	if path != "" {
		doc.File = &path
	}
	return s.showDrawn(doc)
}

// outcome is what a planner answered, which is a plan.
func (s *session) outcome(ctx context.Context, row engine.ErrandRow) (out planner.Outcome, err error) {
	if out, err = s.answer(ctx, row); err == nil && out.Source == nil {
		err = noPlan(row.Ended)
	}
	return out, err
}

// answer is what a planner answered.
func (s *session) answer(ctx context.Context, row engine.ErrandRow) (out planner.Outcome, err error) {
	if row.Ended.Output == "" {
		return out, nil
	}
	body, err := s.Store.Object(ctx, row.Ended.Output)
	if err == nil {
		err = json.Unmarshal(body, &out)
	}
	if err != nil {
		return out, fmt.Errorf("read what the planner answered: %w", err)
	}
	return out, nil
}

// noPlan is the problem of an errand without a plan.
func noPlan(end *engine.WorkEnded) error {
	text := "the planner made no plan: " + end.Reason
	if end.How != engine.Exited {
		return api.Fault(text, "piton agents and piton doctor say more; piton plan asks again")
	}
	return diverged{&api.Problem{Code: api.Conflict, Message: text, Hint: "say more exactly what is wanted, or write the plan by hand: piton new TITLE"}}
}

// diverged is a problem of work that got no nearer to its end.
type diverged struct{ *api.Problem }

func (d diverged) Unwrap() error { return d.Problem }

// writeDrawn writes the plan to the document that the journal has it for; "" is none.
func (s *session) writeDrawn(ctx context.Context, row engine.ErrandRow, source []byte) (string, error) {
	if row.Asked.Path == "" || row.Plan == "" {
		return "", nil
	}
	path, err := s.Document(ctx, row.Plan)
	if err != nil {
		return "", err
	}
	if err := stays(s.Place.Dir, path); err != nil {
		return "", err
	}
	path = nearName(path)
	return path, writeNew(path, source)
}

// showDrawn prints a plan that was made, and what is wrong with it.
func (s *session) showDrawn(doc planDoc) error {
	a := s.app
	if a.json {
		a.document("draft", doc)
	} else {
		a.showFindings(a.err, doc.Findings)
		if doc.File == nil {
			fmt.Fprint(a.out, doc.Text)
		} else {
			fmt.Fprintf(a.out, "wrote %s\n", *doc.File)
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
		name = *doc.File
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
