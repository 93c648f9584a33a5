//go:build crash

package owner

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// rigged plants the bug that PITON_CRASH_BUG names, to prove that the crash
// test's oracle would see it.
func rigged(state string, c run.Config, p proc.Config) (run.Config, proc.Config) {
	s := &riggedStore{Store: c.Store, bug: os.Getenv("PITON_CRASH_BUG"), db: filepath.Join(state, "journal.db")}
	switch s.bug {
	case "orphans":
		p.Level = proc.Group
	case "drop-tail":
		s.sql("DELETE FROM event WHERE id > (SELECT max(id) - 2 FROM event)")
	}
	if s.bug != "" {
		c.Store, c.Do = s, riggedDo(s.bug, c.Do)
	}
	return c, p
}

// riggedDo does more than it is asked to.
func riggedDo(bug string, do run.Do) run.Do {
	return func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
		switch {
		case bug == "merge-again" && e.Key.Kind == engine.Merge:
			forgetMerges()
		case bug == "call-again" && e.Step.Kind == engine.Tool && e.Key.Kind == engine.Verify:
			writeAgain(e.Step.Args)
		}
		return do(ctx, e, r)
	}
}

// forgetMerges hides what was merged from whoever looks for it before a merge.
func forgetMerges() {
	found, _ := filepath.Glob(filepath.Join(os.Getenv("PITON_STATE"), "*.worktrees", "*", "*", "marks.json"))
	for _, name := range found {
		var marks map[string]any
		body, _ := os.ReadFile(name)
		if json.Unmarshal(body, &marks) != nil {
			continue
		}
		delete(marks, "merged")
		if body, err := json.Marshal(marks); err == nil {
			os.WriteFile(name, body, 0o600) //nolint:errcheck // a planted bug
		}
	}
}

// writeAgain executes a call of write_file.
func writeAgain(args []byte) {
	var file struct{ Path, Content string }
	if json.Unmarshal(args, &file) == nil {
		os.WriteFile(file.Path, []byte(file.Content), 0o644) //nolint:errcheck // a planted bug
	}
}

type riggedStore struct {
	store.Store
	bug, db string
	held    []store.Batch // shown, and not durable yet
}

// Own releases what is held at the last moment.
func (s *riggedStore) Own(ctx context.Context, workspace string) (uint64, func() error, error) {
	epoch, release, err := s.Store.Own(ctx, workspace)
	return epoch, func() error {
		if len(s.held) > 0 {
			Point("bug shown before append")
			s.Store.Append(ctx, s.held...) //nolint:errcheck // a planted bug
		}
		return release()
	}, err
}

// late reports batches that are kept back until the next one.
func (s *riggedStore) late(bs []store.Batch) bool {
	for _, b := range bs {
		for _, r := range b.Records {
			o, opens := r.Event.(engine.RunOpened)
			_, answers := r.Event.(engine.ItemAnswered)
			if s.bug == "yes-late" && opens && o.Revises != "" || s.bug == "answer-late" && answers {
				return true
			}
		}
	}
	return false
}

func (s *riggedStore) Append(ctx context.Context, bs ...store.Batch) error {
	switch s.bug {
	case "forget-commit":
		if endsRun(bs) {
			return nil
		}
	case "start-early":
		s.start(bs)
		Point("bug started before append")
	case "apart":
		for _, b := range bs {
			if err := s.Store.Append(ctx, b); err != nil {
				return err
			}
			Point("bug between streams")
		}
		return nil
	case "yes-late", "answer-late":
		if len(s.held) == 0 && s.late(bs) {
			s.held = bs
			return nil
		}
		for _, b := range append(s.held, bs...) {
			if err := s.Store.Append(ctx, b); err != nil {
				return err
			}
		}
		s.held = nil
		return nil
	}
	err := s.Store.Append(ctx, bs...)
	if s.bug == "tamper" && err == nil {
		s.sql("UPDATE event SET body = replace(body, '\"attempt\":1', '\"attempt\":2') WHERE type = 'check.ended'")
	}
	return err
}

// endsRun reports whether the batches end the run.
func endsRun(bs []store.Batch) bool {
	for _, b := range bs {
		for _, r := range b.Records {
			if _, ok := r.Event.(engine.RunEnded); ok {
				return true
			}
		}
	}
	return false
}

// start runs scripts before their dispatch is durable.
func (s *riggedStore) start(bs []store.Batch) {
	for _, b := range bs {
		for _, r := range b.Records {
			d, ok := r.Event.(engine.WorkDispatched)
			for _, o := range b.Objects {
				if ok && o.Hash == d.Prompt {
					exec.Command("bash", "-c", string(o.Body)).Run() //nolint:errcheck // a planted bug
				}
			}
		}
	}
}

func (s *riggedStore) Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for r, err := range s.Store.Read(ctx, stream, after) {
			if e, ok := r.Event.(engine.StepSettled); ok && s.bug == "rerun-done" && e.Status == engine.Done {
				e.Status, e.By, e.Proven = engine.Pending, "a bug", false
				r.Event = e
			}
			if e, ok := r.Event.(engine.ItemAnswered); ok && s.bug == "raise-lost" {
				e.Args = json.RawMessage(`{"tokens":12000}`) // what was asked for, and not what was given
				r.Event = e
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// sql writes past the journal's own guards.
func (s *riggedStore) sql(statement string) {
	db, err := sql.Open("sqlite", "file:"+s.db)
	if err != nil {
		return
	}
	defer db.Close()
	rows, err := db.Query("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'event'")
	if err != nil {
		return
	}
	var names []string
	for rows.Next() {
		var n string
		rows.Scan(&n) //nolint:errcheck // a planted bug
		names = append(names, n)
	}
	rows.Close()
	for _, n := range names {
		db.Exec("DROP TRIGGER " + n) //nolint:errcheck // a planted bug
	}
	db.Exec(statement) //nolint:errcheck // a planted bug
}
