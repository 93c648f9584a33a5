package verify_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// world is the machine and the workspace that the corpus is written for.
type world struct {
	Commands    []string                `json:"commands"`
	Files       []string                `json:"files"`
	Executables []string                `json:"executables"`
	Texts       map[string]string       `json:"texts"`
	Agents      map[string]verify.Agent `json:"agents"`
}

func readWorld(t testing.TB) world {
	t.Helper()
	text, err := os.ReadFile("testdata/corpus/world.json")
	if err != nil {
		t.Fatal(err)
	}
	var w world
	if err := json.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w world) answer(q verify.Queries) verify.Facts {
	f := verify.Facts{Commands: map[string]string{}, Files: map[string]verify.File{}, Agents: w.Agents, DefaultAgent: "coder", Judge: &verify.Judge{}, Tools: toolFacts(q.Tools), Calls: callFacts(q.Calls)}
	for _, name := range q.Commands {
		f.Commands[name] = ""
		if slices.Contains(w.Commands, name) {
			f.Commands[name] = "/usr/bin/" + path.Base(name)
		}
	}
	for _, name := range q.Files {
		runs := slices.Contains(w.Executables, name)
		f.Files[name] = verify.File{Exists: runs || slices.Contains(w.Files, name), Executable: runs}
	}
	f.Texts = map[string]string{}
	for _, name := range q.Texts {
		if text, ok := w.Texts[name]; ok {
			f.Texts[name] = text
		}
	}
	return f
}

// findings are those of a plan, but for what this version cannot run yet: that
// says something of the version and nothing of the plan.
func (w world) findings(text []byte) []verify.Finding {
	p, problems := plan.Parse("plan.md", text)
	var f verify.Facts
	if p != nil {
		_, f = verify.Study(p, nil, w.answer)
	}
	return slices.DeleteFunc(verify.Check(p, problems, f), func(f verify.Finding) bool { return f.Code == "PT014" })
}

func archives(t testing.TB, pattern string) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files for %s: %v", pattern, err)
	}
	all := map[string]*txtar.Archive{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txtar")] = a
	}
	return all
}

// TestSoundPlans makes sure that nobody is bothered about a plan that is right,
// however it is written.
func TestSoundPlans(t *testing.T) {
	t.Parallel()
	w := readWorld(t)
	labels, count := map[string]bool{}, 0
	for group, a := range archives(t, "testdata/corpus/sound/*.txtar") {
		for _, file := range a.Files {
			count++
			for drift, text := range map[string]string{
				"":     string(file.Data),
				"CRLF": strings.ReplaceAll(string(file.Data), "\n", "\r\n"),
				"BOM":  "\ufeff" + string(file.Data),
				"cut":  strings.TrimRight(string(file.Data), "\n"),
			} {
				for _, f := range w.findings([]byte(text)) {
					if f.Severity != verify.Note {
						t.Errorf("%s/%s %s: %v", group, file.Name, drift, f)
					}
				}
			}
			p, _ := plan.Parse("", file.Data)
			for _, l := range p.Labels {
				labels[l.Name] = true
			}
			for _, s := range p.Steps {
				for _, l := range s.Labels {
					labels[l.Name] = true
				}
			}
		}
	}
	if count < 100 {
		t.Errorf("%d sound plans", count)
	}
	for _, l := range plan.Labels() {
		if !labels[l.Name] && l.Name != "status" {
			t.Errorf("no sound plan uses %q", l.Name)
		}
	}
}

// TestDefectivePlans makes sure that every defect is found at its place, and
// nothing beside it. Behind each plan stands what it should get.
func TestDefectivePlans(t *testing.T) {
	t.Parallel()
	w := readWorld(t)
	codes, count := map[string]bool{}, 0
	for group, a := range archives(t, "testdata/corpus/defective/*.txtar") {
		for i := 0; i+1 < len(a.Files); i += 2 {
			file, want := a.Files[i], a.Files[i+1]
			name := strings.TrimSuffix(file.Name, ".md")
			if want.Name != name+".want" || len(want.Data) == 0 {
				t.Fatalf("%s: %s is followed by %s", group, file.Name, want.Name)
			}
			count++
			var got strings.Builder
			for _, f := range w.findings(file.Data) {
				fmt.Fprintf(&got, "%d:%d %s %s\n", f.Line, f.Column, f.Severity, f.Code)
				codes[f.Code] = true
			}
			if diff := cmp.Diff(string(want.Data), got.String()); diff != "" {
				t.Errorf("%s/%s (-want +got):\n%s%v", group, file.Name, diff, w.findings(file.Data))
			}
		}
	}
	if count < 150 {
		t.Errorf("%d defective plans", count)
	}
	// Rules of size and of bytes have tests of their own in package plan; PT031
	// is about a configuration that this world does not have.
	apart := []string{"PT014", "PT031", "PT100", "PT101", "PT102", "PT103", "PT105", "PT106", "PT107", "PT108", "PT111", "PT161"}
	for _, r := range verify.Rules() {
		if !codes[r.ID] && !slices.Contains(apart, r.ID) && r.ID < "PT170" { // the rest is of other forms than Markdown
			t.Errorf("no defective plan has %s %s", r.ID, r.Name)
		}
	}
}
