package cli

import (
	"fmt"

	"github.com/piton-dev/piton/internal/api"
)

// configYes is what --yes means where it can only be about the configuration.
const configYes = "if the configuration has changed since the run was approved: let the run go on with it"

// reconfiguring asks. Where the configuration is not the one that the run was approved
// with, it shows what is different, and asks once more with a person's yes. Said is the
// hash of the one that they said yes to before, "" for none.
func (s *session) reconfiguring(yes bool, said string, ask func(config string) (*api.Reconfigured, error)) error {
	is, err := ask(said)
	if err != nil || is == nil {
		return err
	}
	a := s.app
	t := a.theme(a.err)
	a.notice("the configuration has changed since run %s was approved:", is.Run)
	for _, line := range is.Changes {
		a.notice("  %s", t.one(line)) // a command line is seen whole
	}
	if !yes && !a.asks() {
		text := fmt.Sprintf("run %s was approved with another configuration", is.Run)
		return waiting{&api.Problem{Code: api.Denied, Message: text, Hint: "add --yes to let the run go on with the new configuration, or put the former one back"}}
	}
	if !yes && !a.confirm(fmt.Sprintf("Let run %s go on with it?", is.Run)) {
		a.notice("not approved; run %s is as it was", is.Run)
		return ended(exitWaiting)
	}
	if is, err = ask(is.Config); err == nil && is != nil {
		err = &api.Problem{Code: api.Conflict, Message: "the configuration has changed since it was shown", Hint: "give the same command again"}
	}
	return err
}
