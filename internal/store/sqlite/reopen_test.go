package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// TestReopened writes one record of each kind with all that goes with them, and
// reads the same from the files.
func TestReopened(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	s, epoch := owned(t, dir)
	batches := []store.Batch{goldenWorkspace(epoch), goldenTask(epoch)}
	write(t, s, batches...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, epoch = owned(t, dir)
	defer s.Close()
	if _, err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	for _, b := range batches {
		if diff := cmp.Diff(b.Records, read(t, s, b.Stream)); diff != "" {
			t.Errorf("records of %s (- written, + read):\n%s", b.Stream, diff)
		}
	}
	checkGoldenRows(t, s)
	write(t, s, settled("task-1", batches[1].Last(), epoch, 1))
}

func checkGoldenRows(t *testing.T, s *sqlite.Store) {
	t.Helper()
	b := goldenTask(1)
	heads, err := s.Heads(t.Context(), store.HeadFilter{})
	if diff := cmp.Diff([]engine.HeadRow{*b.Rows.Head}, heads); diff != "" || err != nil {
		t.Errorf("%v, heads:\n%s", err, diff)
	}
	steps, err := s.Steps(t.Context(), store.StepFilter{Stream: b.Stream, Run: b.Rows.Head.Run})
	if diff := cmp.Diff(b.Rows.Steps, steps); diff != "" || err != nil {
		t.Errorf("%v, steps:\n%s", err, diff)
	}
	items, err := s.Items(t.Context(), store.ItemFilter{Open: true})
	if diff := cmp.Diff(b.Rows.Items, items); diff != "" || err != nil {
		t.Errorf("%v, items:\n%s", err, diff)
	}
	for _, o := range b.Objects {
		if body, err := s.Object(t.Context(), o.Hash); !bytes.Equal(body, o.Body) || err != nil {
			t.Errorf("object: %d bytes, %v", len(body), err)
		}
	}
	if seq, body, err := s.Snapshot(t.Context(), b.Stream); seq != b.Last() || !bytes.Equal(body, b.Snapshot) || err != nil {
		t.Errorf("snapshot: %d, %q, %v", seq, body, err)
	}
}

func goldenBatch(stream string, epoch uint64, events ...engine.Event) store.Batch {
	b := store.Batch{Stream: stream, Epoch: epoch}
	for i, e := range events {
		b.Records = append(b.Records, engine.Record{
			Stream: stream, Seq: uint64(i + 1), Epoch: epoch, Actor: []string{engine.Harness, "ana@host"}[i%2],
			At: goldenTime().Add(time.Duration(i) * time.Second), Event: e,
		})
	}
	return b
}

func goldenTime() time.Time { return time.Date(2026, 5, 6, 7, 8, 9, 10_000, time.UTC) }

func goldenWorkspace(epoch uint64) store.Batch {
	return goldenBatch(engine.WorkspaceStream, epoch,
		engine.EpochBegan{Host: "host", Version: "0.1"},
		engine.IntentOpened{ID: "intent-1", Prompt: "Add a <flag> & test it", Path: "plans/flag.md"},
		engine.PlanDrafted{Plan: "plan-1", Version: 1, Intent: "intent-1", Path: "plans/flag.md", Title: "A flag", Source: "s", Hash: "h", By: "ana"},
		engine.PlanVerified{Plan: "plan-1", OK: true, Warnings: 2, Findings: "f"},
		engine.PlanAnswered{Plan: "plan-1", Hash: "h", Config: "c", Yes: true, By: "ana", Via: "terminal"},
	)
}

func goldenTask(epoch uint64) store.Batch {
	tokens := int64(1 << 40)
	later := goldenTime().Add(time.Hour)
	b := goldenBatch("task-1", epoch,
		engine.TaskOpened{Task: "task-1", Intent: "intent-1"},
		engine.RunOpened{Run: "run-1", Plan: "plan-1", Version: 1, Title: "A flag", PlanHash: "h", Program: "p", Config: "c", Agents: map[string]string{"coder": "1.2"}, Policy: engine.Policy{MaxParallel: 4, Baseline: true}, Workspace: "/w", Isolation: "sealed"},
		engine.WorkDispatched{Step: "one", Attempt: 1, N: 1, Kind: engine.AgentWork, Role: "coder", Prompt: "p", Injected: []engine.Injected{{Ref: "notes", Hash: "n"}, {Ref: "absent"}}},
		engine.WorkEnded{Step: "one", Attempt: 1, N: 1, Kind: engine.AgentWork, How: engine.Exited, Ms: 12, Usage: engine.Usage{In: &tokens}, Changed: []string{"a.go"}},
		engine.CheckEnded{Step: "one", Attempt: 1, Phase: engine.Verifying, Check: "test", Required: true, Command: "c", Env: "e", Verdict: engine.Fail, Exit: 1, Output: "o", Stdout: "--- FAIL\n"},
		engine.StepSettled{Step: "one", Attempt: 1, Status: engine.Running, Verdict: engine.Fail, RetryAt: &later},
		engine.ItemOpened{Item: "item-1", Step: "one", Attempt: 1, Kind: engine.Escalation, Cause: engine.Fail, Question: "Go on?", Hash: "q", Choices: []string{"retry", "skip"}},
		engine.ItemAnswered{Item: "item-1", Choice: "retry", By: "ana", Via: "terminal"},
		engine.Command{Verb: engine.DoRetry, Step: "one", By: "ana"},
		engine.RunEnded{Status: engine.Failed, Exit: 1, Reason: "one failed", Left: 1},
	)
	b.Objects = []store.Object{store.NewObject([]byte("small")), store.NewObject(bytes.Repeat([]byte("large\n"), 11_000))}
	b.Snapshot = fmt.Append(nil, "state after ", b.Last())
	b.Rows = engine.Rows{
		Head: &engine.HeadRow{
			Stream: "task-1", Run: "run-1", Plan: "plan-1", Version: 1, Title: "A flag", PlanHash: "h", Status: engine.Failed,
			Exit: 1, Ended: true, Started: goldenTime(), Finished: goldenTime().Add(time.Minute), Total: 2, TokensIn: tokens,
		},
		Steps: []engine.StepRow{
			{Index: 0, ID: "one", Number: "1", Title: "One", Status: engine.Failed, Reason: "r", Agent: "coder", Attempts: 1, Verdict: engine.Fail, Baseline: engine.Fail, Started: goldenTime()},
			{Index: 1, ID: "two", Number: "2", Title: "Two", Status: engine.Pending, Phase: engine.Baseline, Needs: []string{"one"}},
		},
		Items: []engine.ItemRow{{ItemOpened: engine.ItemOpened{Item: "item-2", Step: "two", Kind: engine.Approval, Question: "Start?", Hash: "q", Choices: []string{"yes", "no"}}, Stream: "task-1", Run: "run-1", Opened: goldenTime(), Open: true}},
	}
	return b
}

// TestCutOffWhileItIsMade: a kill in the first transaction leaves a journal of what
// is to be undone. Nothing was promised then, so that the next one begins anew.
func TestCutOffWhileItIsMade(t *testing.T) {
	t.Parallel()
	made, dir := scratch(t), scratch(t)
	db, err := sql.Open("sqlite", filepath.Join(made, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, q := range []string{
		"PRAGMA cache_size=1", "BEGIN", "CREATE TABLE event(x)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 200) INSERT INTO event SELECT randomblob(4000) FROM n",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(q, err)
		}
	}
	for _, name := range []string{"journal.db", "journal.db-journal"} {
		body, err := os.ReadFile(filepath.Join(made, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), body, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
}
