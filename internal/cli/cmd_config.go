package cli

import (
	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
)

func (a *app) configCmd() *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
		Example: "  piton config show --origin",
		Short:   "Show the configuration",
		Long:    "Settings come from flags, PITON_ environment variables, .piton/config.yaml, your own configuration\nand defaults. The first source that has a value wins.",
		Args:    verbs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.configShowCmd())
	return c
}

func (a *app) configShowCmd() *cobra.Command {
	var origin bool
	c := &cobra.Command{
		Use:   "show [SETTING]",
		Short: "Show every setting in force, and where it comes from",
		Long:  "Shows every setting in force, or those below SETTING. --origin adds the source of each: file, line\nand column, a variable, a flag or the default. Passwords in addresses are hidden.",
		Example: "  piton config show --origin\n  piton config show policy\n" +
			"  piton config show --json | jq -r '.data.settings[] | select(.origin != \"default\") | .path'",
		Args: atMost("a setting", 1),
		RunE: func(_ *cobra.Command, args []string) error { return a.configShow(first(args), origin) },
	}
	c.Flags().BoolVar(&origin, "origin", false, "show where each value comes from")
	return c
}

func (a *app) configShow(below string, origin bool) error {
	_, conf, err := a.here(nil)
	if err != nil {
		return err
	}
	settings, err := api.Settings(conf, below)
	if err != nil {
		return err
	}
	a.prints("config", map[string]any{"settings": settings}, func(t theme) []string { return t.settings(settings, origin) })
	return nil
}

// settings are shown one a line, whole: other programs may read it.
func (t theme) settings(settings []api.Setting, origin bool) (lines []string) {
	for _, s := range settings {
		line := t.line(s.Path) + " = " + t.line(s.Value)
		if origin {
			line += t.paint(idleTone, "  # "+t.line(s.Origin.Origin))
		}
		lines = append(lines, line)
	}
	return lines
}
