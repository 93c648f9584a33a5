package cli

import (
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/api"
)

// configYes is what --yes means where it can only be about the configuration.
const configYes = "if the configuration, or a file that judges the work, has changed since the run was approved: let the run go on with it"

// reconfiguring asks. Where the configuration, or a file that judges, is not what the run was
// approved with, it shows what is different, and asks once more with a person's yes. Said is
// the hash of what they said yes to before, "" for nothing.
func (s *session) reconfiguring(yes bool, said string, ask func(config string) (*api.Reconfigured, error)) error {
	is, err := ask(said)
	if err != nil || is == nil {
		return err
	}
	a := s.app
	t := a.theme(a.err)
	if len(is.Changes) > 0 {
		a.notice("the configuration has changed since run %s was approved:", is.Run)
	}
	for _, line := range is.Changes {
		a.notice("  %s", t.one(line)) // a command line is seen whole
	}
	if len(is.Files) > 0 {
		a.notice("files that judge the work have changed since run %s was approved:", is.Run)
	}
	for _, f := range is.Files {
		a.notice("  %s", t.one(f.Path+" "+f.What))
		for line := range strings.Lines(f.Lines) {
			a.notice("    %s", t.one(line))
		}
	}
	if !yes && !a.asks() {
		return waiting{&api.Problem{
			Code: api.Denied, Message: fmt.Sprintf("nobody has said that run %s may go on with what changed", is.Run),
			Hint: "add --yes to let the run go on with it, or put back what was there",
		}}
	}
	if !yes && !a.confirm(fmt.Sprintf("Let run %s go on with it?", is.Run)) {
		a.notice("not approved; run %s is as it was", is.Run)
		return ended(exitWaiting)
	}
	if is, err = ask(is.Config); err == nil && is != nil {
		err = &api.Problem{Code: api.Conflict, Message: "it has changed since it was shown", Hint: "give the same command again"}
	}
	return err
}
