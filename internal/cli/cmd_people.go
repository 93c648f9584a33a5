package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// order is a verb that commands a run.
func (a *app) order(use, short, long string, verb engine.Verb) *cobra.Command {
	return &cobra.Command{
		Example: "  piton " + use + "\n  piton " + use + " 7f3a21",
		Use:     use + " [RUN]", Short: short, Long: long, Args: atMost("a run", 1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.command(c.Context(), first(args), "", engine.Command{Verb: verb})
		},
	}
}

func (a *app) pauseCmd() *cobra.Command {
	return a.order("pause", "Pause a run: start nothing new", "Steps that work now finish. Nothing new starts until piton resume.", engine.DoPause)
}

func (a *app) cancelCmd() *cobra.Command {
	c := a.order("cancel", "Stop a run for good, or withdraw a request to a model",
		"Stops the work and ends the run. It cannot be resumed; piton run opens a new one.\n\nAn ERRAND, such as a plan that is being made, is withdrawn: its agent is stopped, and nothing comes of\nit. piton status shows those under way.", engine.DoCancel)
	c.Use = "cancel [RUN|ERRAND]"
	c.SuggestFor = []string{"abort", "kill", "stop"}
	c.Example += "\n  piton cancel e-5c01d2"
	return c
}

// stepOrder is a verb that commands one step.
func (a *app) stepOrder(use, short, long, example string, verb engine.Verb) *cobra.Command {
	var runID string
	cmd := engine.Command{Verb: verb}
	c := &cobra.Command{
		Example: example,
		Use:     use + " STEP", Short: short, Long: long, Args: exactly("a step", 1),
		RunE: func(c *cobra.Command, args []string) error { return a.command(c.Context(), runID, args[0], cmd) },
	}
	c.Flags().StringVar(&runID, "run", "", "the run, instead of the newest")
	whyFlag(c, &cmd.Why, "why", "text", "the reason, which is recorded")
	if verb == engine.DoRetry {
		c.Flags().BoolVar(&cmd.From, "from", false, "retry the step and all steps that need it, also those that are done")
	}
	return c
}

func (a *app) retryCmd() *cobra.Command {
	return a.stepOrder("retry", "Try a step once more", "Gives a failed, skipped or waiting step one more attempt. If the run has failed, it continues with\npiton resume.", "  piton retry write-tests\n  piton retry 2 --from --run 7f3a21", engine.DoRetry)
}

func (a *app) skipCmd() *cobra.Command {
	return a.stepOrder("skip", "Leave a step out", "Skips a step, with a reason. Steps that need it go on without it.", "  piton skip write-docs --why \"written by hand\"", engine.DoSkip)
}

func (a *app) waiveCmd() *cobra.Command {
	return a.stepOrder("waive", "Accept a step without proof, in your name", "A waived step is not done. Its status stays visible, with your name and the reason.", "  piton waive check-links --why \"the site is down today\"", engine.DoWaive)
}

func (a *app) vouchCmd() *cobra.Command {
	return a.stepOrder("vouch", "Say that what a step changed is its work", `For a step whose checks pass and that is unproven: they opened files that the step itself changed, and
its plan has no writes: for these. You say that these files are the work. The proof then treats them
as if writes: named them. A step that is done is proven at once. The checks of one that waits for you
are asked again. piton why shows which files they are. Look at them first: a file that decides what
the checks say is not the work. Your word covers the attempt that you saw; a later one needs it again.`, "  piton vouch fix-parser\n  piton vouch 2 --run 7f3a21", engine.DoVouch)
}

func (a *app) forceCmd() *cobra.Command {
	var runID string
	cmd := engine.Command{Verb: engine.DoForce}
	c := &cobra.Command{
		Use: "force-agent STEP AGENT", Short: "Choose the agent of a step",
		Long: `From its next attempt on, this agent does the step, whatever the plan or the rules say. An attempt
that is under way goes on. The contract decides as before.`,
		Example: "  piton force-agent write-tests reviewer --why \"knows the test suite\"",
		Args:    exactly("a step and an agent", 2),
		RunE: func(c *cobra.Command, args []string) error {
			cmd.Role = args[1]
			return a.command(c.Context(), runID, args[0], cmd)
		},
	}
	c.Flags().StringVar(&runID, "run", "", "the run, instead of the newest")
	whyFlag(c, &cmd.Why, "why", "text", "the reason, which is recorded")
	return c
}

// whyFlag is the flag for a person's words, by either of its names.
func whyFlag(c *cobra.Command, words *string, name, other, means string) {
	c.Flags().StringVar(words, name, "", means+"; --"+other+" is the same")
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == other {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}

func (a *app) replanCmd() *cobra.Command {
	cmd := engine.Command{Verb: engine.DoReplan}
	again, yes := false, false
	c := &cobra.Command{
		Use: "replan [RUN|PLAN]", Short: "Have a plan, or one step of it, revised by the planner",
		Long: `Asks the configured planner for the next revision of the plan that a run goes by. What works now
finishes first, and nothing new starts meanwhile. Steps that the revision leaves as they are keep
their proof. A revision that proves or guards less than the plan does waits for your approval in the
inbox, whatever the policy says.

For the document of a PLAN without an unfinished run, asks for the document as your comment wants it,
writes it and shows the difference. Nothing is approved. With --step only that step may change:
an answer that changes more goes back to the planner.`,
		Example: "  piton replan --why \"the tests have moved to test/\"\n  piton replan 7f3a21 --why \"split the migration\"\n" +
			"  piton replan plans/fix.md --step 2 --why \"use the new API\"",
		Args: atMost("a run or a plan", 1),
		RunE: func(c *cobra.Command, args []string) error {
			word := first(args)
			if word != "" && a.isPath(word) {
				return a.acting(c.Context(), func(s *session) error {
					return s.redraft(c.Context(), api.Redrafting{Path: word, Step: cmd.Step, Why: cmd.Why, Again: again, Consent: api.Consent{Yes: yes}})
				})
			}
			if again || yes {
				return usage(c, errors.New("--again and --yes are for a plan without a run"))
			}
			return a.command(c.Context(), word, cmd.Step, cmd)
		},
	}
	c.Flags().StringVar(&cmd.Step, "step", "", "the only `STEP` that may change, by its id or number")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "of a plan without a run: approve the configuration of this workspace, which says who is asked")
	c.Flags().BoolVar(&again, "again", false, "of a plan without a run: ask the planner even if the journal has its answer")
	whyFlag(c, &cmd.Why, "why", "text", "what to change, and why; the planner is told")
	return c
}

func (a *app) command(ctx context.Context, prefix, step string, c engine.Command) error {
	if err := a.byPerson(); err != nil {
		return err
	}
	with := a.with
	if c.Verb == engine.DoPause || c.Verb == engine.DoCancel {
		with = a.looking
	}
	return with(ctx, func(s *session) error {
		done, err := s.client.Order(ctx, api.Order{Run: prefix, Step: step, Verb: c.Verb, Role: c.Role, Why: c.Why, From: c.From})
		if err != nil && c.Verb == engine.DoCancel {
			return s.withdraw(ctx, prefix, err)
		}
		if err != nil {
			return err
		}
		if step == "" {
			a.did(string(c.Verb), done.Run, fmt.Sprintf("run %s: %s", done.Run, c.Verb))
		} else {
			a.did(string(c.Verb), done.Run, strings.TrimSpace(fmt.Sprintf("run %s, step %s: %s %s", done.Run, done.Step, c.Verb, c.Role)))
		}
		if c.Verb == engine.DoCancel {
			s.cancelled(done.Top)
			return nil
		}
		s.goesOn(done)
		return nil
	})
}

// cancelled says what is left of a run that was cancelled, and how its plan begins anew.
func (s *session) cancelled(h engine.HeadRow) {
	left := "what its steps did stays in the files of this workspace"
	if at := s.workplace(h); at != nil && at.Branch != "" {
		left = fmt.Sprintf("what its steps did stays on branch %s, and in %s", at.Branch, at.Dir)
	} else if at != nil {
		left = "what its steps did stays in " + at.Dir
	}
	if h.Path != "" {
		left += "; to begin anew: piton run " + engine.ShellWord(h.Path)
	}
	s.app.notice("%s", left)
}

// next says how a run goes on that nobody carries on.
func (s *session) next(ctx context.Context, head engine.HeadRow) error {
	head, err := s.Top(ctx, head)
	if err == nil {
		s.goesOn(api.Ordered{Top: head, Carried: s.carried(ctx).Stream(head.Stream)})
	}
	return err
}

// goesOn says how a run goes on after a command: nothing where somebody carries it.
func (s *session) goesOn(o api.Ordered) {
	switch {
	case o.Carried:
	case o.Top.Ended:
		s.app.notice("run %[1]s is %[2]s; what is left of it, and what can be done: piton status %[1]s", o.Top.Run, ending(o.Top))
	default:
		s.app.notice("nobody carries run %[1]s on now; go on with: piton resume %[1]s", o.Top.Run)
	}
}

// ending is how a run has ended, and why.
func ending(h engine.HeadRow) string {
	if h.Reason == "" {
		return string(h.Status)
	}
	return string(h.Status) + ": " + h.Reason
}

func (a *app) answerCmd() *cobra.Command {
	var answer engine.ItemAnswered
	var args string
	yes := false
	c := &cobra.Command{
		Use:   "answer ITEM [CHOICE]",
		Short: "Answer an item of the inbox",
		Long: `Answers an item of piton inbox with one of its choices. --text goes to the next attempt.

Of a step that did not pass: retry gives it one more attempt, and fallback one by its fallback.
replan has the configured planner revise the plan. skip and waive go on without a proof. abort ends
the run. Of the merge of a run, leave ends the run with its work on its branch.

If nobody carries the run on and it waits for nothing else, it continues here. Without a terminal,
piton resume continues it.

Of what a run taught: adopt writes it to .piton/memories, with --args in your words; drop does not.

A question without choices takes --text, or --args if it asks for a value of a schema. The answer
becomes the output of the step. To raise a budget, --args gives other limits than those
shown. To approve a tool call with other arguments, or to try a failed one again with others, give
them as --args. They are checked like those of the plan, and Piton asks again if they need more
than what was shown.`,
		Example: "  piton answer 7f3a21/1 retry --text \"the port is 8081\"\n  piton answer 7f3a21/1 replan --text \"split it: the schema first\"\n  piton answer 7f3a21/2 --args '{\"replicas\": 3}'\n  piton answer 7f3a21/3 approve --args '{\"tokens\": 20000}'\n  piton answer 7f3a21/4 approve --args '{\"path\": \"out.json\", \"content\": \"{}\"}'\n  piton answer 7f3a21/5 retry --args '{\"path\": \"data.json\"}'",
		Args:    cobra.MatchAll(atLeast("an item", 1), atMost("an item and a choice", 2)),
		RunE: func(c *cobra.Command, words []string) error {
			answer.Choice = first(words[1:])
			if args != "" {
				answer.Args = json.RawMessage(args)
			}
			return a.answer(c.Context(), words[0], answer, yes)
		},
	}
	whyFlag(c, &answer.Text, "text", "why", "your message, or the reason")
	c.Flags().StringVar(&args, "args", "", "a value, as JSON")
	c.Flags().BoolVarP(&yes, "yes", "y", false, configYes)
	return c
}

func (a *app) answer(ctx context.Context, word string, answer engine.ItemAnswered, yes bool) error {
	if len(answer.Args) > 0 && !json.Valid(answer.Args) {
		return misuse("--args is not JSON", "quote it for your shell: --args '{\"replicas\": 3}'")
	}
	return a.acting(ctx, func(s *session) error {
		it, err := s.Item(ctx, word)
		if isNotFound(err) {
			if r, other := s.Proposed(ctx, word); other == nil && r != nil {
				return misuse(word+" is a plan, not an item", view.ToRun(r)+" approves it, piton reject "+engine.ShellWord(r.Drafted.Path)+" says no")
			}
		}
		if err != nil {
			return err
		}
		own := slices.Equal(it.Choices, []string{engine.ChooseAnswer})
		if own && answer.Choice == "" && (answer.Text != "" || len(answer.Args) > 0) {
			answer.Choice = engine.ChooseAnswer
		}
		if own && answer.Choice != engine.ChooseAnswer {
			return ownWords(it, answer.Choice)
		}
		if answer.Choice == "" {
			return misuse(fmt.Sprintf("item %s needs a choice", it.Item), "one of: "+view.Join(it.Choices))
		}
		if len(answer.Args) > 0 && it.Tool != "" && answer.Choice != engine.ChooseApprove && answer.Choice != engine.ChooseRetry {
			return misuse("--args goes with the approval of a call, or with its retry", "item "+it.Item+" takes no arguments with "+answer.Choice)
		}
		point("client before request")
		var done api.Ordered
		err = s.reconfiguring(yes, "", func(config string) (is *api.Reconfigured, err error) {
			done, err = s.client.Answer(ctx, api.Answer{Item: it.Item, Choice: answer.Choice, Text: answer.Text, Args: answer.Args, Config: config})
			return done.Reconfigured, err
		})
		if err != nil {
			return err
		}
		point("client before show")
		a.did("answer", it.Item, fmt.Sprintf("item %s: %s", it.Item, answer.Choice))
		return s.after(ctx, done, yes)
	})
}

// after lets a run go on that nobody carries and that waits for nothing else, where a person is
// there to see it. Else it says how it goes on.
func (s *session) after(ctx context.Context, done api.Ordered, yes bool) error {
	if done.Carried || done.Top.Ended || done.Top.Status == engine.Paused || !s.app.asks() || s.app.json {
		s.goesOn(done)
		return nil
	}
	items, err := s.Waiting(ctx, done.Top)
	if err != nil || len(items) > 0 {
		s.goesOn(done)
		return err
	}
	return s.resume(ctx, api.Resume{Run: done.Top.Run}, runFlags{yes: yes})
}
