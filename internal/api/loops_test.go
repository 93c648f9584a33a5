package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// looping is a journal of one run with two patterns and their instances, all loops. It
// counts how often the runs of the task are read.
type looping struct {
	store.Store
	program *engine.Program
	heads   int
}

func (l *looping) Object(context.Context, string) ([]byte, error) { return l.program.Encode(), nil }

func (l *looping) Heads(context.Context, store.HeadFilter) ([]engine.HeadRow, error) {
	l.heads++
	return []engine.HeadRow{{Stream: "t", Run: "r2", First: 50}, {Stream: "t", Run: "r1", First: 1}}, nil
}

func (l *looping) Steps(_ context.Context, f store.StepFilter) ([]engine.StepRow, error) {
	var rows []engine.StepRow
	for i, id := range []string{"a", "b"} {
		if row := (engine.StepRow{Index: i, ID: id}); f.Fits(row) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (l *looping) Marked(_ context.Context, f store.MarkFilter) ([]store.Marked, error) {
	if f.Stream != "t" || f.From != 1 || f.Before != 50 {
		return nil, fmt.Errorf("records of another run: %+v", f)
	}
	e := engine.StepExpanded{Step: f.Steps[0], Items: []json.RawMessage{json.RawMessage(`"x"`), json.RawMessage(`"y"`)}}
	return []store.Marked{{Record: engine.Record{Event: e}}}, nil
}

// TestLoopsReadTheirRunOnce: where a run begins and ends is not asked again for each of its loops.
func TestLoopsReadTheirRunOnce(t *testing.T) {
	var def engine.Definition
	def.Plan, def.Parallel = "p", 1
	for _, id := range []string{"a", "b"} {
		def.Steps = append(def.Steps, engine.Step{
			ID: id, Number: "1", Title: "Do", Kind: engine.Agent, Task: "Do {item}.", Expect: engine.ExpectAny, OnFail: engine.OnFail{Then: engine.Escalate},
			Timeout: time.Minute, CheckTimeout: time.Minute, Mode: "edit", Network: "yes", Each: &engine.Each{Glob: "*"},
			Checks: []engine.Check{{Name: engine.Contract, Command: "true", Required: true}},
		})
	}
	program, err := engine.NewProgram(def)
	if err != nil {
		t.Fatal(err)
	}
	journal := &looping{program: program}
	var rows []engine.StepRow
	for n, id := range []string{"a.1", "a.2", "b.1", "b.2"} {
		rows = append(rows, engine.StepRow{Index: 2 + n, ID: id, Loop: &engine.LoopRow{}})
	}
	p := api.Product{Store: journal}
	loops, err := p.Loops(t.Context(), engine.HeadRow{Stream: "t", Run: "r1", First: 1}, rows)
	if err != nil || len(loops) != len(rows) {
		t.Fatalf("%d loops, %v", len(loops), err)
	}
	if journal.heads > 2 { // once for the items, once for the loops
		t.Errorf("the runs of the task are read %d times", journal.heads)
	}
}
