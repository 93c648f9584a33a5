package tool_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/tool"
)

// put writes a file of a workspace.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// text reads a file of a workspace; "(none)" if it is not there.
func text(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if os.IsNotExist(err) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// code is the code of an observation; "" if it is good.
func code(o tool.Observation) tool.Code {
	if o.Problem == nil {
		return ""
	}
	return o.Problem.Code
}

func TestFileTools(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.txt": "one\ntwo\nthree\n", "dir/b.go": "package b // two\n", "dir/sub/c.txt": "see two\n",
		"binary": "\x00\x01\xff", ".git/config": "[core]\n", "data.json": `{"n": 12345678901234567890}`,
	}
	cases := []struct {
		name, tool string
		args       any
		want       string // the output as JSON, or the code
	}{
		{"read", "read_file", m{"path": "a.txt"}, `"one\ntwo\nthree\n"`},
		{"read some lines", "read_file", m{"path": "a.txt", "from": 2, "lines": 1}, `"two\n"`},
		{"read from a line to the end", "read_file", m{"path": "a.txt", "from": 2}, `"two\nthree\n"`},
		{"read beyond the end", "read_file", m{"path": "a.txt", "from": 9}, `""`},
		{"read bytes", "read_file", m{"path": "binary", "encoding": "base64"}, `"AAH/"`},
		{"read text as data", "read_data", m{"path": "binary", "format": "json"}, "not_text"},
		{"read bytes as text", "read_file", m{"path": "binary"}, "not_text"},
		{"read nothing", "read_file", m{"path": "nope"}, "not_found"},
		{"read below a file", "read_file", m{"path": "a.txt/x"}, "not_a_file"},
		{"read a directory", "read_file", m{"path": "dir"}, "not_a_file"},
		{"read the workspace", "read_file", m{"path": "."}, "not_a_file"},
		{"read by a roundabout way", "read_file", m{"path": "dir/../a.txt", "lines": 1}, `"one\n"`},
		{"read above", "read_file", m{"path": "../x"}, "outside_workspace"},
		{"read above by a roundabout way", "read_file", m{"path": "dir/../../x"}, "outside_workspace"},
		{"read an absolute path", "read_file", m{"path": "/etc/passwd"}, "outside_workspace"},
		{"read an empty path", "read_file", m{"path": ""}, "invalid_arguments"},
		{"read a path with a zero", "read_file", m{"path": "a\x00b"}, "invalid_arguments"},
		{"read a path with a line break", "read_file", m{"path": "a\nb"}, "invalid_arguments"},
		{"read a path that is no text", "read_file", json.RawMessage("{\"path\":\"a\xff\"}"), "invalid_arguments"},
		{"read a long path", "read_file", m{"path": strings.Repeat("a/", 3000)}, "invalid_arguments"},
		{"read without a path", "read_file", m{}, "invalid_arguments"},
		{"read with a wrong type", "read_file", m{"path": 1}, "invalid_arguments"},
		{"read with too much", "read_file", m{"path": "a.txt", "mode": "x"}, "invalid_arguments"},
		{"read with a key in capitals", "read_file", m{"Path": "a.txt"}, "invalid_arguments"},
		{"read with a list", "read_file", []string{"a.txt"}, "invalid_arguments"},
		{"read with no JSON", "read_file", json.RawMessage(`{"path":`), "invalid_arguments"},
		{"read with two values", "read_file", json.RawMessage(`{"path":"a.txt"} {}`), "invalid_arguments"},
		{"the last of two keys counts", "read_file", json.RawMessage(`{"path":"/etc/passwd","path":"a.txt","lines":1}`), `"one\n"`},

		{"list", "list_directory", nil, `{"entries":[{"path":".git","type":"directory"},{"path":"a.txt","type":"file","size":14},{"path":"binary","type":"file","size":3},{"path":"data.json","type":"file","size":27},{"path":"dir","type":"directory"}],"truncated":false}`},
		{"list deeper", "list_directory", m{"path": "dir", "depth": 2}, `{"entries":[{"path":"dir/b.go","type":"file","size":17},{"path":"dir/sub","type":"directory"},{"path":"dir/sub/c.txt","type":"file","size":8}],"truncated":false}`},
		{"list a file", "list_directory", m{"path": "a.txt"}, "not_a_file"},
		{"list nothing", "list_directory", m{"path": "nope"}, "not_found"},
		{"list above", "list_directory", m{"path": ".."}, "outside_workspace"},

		{"search", "search", m{"text": "t.o"}, `{"matches":[{"path":"a.txt","line":2,"text":"two"},{"path":"dir/b.go","line":1,"text":"package b // two"},{"path":"dir/sub/c.txt","line":1,"text":"see two"}],"files":5,"truncated":false}`},
		{"search in a directory", "search", m{"text": "two", "path": "dir/sub"}, `{"matches":[{"path":"dir/sub/c.txt","line":1,"text":"see two"}],"files":1,"truncated":false}`},
		{"search the text itself", "search", m{"text": "t.o", "literal": true}, `{"matches":[],"files":5,"truncated":false}`},
		{"search in any case", "search", m{"text": "TWO", "ignore_case": true, "glob": "*.txt"}, `{"matches":[{"path":"a.txt","line":2,"text":"two"},{"path":"dir/sub/c.txt","line":1,"text":"see two"}],"files":2,"truncated":false}`},
		{"search to a limit", "search", m{"text": "two", "limit": 1}, `{"matches":[{"path":"a.txt","line":2,"text":"two"}],"files":4,"truncated":true}`},
		{"glob", "search", m{"glob": "**/*.go"}, `{"matches":[{"path":"dir/b.go"}],"files":1,"truncated":false}`},
		{"glob below a directory", "search", m{"glob": "sub/*", "path": "dir"}, `{"matches":[{"path":"dir/sub/c.txt"}],"files":1,"truncated":false}`},
		{"search for nothing", "search", m{"path": "dir"}, "invalid_arguments"},
		{"search with a fault", "search", m{"text": "("}, "invalid_arguments"},
		{"glob with a fault", "search", m{"glob": "[a"}, "invalid_arguments"},
		{"glob that takes forever", "search", m{"glob": strings.Repeat("**/", 20) + "x"}, "invalid_arguments"},

		{"write", "write_file", m{"path": "new/x.txt", "content": "hello"}, `{"path":"new/x.txt","after":"` + sum("hello") + `","bytes":5}`},
		{"write over", "write_file", m{"path": "a.txt", "content": "hello"}, `{"path":"a.txt","before":"` + sum("one\ntwo\nthree\n") + `","after":"` + sum("hello") + `","bytes":5}`},
		{"write only if nothing is there", "write_file", m{"path": "a.txt", "content": "hello", "overwrite": false}, "exists"},
		{"write a JSON value", "write_file", json.RawMessage(`{"path":"x.json","content":{"n":12345678901234567890,"s":"<&>"}}`), `{"path":"x.json","after":"` + sum("{\n  \"n\": 12345678901234567890,\n  \"s\": \"<&>\"\n}\n") + `","bytes":46}`},
		{"write bytes", "write_file", m{"path": "x", "content": "AAH/", "encoding": "base64"}, `{"path":"x","after":"` + sum("\x00\x01\xff") + `","bytes":3}`},
		{"write wrong bytes", "write_file", m{"path": "x", "content": "!", "encoding": "base64"}, "invalid_arguments"},
		{"write a value as bytes", "write_file", m{"path": "x", "content": 1, "encoding": "base64"}, "invalid_arguments"},
		{"write a directory", "write_file", m{"path": "dir", "content": ""}, "not_a_file"},
		{"write the workspace", "write_file", m{"path": ".", "content": ""}, "not_a_file"},
		{"write with a slash at the end", "write_file", m{"path": "x/", "content": ""}, "not_a_file"},
		{"write below a file", "write_file", m{"path": "a.txt/x", "content": ""}, "not_a_file"},
		{"write above", "write_file", m{"path": "../x", "content": ""}, "outside_workspace"},
		{"write an absolute path", "write_file", m{"path": "/tmp/x", "content": ""}, "outside_workspace"},
		{"write where Git is", "write_file", m{"path": ".git/hooks/pre-commit", "content": ""}, "denied"},
		{"write where Git is, in capitals", "write_file", m{"path": ".GIT/config", "content": ""}, "denied"},
		{"write where Git is, by a roundabout way", "write_file", m{"path": "dir/../.git/config", "content": ""}, "denied"},
		{"write where Git is, with a dot", "write_file", m{"path": ".git./config", "content": ""}, "denied"},
		{"write where Git is, by its short name", "write_file", m{"path": "git~1/config", "content": ""}, "denied"},
		{"write where Git is, as a stream", "write_file", m{"path": ".git::$INDEX_ALLOCATION/config", "content": ""}, "denied"},
		{"write where Git is, with what is not seen", "write_file", m{"path": ".g\u200cit/config", "content": ""}, "denied"},
		{"write where Git of another is", "write_file", m{"path": "dir/.git/config", "content": ""}, "denied"},
		{"write where Piton is", "write_file", m{"path": ".piton/config.yaml", "content": ""}, "denied"},
		{"write the name of Git", "write_file", m{"path": ".git", "content": ""}, "denied"},

		{"move", "move_file", m{"from": "a.txt", "to": "new/a.txt"}, `{"path":"new/a.txt","after":"` + sum("one\ntwo\nthree\n") + `","bytes":14}`},
		{"move onto a file", "move_file", m{"from": "a.txt", "to": "binary"}, "exists"},
		{"move over a file", "move_file", m{"from": "a.txt", "to": "binary", "overwrite": true}, `{"path":"binary","before":"` + sum("\x00\x01\xff") + `","after":"` + sum("one\ntwo\nthree\n") + `","bytes":14}`},
		{"move nothing", "move_file", m{"from": "nope", "to": "x"}, "not_found"},
		{"move to itself", "move_file", m{"from": "a.txt", "to": "./a.txt"}, "invalid_arguments"},
		{"move a directory", "move_file", m{"from": "dir", "to": "x"}, "not_a_file"},
		{"move out", "move_file", m{"from": "a.txt", "to": "../a.txt"}, "outside_workspace"},
		{"move in", "move_file", m{"from": "/etc/passwd", "to": "x"}, "outside_workspace"},
		{"move into Git", "move_file", m{"from": "a.txt", "to": ".git/hooks/x"}, "denied"},
		{"move out of Git", "move_file", m{"from": ".git/config", "to": "x"}, "denied"},

		{"delete", "delete_file", m{"path": "a.txt"}, `{"path":"a.txt","before":"` + sum("one\ntwo\nthree\n") + `","bytes":14}`},
		{"delete nothing", "delete_file", m{"path": "nope"}, "not_found"},
		{"delete below nothing", "delete_file", m{"path": "nope/x"}, "not_found"},
		{"delete a directory", "delete_file", m{"path": "dir"}, "not_a_file"},
		{"delete above", "delete_file", m{"path": "../x"}, "outside_workspace"},
		{"delete of Git", "delete_file", m{"path": ".git/config"}, "denied"},

		{"no such tool", "nope", nil, "not_found"},
		{"no such server", "nope.tool", nil, "not_found"},
		{"too much", "write_file", m{"path": "x", "content": strings.Repeat("x", 5<<20)}, "too_large"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, dir := open(t, tool.Config{}, files)
			before := snapshot(t, dir)
			text, raw := c.args.(json.RawMessage)
			if !raw && c.args != nil {
				text = args(t, c.args)
			}
			o := r.Call(t.Context(), c.tool, text, nil)
			if o.OK {
				if diff := cmp.Diff(value(t, c.want), value(t, string(o.Output))); diff != "" {
					t.Error(diff)
				}
				if o.Duration <= 0 || o.Problem != nil {
					t.Errorf("a good observation has duration %v and problem %v", o.Duration, o.Problem)
				}
				noted(t, dir, before, o.Changes)
				return
			}
			if string(code(o)) != c.want || o.Problem.Message == "" || strings.Contains(o.Problem.Message, "\n") {
				t.Errorf("code %s (%s), want %s", code(o), o.Problem.Message, c.want)
			}
			if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
				t.Errorf("a call that failed changed something: %s", diff)
			}
		})
	}
}

// value reads JSON; what is none is a code.
func value(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	return v
}

// snapshot is every file of a workspace and its hash.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = sum(text(t, dir, rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// noted checks that the changes are what is different now, and nothing else.
func noted(t *testing.T, dir string, before map[string]string, changes []tool.Change) {
	t.Helper()
	want := map[string]tool.Change{}
	after := snapshot(t, dir)
	for name, hash := range before {
		if after[name] != hash {
			want[name] = tool.Change{Path: name, Before: hash, After: after[name]}
		}
	}
	for name, hash := range after {
		if before[name] == "" {
			want[name] = tool.Change{Path: name, After: hash}
		}
	}
	got := map[string]tool.Change{}
	for _, c := range changes {
		got[c.Path] = c
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the changes noted are not those made: %s", diff)
	}
}

func TestWhatMustBeAsked(t *testing.T) {
	t.Parallel()
	r, _ := open(t, tool.Config{Hosts: []string{"example.org"}}, map[string]string{"a.txt": "one", "b.txt": "two"})
	one, two := sum("one"), sum("two")
	cases := []struct {
		tool    string
		args    m
		asks    bool
		effect  tool.Effect
		targets []tool.Target
	}{
		{"read_file", m{"path": "a.txt"}, false, tool.Read, []tool.Target{}},
		{"list_directory", m{}, false, tool.Read, []tool.Target{}},
		{"search", m{"text": "x"}, false, tool.Read, []tool.Target{}},
		{"write_file", m{"path": "new", "content": ""}, false, tool.Create, []tool.Target{{Path: "new"}}},
		{"write_file", m{"path": "deep/new", "content": ""}, false, tool.Create, []tool.Target{{Path: "deep/new"}}},
		{"write_file", m{"path": "./a.txt", "content": ""}, true, tool.Overwrite, []tool.Target{{Path: "a.txt", Before: one}}},
		{"move_file", m{"from": "a.txt", "to": "c.txt"}, false, tool.Move, []tool.Target{{Path: "a.txt", Before: one}, {Path: "c.txt"}}},
		{"move_file", m{"from": "a.txt", "to": "b.txt", "overwrite": true}, true, tool.Overwrite, []tool.Target{{Path: "a.txt", Before: one}, {Path: "b.txt", Before: two}}},
		{"delete_file", m{"path": "a.txt"}, true, tool.Delete, []tool.Target{{Path: "a.txt", Before: one}}},
		{"run_command", m{"command": "ls"}, false, tool.Command, []tool.Target{}},
		{"run_command", m{"command": `bash -c "$1"`, "args": []any{"make"}}, false, tool.Command, []tool.Target{}},
		{"web_fetch", m{"url": "https://example.org/x"}, false, tool.Network, []tool.Target{}},
	}
	for _, c := range cases {
		w, err := r.Weigh(t.Context(), c.tool, args(t, c.args))
		if err != nil {
			t.Errorf("%s %v: %v", c.tool, c.args, err)
			continue
		}
		if w.Asks != c.asks || w.Asks != (w.Reason != "") || w.Effect != c.effect || w.Hash == "" {
			t.Errorf("%s %v: %v %s %q, want %v %s", c.tool, c.args, w.Asks, w.Effect, w.Hash, c.asks, c.effect)
		}
		if diff := cmp.Diff(c.targets, w.Targets); diff != "" {
			t.Errorf("%s %v: %s", c.tool, c.args, diff)
		}
	}
}

// TestBound: a call that is bound to what was shown is refused once that is
// different, and changes nothing.
func TestBound(t *testing.T) {
	t.Parallel()
	calls := []struct {
		tool string
		args m
	}{
		{"write_file", m{"path": "a.txt", "content": "x"}},
		{"write_file", m{"path": "new.txt", "content": "x"}},
		{"move_file", m{"from": "a.txt", "to": "new.txt"}},
		{"move_file", m{"from": "b.txt", "to": "a.txt", "overwrite": true}},
		{"delete_file", m{"path": "a.txt"}},
	}
	for i, c := range calls {
		t.Run(fmt.Sprint(i, c.tool), func(t *testing.T) {
			t.Parallel()
			r, dir := open(t, tool.Config{}, map[string]string{"a.txt": "one", "b.txt": "two"})
			w, err := r.Weigh(t.Context(), c.tool, args(t, c.args))
			if err != nil {
				t.Fatal(err)
			}
			for _, drifted := range []string{"a.txt", "new.txt"} {
				was := text(t, dir, drifted)
				put(t, dir, drifted, "drift")
				again, err := r.Weigh(t.Context(), c.tool, args(t, c.args))
				if err == nil && again.Hash == w.Hash && names(w)[drifted] {
					t.Errorf("%s is different and the weight has the same hash", drifted)
				}
				before := snapshot(t, dir)
				o := r.Call(t.Context(), c.tool, args(t, c.args), w.Targets)
				if names(w)[drifted] && code(o) != tool.Changed && code(o) != tool.Exists {
					t.Errorf("%s is different and the call ends with %q", drifted, code(o))
				}
				if diff := cmp.Diff(before, snapshot(t, dir)); names(w)[drifted] && diff != "" {
					t.Error(diff)
				}
				restore(t, dir, drifted, was)
				if !names(w)[drifted] {
					return // it was allowed to go ahead
				}
			}
			if o := r.Call(t.Context(), c.tool, args(t, c.args), w.Targets); !o.OK {
				t.Errorf("all is as it was shown, and the call ends with %v", o.Problem)
			}
		})
	}
}

func names(w tool.Weight) map[string]bool {
	all := map[string]bool{}
	for _, t := range w.Targets {
		all[t.Path] = true
	}
	return all
}

func restore(t *testing.T, dir, name, was string) {
	t.Helper()
	if was != "(none)" {
		put(t, dir, name, was)
		return
	}
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func TestModeIsKept(t *testing.T) {
	t.Parallel()
	r, dir := open(t, tool.Config{}, map[string]string{"run.sh": "ls"})
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, "run.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, now string
		args      m
	}{
		{"write_file", "run.sh", m{"path": "run.sh", "content": "pwd"}},
		{"move_file", "moved.sh", m{"from": "run.sh", "to": "moved.sh"}},
	} {
		if o := r.Call(t.Context(), c.tool, args(t, c.args), nil); !o.OK {
			t.Fatal(o.Problem)
		}
		after, err := os.Stat(filepath.Join(dir, c.now))
		if err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: mode %v, error %v; want %v", c.tool, after.Mode(), err, before.Mode())
		}
	}
}

// TestLimits: what is large is refused with the code, or cut and said so.
func TestLimits(t *testing.T) {
	t.Parallel()
	r, dir := open(t, tool.Config{}, map[string]string{"big.txt": strings.Repeat("0123456789abcde\n", 1<<17), "long.txt": strings.Repeat("x", 3<<20)})
	if err := os.Truncate(filepath.Join(dir, "long.txt"), 3<<30); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool string
		args m
		want tool.Code
	}{
		{"read_file", m{"path": "big.txt"}, tool.TooLarge},
		{"read_file", m{"path": "big.txt", "from": 2}, tool.TooLarge},
		{"read_file", m{"path": "big.txt", "from": 100_000, "lines": 1000}, ""},
		{"read_file", m{"path": "long.txt", "lines": 1}, tool.TooLarge},
		{"read_file", m{"path": "long.txt"}, tool.TooLarge},
		{"write_file", m{"path": "long.txt", "content": ""}, tool.TooLarge},
		{"delete_file", m{"path": "long.txt"}, tool.TooLarge},
		{"search", m{"text": "cde", "limit": 2000}, ""},
	} {
		o := r.Call(t.Context(), c.tool, args(t, c.args), nil)
		if code(o) != c.want {
			t.Errorf("%s %v: %q, want %q", c.tool, c.args, code(o), c.want)
		}
		if c.tool == "search" && !strings.Contains(string(o.Output), `"truncated":true`) {
			t.Errorf("a search that left something out does not say so: %.200s", o.Output)
		}
	}
}
