package effect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tool"
)

var buildKey = engine.Key{Run: "r1", Step: "build", Attempt: 2, N: 1}

func silent() {}

// What is said is there to be read in order, from any line on.
func TestSaid(t *testing.T) {
	t.Parallel()
	told := 0
	w := &World{Common: &Common{State: t.TempDir()}}
	s := w.saying(buildKey, func() { told++ })
	s.report(agent.Report{Type: agent.Progress, Percent: new(10.0), Text: "one"})
	s.report(agent.Report{Type: agent.UsageReport})
	s.progress(tool.Progress{Text: "two"})
	path := SaidFile(w.State, "r1", "build", 2, 1)
	first, middle := ReadSaid(path, 0)
	s.report(agent.Report{Type: agent.Log, Text: "three"})
	s.close()
	s.report(agent.Report{Type: agent.Log, Text: "too late"})
	rest, end := ReadSaid(path, middle)
	want := []Said{{Type: "progress", Percent: new(10.0), Text: "one"}, {Type: "progress", Text: "two"}, {Type: "log", Text: "three"}}
	if diff := cmp.Diff(want, append(first, rest...), cmpopts.IgnoreFields(Said{}, "At")); diff != "" || len(first) != 2 || told != 3 {
		t.Errorf("told %d times, -want +got:\n%s", told, diff)
	}
	if more, next := ReadSaid(path, end); more != nil || next != end {
		t.Errorf("after the end: %v, offset %d of %d", more, next, end)
	}
	now, ok := NewestSaid(w.State, "r1", "build", 2)
	if !ok || *now.Percent != 10 || now.Text != "three" {
		t.Errorf("now %v, %t", now, ok)
	}
}

// A start that was cut off leaves what it said; the newest one counts.
func TestNewestStart(t *testing.T) {
	t.Parallel()
	w := &World{Common: &Common{State: t.TempDir()}}
	if _, ok := NewestSaid(w.State, "r1", "build", 2); ok {
		t.Error("something was said")
	}
	for n, text := range []string{"first", "second", "third"} {
		k := buildKey
		k.N = n + 1
		s := w.saying(k, silent)
		s.report(agent.Report{Type: agent.Log, Text: text})
		s.close()
	}
	if now, _ := NewestSaid(w.State, "r1", "build", 2); now.Text != "third" {
		t.Errorf("%q", now.Text)
	}
	if now, _ := LastSaid(w.State, "r1", "build", 2, 2); now.Text != "second" {
		t.Errorf("the second start said %q", now.Text)
	}
	k := buildKey
	k.N = 11 // those between were cut off before they began
	w.saying(k, silent).close()
	if now, ok := NewestSaid(w.State, "r1", "build", 2); ok {
		t.Errorf("a start that said nothing says %q", now.Text)
	}
	s := w.saying(k, silent)
	s.report(agent.Report{Type: agent.Log, Text: "eleventh"})
	s.close()
	if now, _ := NewestSaid(w.State, "r1", "build", 2); now.Text != "eleventh" {
		t.Errorf("%q", now.Text)
	}
}

// What is kept has a bound, and a damaged file is read as far as it makes sense.
func TestSaidIsBounded(t *testing.T) {
	t.Parallel()
	w := &World{Common: &Common{State: t.TempDir()}}
	s := w.saying(buildKey, silent)
	s.left = 3
	for range 10 {
		s.report(agent.Report{Type: agent.Log, Text: "x"})
	}
	s.close()
	path := SaidFile(w.State, "r1", "build", 2, 1)
	if list, _ := ReadSaid(path, 0); len(list) != 3 {
		t.Errorf("%d lines", len(list))
	}
	damaged := filepath.Join(t.TempDir(), "said")
	text := "no JSON\n" + `{"type":"log","text":"a"}` + "\n[]\n" + `{"type":"log","text":"b"}` + "\n" + `{"type":"lo`
	if err := os.WriteFile(damaged, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, next := ReadSaid(damaged, 0)
	if len(list) != 2 || list[1].Text != "b" || next != int64(strings.LastIndexByte(text, '\n')+1) {
		t.Errorf("%v, offset %d", list, next)
	}
}
