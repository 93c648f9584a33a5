package engine_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piton-dev/piton/internal/engine"
)

// shop is a workspace's stream with its journal.
type shop struct {
	t       *testing.T
	state   engine.Workspace
	journal []engine.Record
	now     time.Time
	epoch   uint64
}

func newShop(t *testing.T) *shop {
	s := &shop{t: t, now: dawn, epoch: 1}
	s.take(begun)
	return s
}

// take admits an input and returns the names of the records, or the refusal.
func (s *shop) take(in engine.Input) string {
	es, err := s.state.Admit(in, time.Time{})
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		return string(refusal.Code) + ": " + refusal.Message
	} else if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, e := range es {
		r := engine.Record{Stream: engine.WorkspaceStream, Seq: s.state.Seq() + 1, At: s.now, Actor: in.Actor(), Epoch: s.epoch, Event: e}
		if err := s.state.Apply(r); err != nil {
			s.t.Fatal(err)
		}
		s.journal = append(s.journal, r)
		names = append(names, e.Type())
	}
	return strings.Join(names, " ")
}

func draft(plan, intent, path string, ok bool) engine.Draft {
	return engine.Draft{
		PlanDrafted: engine.PlanDrafted{Plan: plan, Version: 1, Intent: intent, Path: path, Hash: "h-" + plan, By: "ann"},
		Verified:    engine.PlanVerified{OK: ok},
	}
}

func TestWorkspaceAdmits(t *testing.T) {
	s := newShop(t)
	first := draft("p1", "i1", "plan.md", true)
	first.Intent = &engine.IntentOpened{ID: "i1"}
	yes := func(plan, hash, by string) engine.Judgement {
		return engine.Judgement{PlanAnswered: engine.PlanAnswered{Plan: plan, Hash: hash, Config: "c", Yes: true, By: by}}
	}
	weaker := draft("p3", "i1", "plan.md", true)
	weaker.Weakened = []string{"step 1 (a): is gone, or has another id"}
	stranger := draft("p9", "i2", "x.md", true)
	stranger.Intent = &engine.IntentOpened{ID: "i3"}
	for _, step := range []struct {
		in   engine.Input
		want string
	}{
		{draft("p1", "i1", "plan.md", true), `not_found: plan p1 belongs to no intent`},
		{first, "intent.opened plan.drafted plan.verified"},
		{first, `conflict: plan p1 exists already`},
		{stranger, `conflict: plan p9 is of intent "i2", which is not the new one "i3"`},
		{draft("", "i1", "plan.md", true), `invalid: a draft needs an id and the name of who made it`},
		{draft("p2", "i1", "plan.md", false), "plan.drafted plan.verified"},
		{yes("p7", "h", "ann"), `not_found: no plan p7`},
		{yes("p1", "h-p1", ""), `invalid: an answer needs the name of who gave it`},
		{yes("p1", "h-other", "ann"), `conflict: plan p1 has other bytes than those that were shown`},
		{yes("p2", "h-p2", "ann"), `conflict: plan p2 does not verify`},
		{yes("p1", "h-p1", "ann"), "plan.answered"},
		{weaker, "plan.drafted plan.verified"},
		{yes("p3", "h-p3", engine.ByPolicy), `denied: plan p3 proves or guards less than the text before, and no policy says yes to that`},
		{engine.Judgement{PlanAnswered: engine.PlanAnswered{Plan: "p3", Hash: "h-p3", By: engine.ByPolicy}}, "plan.answered"},
		{yes("p3", "h-p3", "ann"), "plan.answered"},
		{yes("p1", "h-p1", engine.ByPolicy), "plan.answered"},
		{engine.Order{}, `invalid: engine.Order is not for a workspace`},
	} {
		if got := s.take(step.in); got != step.want {
			t.Errorf("%+v:\n got %s\nwant %s", step.in, got, step.want)
		}
	}
	if s.state.Seq() != uint64(len(s.journal)) {
		t.Errorf("seq is %d after %d records", s.state.Seq(), len(s.journal))
	}
}

// An approval covers exactly what was shown, under one configuration, for a day.
func TestWorkspaceApproval(t *testing.T) {
	s := newShop(t)
	first := draft("p1", "i1", "plan.md", true)
	first.Intent = &engine.IntentOpened{ID: "i1"}
	s.take(first)
	r, _ := s.state.Revision("p1")
	if r.Approved("c", s.now) {
		t.Error("it is approved before anybody said so")
	}
	answer := engine.PlanAnswered{Plan: "p1", Hash: "h-p1", Config: "c", Yes: true, By: "ann"}
	s.take(engine.Judgement{PlanAnswered: answer})
	for _, x := range []struct {
		config string
		later  time.Duration
		want   bool
	}{{"c", 0, true}, {"c", 24*time.Hour - 1, true}, {"c", 24 * time.Hour, false}, {"other", 0, false}} {
		if got := r.Approved(x.config, s.now.Add(x.later)); got != x.want {
			t.Errorf("approved under %q after %s: %v", x.config, x.later, got)
		}
	}
	answer.Yes = false
	s.take(engine.Judgement{PlanAnswered: answer})
	if r.Approved("c", s.now) {
		t.Error("it is approved after a no")
	}
}

func TestWorkspaceRevisions(t *testing.T) {
	s := newShop(t)
	first := draft("p1", "i1", "plan.md", true)
	first.Intent = &engine.IntentOpened{ID: "i1"}
	s.take(first)
	for _, id := range []string{"p3", "p2", "p5", "p4"} {
		s.take(draft(id, "i1", "plan.md", true))
	}
	other := draft("other", "i2", "other.md", true)
	other.Intent = &engine.IntentOpened{ID: "i2", Parent: "i1"}
	s.take(other)
	var ids []string
	for r := range s.state.Revisions {
		ids = append(ids, r.Drafted.Plan)
	}
	if diff := cmp.Diff([]string{"p1", "p3", "p2", "p5", "p4", "other"}, ids); diff != "" {
		t.Error(diff)
	}
	for r := range s.state.Revisions {
		if r.Drafted.Plan != "p1" {
			t.Error("it goes on after a stop")
		}
		break
	}
	if r, ok := s.state.Newest("plan.md"); !ok || r.Drafted.Plan != "p4" {
		t.Errorf("newest is %+v", r)
	}
	if r, ok := s.state.Head("i2"); !ok || r.Drafted.Plan != "other" {
		t.Errorf("head is %+v", r)
	}
	if diff := cmp.Diff([]engine.IntentOpened{{ID: "i1"}, {ID: "i2", Parent: "i1"}}, slices.Collect(s.state.Intents)); diff != "" {
		t.Error(diff)
	}
	if _, ok := s.state.Newest("nowhere.md"); ok {
		t.Error("a path without a plan has a newest one")
	}
}

// A journal that says what cannot be is refused at the record that says it.
func TestWorkspaceCorrupt(t *testing.T) {
	s := newShop(t)
	first := draft("p1", "i1", "plan.md", true)
	first.Intent = &engine.IntentOpened{ID: "i1"}
	s.take(first)
	last := uint64(len(s.journal))
	for name, r := range map[string]engine.Record{
		"a gap":                     {Seq: last + 2, Epoch: 1, Event: engine.IntentOpened{ID: "i2"}},
		"an older owner":            {Seq: last + 1, Epoch: 0, Event: engine.IntentOpened{ID: "i2"}},
		"an owner that never began": {Seq: last + 1, Epoch: 2, Event: engine.IntentOpened{ID: "i2"}},
		"intent twice":              {Seq: last + 1, Epoch: 1, Event: engine.IntentOpened{ID: "i1"}},
		"plan twice":                {Seq: last + 1, Epoch: 1, Event: engine.PlanDrafted{Plan: "p1"}},
		"verified before drafted":   {Seq: last + 1, Epoch: 1, Event: engine.PlanVerified{Plan: "p2"}},
		"answered before drafted":   {Seq: last + 1, Epoch: 1, Event: engine.PlanAnswered{Plan: "p2"}},
		"filed before drafted":      {Seq: last + 1, Epoch: 1, Event: engine.PlanFiled{Plan: "p2"}},
		"a task's event":            {Seq: last + 1, Epoch: 1, Event: engine.StepSettled{}},
		"nothing":                   {Seq: last + 1, Epoch: 1},
	} {
		var w engine.Workspace
		for _, r := range s.journal {
			if err := w.Apply(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Apply(r); err == nil || !strings.Contains(err.Error(), "record") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(slices.Collect(s.state.Revisions)) != 1 {
		t.Error("the stream has another number of revisions")
	}
}

// kept are the rows of a kind.
func kept(rows engine.Rows, kind engine.Thing) []engine.ThingRow {
	return slices.DeleteFunc(slices.Clone(rows.Things), func(r engine.ThingRow) bool { return r.Kind != kind })
}

// What waits for a yes: the newest revision of each document, until it is
// answered. Rows told in turn add up to those of a replay.
func TestWorkspaceRows(t *testing.T) {
	s := newShop(t)
	open := map[string]bool{}
	step := func(in engine.Input, want ...string) {
		t.Helper()
		s.take(in)
		for _, p := range kept(s.state.Rows(), engine.PlanKept) {
			if open[p.Key] = p.Open; !p.Open {
				delete(open, p.Key)
			}
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(open))); diff != "" {
			t.Errorf("after %+v:\n%s", in, diff)
		}
	}
	first := draft("p1", "i1", "plan.md", true)
	first.Intent = &engine.IntentOpened{ID: "i1"}
	step(first, "p1")
	other := draft("q1", "i2", "other.md", true)
	other.Intent = &engine.IntentOpened{ID: "i2"}
	step(other, "p1", "q1")
	step(draft("p2", "i1", "plan.md", true), "p2", "q1")
	step(draft("q2", "i2", "other.md", false), "p2")
	step(engine.Judgement{PlanAnswered: engine.PlanAnswered{Plan: "p2", Hash: "h-p2", By: "ann"}})
	step(draft("p3", "i1", "plan.md", true), "p3")
	// What a planner made waits once the document has it, and no text that it has no more.
	made := draft("p4", "i1", "plan.md", true)
	made.Errand = "e"
	step(made, "p3")
	filed := func(plan string) engine.Input {
		return engine.Filed{PlanFiled: engine.PlanFiled{Plan: plan, By: "ann"}}
	}
	step(filed("p4"), "p4")
	step(filed("p1"), "p1")
	step(filed("p2"))
	step(filed("p4"), "p4")
	// Another plan takes the place of a document, whichever text that had.
	step(filed("p3"), "p3")
	moved := draft("r1", "i3", "plan.md", true)
	moved.Intent = &engine.IntentOpened{ID: "i3"}
	step(moved, "r1")
	for plan, want := range map[string]string{"p3": "", "p9": "not_found: no plan p9"} {
		if got := s.take(filed(plan)); got != want {
			t.Errorf("%s: %q", plan, got)
		}
	}
	if r, _ := s.state.Revision("p4"); !r.Filed {
		t.Errorf("its document never had it: %+v", r)
	}
	if rows := s.state.Rows(); len(rows.Things) > 0 {
		t.Errorf("told twice: %+v", rows.Things)
	}
	var again engine.Workspace
	for _, r := range s.journal {
		if err := again.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range kept(again.Rows(), engine.PlanKept) {
		if p.Open != open[p.Key] {
			t.Errorf("replayed, %s waits: %v", p.Key, p.Open)
		}
	}
}

// A plan whose document is moved keeps its intent. It has the new place and not the old
// one, which another plan may have then.
func TestWorkspaceMoves(t *testing.T) {
	s := newShop(t)
	first := draft("p1", "i1", "plan.md", true)
	first.Intent = &engine.IntentOpened{ID: "i1"}
	s.take(first)
	s.take(draft("p2", "i1", "moved.md", true))
	if _, ok := s.state.Newest("plan.md"); ok {
		t.Error("the plan has its old place still")
	}
	rows := s.state.Rows()
	for _, p := range kept(rows, engine.PlanKept) {
		if p.Open != (p.Key == "p2") || p.Of != "i1" {
			t.Errorf("%s of %s waits: %v", p.Key, p.Of, p.Open)
		}
	}
	for _, p := range kept(rows, engine.PlanPath) {
		if want := map[string]string{"plan.md": "", "moved.md": "p2"}[p.Key]; p.Of != want {
			t.Errorf("%s has %q", p.Key, p.Of)
		}
	}
	second := draft("q1", "i2", "plan.md", true)
	second.Intent = &engine.IntentOpened{ID: "i2"}
	s.take(second)
	s.take(draft("p3", "i1", "again.md", true))
	for path, want := range map[string]string{"plan.md": "q1", "again.md": "p3"} {
		if r, ok := s.state.Newest(path); !ok || r.Drafted.Plan != want {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// A copy goes its own way.
func TestWorkspaceClone(t *testing.T) {
	s := newShop(t)
	first := draft("p1", "i1", "plan.md", true)
	first.Intent = &engine.IntentOpened{ID: "i1"}
	s.take(first)
	was := s.state.Clone()
	s.take(engine.Judgement{PlanAnswered: engine.PlanAnswered{Plan: "p1", Hash: "h-p1", Config: "c", Yes: true, By: "ann"}})
	s.take(draft("p2", "i1", "plan.md", true))
	r, _ := was.Newest("plan.md")
	if _, known := was.Revision("p2"); known || r.Drafted.Plan != "p1" || r.Answer != nil {
		t.Errorf("the copy went on: %+v", r)
	}
	again := s.state.Clone()
	if diff := cmp.Diff(again.Rows(), s.state.Rows()); diff != "" || again.Seq() != s.state.Seq() {
		t.Errorf("the copy is another: %s", diff)
	}
}

// TestUndrafted: a text, and what is wanted of it, is drafted once; another one
// has a name of its own.
func TestUndrafted(t *testing.T) {
	w, seq := &engine.Workspace{}, uint64(0)
	for n, test := range []struct {
		source, prompt, want string
		fresh                bool
	}{
		{"text", "port a", "p of i, opens i", true},
		{"text", "port a", "p of i, opens i", false},
		{"other", "port a", "p-2 of i", true},
		{"text", "port b", "p-3 of i-2, opens i-2", true},
		{"text", "port b", "p-3 of i-2, opens i-2", false},
		{"other", "port a", "p-2 of i, opens i", false},
	} {
		in := engine.Draft{
			Intent:      &engine.IntentOpened{ID: "i", Prompt: test.prompt},
			PlanDrafted: engine.PlanDrafted{Plan: "p", Source: test.source, Intent: "i", By: "ann"},
		}
		d, fresh := w.Undrafted(in)
		got := d.Plan + " of " + d.PlanDrafted.Intent
		if d.Intent != nil {
			got += ", opens " + d.Intent.ID
		}
		if got != test.want || fresh != test.fresh {
			t.Fatalf("%d: %s, %v", n, got, fresh)
		}
		if !fresh {
			continue
		}
		events, err := w.Admit(d, time.Time{})
		if err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		for _, e := range events {
			seq++
			if err := w.Apply(engine.Record{Stream: engine.WorkspaceStream, Seq: seq, Event: e}); err != nil {
				t.Fatalf("%d: %v", n, err)
			}
		}
	}
}

// TestErrandsThatCannotBe: a journal in which an errand's work begins or ends
// without reason is corrupt.
func TestErrandsThatCannotBe(t *testing.T) {
	asked := engine.ErrandAsked{Errand: "e", Kind: engine.PlanWork, Request: "r", By: "ann"}
	begun := engine.WorkDispatched{Step: "e", Attempt: 1, N: 1, Kind: engine.PlanWork}
	ended := engine.WorkEnded{Step: "e", Attempt: 1, N: 1, Kind: engine.PlanWork, How: engine.Exited}
	for _, tt := range [][]engine.Event{
		{asked, asked},
		{begun},
		{asked, begun, begun},
		{asked, engine.WorkDispatched{Step: "e", Attempt: 1, N: 2, Kind: engine.PlanWork}},
		{asked, engine.WorkDispatched{Step: "e", Attempt: 1, N: 1, Kind: engine.AgentWork}},
		{asked, ended},
		{asked, begun, engine.WorkEnded{Step: "e", Attempt: 1, N: 1, Kind: engine.PlanWork, How: "well"}},
		{asked, begun, ended, ended},
		{asked, begun, ended, asked},
		{engine.ErrandDropped{Errand: "e", By: "ann"}},
		{asked, begun, ended, engine.ErrandDropped{Errand: "e", By: "ann"}},
		{asked, begun, engine.ErrandDropped{Errand: "e", By: "ann"}, ended},
	} {
		var w engine.Workspace
		for n, e := range append([]engine.Event{engine.EpochBegan{}}, tt...) {
			err := w.Apply(engine.Record{Stream: engine.WorkspaceStream, Seq: uint64(n + 1), Epoch: 1, Event: e})
			if last := n == len(tt); (err != nil) != last {
				t.Errorf("%v: record %d: %v", tt, n+1, err)
			}
		}
	}
}

// TestErrandBringsPlan: an errand opens its intent before anything is asked, and its end
// brings the plan in one go. A plan without a document waits for nobody.
func TestErrandBringsPlan(t *testing.T) {
	var w engine.Workspace
	seq := uint64(0)
	put := func(in engine.Input) []string {
		t.Helper()
		es, err := w.Admit(in, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, e := range append(es, w.Decide(time.Time{})...) {
			seq++
			types = append(types, e.Type())
			if err := w.Apply(engine.Record{Stream: engine.WorkspaceStream, Seq: seq, Epoch: 1, Event: e}); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range w.Decide(time.Time{}) {
			seq++
			types = append(types, e.Type())
			if err := w.Apply(engine.Record{Stream: engine.WorkspaceStream, Seq: seq, Epoch: 1, Event: e}); err != nil {
				t.Fatal(err)
			}
		}
		return types
	}
	put(engine.Begin{})
	ask := func(id, path string) engine.Errand {
		return engine.Errand{
			ErrandAsked: engine.ErrandAsked{Errand: id, Kind: engine.PlanWork, Request: "q", Intent: "i-" + id, Path: path, By: "ann"},
			Intent:      &engine.IntentOpened{ID: "i-" + id, Prompt: "greet"},
		}
	}
	end := func(id, path string) engine.Ended {
		return engine.Ended{
			Key:       engine.Key{Task: engine.WorkspaceStream, Step: id, Attempt: 1, Kind: engine.Draw, N: 1},
			WorkEnded: engine.WorkEnded{How: engine.Exited, Output: "o"},
			Draft: &engine.Draft{
				PlanDrafted: engine.PlanDrafted{Plan: "plan-greet", Intent: "i-" + id, Path: path, Hash: "h", Source: "s", By: "ann"},
				Verified:    engine.PlanVerified{OK: true},
			},
		}
	}
	asked := []string{"intent.opened", "errand.asked", "work.dispatched"}
	drawn := []string{"work.ended", "plan.drafted", "plan.verified"}
	for _, path := range []string{"", "plans/greet.md"} {
		id := "e" + path
		if diff := cmp.Diff(asked, put(ask(id, path))); diff != "" {
			t.Error(diff)
		}
		if row, _ := w.Errand(id); row.Over() || !w.Live() {
			t.Errorf("%+v is over", row)
		}
		w.Forget()
		if diff := cmp.Diff(drawn, put(end(id, path))); diff != "" {
			t.Error(diff)
		}
		row, _ := w.Errand(id)
		if !row.Over() || w.Live() || row.Plan == "" {
			t.Errorf("%+v", row)
		}
		rows := w.Rows()
		if errand := kept(rows, engine.ErrandKept); len(errand) != 1 || errand[0].Key != id || errand[0].Of != "i-"+id || errand[0].Open || !strings.Contains(errand[0].Row, row.Plan) {
			t.Errorf("%+v", errand)
		}
		for _, r := range kept(rows, engine.PlanKept) {
			if r.Open != (path != "") {
				t.Errorf("%q: waits for people: %v", path, r.Open)
			}
		}
	}
	// A question is put once, and a document is made by one errand alone.
	put(ask("one", "plans/new.md"))
	same, other := ask("two", "plans/new.md"), ask("three", "plans/new.md")
	other.ErrandAsked.Request = "another"
	for _, in := range []engine.Errand{same, other} {
		if _, err := w.Admit(in, time.Time{}); err == nil {
			t.Errorf("%+v is admitted", in)
		}
	}
	put(end("one", "plans/new.md"))
	// The second has another id, for the first one has its own.
	if r, ok := w.Newest("plans/greet.md"); !ok || r.Drafted.Plan != "plan-greet-2" || r.Drafted.Errand != "eplans/greet.md" {
		t.Errorf("%+v", r)
	}
	// A draft that cannot be recorded does not keep the work from being over.
	put(ask("bad", ""))
	bad := end("bad", "")
	bad.Draft.By = ""
	if diff := cmp.Diff([]string{"work.ended"}, put(bad)); diff != "" {
		t.Error(diff)
	}
	// Who reads a plan writes none.
	put(engine.Errand{ErrandAsked: engine.ErrandAsked{Errand: "read", Kind: engine.ReviewWork, Request: "q", Source: "s", By: "ann"}})
	if diff := cmp.Diff([]string{"work.ended"}, put(end("read", ""))); diff != "" {
		t.Error(diff)
	}
	for _, in := range []engine.Errand{
		{ErrandAsked: engine.ErrandAsked{Errand: "blind", Kind: engine.ReviewWork, Request: "q", By: "ann"}},
		{ErrandAsked: ask("x", "").ErrandAsked, Intent: &engine.IntentOpened{ID: "other"}},
		{ErrandAsked: ask("x", "").ErrandAsked, Intent: &engine.IntentOpened{ID: "i-e"}},
	} {
		if _, err := w.Admit(in, time.Time{}); err == nil {
			t.Errorf("%+v is admitted", in)
		}
	}
}

// Runs are archived and put back; what is where it is to be is no fact.
func TestArchive(t *testing.T) {
	var w engine.Workspace
	seq := uint64(0)
	put := func(in engine.Input) int {
		t.Helper()
		es, err := w.Admit(in, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			seq++
			if err := w.Apply(engine.Record{Stream: engine.WorkspaceStream, Seq: seq, Epoch: 1, Event: e}); err != nil {
				t.Fatal(err)
			}
		}
		return len(es)
	}
	put(engine.Begin{})
	if n := put(engine.Archive{Runs: []string{"a", "b"}, By: "ann"}); n != 2 {
		t.Errorf("%d facts of two runs", n)
	}
	if n := put(engine.Archive{Runs: []string{"a"}, By: "ann"}); n != 0 {
		t.Errorf("%d facts of a run that is archived", n)
	}
	put(engine.Archive{Runs: []string{"b"}, Back: true, By: "ann"})
	want := []engine.ThingRow{{Kind: engine.ArchivedRun, Key: "a", Open: true}, {Kind: engine.ArchivedRun, Key: "b"}}
	if rows := w.Rows(); !slices.Equal(rows.Things, want) || w.Rows().Things != nil {
		t.Errorf("the rows are %v", rows.Things)
	}
	if _, err := w.Admit(engine.Archive{Runs: []string{""}, By: "ann"}, time.Now()); err == nil {
		t.Error("no run is archived")
	}
}
