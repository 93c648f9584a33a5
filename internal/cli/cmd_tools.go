package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/owner"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/tool"
)

func (a *app) toolsCmd() *cobra.Command {
	functions := false
	c := &cobra.Command{
		Use: "tools", Example: "  piton tools\n  piton tools --functions\n  piton tools show write_file\n  piton tools --json | jq -r '.data.tools[].name'",
		Short: "List the tools that steps can call",
		Long: "Lists the built-in tools and those of the configured MCP servers, which it starts to\nask them. `piton tools show NAME` prints one with its schemas.\n" +
			"--functions prints them all as functions for a language model, in the JSON form of OpenAI.",
		Args: verbs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.tools(func(r *tool.Registry) error { return a.listTools(c.Context(), r, functions) })
		},
	}
	c.Flags().BoolVar(&functions, "functions", false, "print the tools as functions for a language model")
	c.AddCommand(&cobra.Command{
		Use: "show NAME", Example: "  piton tools show run_command",
		Short: "Show one tool with its schemas",
		Args:  exactly("a tool's name", 1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.tools(func(r *tool.Registry) error { return a.showTool(c.Context(), r, args[0]) })
		},
	})
	return c
}

// tools opens the tools of this workspace, calls do and ends them again.
func (a *app) tools(do func(*tool.Registry) error) error {
	place, conf, err := a.here(nil)
	if err != nil {
		return err
	}
	r, end, err := owner.LookTools(place, conf, a.env)
	if err != nil {
		return err
	}
	defer end()
	return do(r)
}

// listTools prints what there is. A server that does not answer is said and does
// not hide the others.
func (a *app) listTools(ctx context.Context, r *tool.Registry, functions bool) error {
	list, faults := r.List(ctx)
	if faults != nil {
		for line := range strings.Lines(faults.Error()) {
			a.notice("%s", strings.TrimSpace(line))
		}
	}
	if functions {
		return a.printFunctions(owner.FunctionsOf(list))
	}
	a.prints("tools", map[string]any{"tools": list}, func(t theme) (lines []string) {
		width := 0
		for _, d := range list {
			width = max(width, len(d.Name))
		}
		for _, d := range list {
			about, _, _ := strings.Cut(d.Description, ". ")
			head := fmt.Sprintf("%-*s  %-9s  ", width, d.Name, d.Effect)
			about = strings.TrimSuffix(about, ".")
			if t.whole || t.width < 2*len(head) {
				lines = append(lines, head+about)
				continue
			}
			text := t.under(len(head), plainTone, about)
			text[0] = head + strings.TrimLeft(text[0], " ")
			lines = append(lines, text...)
		}
		return lines
	})
	return nil
}

// printFunctions prints tools as language models are told of them.
func (a *app) printFunctions(list []prompt.Function) error {
	if a.json {
		a.document("tools", map[string]any{"functions": list})
		return nil
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("write the functions: %w", err)
	}
	fmt.Fprintln(a.out, proc.Plain(text))
	return nil
}

func (a *app) showTool(ctx context.Context, r *tool.Registry, name string) error {
	d, err := r.Get(ctx, name)
	if err != nil {
		return &api.Problem{Code: api.NotFound, Message: err.Error(), Hint: "piton tools lists them"}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s\n\neffect: %s", d.Name, d.Description, d.Effect)
	if d.Foreign {
		fmt.Fprintf(&text, "\nserver: %s; what it returns is a claim, so give the step a contract", d.Server)
	}
	for _, s := range []struct {
		title string
		text  json.RawMessage
	}{{"input", d.Input}, {"output", d.Output}} {
		if len(s.text) > 0 {
			fmt.Fprintf(&text, "\n\n%s:\n%s", s.title, indented(s.text))
		}
	}
	a.report("tools", map[string]any{"tools": []tool.Definition{d}}, text.String())
	return nil
}

func indented(text json.RawMessage) string {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return string(text)
	}
	out, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return string(text)
	}
	return proc.Plain(out)
}
