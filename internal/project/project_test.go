package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/project"
)

const document = "---\ntype: plan\nstatus: approved\nowner: me\n---\n\n# Marks\n\n## Steps\n\n### 1. One\n\n**task:** a\n**contract:** `test -e a`\n\n### 2. Two\n\n**task:** b\n**contract:** `test -e b`\n"

func write(t *testing.T, text string) (path, hash string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "plan.md")
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	p, _ := plan.Parse(path, []byte(text))
	return path, p.Hash()
}

func TestMark(t *testing.T) {
	path, hash := write(t, document)
	steps := []engine.StepRow{{ID: "one", Status: engine.Done}, {ID: "two", Status: engine.Failed}}
	if err := project.Mark(t.TempDir(), path, hash, engine.Failed, steps); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("status: approved", "status: failed", "1. One", "1. ✅ One", "2. Two", "2. ❌ Two").Replace(document)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if p, _ := plan.Parse(path, got); p.Hash() != hash {
		t.Error("the marks changed the hash")
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
		t.Errorf("mode is %v", info.Mode())
	}
}

func TestMarkLeavesChangedDocumentsAlone(t *testing.T) {
	path, hash := write(t, document)
	edited := strings.Replace(document, "**task:** a", "**task:** something else", 1)
	if err := os.WriteFile(path, []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	err := project.Mark(t.TempDir(), path, hash, engine.Done, []engine.StepRow{{ID: "one", Status: engine.Done}})
	if !errors.Is(err, project.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != edited {
		t.Error("the edited document was written over")
	}
}

func TestMarkRefusesLinks(t *testing.T) {
	path, hash := write(t, document)
	link := filepath.Join(filepath.Dir(path), "link.md")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := project.Mark(t.TempDir(), link, hash, engine.Done, nil); err == nil {
		t.Error("a link was marked")
	}
}

// A document that somebody made larger than any plan is not read to its end.
func TestMarkReadsNoMoreThanAPlan(t *testing.T) {
	path, hash := write(t, document)
	if err := os.Truncate(path, 256<<20); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := project.Mark(t.TempDir(), path, hash, engine.Done, nil); !errors.Is(err, project.ErrChanged) {
		t.Errorf("marked: %v", err)
	}
	if err := project.Replace(path, []byte(document), nil); !errors.Is(err, project.ErrChanged) {
		t.Errorf("replaced: %v", err)
	}
	runtime.ReadMemStats(&after)
	if read := after.TotalAlloc - before.TotalAlloc; read > 64<<20 {
		t.Errorf("%d MiB were read", read>>20)
	}
}
