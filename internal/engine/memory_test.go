package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// TestReadMemory: a memory has all its keys, no other, and nothing that a person would
// not see.
func TestReadMemory(t *testing.T) {
	good := `{"title":"T","when_to_use":["a b"],"importance":10,"text":"x\ny"}`
	if _, err := engine.ReadMemory([]byte(good)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		``, `[]`, good + `]`, good + good, `{"title":"T","when_to_use":["a"],"importance":1}`,
		strings.Replace(good, `"T"`, `"T","path":"/x"`, 1), strings.Replace(good, `"T"`, `"T\nU"`, 1), strings.Replace(good, `"T"`, `"`+strings.Repeat("t", 81)+`"`, 1),
		strings.Replace(good, `10`, `11`, 1), strings.Replace(good, `10`, `0`, 1), strings.Replace(good, `["a b"]`, `[]`, 1), strings.Replace(good, `["a b"]`, `["\u200b"]`, 1),
		strings.Replace(good, `x\ny`, `x\u0000`, 1), strings.Replace(good, `x\ny`, strings.Repeat("x", 5000), 1), strings.Replace(good, `x\ny`, ` `, 1),
	} {
		if m, err := engine.ReadMemory([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, m)
		}
	}
}

// TestMemories: what is extracted waits for people, one answer each; a file is told of
// once, and only of what was adopted. The fold of the journal says the same.
func TestMemories(t *testing.T) {
	w, journal := &engine.Workspace{}, []engine.Record{}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	take := func(in engine.Input) error {
		events, err := w.Admit(in, now)
		events = append(events, w.Decide(now)...)
		for _, e := range events {
			r := engine.Record{Stream: engine.WorkspaceStream, Seq: w.Seq() + 1, At: now, Actor: in.Actor(), Epoch: 1, Event: e}
			journal = append(journal, r)
			if err := w.Apply(r); err != nil {
				t.Fatal(err)
			}
		}
		return err
	}
	must := func(in engine.Input) {
		t.Helper()
		if err := take(in); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(in engine.Input) {
		t.Helper()
		if take(in) == nil {
			t.Errorf("%+v is taken", in)
		}
	}
	must(engine.Begin{})
	opened := engine.RunOpened{Run: "r1", Config: "c", Policy: engine.Policy{Extract: true}}
	if _, wanted := opened.Extracts(engine.RunEnded{Status: engine.Cancelled}, 9); wanted {
		t.Error("a cancelled run teaches")
	}
	asks, wanted := opened.Extracts(engine.RunEnded{Status: engine.Done}, 9)
	if !wanted {
		t.Fatal("nobody is asked")
	}
	must(asks)
	refused(asks)
	refused(engine.Errand{ErrandAsked: engine.ErrandAsked{Errand: "x", Kind: engine.ExtractWork, Run: "r1", By: "ann"}})
	m := engine.Memory{Title: "T", WhenToUse: []string{"a"}, Importance: 1, Text: "x"}
	must(engine.Ended{Key: w.Pending()[0], WorkEnded: engine.WorkEnded{How: engine.Exited}, Memories: []engine.Memory{m, m}})
	rows := w.Rows()
	if len(rows.Items) != 2 || rows.Items[0].Run != "r1" || !rows.Items[0].Open || len(w.Adoptions()) > 0 {
		t.Fatalf("%+v", rows.Items)
	}
	reply := func(item, choice, by, args string) engine.Reply {
		return engine.Reply{ItemAnswered: engine.ItemAnswered{Item: item, Choice: choice, By: by, Args: []byte(args)}}
	}
	one, two := rows.Items[0].Item, rows.Items[1].Item
	refused(reply(one, engine.ChooseAdopt, "", ""))
	refused(reply(one, engine.ChooseApprove, "ann", ""))
	refused(reply(one, engine.ChooseAdopt, "ann", `{"title":"T"}`))
	refused(reply(one, engine.ChooseDrop, "ann", `{}`))
	must(reply(one, engine.ChooseAdopt, "ann", ""))
	refused(reply(one, engine.ChooseDrop, "ann", ""))
	must(reply(two, engine.ChooseDrop, "ann", ""))
	refused(engine.Written{MemoryWritten: engine.MemoryWritten{Item: two, Path: "p"}})
	must(engine.Written{MemoryWritten: engine.MemoryWritten{Item: one, Path: "p"}})
	refused(engine.Written{MemoryWritten: engine.MemoryWritten{Item: one, Path: "q"}})
	again := &engine.Workspace{}
	for _, r := range journal {
		if err := again.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	if a := again.Adoptions(); len(a) != 1 || a[0].Path != "p" || a[0].By != "ann" || a[0].Memory.Title != "T" || again.Live() {
		t.Errorf("%+v", a)
	}
}
