//go:build crash

package cli

import (
	"context"
	"database/sql"
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
	s := riggedStore{Store: c.Store, bug: os.Getenv("PITON_CRASH_BUG"), db: filepath.Join(state, "journal.db"), dir: filepath.Dir(state)}
	switch s.bug {
	case "orphans":
		p.Level = proc.Group
	case "show-early":
		s.show, c.Show = c.Show, nil
	case "drop-tail":
		s.sql("DELETE FROM event WHERE id > (SELECT max(id) - 2 FROM event)")
	}
	if s.bug != "" {
		c.Store = s
	}
	return c, p
}

type riggedStore struct {
	store.Store
	bug, db, dir string
	show         func([]engine.Record)
}

func (s riggedStore) Append(ctx context.Context, bs ...store.Batch) error {
	switch s.bug {
	case "forget-commit":
		if endsRun(bs) {
			return nil
		}
	case "show-early":
		for _, b := range bs {
			s.show(b.Records)
		}
		crashPoint("bug shown before append")
	case "start-early":
		s.start(bs)
		crashPoint("bug started before append")
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
func (s riggedStore) start(bs []store.Batch) {
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

func (s riggedStore) Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for r, err := range s.Store.Read(ctx, stream, after) {
			if e, ok := r.Event.(engine.StepSettled); ok && s.bug == "rerun-done" && e.Status == engine.Done {
				e.Status, e.By, e.Proven = engine.Pending, "a bug", false
				r.Event = e
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// sql writes past the journal's own guards.
func (s riggedStore) sql(statement string) {
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
