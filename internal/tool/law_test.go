package tool_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tier"
	"github.com/piton-dev/piton/internal/tool"
)

// FuzzArguments: no arguments make a file tool fail in another way than with a
// code, nor change anything outside of the workspace, of Git's or of Piton's.
func FuzzArguments(f *testing.F) {
	for _, name := range []string{"read_file", "write_file", "delete_file", "list_directory", "move_file", "search"} {
		for _, path := range []string{"a.txt", "../outside", "/etc/passwd", "link/x", "dir/../../outside", ".git/config", ".GIT", "a\x00", "dir//a", "./.piton/x", "link", "a/..", "~", `..\outside`, "up/outside", "C:\\x", "nul"} {
			if name != "move_file" || tier.Gate {
				f.Add(name, string(mustJSON(m{"path": path, "content": "changed"})))
			}
			if name == "move_file" || tier.Gate { // the others refuse it for its words
				f.Add(name, string(mustJSON(m{"from": "a.txt", "to": path})))
				f.Add(name, string(mustJSON(m{"from": path, "to": "b", "overwrite": true})))
			}
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
		if o.OK && werr == nil && !w.Asks && w.Effect != tool.Move && len(o.Changes) > 0 && o.Changes[0].Before != "" {
			t.Errorf("what asks nobody changed what was there: %v", o.Changes)
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
