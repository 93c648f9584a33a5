//go:build unix

package effect_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
)

// A command that is there only when the step is first looked at is from then on
// what it was.
func TestCommandThatAppeared(t *testing.T) {
	s := newStage(t, map[string]string{"a": "1"})
	bin := t.TempDir()
	environ := []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	s.Environ = func(string) []string { return environ }
	late := filepath.Join(bin, "late")
	write(t, late, "#!/bin/sh\nexit 1\n")
	must(t, os.Chmod(late, 0o755))
	step := s.step("printf '#!/bin/sh\\nexit 0\\n' > "+late, "late")
	in, work := s.prepared(step)
	if len(in.Checks) != 1 || in.Checks[0].Executables["late"] == "" {
		t.Fatalf("the baseline found %+v", in.Checks)
	}
	work.Executables = in.Checks[0].Executables
	if end := s.ended(work); len(end.Tampered) != 1 || end.Tampered[0] != (engine.Change{Path: late, What: "changed"}) || end.Quarantine != "" {
		t.Errorf("tampered: %+v, and %q is kept of what is not put back", end.Tampered, end.Quarantine)
	}
	verify := s.effect(engine.Verify, step)
	verify.Executables = work.Executables
	if c := s.proved(verify); c.Verdict != engine.Tampered {
		t.Errorf("a check by another command is %s", c.Verdict)
	}
}

// A contract may name a command by its path, and the path on which names are
// searched may be all the system's.
func TestCommandByItsPath(t *testing.T) {
	s := newStage(t, map[string]string{"a": "1"})
	environ := []string{"PATH=/usr/bin:/bin"}
	s.Environ = func(string) []string { return environ }
	file := filepath.Join(t.TempDir(), "judge")
	write(t, file, "#!/bin/sh\nexit 1\n")
	must(t, os.Chmod(file, 0o755))
	step := s.step("printf '#!/bin/sh\\nexit 0\\n' > "+file, file)
	in, work := s.prepared(step)
	if len(in.Checks) != 1 || in.Checks[0].Executables[file] == "" {
		t.Fatalf("the baseline found %+v", in.Checks)
	}
	work.Executables = in.Checks[0].Executables
	if end := s.ended(work); len(end.Tampered) != 1 || end.Tampered[0] != (engine.Change{Path: file, What: "changed"}) {
		t.Errorf("tampered: %+v", end.Tampered)
	}
}

// What was the system's when it was noted, and is not to who goes on with the
// run, is the same file.
func TestCommandNotedWithoutDigest(t *testing.T) {
	s := newStage(t, map[string]string{"a": "1"})
	file := filepath.Join(t.TempDir(), "judge")
	write(t, file, "#!/bin/sh\nexit 1\n")
	must(t, os.Chmod(file, 0o755))
	_, work := s.prepared(s.step("true", file))
	work.Executables = map[string]string{file: file}
	if end := s.ended(work); len(end.Tampered) != 0 {
		t.Errorf("tampered: %+v", end.Tampered)
	}
}

// A person who carries the run on from another shell while an attempt works has
// swapped nothing.
func TestAnotherPathWhileItWorks(t *testing.T) {
	s, bins := newStage(t, map[string]string{"a": "1"}), []string{t.TempDir(), t.TempDir()}
	for _, bin := range bins {
		write(t, filepath.Join(bin, "judge"), "#!/bin/sh\n# "+bin+"\nexit 1\n")
		must(t, os.Chmod(filepath.Join(bin, "judge"), 0o755))
	}
	var asked, same int
	s.Environ = func(string) []string {
		if asked++; asked <= same {
			return []string{"PATH=" + bins[0] + ":" + os.Getenv("PATH")}
		}
		return []string{"PATH=" + bins[1] + ":" + os.Getenv("PATH")}
	}
	same = 100
	in, work := s.prepared(s.step("true", "judge"))
	work.Executables = in.Checks[0].Executables
	same = asked + 1
	if end := s.ended(work); len(end.Tampered) != 0 {
		t.Errorf("tampered: %+v", end.Tampered)
	}
}
