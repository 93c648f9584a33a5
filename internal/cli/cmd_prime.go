package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/notes"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) primeCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "prime",
		Short:   "Tell a fresh agent where things stand, in 1,500 tokens at most",
		Example: "  piton prime\n  claude -p \"$(piton prime) Which step is left?\"",
		Long: `Prints what an agent that knows nothing should read first: the newest runs, what people are asked,
which steps are left, what is known, the memories of people, and what an agent may do here. Newer
and more important things come first; what does not fit is counted.`,
		Args: atMost("no arguments", 0),
		RunE: func(c *cobra.Command, _ []string) error { return a.prime(c.Context()) },
	}
}

func (a *app) prime(ctx context.Context) error {
	return a.looking(ctx, func(s *session) error {
		all, err := notes.Memories(s.Place.Dir)
		if err != nil {
			return err
		}
		var memories []view.Note
		for _, m := range notes.ByImportance(all) {
			switch {
			case m.Broken == "":
				memories = append(memories, view.Note{Name: m.Name, Text: m.Text})
			case m.Name == "*":
				memories = slices.Insert(memories, 0, view.Note{Name: m.Name, Text: m.Broken})
			}
		}
		p, err := view.Prime(ctx, s.reader(), memories)
		if err != nil {
			return err
		}
		a.prints("prime", p, func(theme) []string { return strings.Split(strings.TrimSuffix(p.Text, "\n"), "\n") })
		return nil
	})
}
