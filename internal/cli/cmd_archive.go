package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/store"
)

func (a *app) archiveCmd() *cobra.Command {
	var older string
	var back bool
	c := &cobra.Command{
		Use:   "archive [RUN]",
		Short: "Take a finished run out of the lists",
		Long: `Takes a finished run, the newest if none is given, or all that ended some time ago out of
piton list. Nothing of it is lost: it can be read by its id, and piton list --archived shows
it. Which runs are archived is kept beside the journal, not in it: it says nothing of the run.`,
		Example: "  piton archive 7f3a21\n  piton archive --older-than 30d\n  piton archive 7f3a21 --back",
		Args:    atMost("a run", 1),
		RunE: func(c *cobra.Command, args []string) error {
			if older != "" && (len(args) > 0 || back) {
				return usage(c, errors.New("--older-than stands alone: it says itself which runs are meant"))
			}
			return a.archive(c.Context(), first(args), older, back)
		},
	}
	c.Flags().StringVar(&older, "older-than", "", "all runs that ended longer ago than this, as 30d or 12h")
	c.Flags().BoolVar(&back, "back", false, "put the run back into the lists")
	return c
}

// shelved is one line of the file that says which runs are archived: the last
// line of a run counts.
type shelved struct {
	Run  string `json:"run"`
	At   stamp  `json:"at"`
	By   string `json:"by"`
	Back bool   `json:"back,omitzero"`
}

func (a *app) archive(ctx context.Context, word, older string, back bool) error {
	if err := a.byPerson(); err != nil {
		return err
	}
	return a.with(ctx, func(s *session) error {
		runs, err := s.finished(ctx, word, older)
		if err != nil {
			return err
		}
		already, err := s.shelf()
		if err != nil {
			return err
		}
		runs = slices.DeleteFunc(runs, func(id string) bool { return already[id] != back })
		if err := s.shelve(runs, back); err != nil {
			return err
		}
		if a.json {
			a.document("archive", map[string]any{"runs": list(runs), "back": back})
			return nil
		}
		fmt.Fprintln(a.out, shelvedText(runs, back))
		return nil
	})
}

func shelvedText(runs []string, back bool) string {
	switch {
	case len(runs) == 0:
		return "nothing to do: it is so already"
	case back:
		return plural(len(runs), "run is", "runs are") + " in the lists again"
	}
	return plural(len(runs), "run is", "runs are") + " archived; piton list --archived shows them"
}

// finished are the runs that are meant; one that has not ended is refused.
func (s *session) finished(ctx context.Context, word, older string) ([]string, error) {
	if older == "" {
		head, err := s.Find(ctx, word)
		if err == nil && !head.Ended {
			err = &api.Problem{Code: api.Conflict, Message: fmt.Sprintf("run %s is not finished", head.Run), Hint: fmt.Sprintf("piton resume %s goes on with it, piton cancel %s gives it up", head.Run, head.Run)}
		}
		return []string{head.Run}, err
	}
	age, err := plan.ParseDuration(older)
	if err != nil {
		return nil, &misuse{text: fmt.Sprintf("--older-than %q is no duration", older), hint: "write it as 30d, 12h or 90m"}
	}
	heads, err := s.store.Heads(ctx, store.HeadFilter{Status: []engine.Status{engine.Done, engine.Failed, engine.Cancelled, engine.Superseded}})
	if err != nil {
		return nil, err
	}
	var runs []string
	for _, h := range heads {
		if h.Ended && s.Now().Sub(h.Finished) > age {
			runs = append(runs, h.Run)
		}
	}
	return runs, nil
}

func (s *session) shelfPath() string { return filepath.Join(s.Place.State, "archived.jsonl") }

// shelf reads which runs are archived.
func (s *session) shelf() (map[string]bool, error) {
	f, err := os.Open(s.shelfPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which runs are archived: %w", err)
	}
	defer f.Close()
	shelf := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var l struct {
			Run  string
			Back bool
		}
		if json.Unmarshal(lines.Bytes(), &l) == nil { // a line that a crash cut short says nothing
			shelf[l.Run] = !l.Back
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read which runs are archived: %s: %w", s.shelfPath(), err)
	}
	return shelf, nil
}

// shelve adds lines in one write, so that two calls at once do not mix.
func (s *session) shelve(runs []string, back bool) error {
	if len(runs) == 0 {
		return nil
	}
	text := []byte("\n")
	for _, run := range runs {
		line, err := json.Marshal(shelved{run, stamp(s.Now()), s.By, back})
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	f, err := os.OpenFile(s.shelfPath(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write which runs are archived: %w", err)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// onShelf keeps the runs that are archived, or those that are not, and at most
// so many; 0 is no limit.
func onShelf(heads []engine.HeadRow, shelf map[string]bool, archived bool, limit int) []engine.HeadRow {
	heads = slices.DeleteFunc(heads, func(h engine.HeadRow) bool { return shelf[h.Run] != archived })
	if limit > 0 && len(heads) > limit {
		heads = heads[:limit]
	}
	return heads
}
