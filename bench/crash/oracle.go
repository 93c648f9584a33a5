//go:build linux

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite"
)

// entry is one row of the journal, read with plain SQL: the oracle uses none of
// Piton's own code.
type entry struct {
	seq  uint64
	typ  string
	body struct {
		Step    string   `json:"step"`
		Kind    string   `json:"kind"`
		How     string   `json:"how"`
		Status  string   `json:"status"`
		Verdict string   `json:"verdict"`
		Item    string   `json:"item"`
		Choice  string   `json:"choice"`
		Revises string   `json:"revises"`
		Carried []string `json:"carried"`
	}
}

// judge looks for everything that must not be.
func (w *workspace) judge() error {
	entries, err := w.journal()
	if err != nil {
		return err
	}
	err = errors.Join(w.nothingLost(entries), w.told(entries), w.witnesses(entries), w.whole())
	if w.story.judge != nil {
		err = errors.Join(err, w.story.judge(w, entries))
	}
	return err
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

// told: every step is done once, by a passing check, and never works again,
// unless a revision of the plan does not carry it over; every run ends once.
func (w *workspace) told(entries []entry) error {
	done, passed, opened, ended := map[string]bool{}, map[string]bool{}, 0, 0
	for _, id := range w.story.asks {
		passed[id] = true
	}
	for _, e := range entries {
		step := e.body.Step
		switch {
		case e.typ == "run.opened":
			if e.body.Revises == "" {
				opened++
			}
			before := maps.Clone(done)
			clear(done)
			for _, id := range e.body.Carried { // as it stands, done or not
				if before[id] {
					done[id] = true
				}
			}
		case e.typ == "work.dispatched" && done[step]:
			return fmt.Errorf("step %s works again after it was done", step)
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
	if len(done) != w.story.steps || ended != opened || opened == 0 {
		return fmt.Errorf("%d steps are done, %d runs were opened and %d ended", len(done), opened, ended)
	}
	return w.answered(entries)
}

// answered: what people were told was taken is in the journal.
func (w *workspace) answered(entries []entry) error {
	for _, id := range w.said {
		taken := id == approved || slices.ContainsFunc(entries, func(e entry) bool {
			return e.typ == "item.answered" && strings.HasSuffix(id, e.body.Item)
		})
		if !taken {
			return fmt.Errorf("the answer to item %s was shown as taken, and is lost", id)
		}
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
		if e.typ == "work.dispatched" && e.body.Kind != "merge" {
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
