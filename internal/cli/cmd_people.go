package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tool"
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
	return a.order("pause", "Start nothing new in a run", "What is under way comes to its end; nothing new starts until piton resume.", engine.DoPause)
}

func (a *app) cancelCmd() *cobra.Command {
	return a.order("cancel", "Stop a run for good", "Stops what is under way and ends the run. It cannot be resumed; piton run opens a new one.", engine.DoCancel)
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
	c.Flags().StringVar(&runID, "run", "", "the run, if not the newest")
	c.Flags().StringVar(&cmd.Why, "why", "", "the reason, which the journal keeps")
	if verb == engine.DoRetry {
		c.Flags().BoolVar(&cmd.From, "from", false, "the step and all that need it, done or not")
	}
	return c
}

func (a *app) retryCmd() *cobra.Command {
	return a.stepOrder("retry", "Try a step once more", "Gives a failed, skipped or waiting step one more attempt. A failed run is taken up again;\npiton resume carries it on.", "  piton retry write-tests\n  piton retry 2 --from --run 7f3a21", engine.DoRetry)
}

func (a *app) skipCmd() *cobra.Command {
	return a.stepOrder("skip", "Leave a step out", "Skips a step with a reason; what needs it goes on without it.", "  piton skip write-docs --why \"written by hand\"", engine.DoSkip)
}

func (a *app) waiveCmd() *cobra.Command {
	return a.stepOrder("waive", "Accept a step without proof, in your name", "Waived is not done: the status stays visible, with your name and the reason.", "  piton waive check-links --why \"the site is down today\"", engine.DoWaive)
}

func (a *app) command(ctx context.Context, prefix, step string, c engine.Command) error {
	with := a.with
	if c.Verb == engine.DoPause || c.Verb == engine.DoCancel {
		with = a.looking
	}
	return with(ctx, func(s *session) error {
		head, err := s.Find(ctx, prefix)
		if err != nil {
			return err
		}
		if step != "" {
			if head, c.Step, err = s.Step(ctx, head, step); err != nil {
				return err
			}
		}
		return s.desk(ctx, func(d api.Desk) error {
			if err := s.Order(ctx, d, head, c); err != nil {
				return err
			}
			if step == "" {
				a.did(string(c.Verb), head.Run, fmt.Sprintf("run %s: %s", head.Run, c.Verb))
			} else {
				a.did(string(c.Verb), head.Run, fmt.Sprintf("run %s, step %s: %s", head.Run, c.Step, c.Verb))
			}
			return s.goOn(ctx, d, head)
		})
	})
}

// goOn lets the owner carry the run on, or says how to.
func (s *session) goOn(ctx context.Context, d api.Desk, head engine.HeadRow) error {
	head, err := s.Top(ctx, head)
	if err != nil {
		return err
	}
	if client, ok := d.(*api.Client); ok {
		if err := client.Activate(ctx, head.Stream); !unavailable(err) {
			return err // else the owner ended with what it was told
		}
	}
	now, err := s.Find(ctx, head.Run)
	if err == nil && !now.Ended {
		s.app.notice("nobody runs this workspace now; go on with: piton resume %s", head.Run)
	}
	return err
}

func (a *app) answerCmd() *cobra.Command {
	var answer engine.ItemAnswered
	var args string
	c := &cobra.Command{
		Use:   "answer ITEM [CHOICE]",
		Short: "Answer what waits for you",
		Long: `Answers an item of piton inbox with one of its choices. --text goes to the next attempt. A
question without choices is answered with --text alone, or, where it asks for a value of a
schema, with --args. The answer to a question is the output of its step. Where a budget is to
be raised, --args gives the new limits in place of those that the item shows. The call of a
tool can be approved with other arguments: they are checked and looked at like those of the
plan, and it asks again where they need more than what was shown.`,
		Example: "  piton answer 7f3a21/1 retry --text \"the port is 8081\"\n  piton answer 7f3a21/2 --args '{\"replicas\": 3}'\n  piton answer 7f3a21/3 approve --args '{\"tokens\": 20000}'\n  piton answer 7f3a21/4 approve --args '{\"path\": \"out.json\", \"content\": \"{}\"}'",
		Args:    cobra.MatchAll(atLeast("an item", 1), atMost("an item and a choice", 2)),
		RunE: func(c *cobra.Command, words []string) error {
			answer.Choice = first(words[1:])
			if args != "" {
				answer.Args = json.RawMessage(args)
			}
			return a.answer(c.Context(), words[0], answer)
		},
	}
	c.Flags().StringVar(&answer.Text, "text", "", "what you want to say with it")
	c.Flags().StringVar(&args, "args", "", "a value, as JSON")
	return c
}

func (a *app) answer(ctx context.Context, word string, answer engine.ItemAnswered) error {
	if len(answer.Args) > 0 && !json.Valid(answer.Args) {
		return &misuse{text: "--args is no JSON", hint: "quote it for your shell: --args '{\"replicas\": 3}'"}
	}
	return a.with(ctx, func(s *session) error {
		it, err := s.Item(ctx, word)
		if isNotFound(err) {
			if r, other := s.proposalOf(ctx, word); other == nil && r != nil {
				return &misuse{text: word + " is a plan, and no answer to an item is a yes to it", hint: toRun(r) + " says yes, piton reject " + r.Drafted.Path + " says no"}
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
			return &misuse{text: fmt.Sprintf("item %s needs a choice", it.Item), hint: "one of: " + join(it.Choices)}
		}
		if answer.Args, err = s.checkedArgs(ctx, it, answer); err != nil {
			return err
		}
		return s.desk(ctx, func(d api.Desk) error {
			if err := s.Reply(ctx, d, it, answer); err != nil {
				return err
			}
			a.did("answer", it.Item, fmt.Sprintf("item %s: %s", it.Item, answer.Choice))
			return s.goOn(ctx, d, engine.HeadRow{Stream: it.Stream, Run: it.Run})
		})
	})
}

// checkedArgs are the arguments of an answer. Those for a call are checked, and
// returned as the tool would get them: a server is started to say whether they fit.
func (s *session) checkedArgs(ctx context.Context, it engine.ItemRow, a engine.ItemAnswered) (args json.RawMessage, err error) {
	if it.Tool == "" || len(a.Args) == 0 {
		return a.Args, nil
	}
	if a.Choice != engine.ChooseApprove {
		return nil, &misuse{text: "--args goes with the approval of a call", hint: "item " + it.Item + " is answered without"}
	}
	err = s.app.tools(func(r *tool.Registry) error {
		args, err = r.Check(ctx, it.Tool, a.Args)
		return err
	})
	if p, ok := errors.AsType[*tool.Problem](err); ok {
		return nil, &misuse{text: p.Message, hint: "piton tools show " + it.Tool + " shows what it takes"}
	}
	return args, err
}
