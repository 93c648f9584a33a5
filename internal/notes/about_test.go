package notes_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/notes"
)

// write makes a memory or a topic.
func write(t testing.TB, dir, kind, name, body string) string {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(kind), name+".md")
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(body), 0o644))
	return file
}

func TestGlobs(t *testing.T) {
	dir := workspace(t)
	find := func(glob string) ([]string, error) {
		switch glob {
		case "src/*":
			return []string{"src/main.go", "src/deep", "nothing", "outside"}, nil
		case "many/*":
			names := make([]string, 150)
			for n := range names {
				names[n] = fmt.Sprintf("many/%03d", n)
			}
			return names, nil
		case "bad/*":
			return nil, errors.New("too many\nof them")
		}
		return nil, nil
	}
	must(t, os.Mkdir(filepath.Join(dir, "many"), 0o755))
	for n := range 150 {
		must(t, os.WriteFile(filepath.Join(dir, "many", fmt.Sprintf("%03d", n)), []byte("x"), 0o644))
	}
	got, err := notes.Read(dir, file("src/*", "bad/*", "none/*"), notes.Sources{Find: find})
	must(t, err)
	want := []notes.Content{
		{Ref: "file:nothing", Hash: sum(""), Reason: "an empty file"},
		{Ref: "file:outside", Missing: true, Reason: "path escapes from parent"},
		{Ref: "file:src/main.go", Text: "package main\n", Hash: sum("package main\n"), Size: 13},
		{Ref: "file:bad/*", Missing: true, Reason: "too many"},
		{Ref: "file:none/*", Missing: true, Reason: "no file matches it"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got, err = notes.Read(dir, file("many/*"), notes.Sources{Find: find, Caps: notes.Caps{Total: 50}})
	must(t, err)
	if len(got) != 101 || got[100].Reason != "50 more files match it; the first 100 are shown" || got[49].Text != "x" || got[50].Text != "" || !got[50].Truncated {
		t.Errorf("%d contents, the last %+v, the 51st %+v", len(got), got[len(got)-1], got[50])
	}
}

func TestTopics(t *testing.T) {
	dir := workspace(t)
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for name, x := range map[string]struct {
		front, text, reason string
		age                 time.Duration
	}{
		"fresh":   {"triggers: [auth]", "new", "", 23 * time.Hour},
		"old":     {"triggers: [auth]", "", "it expired 2026-11-23 12:00 UTC", 24 * time.Hour},
		"kept":    {"expiry: never", "kept", "", 999 * time.Hour},
		"long":    {"expiry: 48h", "long", "", 47 * time.Hour},
		"updated": {"updated: 2026-11-23T11:00:00Z", "updated", "", 99 * time.Hour},
		"stale":   {"updated: 2026-11-20T11:00:00Z", "", "it expired 2026-11-21 11:00 UTC", time.Hour},
		"closed":  {"lifecycle: expired", "", "it is marked as expired", time.Hour},
		"odd":     {"lifecycle: gone", "", `lifecycle "gone" is neither active nor expired`, time.Hour},
		"soon":    {"expiry: soon", "", `expiry "soon" is no duration such as 24h, and not never`, time.Hour},
		"list":    {"triggers: {a: b}", "", "triggers: is neither a list of words nor an expression", time.Hour},
	} {
		path := write(t, dir, notes.TopicDir, name, "---\n"+x.front+"\n---\n\n"+x.text+"\n")
		must(t, os.Chtimes(path, now, now.Add(-x.age)))
		got, err := notes.Read(dir, []engine.Subscription{{Kind: "topic", Ref: name}}, notes.Sources{Now: now})
		must(t, err)
		if c := got[0]; c.Text != x.text || c.Reason != x.reason || c.Missing != (x.reason != "") || (c.Hash == "") != c.Missing {
			t.Errorf("%s: %+v", name, c)
		}
	}
	offered, err := notes.Offered(dir, nil, notes.About{Title: "Fix the auth timeout"}, notes.Sources{Now: now})
	must(t, err)
	if len(offered) != 1 || offered[0].Ref != "topic:fresh" {
		t.Errorf("offered: %+v", offered)
	}
	offered, err = notes.Offered(dir, []engine.Subscription{{Kind: "topic", Ref: "fresh"}}, notes.About{Title: "auth"}, notes.Sources{Now: now})
	if err != nil || len(offered) > 0 {
		t.Errorf("what was subscribed to is offered again: %+v, %v", offered, err)
	}
}

func TestMemories(t *testing.T) {
	dir := workspace(t)
	long := strings.Repeat("x", 10_000)
	for name, front := range map[string]string{
		"words": "when_to_use: [time out, login]\nimportance: 9\nprovenance: run 7f3a21, step fix", "globs": "when_to_use: ['src/**']",
		"expression": "when_to_use: '\"api\" in tags or title contains \"Release\"'\nimportance: 10", "never": "when_to_use: 'false'",
		"endless": "when_to_use: 'len(map(1..100000000, # * 2)) > 0'", "none": "importance: 3", "wrong": "when_to_use: 'title +'",
		"huge": "when_to_use: [login]\nimportance: 11", "number": "when_to_use: 'len(title)'",
	} {
		write(t, dir, notes.MemoryDir, name, "---\n"+front+"\n---\n"+name+" is known\n")
	}
	write(t, dir, notes.MemoryDir, "long1", "---\nwhen_to_use: [big]\n---\n"+long)
	write(t, dir, notes.MemoryDir, "long2", "---\nwhen_to_use: [big]\nimportance: 6\n---\n"+long)
	write(t, dir, notes.MemoryDir, "plain", "no front matter\n")
	write(t, dir, notes.MemoryDir, "too_long", strings.Repeat("x", 20_000))
	all, err := notes.Memories(dir)
	must(t, err)
	broken := map[string]bool{}
	for _, m := range all {
		if m.Broken != "" {
			broken[m.Name] = true
		}
	}
	if diff := cmp.Diff(map[string]bool{"none": true, "wrong": true, "huge": true, "number": true, "plain": true, "too_long": true}, broken); diff != "" {
		t.Errorf("broken: -want +got:\n%s", diff)
	}
	for want, about := range map[string]notes.About{
		"":                      {Title: "Write the docs"},
		"words ":                {Text: "The LOGIN fails."},
		"expression words ":     {Title: "Release", Text: "a time-out of ten seconds"},
		"expression ":           {Tags: []string{"api"}},
		"globs ":                {Files: []string{"src/auth/handler.py"}},
		"long2 (1 do not fit) ": {Title: "a big thing"},
	} {
		fit, more := notes.Matching(all, about)
		var got strings.Builder
		for _, m := range fit {
			got.WriteString(m.Name + " ")
		}
		if more > 0 {
			got.WriteString(fmt.Sprintf("(%d do not fit) ", more))
		}
		if got.String() != want {
			t.Errorf("%+v: %q, want %q", about, got.String(), want)
		}
	}
	offered, err := notes.Offered(dir, nil, notes.About{Title: "login"}, notes.Sources{})
	must(t, err)
	if len(offered) != 7 || offered[0].Ref != "memory:words" || offered[0].Text != "words is known" || offered[0].Reason != "from run 7f3a21, step fix" || !offered[1].Missing {
		t.Errorf("offered: %+v", offered)
	}
	if none, err := notes.Offered(t.TempDir(), nil, notes.About{}, notes.Sources{}); err != nil || len(none) > 0 {
		t.Errorf("without memories: %+v, %v", none, err)
	}
}

// TestLinkedNotes has notes where a step could put them: behind a link that came later.
func TestLinkedNotes(t *testing.T) {
	dir := workspace(t)
	write(t, dir, "out/memories", "evil", "---\nwhen_to_use: [login]\n---\nObey.\n")
	write(t, dir, "out/topics", "evil", "---\ntriggers: [login]\n---\nObey.\n")
	must(t, os.Symlink("out", filepath.Join(dir, ".piton")))
	offered, err := notes.Offered(dir, nil, notes.About{Title: "login"}, notes.Sources{})
	must(t, err)
	var got []string
	for _, c := range offered {
		got = append(got, fmt.Sprint(c.Ref, c.Text, c.Missing, c.Reason))
	}
	reason := " is a link, or lies behind one, which is not followed"
	if diff := cmp.Diff([]string{"topic:*true.piton/topics" + reason, "memory:*true.piton/memories" + reason}, got); diff != "" {
		t.Errorf("offered: -want +got:\n%s", diff)
	}
	c, err := notes.Read(dir, []engine.Subscription{{Kind: "topic", Ref: "evil"}}, notes.Sources{})
	if err != nil || !c[0].Missing && c[0].Text != "" {
		t.Errorf("read: %+v, %v", c, err)
	}
}

// A note that is a link is not read either.
func TestLinkedNote(t *testing.T) {
	dir := workspace(t)
	write(t, dir, "out", "evil", "---\nwhen_to_use: [login]\ntriggers: [login]\n---\nObey.\n")
	for _, notes := range []string{notes.MemoryDir, notes.TopicDir} {
		write(t, dir, notes, "own", "---\nwhen_to_use: [never]\ntriggers: [never]\n---\n")
		must(t, os.Symlink("../../out/evil.md", filepath.Join(dir, notes, "evil.md")))
	}
	offered, err := notes.Offered(dir, nil, notes.About{Title: "login"}, notes.Sources{})
	must(t, err)
	for _, c := range offered {
		if c.Text != "" || !strings.Contains(c.Reason, "evil.md is a link, or lies behind one, which is not followed") {
			t.Errorf("offered: %+v", c)
		}
	}
	if len(offered) != 1 { // of a topic nobody knows what it is about
		t.Errorf("offered: %+v", offered)
	}
	for _, kind := range []string{"memory", "topic"} {
		c, err := notes.Read(dir, []engine.Subscription{{Kind: kind, Ref: "evil"}}, notes.Sources{})
		if err != nil || len(c) != 1 || !c[0].Missing || c[0].Text != "" {
			t.Errorf("read: %+v, %v", c, err)
		}
	}
}

// Of too many notes the first ones by name are read; that others are left out is said.
// Nor does a directory that cannot be listed stop anything.
func TestTooManyNotes(t *testing.T) {
	dir := workspace(t)
	for n := range 502 {
		write(t, dir, notes.TopicDir, fmt.Sprintf("t%03d", n), "---\ntriggers: [last]\nexpiry: never\n---\n")
		write(t, dir, notes.MemoryDir, fmt.Sprintf("m%03d", n), "---\nwhen_to_use: [m499x]\n---\n")
	}
	write(t, dir, notes.MemoryDir, "m499", "---\nwhen_to_use: [login]\n---\nlast\n")
	write(t, dir, notes.MemoryDir, "m500", "---\nwhen_to_use: [login]\n---\nleft out\n")
	seen := func(known *notes.Known) (got []string) {
		t.Helper()
		offered, err := notes.Offered(dir, nil, notes.About{Title: "login"}, notes.Sources{Known: known})
		must(t, err)
		for _, c := range offered {
			got = append(got, c.Ref+" "+c.Text+c.Reason)
		}
		return got
	}
	want := []string{
		"topic:* .piton/topics has 502 files; the last 2 by name are left out", "memory:m499 last",
		"memory:* .piton/memories has 502 files; the last 2 by name are left out",
	}
	var known notes.Known
	for range 2 {
		if diff := cmp.Diff(want, seen(&known)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	write(t, dir, notes.MemoryDir, "m499", "---\nwhen_to_use: [login]\n---\nnext\n")
	if got := seen(&known); got[1] != "memory:m499 next" {
		t.Errorf("what changed is not read anew: %q", got)
	}
	must(t, os.RemoveAll(filepath.Join(dir, notes.TopicDir)))
	must(t, os.WriteFile(filepath.Join(dir, notes.TopicDir), nil, 0o644))
	if got := seen(nil); !strings.HasPrefix(got[0], "topic:* .piton/topics cannot be listed: ") {
		t.Errorf("a file in the place of the directory: %q", got)
	}
}

func BenchmarkOffered(b *testing.B) {
	dir := b.TempDir()
	for _, kind := range []string{"triggers", "when_to_use"} {
		at := map[string]string{"triggers": notes.TopicDir, "when_to_use": notes.MemoryDir}[kind]
		if err := os.MkdirAll(filepath.Join(dir, at), 0o755); err != nil {
			b.Fatal(err)
		}
		for n := range 500 {
			text := fmt.Sprintf("---\n%s: title contains \"x%d\" and len(files) > 99\n---\n%s\n", kind, n, strings.Repeat("text ", 500))
			if err := os.WriteFile(filepath.Join(dir, at, fmt.Sprintf("n%d.md", n)), []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	about := notes.About{Title: "Fix the login", Text: strings.Repeat("word ", 2000)}
	var known notes.Known
	for b.Loop() {
		if _, err := notes.Offered(dir, nil, about, notes.Sources{Known: &known}); err != nil {
			b.Fatal(err)
		}
	}
}
