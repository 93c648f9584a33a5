//go:build unix

package effect_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
)

// tries is the owner of a strong step: it keeps what is heard.
type tries struct {
	reporter
	heard *[]engine.PartTried
}

func (t tries) Tried(_ context.Context, p engine.PartTried) error {
	*t.heard = append(*t.heard, p)
	return nil
}

// strong prepares a strong step, has it work, and takes its change back.
func (s *stage) strong(step *engine.Step, heard []engine.PartTried) (engine.Reverted, []engine.PartTried) {
	s.t.Helper()
	_, work := s.prepared(step)
	if end := s.ended(work); end.How != engine.Exited {
		s.t.Fatalf("work: %+v", end)
	}
	e := s.effect(engine.Revert, step)
	e.First, e.Parts = work.Tree, heard
	in, ok := s.World.Do(s.t.Context(), e, tries{reporter{s, e}, &heard}).Input.(engine.Reverted)
	if !ok {
		s.t.Fatal("there is no answer")
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "piton-*", "attempt-*", "copy"))
	if err != nil || len(left) > 0 {
		s.t.Errorf("copies are left: %v, %v", left, err)
	}
	return in, heard
}

func (s *stage) strongStep(task, contract string, limit time.Duration) *engine.Step {
	step := s.step(task, contract)
	step.Strong = limit
	return step
}

// verdicts are what was said of each try.
func verdicts(heard []engine.PartTried) map[string]engine.Verdict {
	all := map[string]engine.Verdict{}
	for _, p := range heard {
		name := p.Place
		switch p.Part {
		case engine.AllParts:
			name = "all"
		case engine.NoPart:
			name = "none"
		}
		all[name] = p.Verdict
	}
	return all
}

func TestChangeIsTakenBack(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const task = `printf 'a\nX\nc\nY\n' >f; echo 1 >new; mkdir -p kept; cp f kept/seen`
	for name, test := range map[string]struct {
		contract string
		limit    time.Duration
		want     map[string]engine.Verdict
		untried  []string
	}{
		"a proof of one line": {
			"grep -q X f", time.Minute,
			map[string]engine.Verdict{"all": engine.Fail, "none": engine.Pass, "f:2": engine.Fail, "f:4": engine.Pass, "kept/seen (added)": engine.Pass, "new (added)": engine.Pass},
			nil,
		},
		"a proof of nothing": {"test -e f", time.Minute, map[string]engine.Verdict{"all": engine.Pass}, nil},
		"a proof that flickers": {
			`echo >>"$HOME/n"; test $(($(wc -l <"$HOME/n") % 2)) = 1`, time.Minute,
			map[string]engine.Verdict{"all": engine.Fail},
			nil,
		},
		"too little time": {
			"grep -q X f || { test -e new && test -e kept && sleep 60; exit 1; }", 200 * time.Millisecond,
			map[string]engine.Verdict{"all": engine.Fail, "none": engine.Pass},
			[]string{"f:2", "f:4", "kept/seen (added)", "new (added)"},
		},
		"a program that is missing": {
			"./f", time.Minute, map[string]engine.Verdict{"all": engine.Inconclusive}, nil,
		},
		"not in a copy": {
			`grep -q X f && test "$PWD" = "` + "$(cat where)" + `"`, time.Minute,
			map[string]engine.Verdict{"all": engine.Fail, "none": engine.Fail},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			s := newStage(t, map[string]string{"f": "a\nb\nc\n"})
			write(t, filepath.Join(s.Dir, "where"), s.Dir+"\n")
			in, heard := s.strong(s.strongStep(task, test.contract, test.limit), nil)
			if in.Err != "" || in.Cannot != "" || in.Parts != 4 {
				t.Errorf("it comes to %+v", in)
			}
			if diff := cmp.Diff(test.want, verdicts(heard)); diff != "" {
				t.Errorf("tries (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.untried, in.Untried); diff != "" {
				t.Errorf("what was not tried (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTriesAreHeardOnce: what the journal has is not asked for, unless the change is another
// one by now.
func TestTriesAreHeardOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := newStage(t, map[string]string{"f": "a\n"})
	step := s.strongStep("echo X >f; echo 1 >new", "echo >>ran; grep -q X f", time.Minute)
	_, heard := s.strong(step, nil)
	if len(heard) != 4 {
		t.Fatalf("heard %+v", heard)
	}
	other := newStage(t, map[string]string{"f": "a\n"})
	if _, again := other.strong(step, heard[:3:3]); len(again) != 4 {
		t.Errorf("after three tries it hears %+v", again)
	}
	third := newStage(t, map[string]string{"f": "b\n"})
	if _, again := third.strong(step, heard[:3:3]); len(again) != 7 || again[3].Part != engine.AllParts {
		t.Errorf("of another change it hears %+v", again)
	}
}
