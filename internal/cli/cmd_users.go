package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/users"
	"github.com/piton-dev/piton/internal/view"
)

// rightsText says what each right is for.
const rightsText = `see reads plans, runs, differences and logs; everybody has it. answer answers questions, and says no.
run starts, pauses, retries, skips and cancels runs, has plans made, and edits them. approve says yes
to plans, changes, calls and settings, waives steps, merges, archives runs and removes what they left.
What does two things, such as run --yes, needs the rights to both.`

func (a *app) tokenCmd() *cobra.Command {
	var may []string
	var email string
	c := &cobra.Command{
		Use:   "token NAME",
		Short: "Let a user in from elsewhere, with a new token",
		Long: `Makes a token for a user of this workspace's page and API, and prints it, once. Only its hash is
kept. NAME stands in the journal for what they do. Another token for the same NAME ends the one
before, and gives the rights and the address that are named now.

With --email they can also sign in through the provider of piton serve --oidc, once it has verified
that address.

` + rightsText,
		Example: "  piton serve token anna --may answer,run,approve\n  piton serve token ben --may answer --email ben@example.org\n  piton serve token dashboard",
		Args:    exactly("the name of a user", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.token(c.Context(), args[0], may, email) },
	}
	c.Flags().StringSliceVar(&may, "may", nil, "what they may do: `RIGHTS` with commas, of answer, run and approve")
	c.Flags().StringVar(&email, "email", "", "the `ADDRESS` by which the provider of piton serve --oidc knows them")
	_ = c.RegisterFlagCompletionFunc("may", cobra.FixedCompletions(rightWords(users.Rights), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func rightWords(rights []users.Right) []string {
	var words []string
	for _, r := range rights {
		words = append(words, string(r))
	}
	return words
}

// userDir is where the users of this workspace are kept. Only a person changes who they are.
func (a *app) userDir(ctx context.Context) (users.Dir, error) {
	place, err := a.place()
	if err == nil {
		err = place.Private()
	}
	if err == nil {
		err = a.byNoRun(ctx, place)
	}
	return users.In(place.State), err
}

func (a *app) token(ctx context.Context, name string, may []string, email string) error {
	rights := []users.Right{users.See}
	for _, word := range may {
		r := users.Right(word)
		if !slices.Contains(users.Rights, r) {
			return misuse(fmt.Sprintf("there is no right %q", word), "one of: "+view.Join(rightWords(users.Rights)))
		}
		if !slices.Contains(rights, r) {
			rights = append(rights, r)
		}
	}
	dir, err := a.userDir(ctx)
	if err != nil {
		return err
	}
	token, err := dir.Add(name, rights, email, a.now())
	switch {
	case errors.Is(err, users.ErrName):
		return misuse(fmt.Sprintf("%q cannot be the name of a user", name), err.Error())
	case errors.Is(err, users.ErrEmail):
		return misuse(fmt.Sprintf("%q cannot be the address of a user", email), err.Error())
	case errors.Is(err, users.ErrTaken):
		return &api.Problem{Code: api.Conflict, Message: err.Error(), Hint: "give another address, or take it away from the other user: piton serve token NAME without --email, which also ends their token and rights"}
	case durable.IsFull(err):
		return api.Fault(err.Error(), "free some space, then run this again")
	case err != nil:
		return err
	}
	a.notice("%s may %s. This is their token; it is not shown again", name, view.Join(rightWords(rights)))
	a.report("token", map[string]any{"user": name, "rights": rights, "token": token}, token)
	return nil
}

// userDoc is a user for programs.
type userDoc struct {
	Name   string        `json:"name"`
	Rights []users.Right `json:"rights"`
	Made   view.Stamp    `json:"made"`
	Email  string        `json:"email,omitempty"`
}

func (a *app) usersCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "users",
		Short:   "List the users who are let in from elsewhere, with their rights",
		Example: "  piton serve users",
		Args:    atMost("nothing", 0),
		RunE: func(*cobra.Command, []string) error {
			place, err := a.place()
			if err != nil {
				return err
			}
			all, err := users.In(place.State).All()
			if err != nil {
				return err
			}
			docs := []userDoc{}
			for _, u := range all {
				docs = append(docs, userDoc{u.Name, u.Rights, view.Stamp(u.Made), u.Email})
			}
			a.prints("users", map[string]any{"users": docs}, func(theme) []string {
				lines := []string{}
				for _, u := range all {
					line := fmt.Sprintf("%-20s %s, since %s", u.Name, strings.Join(rightWords(u.Rights), " "), u.Made.Local().Format("2006-01-02"))
					if u.Email != "" {
						line += ", " + u.Email
					}
					lines = append(lines, line)
				}
				if len(lines) == 0 {
					lines = []string{"Nobody. Let somebody in: piton serve token NAME"}
				}
				return lines
			})
			return nil
		},
	}
}

func (a *app) revokeCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke NAME",
		Short:   "Let a user in no more, at once",
		Long:    "Ends the token of a user, their sessions, and the requests of theirs that are under way. What they\nsaid stays in the journal. Runs that they started go on.",
		Example: "  piton serve revoke anna",
		Args:    exactly("the name of a user", 1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := a.userDir(c.Context())
			if err == nil {
				err = dir.Remove(args[0])
			}
			if errors.Is(err, users.ErrUnknown) {
				return &api.Problem{Code: api.NotFound, Message: "there is no user " + args[0], Hint: "piton serve users lists them"}
			}
			if err == nil {
				a.did("revoke", args[0], args[0]+" is let in no more")
			}
			return err
		},
	}
}
