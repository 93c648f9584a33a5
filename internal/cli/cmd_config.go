package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
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

// settingDoc is one setting for programs.
type settingDoc struct {
	Path   string `json:"path"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
	File   string `json:"file,omitzero"` // where the origin is a file
	Line   int    `json:"line,omitzero"`
	Column int    `json:"column,omitzero"`
}

func (a *app) configShow(below string, origin bool) error {
	_, conf, err := a.here(nil)
	if err != nil {
		return err
	}
	settings := conf.Settings()
	if below != "" {
		settings = slices.DeleteFunc(settings, func(s config.Setting) bool {
			return s.Path != below && !strings.HasPrefix(s.Path, below+".")
		})
		if len(settings) == 0 {
			return &api.Problem{Code: api.NotFound, Message: fmt.Sprintf("no setting %q is in force", below), Hint: "piton config show lists them all"}
		}
	}
	a.prints("config", map[string]any{"settings": settingDocs(settings)}, func(t theme) []string { return t.settings(settings, origin) })
	return nil
}

func settingDocs(settings []config.Setting) []settingDoc {
	docs := []settingDoc{}
	for _, s := range settings {
		o := s.Origin
		docs = append(docs, settingDoc{s.Path, s.Value, o.String(), o.File, o.Line, o.Column})
	}
	return docs
}

// settings are shown one a line, whole: other programs may read it.
func (t theme) settings(settings []config.Setting, origin bool) (lines []string) {
	for _, s := range settings {
		line := t.line(s.Path) + " = " + t.line(s.Value)
		if origin {
			line += t.paint(idleTone, "  # "+t.line(s.Origin.String()))
		}
		lines = append(lines, line)
	}
	return lines
}
