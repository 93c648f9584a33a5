package tool_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/tool"
)

// commands are those of the table.
func commands(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/tiers.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if _, command, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && !strings.HasPrefix(line, "#") {
			list = append(list, strings.TrimLeft(command, " "))
		}
	}
	return list
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// wraps are ways to run a command from within another.
func wraps() map[string]func(string) string {
	around := func(before, after string) func(string) string {
		return func(c string) string { return before + c + after }
	}
	return map[string]func(string) string{
		"subshell": around("( ", "\n)"), "group": around("{ ", "\n}"), "after": around("true && ", ""), "before": around("", "\nls"),
		"or": around("false || ", ""), "if": around("if true; then ", "\nfi"), "while": around("while read -r x; do ", "\ndone"),
		"for": around("for x in a b; do ", "\ndone"), "case": around("case x in x) ", "\n;; esac"), "function": around("f() { ", "\n}; f"),
		"substitution": around(`echo "$(`, "\n)\""), "process": around("cat <(", "\n)"), "input": around("cat <<< \"$(", "\n)\""),
		"not": around("! { ", "\n}"), "background": around("{ ", "\n} &"), "assigned": around("x=$(", "\n)"), "array": around("x=( $(", "\n) )"),
		"pipe": around("{ ", "\n} | cat"), "into": around("ls | { ", "\n}"), "time": around("time { ", "\n}"),
		"bash": func(c string) string { return "bash -c " + quoted(c) }, "sh": func(c string) string { return "sh -ec " + quoted(c) },
		"eval": func(c string) string { return "eval " + quoted(c) }, "trap": func(c string) string { return "trap " + quoted(c) + " EXIT" },
		"env": func(c string) string { return "env A=b bash -c " + quoted(c) }, "nohup": func(c string) string { return "nohup bash -c " + quoted(c) },
		"timeout": func(c string) string { return "timeout -s KILL 5 bash -c " + quoted(c) },
		"xargs":   func(c string) string { return "ls | xargs -n 1 bash -c " + quoted(c) },
		"find":    func(c string) string { return "find . -exec bash -c " + quoted(c) + ` \;` },
		"default": around(`echo "${x:-$(`, "\n)}\""), "number": around("echo $(( $(", "\n) ))"), "test": around(`[[ -n "$(`, "\n)\" ]]"),
		"document": around("cat <<E\n$(", "\n)\nE\n"), "redirected": around("ls > \"$(", "\n)\""),
	}
}

// TestTierNeverFalls: a command that is wrapped needs at least what it needs bare.
func TestTierNeverFalls(t *testing.T) {
	t.Parallel()
	r, _ := open(t, tool.Config{}, map[string]string{"old.txt": "x", "dir/x.sh": "ls", ".git/config": ""})
	ways := wraps()
	var keys []string
	for k := range ways {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	list := commands(t)
	bare := map[string]tool.Weight{}
	for _, c := range list {
		bare[c] = weighCommand(t, r, c)
		for _, way := range keys {
			if w := weighCommand(t, r, ways[way](c)); bare[c].Tier.Above(w.Tier) {
				t.Errorf("%s is %s, and wrapped as %q it is %s %q", c, bare[c].Tier, ways[way](c), w.Tier, w.Reasons)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(list).Draw(t, "command")
		script := c
		for range rapid.IntRange(1, 3).Draw(t, "depth") {
			script = ways[rapid.SampledFrom(keys).Draw(t, "way")](script)
		}
		w, err := r.Weigh(t.Context(), "run_command", json.RawMessage(mustJSON(m{"command": script})))
		if err != nil {
			t.Fatal(err)
		}
		if bare[c].Tier.Above(w.Tier) {
			t.Fatalf("%s is %s, and %q is %s", c, bare[c].Tier, script, w.Tier)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom(list).Draw(t, "first"), rapid.SampledFrom(list).Draw(t, "second")
		w, err := r.Weigh(t.Context(), "run_command", json.RawMessage(mustJSON(m{"command": a + "\n" + b})))
		if err != nil {
			t.Fatal(err)
		}
		if bare[a].Tier.Above(w.Tier) || bare[b].Tier.Above(w.Tier) {
			t.Fatalf("%q then %q is %s", a, b, w.Tier)
		}
	})
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// FuzzCommand: no text stops the weighing, and one that is wrapped needs no less.
func FuzzCommand(f *testing.F) {
	for _, c := range commands(f) {
		f.Add(c)
	}
	f.Add(strings.Repeat("(", 1000))
	f.Add(strings.Repeat("{ ", 1000))
	f.Add(strings.Repeat("$(", 500))
	f.Add(strings.Repeat("if ", 5000))
	f.Add(strings.Repeat("! ", 5000))
	f.Add("x " + strings.Repeat("{a,b}", 30))
	f.Add("cat <<A <<B\nA\nB\n")
	r, _ := open(f, tool.Config{}, map[string]string{"old.txt": "x"})
	f.Fuzz(func(t *testing.T, command string) {
		text, err := json.Marshal(m{"command": command})
		if err != nil || command == "" || strings.ContainsRune(command, 0) {
			return
		}
		w, err := r.Weigh(t.Context(), "run_command", text)
		if err != nil {
			t.Fatal(err)
		}
		if (w.Tier == tool.Free) != (len(w.Reasons) == 0) {
			t.Errorf("%s with the reasons %q", w.Tier, w.Reasons)
		}
		for _, script := range []string{"bash -c -- " + quoted(strings.ToValidUTF8(command, "\uFFFD")), "sudo bash -c -- " + quoted(strings.ToValidUTF8(command, "\uFFFD"))} {
			again, err := r.Weigh(t.Context(), "run_command", mustJSON(m{"command": script}))
			if err != nil || w.Tier.Above(again.Tier) {
				t.Errorf("%q is %s %q, and wrapped %s %q, %v", command, w.Tier, w.Reasons, again.Tier, again.Reasons, err)
			}
		}
	})
}

// FuzzArguments: no arguments make a file tool fail in another way than with a
// code, nor change anything outside of the workspace, of Git's or of Piton's.
func FuzzArguments(f *testing.F) {
	for _, name := range []string{"read_file", "write_file", "delete_file", "list_directory", "move_file", "search"} {
		for _, path := range []string{"a.txt", "../outside", "/etc/passwd", "link/x", "dir/../../outside", ".git/config", ".GIT", "a\x00", "dir//a", "./.piton/x", "link", "a/..", "~", `..\outside`, "up/outside", "C:\\x", "nul"} {
			f.Add(name, string(mustJSON(m{"path": path, "content": "changed"})))
			f.Add(name, string(mustJSON(m{"from": "a.txt", "to": path})))
			f.Add(name, string(mustJSON(m{"from": path, "to": "b", "overwrite": true})))
		}
	}
	f.Add("write_file", `{"path":"a","content":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+`}`)
	f.Add("search", `{"glob":"{a,{b,{c,*}}}**/[a-z]"}`)
	f.Fuzz(func(t *testing.T, name, text string) {
		if name == "run_command" || name == "web_fetch" {
			return
		}
		outer := t.TempDir()
		ws := filepath.Join(outer, "ws")
		for file, content := range map[string]string{"outside": "kept", "ws/a.txt": "one", "ws/dir/b.txt": "two", "ws/.git/config": "kept", "ws/.piton/config.yaml": "kept"} {
			put(t, outer, file, content)
		}
		for link, to := range map[string]string{"link": ".git", "up": ".."} {
			if err := os.Symlink(to, filepath.Join(ws, link)); err != nil {
				t.Fatal(err)
			}
		}
		r, err := tool.Open(tool.Config{Workspace: ws})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		w, werr := r.Weigh(t.Context(), name, json.RawMessage(text))
		o := r.Call(t.Context(), name, json.RawMessage(text), nil)
		if o.OK == (o.Problem != nil) || o.Problem != nil && (o.Problem.Code == "" || o.Problem.Message == "") || o.OK && !json.Valid(o.Output) {
			t.Errorf("%+v", o)
		}
		if _, ok := errors.AsType[*tool.Problem](werr); werr != nil && !ok {
			t.Errorf("a weight fails without a code: %v", werr)
		}
		if o.OK && werr == nil && w.Tier == tool.Free && len(o.Changes) > 0 && o.Changes[0].Before != "" {
			t.Errorf("what is free changed what was there: %v", o.Changes)
		}
		for _, file := range []string{"outside", "ws/.git/config", "ws/.piton/config.yaml"} {
			if content, err := os.ReadFile(filepath.Join(outer, file)); err != nil || string(content) != "kept" {
				t.Errorf("%s has %q, %v", file, content, err)
			}
		}
		for _, d := range []string{outer, filepath.Join(ws, ".git"), filepath.Join(ws, ".piton")} {
			want := 1
			if d == outer {
				want = 2
			}
			if list, err := os.ReadDir(d); err != nil || len(list) != want {
				t.Errorf("%s holds %v, %v", d, list, err)
			}
		}
	})
}
