package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/view"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares sections with those of a txtar file. Escapes are shown as ␛.
func golden(t *testing.T, name string, files []txtar.File) {
	t.Helper()
	for i := range files {
		files[i].Data = bytes.ReplaceAll(files[i].Data, []byte{0x1b}, []byte("␛"))
	}
	path := filepath.Join("testdata", name+".txtar")
	if *update {
		if err := os.WriteFile(path, txtar.Format(&txtar.Archive{Files: files}), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := txtar.ParseFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is not there; -update writes it", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(texts(want.Files), texts(files)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func texts(files []txtar.File) map[string]string {
	m := map[string]string{}
	for _, f := range files {
		m[f.Name] = string(f.Data)
	}
	return m
}

// themes are the terminals that everything is drawn for.
func themes() map[string]theme {
	return map[string]theme{
		"80":       {width: 80, zone: time.UTC},
		"120":      {width: 120, zone: time.UTC},
		"120color": {width: 120, color: true, zone: time.UTC},
		"40":       {width: 40, zone: time.UTC},
		"40ascii":  {width: 40, ascii: true, zone: time.UTC},
	}
}

// tidy fails if a line is wider than the terminal or holds what could act on it.
func tidy(t *testing.T, th theme, lines []string) {
	t.Helper()
	for _, l := range lines {
		bare := l
		if th.color {
			bare = ansi.Strip(l)
		}
		if w := ansi.StringWidth(bare); w > th.width && !oneCommand(bare) {
			t.Errorf("a line is %d columns wide, the terminal %d: %q", w, th.width, l)
		}
		for _, r := range bare {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || th.ascii && r > unicode.MaxASCII {
				t.Errorf("a line holds %q: %q", r, l)
			}
		}
	}
}

// advised is a line that holds nothing but commands or a path to be copied, which are never
// cut.
var advised = regexp.MustCompile(`^(next: |then: |or: )?piton [^;]*$|^/\S*$`)

func oneCommand(line string) bool { return advised.MatchString(strings.TrimSpace(line)) }

// drawn is all that one terminal shows of a story.
func drawn(t *testing.T, th theme, s *story) []txtar.File {
	st := s.standing()
	live := &liveModel{theme: th, clock: func() time.Time { return s.now }, keys: keys{pause: func() error { return nil }, detach: func() {}, stop: func() {}}}
	live.Update(recordsMsg(s.journal))
	last := map[string]string{}
	for id := range stepsOf(s) {
		last[id] = hostile + " working on it"
	}
	live.printing = false
	live.Update(progressMsg(last))
	history, err := th.history("7f3a21", "", s.journal, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	step := st.Steps[min(1, len(st.Steps)-1)].ID
	evidence, err := th.history("7f3a21", step, s.journal, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var f view.Fold
	var scroll []string
	for _, r := range s.journal {
		hs, err := f.Apply(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hs {
			scroll = append(scroll, th.scroll(h)...)
		}
	}
	live.printing = false
	views := []struct {
		name  string
		lines []string
	}{
		{"scrollback", scroll},
		{"live", strings.Split(live.View(), "\n")},
		{"end", th.end(st)},
		{"status", th.status(st)},
		{"inbox", th.inbox(st.Items, proposals(), st.Now)},
		{"list", th.list([]engine.HeadRow{st.Head, {Run: "0a", Title: hostile, Status: engine.Paused, Started: dawn.Add(-48 * time.Hour)}}, view.Stands{Carried: view.Carried{All: true}}, st.Now)},
		{"log", history},
		{"log " + step, evidence},
	}
	var files []txtar.File
	for _, v := range views {
		tidy(t, th, v.lines)
		files = append(files, txtar.File{Name: v.name, Data: []byte(strings.Join(v.lines, "\n") + "\n")})
	}
	return files
}

func stepsOf(s *story) map[string]bool {
	ids := map[string]bool{}
	for i := range s.state.Program().Len() {
		ids[s.state.Program().Step(i).ID] = true
	}
	return ids
}

func proposals() []*engine.Revision {
	return []*engine.Revision{{
		Drafted: engine.PlanDrafted{Plan: "plan-20261121-x-v2", Version: 2, Path: "plans/x.md", Title: "Another " + hostile, Hash: "beef"},
		At:      dawn,
	}}
}

func TestDrawn(t *testing.T) {
	for name, tell := range stories {
		for size, th := range themes() {
			t.Run(name+" "+size, func(t *testing.T) {
				golden(t, name+"-"+size, drawn(t, th, tell(t)))
			})
		}
	}
}

// TestWidths draws every story at every width there may be.
func TestWidths(t *testing.T) {
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			for w := 1; w < 200; w += 1 + w/20 {
				drawn(t, theme{width: w, color: w%2 == 0, ascii: w%3 == 0, zone: time.UTC}, s.copy())
			}
		})
	}
}

// copy is the story again, so that what was read of it once can be read again.
func (s *story) copy() *story {
	c := *s
	c.state = engine.State{}
	for _, r := range s.journal {
		if err := c.state.Apply(r); err != nil {
			s.t.Fatal(err)
		}
	}
	return &c
}

// TestPrinted holds what is written where no line can be drawn anew.
func TestPrinted(t *testing.T) {
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			var plain, events bytes.Buffer
			th := theme{width: 80, whole: true, zone: time.UTC}
			v, j := newPlainView(&plain, th, func() time.Time { return s.now }, ""), newJSONView(&events, "", 0)
			v.past(s.journal[:3], s.now, nil)
			j.past(s.journal[:3], s.now, nil)
			v.records(s.journal) // the first ones again: they are not shown twice
			j.records(s.journal[3:])
			v.close()
			j.close()
			for line := range strings.Lines(plain.String()) {
				tidy(t, theme{width: 100_000}, []string{strings.TrimSuffix(line, "\n")})
			}
			st := s.standing()
			files := []txtar.File{{Name: "plain", Data: plain.Bytes()}, {Name: "events", Data: events.Bytes()}}
			files = append(files, document(t, "run", st.Document("/home/anna/ledger")), document(t, "inbox", view.InboxOf(st.Items, proposals(), nil)))
			golden(t, name+"-printed", files)
		})
	}
}

func document(t *testing.T, kind string, data any) txtar.File {
	t.Helper()
	var one, pretty bytes.Buffer
	view.Write(&one, kind, data)
	if n := bytes.Count(one.Bytes(), []byte("\n")); n != 1 {
		t.Errorf("document %s has %d lines", kind, n)
	}
	if err := json.Indent(&pretty, one.Bytes(), "", " "); err != nil {
		t.Fatal(err)
	}
	return txtar.File{Name: kind, Data: pretty.Bytes()}
}

func TestDoctor(t *testing.T) {
	checks := []probe.Line{
		{Check: "bash", Status: probe.OK, Text: "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu) (/usr/bin/bash)"},
		{Check: "isolation", Status: probe.Warning, Text: "agents and contracts run unsealed", Hint: "run only plans that you trust"},
		{Check: "agent " + hostile, Status: probe.Failure, Text: hostile, Hint: hostile},
		{Check: "agent of-a-rather-long-name", Status: probe.OK, Text: "1.2 (/usr/bin/agent)"},
		{Check: "state", Status: probe.OK, Text: "/home/anna/.local/state/piton/3f2a9c81d2e4-ledger-service-of-the-payments"},
		{Check: "disk", Status: probe.OK, Text: "/home/anna/.local/state/piton/3f2a9c81d2e4-ledger-service: 54.6 GiB left"},
		{Check: "bubblewrap", Status: probe.Absent, Text: "is not on PATH"},
	}
	var files []txtar.File
	for _, size := range []string{"80", "40ascii", "120color"} {
		th := themes()[size]
		lines := th.doctor(checks)
		tidy(t, th, lines)
		files = append(files, txtar.File{Name: size, Data: []byte(strings.Join(lines, "\n") + "\n")})
	}
	golden(t, "doctor", files)
}

// TestEvents holds what scripts read: every line is an event with its place.
func TestEvents(t *testing.T) {
	s := mixed(t)
	var out bytes.Buffer
	for _, r := range s.journal {
		writeEvent(&out, "7f3a21", r, nil)
	}
	n := 0
	for line := range bytes.Lines(out.Bytes()) {
		var e struct {
			Schema int
			Kind   string
			Data   struct {
				Run, Actor, Type, Step, At string
				Seq                        uint64
				Compiled                   any
			}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		r := s.journal[n]
		n++
		if e.Schema != 1 || e.Kind != "event" || e.Data.Seq != r.Seq || e.Data.Type != r.Event.Type() || e.Data.Run != "7f3a21" || e.Data.Compiled != nil {
			t.Errorf("record %d became %s", r.Seq, line)
		}
		if at, err := time.Parse(view.StampLayout, e.Data.At); err != nil || !at.Equal(r.At) {
			t.Errorf("record %d was at %v, and became %s", r.Seq, r.At, e.Data.At)
		}
	}
	if n != len(s.journal) {
		t.Errorf("%d records became %d lines", len(s.journal), n)
	}
}
