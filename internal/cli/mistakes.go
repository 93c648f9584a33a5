package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/store"
)

// verbs refuses a word that is no verb of c, and names the nearest.
func verbs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	meant := ""
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
		if slices.Contains(sub.SuggestFor, args[0]) {
			meant = fmt.Sprintf("did you mean %q?", sub.Name())
		}
	}
	hint := c.CommandPath() + " --help lists the verbs"
	if near := cmp.Or(meant, plan.Nearest(args[0], known)); near != "" {
		hint = near + " " + hint
	}
	return misuse(fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath()), hint)
}

// badFlag says which flag is meant.
func badFlag(c *cobra.Command, err error) error {
	if odd, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usage(c, fmt.Errorf("--%s takes %s", odd.GetFlag().Name, wanted(odd)))
	}
	bad, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usage(c, err)
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	hint := "see " + c.CommandPath() + " --help"
	if near := plan.Nearest(bad.GetSpecifiedName(), known); near != "" && len(bad.GetSpecifiedName()) > 1 {
		hint = strings.Replace(near, `"`, `"--`, 1) + " " + hint
	}
	return misuse(err.Error(), hint)
}

// wanted says what a flag takes, and that the value is no such thing.
func wanted(odd *pflag.InvalidValueError) string {
	switch odd.GetFlag().Value.Type() {
	case "int":
		return fmt.Sprintf("a whole number, and %q is none", odd.GetValue())
	case "uint64":
		return fmt.Sprintf("a whole number from 0 on, and %q is none", odd.GetValue())
	case "bool":
		return fmt.Sprintf("true or false, and %q is neither", odd.GetValue())
	}
	return fmt.Sprintf("another value than %q", odd.GetValue())
}

// noState says what to do when the journal's directory cannot be used.
func noState(place api.Place, err error) error {
	for _, known := range []error{store.ErrCorrupt, store.ErrFull, store.ErrVersion, store.ErrOwned} {
		if errors.Is(err, known) {
			return err // it says so itself
		}
	}
	if _, ok := errors.AsType[*os.PathError](err); !ok && !errors.Is(err, store.ErrReadOnly) {
		return err
	}
	return api.Fault(err.Error(), "the state of this workspace is kept in "+place.State+"; PITON_STATE moves it")
}
