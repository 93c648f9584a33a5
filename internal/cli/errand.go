package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/planner"
)

// mostOwners is how many owners may die while one errand is waited for.
const mostOwners = 5

// errDrawn ends waiting for an errand.
var errDrawn = errors.New("the errand is over")

// question is one that is put to a model for no step of a run.
type question struct {
	what  string // is asked for, with its preposition
	role  string // of the model, such as "the planner"
	model config.Model
	yes   bool // to the configuration, which names who is asked
	ask   func(api.Consent) (api.Planned, error)
}

// errand asks, and waits for what comes of it.
func (s *session) errand(ctx context.Context, q question) (who string, row engine.ErrandRow, err error) {
	planned, err := s.consented(q)
	if err != nil {
		return "", row, err
	}
	if row, err = s.await(ctx, planned, q.what); err == nil && row.Ended == nil {
		s.app.notice("the request was withdrawn by %s", row.Withdrawn)
		err = ended(exitInterrupt)
	}
	return planned.Who, row, err
}

// consented asks, and once more with a person's yes to the configuration where that is
// missing.
func (s *session) consented(q question) (api.Planned, error) {
	planned, err := q.ask(api.Consent{Yes: q.yes})
	if err != nil || planned.Needs == "" {
		return planned, err
	}
	if err := s.trust(planned.Who, q); err != nil {
		return planned, err
	}
	return q.ask(api.Consent{Yes: true, Settings: s.Settings()})
}

// trust asks for a yes to the configuration.
func (s *session) trust(who string, q question) error {
	a, m := s.app, q.model
	what := fmt.Sprintf("%s, at %s", who, cmp.Or(m.BaseURL, m.API))
	if m.KeyEnv != "" {
		what += ", which gets the key in " + m.KeyEnv
	}
	switch {
	case a.server != "":
		what = who // its command is the server's
	case m.Agent != "":
		what = fmt.Sprintf("%s: %s", who, strings.Join(s.Config.Agents[m.Agent].Command, " "))
	}
	text := fmt.Sprintf("nobody has approved the configuration of this workspace, %s; by it %s is %s", config.File, q.role, a.theme(a.err).line(what))
	if a.asks() {
		a.notice("%s", text)
		if a.confirm("Approve this configuration?") {
			return nil
		}
		a.notice("not approved; nobody was asked")
		return ended(exitWaiting)
	}
	return waiting{&api.Problem{Code: api.Denied, Message: text, Hint: "look at it with piton config show --origin, then: " + a.again("--yes")}}
}

// again is the command that was given, with a flag more, to be pasted.
func (a *app) again(flag string) string {
	said := []string{"piton"}
	for _, word := range append(slices.Clone(a.args), flag) {
		said = append(said, engine.ShellWord(word))
	}
	return strings.Join(said, " ")
}

// waiting is a problem that a person's yes takes away.
type waiting struct{ *api.Problem }

func (w waiting) Unwrap() error { return w.Problem }

// await waits until an errand is over. Ctrl-C withdraws it; without this process it
// goes on.
func (s *session) await(ctx context.Context, planned api.Planned, what string) (row engine.ErrandRow, err error) {
	if row, err = s.Errand(ctx, planned.Errand); err != nil || row.Over() {
		if err == nil {
			s.app.notice("errand %s: the journal has the answer of %s to this question; --again asks once more", planned.Errand, planned.Who)
		}
		return row, err
	}
	verb := "asking"
	if planned.Known {
		verb = "still asking"
	}
	s.app.notice("errand %s: %s %s %s; Ctrl-C withdraws the request", planned.Errand, verb, planned.Who, what)
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

// diverged is a problem of work that got no nearer to its end.
type diverged struct{ *api.Problem }

func (d diverged) Unwrap() error { return d.Problem }
