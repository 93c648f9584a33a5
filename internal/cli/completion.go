package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

// shells are those that can complete, each with how to begin.
var shells = []string{"bash\tsource <(piton completion bash)", "zsh\tsource <(piton completion zsh)", "fish\tpiton completion fish | source", "powershell\tpiton completion powershell | Out-String | Invoke-Expression"}

func (a *app) completionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for your shell",
		Long: `Prints a script for bash, zsh, fish or powershell. It completes verbs, flags, plan files, and the
ids of runs, steps and inbox items.`,
		Example: `  source <(piton completion bash)                       # in ~/.bashrc
  source <(piton completion zsh)                        # in ~/.zshrc, after compinit
  piton completion fish | source                        # in ~/.config/fish/config.fish
  piton completion powershell | Out-String | Invoke-Expression`,
		Args:      exactly("a shell: bash, zsh, fish or powershell", 1),
		ValidArgs: shells,
		RunE: func(c *cobra.Command, args []string) error {
			var script strings.Builder
			err := completion(&script, c.Root(), args[0])
			if err == nil {
				a.report("completion", map[string]string{"shell": args[0], "script": script.String()}, strings.TrimSuffix(script.String(), "\n"))
			}
			return err
		},
	}
}

// completion writes the script for a shell.
func completion(w io.Writer, root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		if _, err := io.WriteString(w, bashWords); err != nil {
			return err
		}
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(w)
	}
	return misuse(fmt.Sprintf("there is no completion for %q", shell), "one of: bash, zsh, fish, powershell")
}

// bashWords is what the script needs of the package bash-completion, for a bash
// without it. Words are not broken at = and : here; no id has one.
const bashWords = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
    words=("${COMP_WORDS[@]}")
    cword=$COMP_CWORD
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD-1]}
}
`

// completer lists what a word may be, given the words before it. A line may
// have a tab and a description.
type completer func(ctx context.Context, s *session, before []string) []string

// completers are by the word that stands for the argument in a verb's use.
var completers = map[string]completer{"RUN": completeRuns, "STEP": completeSteps, "ITEM": completeItems, "CHOICE": completeChoices}

// complete gives every verb completion for its arguments, read from its use.
func (a *app) complete(c *cobra.Command) {
	for _, sub := range c.Commands() {
		a.complete(sub)
	}
	words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(c.Use, "[", ""), "]", ""))
	if c.ValidArgsFunction == nil && c.ValidArgs == nil && len(words) > 1 {
		c.ValidArgsFunction = a.argument(words[1:])
	}
	if c.Flags().Lookup("run") != nil {
		_ = c.RegisterFlagCompletionFunc("run", a.argument([]string{"RUN"})) // fails only where there is one already
	}
}

// argument completes by the place among the arguments that use names. PLAN|RUN
// may be either.
func (a *app) argument(use []string) cobra.CompletionFunc {
	return func(c *cobra.Command, before []string, begun string) (found []string, directive cobra.ShellCompDirective) {
		for kind := range strings.SplitSeq(argumentAt(use, len(before)), "|") {
			words, how := a.words(c.Context(), kind, before, begun)
			found, directive = append(found, words...), directive|how
		}
		return found, directive
	}
}

// words lists what a word of one kind may be.
func (a *app) words(ctx context.Context, kind string, before []string, begun string) ([]string, cobra.ShellCompDirective) {
	var found []string
	if complete := completers[kind]; complete != nil {
		a.look(ctx, func(s *session) { found = complete(ctx, s, before) })
	}
	switch kind {
	case "SETTING":
		found = a.settingNames()
	case "PLAN":
		return a.paths(begun, func(name string) bool { return filepath.Ext(name) == ".md" })
	case "DIR":
		return a.paths(begun, func(string) bool { return false })
	case "FILE":
		return nil, cobra.ShellCompDirectiveDefault
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// paths lists the directories that begin like a word, and the files that are
// wanted. Shells could do it, each with what not all of them have installed.
func (a *app) paths(begun string, wanted func(name string) bool) ([]string, cobra.ShellCompDirective) {
	dir, base := filepath.Split(begun)
	entries, err := os.ReadDir(cmp.Or(a.at(dir), a.dir))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	directive := cobra.ShellCompDirectiveNoFileComp
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || base == "" && name[0] == '.' {
			continue
		}
		if info, err := os.Stat(a.at(filepath.Join(dir, name))); err == nil && info.IsDir() {
			found = append(found, dir+name+string(filepath.Separator))
			directive |= cobra.ShellCompDirectiveNoSpace
		} else if wanted(name) {
			found = append(found, dir+name)
		}
	}
	return found, directive
}

// argumentAt is the n-th word of a use; PLAN... stands for any number.
func argumentAt(use []string, n int) string {
	last := len(use) - 1
	switch {
	case n <= last:
		return strings.TrimSuffix(use[n], "...")
	case strings.HasSuffix(use[last], "..."):
		return strings.TrimSuffix(use[last], "...")
	}
	return ""
}

// look opens what is there, without making, mending or judging anything: a key
// pressed in a shell changes nothing and prints nothing.
func (a *app) look(ctx context.Context, do func(*session)) {
	silent := *a
	silent.err = io.Discard
	s, err := silent.openToLook(ctx, true)
	if err != nil {
		return
	}
	defer s.store.Close()
	do(s)
}

// completedRuns is how many runs are offered: who presses a key does not wait.
const completedRuns = 1000

func completeRuns(ctx context.Context, s *session, _ []string) (found []string) {
	heads, _ := s.store.Heads(ctx, store.HeadFilter{Limit: completedRuns}) //nolint:errcheck // a key pressed in a shell prints nothing
	var by view.Stands
	if slices.ContainsFunc(heads, func(h engine.HeadRow) bool { return !h.Ended }) {
		by, _ = s.stands(ctx) // else it says less
	}
	for _, h := range heads {
		found = append(found, described(h.Run, fmt.Sprintf("%s, %s", lookOf(by.Of(h), "").word, h.Title)))
	}
	return found
}

// completeSteps lists the steps of the run before it, else of the newest.
func completeSteps(ctx context.Context, s *session, before []string) (found []string) {
	head, err := s.Find(ctx, first(before))
	if err != nil {
		return nil
	}
	steps, _ := s.store.Steps(ctx, store.StepFilter{Stream: head.Stream, Run: head.Run}) //nolint:errcheck // the same
	for _, st := range steps {
		found = append(found, described(st.ID, fmt.Sprintf("%s, %s. %s", cmp.Or(st.Status, engine.Pending), st.Number, st.Title)))
	}
	return found
}

func completeItems(ctx context.Context, s *session, _ []string) (found []string) {
	items, _ := s.store.Items(ctx, store.ItemFilter{Open: true}) //nolint:errcheck // the same
	for _, it := range items {
		found = append(found, described(it.Item, it.Question))
	}
	return found
}

func completeChoices(ctx context.Context, s *session, before []string) (found []string) {
	it, _ := s.Item(ctx, first(before)) //nolint:errcheck // the same
	for _, c := range it.Choices {
		found = append(found, described(c, view.Consequence(it, c)))
	}
	return found
}

// settingNames are the settings in force and the groups they are in.
func (a *app) settingNames() (found []string) {
	_, conf, err := a.here(nil)
	if err != nil {
		return nil
	}
	for _, s := range conf.Settings() {
		for i, r := range s.Path {
			if r == '.' {
				found = append(found, s.Path[:i])
			}
		}
		found = append(found, s.Path)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// described is a word with a description that is one short line.
func described(word, text string) string {
	t := theme{}
	return word + "\t" + t.fit(t.line(text), 60)
}

func (a *app) completeTemplates(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	s, _ := a.templates() //nolint:errcheck // a key pressed in a shell prints nothing
	var found []string
	for _, t := range s.All {
		found = append(found, described(t.Name, t.About))
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeVariables lists the variables of the template that was named.
func (a *app) completeVariables(c *cobra.Command, _ []string, _ string) (found []string, _ cobra.ShellCompDirective) {
	s, _ := a.templates() //nolint:errcheck // the same
	if t, err := s.Find(c.Flags().Lookup("from").Value.String()); err == nil {
		for _, v := range t.Variables {
			found = append(found, described(v.Name+"=", v.About))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
