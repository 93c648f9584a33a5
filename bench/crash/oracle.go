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
	"path"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite"
)

// entry is one row of the journal, read with plain SQL: the oracle uses none of
// Piton's own code.
type entry struct {
	stream string // "" for that of the run, else what follows its name in that of a sub-plan
	seq    uint64
	typ    string
	body   struct {
		Step    string   `json:"step"`
		Kind    string   `json:"kind"`
		How     string   `json:"how"`
		Status  string   `json:"status"`
		Verdict string   `json:"verdict"`
		Item    string   `json:"item"`
		Choice  string   `json:"choice"`
		Child   string   `json:"child"`
		Run     string   `json:"run"`
		Revises string   `json:"revises"`
		Carried []string `json:"carried"`
	}
}

// judge looks for everything that must not be.
func (w *workspace) judge() error {
	all, err := w.journals()
	if err != nil {
		return err
	}
	entries := all[""]
	err = errors.Join(w.nothingLost(entries), w.told(entries, w.story.steps), w.below(all), w.answered(all), w.witnesses(all), w.whole())
	if w.story.judge != nil {
		err = errors.Join(err, w.story.judge(w, entries))
	}
	return err
}

// journal is that of the run.
func (w *workspace) journal() ([]entry, error) {
	all, err := w.journals()
	return all[""], err
}

// journals are that of the run, and those of its sub-plans.
func (w *workspace) journals() (map[string][]entry, error) {
	found, _ := filepath.Glob(filepath.Join(w.dir, "state", "*", "journal.db"))
	if len(found) != 1 {
		return nil, fmt.Errorf("%d journals", len(found))
	}
	db, err := sql.Open("sqlite", "file:"+found[0]+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Query("SELECT stream, seq, type, body FROM event WHERE stream != 'workspace' ORDER BY seq")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string][]entry{}
	for rows.Next() {
		var e entry
		var body []byte
		if err := rows.Scan(&e.stream, &e.seq, &e.typ, &body); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(body, &e.body); err != nil {
			return nil, err
		}
		_, e.stream, _ = strings.Cut(e.stream, "/")
		all[e.stream] = append(all[e.stream], e)
	}
	return all, rows.Err()
}

// below: the run of a sub-plan begins once, with the attempt that is dispatched to
// it, and keeps what every run keeps.
func (w *workspace) below(all map[string][]entry) error {
	sent := map[string][]string{}
	for _, e := range all[""] {
		if e.typ == "work.dispatched" && e.body.Child != "" {
			sent[e.body.Step] = append(sent[e.body.Step], e.body.Child)
		}
	}
	if len(sent) != w.story.below || len(all) != 1+len(sent) {
		return fmt.Errorf("%d steps have runs of their own, in %d streams, and should be %d", len(sent), len(all)-1, w.story.below)
	}
	for step, runs := range sent {
		var opened []string
		for _, e := range all[step] {
			if e.typ == "run.opened" {
				opened = append(opened, e.body.Run)
			}
		}
		if !slices.Equal(opened, runs) {
			return fmt.Errorf("step %s was dispatched to the runs %v, and opened are %v", step, runs, opened)
		}
		if err := w.told(all[step], w.story.stepsBelow); err != nil {
			return fmt.Errorf("the run of step %s: %w", step, err)
		}
	}
	return nil
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
func (w *workspace) told(entries []entry, steps int) error {
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
		case e.typ == "step.settled" && e.body.Verdict == "infra": // it only waits: this machine could not ask its checks
		case e.typ == "step.settled" && e.body.Status == "done":
			if done[step] || !passed[step] {
				return fmt.Errorf("step %s is done twice, or without proof", step)
			}
			done[step] = true
		case e.typ == "run.ended":
			ended++
		}
	}
	if len(done) != steps || ended != opened || opened == 0 {
		return fmt.Errorf("%d steps are done, %d runs were opened and %d ended", len(done), opened, ended)
	}
	return nil
}

// answered: what people were told was taken is in the journal.
func (w *workspace) answered(all map[string][]entry) error {
	entries := slices.Concat(slices.Collect(maps.Values(all))...)
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

// witnesses: no script ran more often than the journal dispatched it. Those of
// sub-plans sign with the step of the run, a slash and their own.
func (w *workspace) witnesses(all map[string][]entry) error {
	body, err := os.ReadFile(w.witness)
	if err != nil {
		return err
	}
	ran, sent := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(body)) {
		ran[strings.TrimSpace(line)]++
	}
	for _, e := range slices.Concat(slices.Collect(maps.Values(all))...) {
		if e.typ == "work.dispatched" && e.body.Kind == "plan" {
			sent["planner"]++
		} else if e.typ == "work.dispatched" && e.body.Kind != "merge" {
			sent[path.Join(e.stream, e.body.Step)]++
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
	was, err := w.journal()
	if err != nil {
		return err
	}
	out, err := w.command(context.Background(), "resume").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "opens a new run") {
		return fmt.Errorf("resume does not say that the run has ended: %v: %s", err, out)
	}
	is, err := w.journal()
	if err != nil {
		return err
	}
	after, err := os.ReadFile(w.witness)
	switch {
	case err != nil:
		return err
	case len(is) != len(was):
		return fmt.Errorf("resuming a finished run wrote %d records", len(is)-len(was))
	case string(after) != string(before):
		return errors.New("resuming a finished run ran something")
	}
	return nil
}
