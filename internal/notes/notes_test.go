package notes_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/notes"
)

const secret = "what lies outside of the workspace"

// workspace makes a directory with one of everything, beside a secret.
func workspace(t testing.TB) string {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "work")
	for _, d := range []string{"src", "src/deep", "empty"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for name, body := range map[string]string{
		"../secret":     secret,
		"src/main.go":   "package main\n",
		"src/deep/x":    "x",
		"nothing":       "",
		"logo.png":      "\x89PNG\x00\x01",
		"latin1.txt":    "caf\xe9\n",
		"odd\nname.txt": "odd",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644))
	}
	for name, target := range map[string]string{
		"inside": "src/main.go", "outside": "../secret", "rooted": filepath.Join(top, "secret"), "dangling": "gone", "loop": "loop",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func file(refs ...string) []engine.Subscription {
	subs := make([]engine.Subscription, len(refs))
	for i, r := range refs {
		subs[i] = engine.Subscription{Kind: "file", Ref: r}
	}
	return subs
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func TestRead(t *testing.T) {
	dir := workspace(t)
	subs := append(file("src/main.go", "./src/../src/main.go", "inside", "src", "empty", "nothing", "logo.png", "latin1.txt", "gone.md", "dangling"),
		engine.Subscription{Kind: "topic", Ref: "fix"}, engine.Subscription{Kind: "step", Ref: "analyze"}, engine.Subscription{Kind: "url", Ref: "x"})
	got, err := notes.Read(dir, subs, notes.Sources{})
	must(t, err)
	body := "package main\n"
	want := []notes.Content{
		{Ref: "file:src/main.go", Text: body, Hash: sum(body), Size: 13},
		{Ref: "file:./src/../src/main.go", Text: body, Hash: sum(body), Size: 13},
		{Ref: "file:inside", Text: body, Hash: sum(body), Size: 13},
		{Ref: "file:src", Text: "deep/\nmain.go", Hash: sum("deep/\nmain.go"), Size: 13, Reason: "a directory with 2 entries"},
		{Ref: "file:empty", Hash: sum(""), Reason: "a directory with 0 entries"},
		{Ref: "file:nothing", Hash: sum(""), Reason: "an empty file"},
		{Ref: "file:logo.png", Hash: sum("\x89PNG\x00\x01"), Size: 6, Reason: "not UTF-8 text, so it is not shown"},
		{Ref: "file:latin1.txt", Hash: sum("caf\xe9\n"), Size: 5, Reason: "not UTF-8 text, so it is not shown"},
		{Ref: "file:gone.md", Missing: true, Reason: "no such file"},
		{Ref: "file:dangling", Missing: true, Reason: "no such file"},
		{Ref: "topic:fix", Missing: true, Reason: "there is no file .piton/topics/fix.md"},
		{Ref: "step:analyze", Missing: true, Reason: "there is no output of it"},
		{Ref: "url:x", Missing: true, Reason: `nothing of the kind "url" can be read`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReadStaysInside(t *testing.T) {
	dir := workspace(t)
	for _, ref := range []string{"outside", "rooted", "../secret", "src/../../secret", filepath.Join(filepath.Dir(dir), "secret"), "/etc/passwd", "loop", "", "src/main.go/x"} {
		got, err := notes.Read(dir, file(ref), notes.Sources{})
		must(t, err)
		if c := got[0]; ref != "" && (!c.Missing || c.Text != "" || c.Hash != "" || c.Reason == "" || strings.Contains(c.Reason, dir)) {
			t.Errorf("file:%s gave %+v", ref, c)
		}
	}
}

func TestReadNamesOddEntries(t *testing.T) {
	got, err := notes.Read(workspace(t), file("."), notes.Sources{})
	must(t, err)
	if want := `"odd\nname.txt"`; !strings.Contains(got[0].Text, want) {
		t.Errorf("listing %q does not hold %s", got[0].Text, want)
	}
}

func TestReadWithoutWorkspace(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if _, err := notes.Read(gone, file("a"), notes.Sources{}); err == nil {
		t.Error("no error though the workspace does not exist")
	}
	if got, err := notes.Read(gone, nil, notes.Sources{}); got != nil || err != nil {
		t.Errorf("nothing to read gave %v, %v", got, err)
	}
}

func TestReadHugeFiles(t *testing.T) {
	dir := t.TempDir()
	huge, err := os.Create(filepath.Join(dir, "huge"))
	must(t, err)
	must(t, huge.Truncate(1<<40))
	must(t, huge.Close())
	got, err := notes.Read(dir, file("huge"), notes.Sources{})
	must(t, err)
	if c := got[0]; !c.Missing || c.Text != "" || !strings.Contains(c.Reason, "1099511627776 bytes") {
		t.Errorf("a file of a terabyte gave %+v", c)
	}
}

func TestReadKeepsHeadAndTail(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	must(t, os.WriteFile(filepath.Join(dir, "log"), []byte(b.String()), 0o644))
	subs := file("log", "log", "log", "log", "log", "log")
	got, err := notes.Read(dir, subs, notes.Sources{})
	must(t, err)
	total := 0
	for i, c := range got {
		total += len(c.Text)
		if c.Hash != sum(b.String()) || c.Size != int64(b.Len()) || !c.Truncated || len(c.Text) > 64<<10 {
			t.Errorf("%d: hash %s, %d of %d bytes, truncated %t", i, c.Hash, len(c.Text), c.Size, c.Truncated)
		}
	}
	if first := got[0].Text; !strings.HasPrefix(first, "line 0\nline 1\n") || !strings.HasSuffix(first, "\nline 19999\n") {
		t.Errorf("neither head nor tail: %.40q", first)
	}
	if last := got[5]; last.Text != "" || last.Missing || !strings.Contains(last.Reason, "too much context") {
		t.Errorf("beyond the cap in all: %+v", last)
	}
	if total > 256<<10 {
		t.Errorf("%d bytes in all", total)
	}
}

// TestShortening: what is kept is a head and a tail of the text, within the
// cap, and the line between them says how much is missing.
func TestShortening(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringMatching(`[a-zé\n…]{1,40}`).Draw(t, "piece"), rapid.IntRange(1, 400).Draw(t, "times"))
		limit := rapid.IntRange(1, 5000).Draw(t, "cap")
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := notes.Read(dir, file("f"), notes.Sources{Caps: notes.Caps{File: limit, Total: 1 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		c := got[0]
		switch {
		case len(text) <= limit:
			if c.Text != text || c.Truncated {
				t.Fatalf("a text within the cap became %+v", c)
			}
		case c.Text == "":
			if limit >= 512 {
				t.Fatalf("nothing is shown within %d bytes", limit)
			}
		default:
			checkCut(t, text, c.Text, limit)
		}
	})
}

func checkCut(t *rapid.T, text, got string, limit int) {
	if len(got) > limit || !utf8.ValidString(got) {
		t.Fatalf("%d bytes, cap %d, valid %t", len(got), limit, utf8.ValidString(got))
	}
	for at := range got {
		var n int
		rest := got[at:]
		if _, err := fmt.Sscanf(rest, "\n… %d bytes left out …\n", &n); err != nil {
			continue
		}
		head, tail := got[:at], strings.TrimPrefix(rest, fmt.Sprintf("\n… %d bytes left out …\n", n))
		if strings.HasPrefix(text, head) && strings.HasSuffix(text, tail) && len(head)+len(tail)+n == len(text) {
			return
		}
	}
	t.Fatalf("%q is not head and tail of the text", got)
}

// FuzzRead: no reference panics, errs or brings anything from outside.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", ".", "src", "../secret", "outside", "a\x00b", "//", `..\secret`, "src//main.go", "loop/x", "C:/x"} {
		f.Add(seed)
	}
	dir := workspace(f)
	f.Fuzz(func(t *testing.T, ref string) {
		got, err := notes.Read(dir, file(ref), notes.Sources{})
		if err != nil || len(got) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
		c := got[0]
		if strings.Contains(c.Text, secret) || c.Hash == sum(secret) {
			t.Error("it left the workspace")
		}
		if c.Missing != (c.Hash == "") || c.Missing && c.Reason == "" {
			t.Errorf("%+v", c)
		}
	})
}
