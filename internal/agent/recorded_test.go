package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/piton-dev/piton/internal/engine"
)

// TestRecorded: each file of testdata/recorded is what a real program printed, and its exit
// code and the keys that it was given, where that matters, against a model that follows a script: ok reads a file, edits it, makes another one
// and runs two commands, of which one prints "401 Unauthorized" and one fails; the others
// are named after what went wrong. The golden files say what is made of it: why it ended so,
// and its deeds.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		program, what, _ := strings.Cut(name, "-")
		done[program] = done[program] || what == "ok"
		t.Run(name, func(t *testing.T) {
			got := recounted(t, file, program)
			golden := strings.TrimSuffix(file, ".txtar") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for _, p := range presets() {
		if !done[string(p)] {
			t.Errorf("what %s prints when all goes well is not recorded", p)
		}
	}
}

func recounted(t *testing.T, file, program string) string {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out, stderr []byte
	r := Result{How: engine.Exited}
	for _, f := range a.Files {
		switch f.Name {
		case "out":
			out = f.Data
		case "err":
			stderr = f.Data
		case "keys":
			r.Keys = strings.Fields(string(f.Data))
		case "exit":
			if word := strings.TrimSpace(string(f.Data)); word == "timeout" {
				r.How, r.Exit = engine.TimedOut, -1
			} else if r.Exit, err = strconv.Atoi(word); err != nil {
				t.Fatal(err)
			}
		}
	}
	tr, err := newTranscript(Preset(program))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	tr.said.tell = func(d Deed) {
		line, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", line)
	}
	tr.write(out)
	s, _ := tr.finish(captured(out, 0))
	r.Fault, r.No, r.Calls, r.Formed = s.fault, s.no, s.made, s.events > 0
	r.Stdout, r.Stderr = lastLines(s.text), lastLines(stderr)
	r.Complaint = complaint(string(stderr))
	c := Why(program, r)
	head := fmt.Sprintf("exit %d, %d calls\nwhy %s lasts=%v\n  %s\n  %s\n", r.Exit, r.Calls, c.Kind, c.Lasts, c.Text, c.Next)
	return head + b.String()
}
