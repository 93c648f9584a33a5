//go:build gate && linux

package agents

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A person edits notes, the plan, the configuration and a check, commits and switches branch
// while three steps of an agent run. Nothing of theirs is lost or charged to a step; what
// judges is put to them once, and the history names who took it.
func TestPersonEdits(t *testing.T) {
	t.Parallel()
	p := programs[slices.IndexFunc(programs, func(p program) bool { return p.name == "codex" && !p.acp })]
	w := begin(t, p, able)
	write := func(name, body string) {
		t.Helper()
		w.must(os.WriteFile(filepath.Join(w.dir, name), []byte(body), 0o600))
	}
	edit := func(name, from, to string) {
		t.Helper()
		body, err := os.ReadFile(filepath.Join(w.dir, name))
		w.must(err)
		write(name, strings.Replace(string(body), from, to, 1))
	}
	var plan strings.Builder
	plan.WriteString("---\ntype: plan\nstatus: draft\nowner: somebody\n---\n\n# Three greetings\n\n## Steps\n")
	for n, id := range []string{"one", "two", "three"} {
		fmt.Fprintf(&plan, "\n### %d. Greet %s\n\n**id:** %s\n", n+1, id, id)
		if n > 0 {
			fmt.Fprintf(&plan, "**needs:** %d\n", n)
		}
		fmt.Fprintf(&plan, "**target:** codex\n**task:** Write %s.txt. SCRIPT %s\n**contract:** `sh check.sh %s.txt`\n**writes:** %s.txt\n", id, script(
			object{"run": "touch at-" + id + "; until test -e go-" + id + "; do sleep 0.1; done; rm at-" + id + " go-" + id},
			object{"write": id + ".txt", "content": "hello"}, object{"say": "Done."},
		), id, id)
	}
	write("plan.md", plan.String())
	write("check.sh", "grep -q hello $1\n")
	write("NOTES.md", "notes\n")
	w.git("add", "-A")
	w.git("commit", "-qm", "a plan")

	c := w.command("run", "plan.md", "--yes", "--no-wait")
	w.must(c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	// at waits until a step works, lets the person do something, and lets the step go on.
	at := func(id string, person func()) {
		t.Helper()
		var there []string
		w.until("step "+id, func() bool {
			there, _ = filepath.Glob(filepath.Join(w.state, "*.worktrees", "*", "_run", "tree", "at-"+id))
			return len(there) > 0
		})
		person()
		w.must(os.WriteFile(filepath.Join(filepath.Dir(there[0]), "go-"+id), nil, 0o600))
	}
	at("one", func() {
		write("NOTES.md", "notes\nmine\n")
		edit("plan.md", "# Three greetings", "# Three good greetings")
		w.git("commit", "-qam", "what I do meanwhile")
	})
	at("two", func() {
		write("check.sh", "test -s $1 && grep -q hello $1\n")
		write(".piton/config.yaml", strings.Replace(w.read(".piton/config.yaml"), "policy: {", "policy: {max_failures: 7, ", 1))
		w.git("switch", "-qc", "other")
		w.git("commit", "-qam", "a stricter check")
	})
	at("three", func() { write("NOTES.md", "notes\nmine\nmore\n") })
	<-ended

	out, _ := w.piton("inbox")
	item := regexp.MustCompile(`[0-9a-f]+/[0-9]+`).FindString(out)
	if !strings.Contains(out, "check.sh (changed)") {
		t.Fatal("nobody is asked about the check")
	}
	w.piton("answer", item, "retry", "--yes")
	if out, code := w.piton("resume", "--yes"); code != 0 {
		t.Fatalf("the run does not go on: %s", out)
	}
	r := w.status()
	for _, s := range r.Steps[:3] {
		if r.Status != "done" || !s.Proven || s.Attempts != 1 {
			t.Errorf("%s: %+v", r.Status, s)
		}
	}
	for name, want := range map[string]string{
		"NOTES.md": "notes\nmine\nmore\n", "check.sh": "test -s $1 && grep -q hello $1\n", "one.txt": "hello", "two.txt": "hello", "three.txt": "hello",
	} {
		if got := w.read(name); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(w.read("plan.md"), "# Three good greetings") || !strings.Contains(w.read(".piton/config.yaml"), "max_failures: 7") {
		t.Error("the plan or the configuration lost what was written")
	}
	head, err := exec.Command("git", "-C", w.dir, "log", "-1", "--format=%s %D").Output()
	if err != nil || !strings.HasPrefix(string(head), "a stricter check HEAD -> other") {
		t.Errorf("%v, the branch is at %q", err, head)
	}
	history, _ := w.piton("history", "plan.md")
	if !strings.Contains(strings.Join(strings.Fields(history), " "), "check.sh (changed), by ") {
		t.Error("the history does not name who took the check")
	}
	if log, _ := w.piton("log"); strings.Contains(log, " undo ") || strings.Contains(log, "out_of_scope") {
		t.Error("a step is charged with a person's edit")
	}
}

func (w *place) read(name string) string {
	w.Helper()
	body, err := os.ReadFile(filepath.Join(w.dir, name))
	w.must(err)
	return string(body)
}
