package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite"
)

// entry is one row of the journal, read with plain SQL: the oracle uses none of
// Piton's own code.
type entry struct {
	seq  uint64
	typ  string
	body struct {
		Step    string `json:"step"`
		Kind    string `json:"kind"`
		Status  string `json:"status"`
		Verdict string `json:"verdict"`
	}
}

// judge looks for everything that must not be.
func (w *workspace) judge() error {
	entries, err := w.journal()
	if err != nil {
		return err
	}
	return errors.Join(w.nothingLost(entries), story(entries), w.witnesses(entries), w.whole())
}

func (w *workspace) journal() ([]entry, error) {
	found, _ := filepath.Glob(filepath.Join(w.dir, "state", "*", "journal.db"))
	if len(found) != 1 {
		return nil, fmt.Errorf("%d journals", len(found))
	}
	db, err := sql.Open("sqlite", "file:"+found[0]+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Query("SELECT seq, type, body FROM event WHERE stream != 'workspace' ORDER BY seq")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []entry
	for rows.Next() {
		var e entry
		var body []byte
		if err := rows.Scan(&e.seq, &e.typ, &body); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(body, &e.body); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, rows.Err()
}

// nothingLost: what was printed is in the journal, where it was.
func (w *workspace) nothingLost(entries []entry) error {
	for i, e := range entries {
		if e.seq != uint64(i+1) {
			return fmt.Errorf("record %d is missing", i+1)
		}
	}
	for _, a := range w.acks {
		if a.Seq > uint64(len(entries)) {
			return fmt.Errorf("printed event %d (%s) is lost", a.Seq, a.Type)
		}
		if e := entries[a.Seq-1]; e.typ != a.Type || e.body.Step != a.Step {
			return fmt.Errorf("printed event %d was %s %q and is %s %q", a.Seq, a.Type, a.Step, e.typ, e.body.Step)
		}
	}
	return nil
}

// story: every step is done once, by a passing check, and never runs again.
func story(entries []entry) error {
	done, passed, ended := map[string]bool{}, map[string]bool{}, 0
	for _, e := range entries {
		step := e.body.Step
		switch {
		case e.typ == "work.dispatched" && done[step]:
			return fmt.Errorf("step %s runs again after it was done", step)
		case e.typ == "work.dispatched":
			passed[step] = false
		case e.typ == "check.ended":
			passed[step] = e.body.Verdict == "pass"
		case e.typ == "step.settled" && e.body.Status == "done":
			if done[step] || !passed[step] {
				return fmt.Errorf("step %s is done twice, or without proof", step)
			}
			done[step] = true
		case e.typ == "run.ended":
			ended++
		}
	}
	if len(done) != 5 || ended != 1 {
		return fmt.Errorf("%d steps are done, and the run ended %d times", len(done), ended)
	}
	return nil
}

// witnesses: no script ran more often than the journal dispatched it.
func (w *workspace) witnesses(entries []entry) error {
	body, err := os.ReadFile(w.witness)
	if err != nil {
		return err
	}
	ran, sent := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(body)) {
		ran[strings.TrimSpace(line)]++
	}
	for _, e := range entries {
		if e.typ == "work.dispatched" {
			sent[e.body.Step]++
		}
	}
	for step, n := range ran {
		if n > sent[step] {
			return fmt.Errorf("step %s ran %d times and was dispatched %d times", step, n, sent[step])
		}
	}
	return nil
}

// whole: the program itself finds its journal in order, and has nothing to do.
func (w *workspace) whole() error {
	c := w.command(context.Background(), "fsck")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("fsck: %w: %s", err, strings.TrimSpace(string(out)))
	}
	before, err := os.ReadFile(w.witness)
	if err != nil {
		return err
	}
	out, err := w.command(context.Background(), "resume").CombinedOutput()
	if err == nil {
		return fmt.Errorf("a finished run can be resumed: %s", out)
	}
	if after, _ := os.ReadFile(w.witness); string(after) != string(before) {
		return errors.New("resuming a finished run ran something")
	}
	return nil
}
