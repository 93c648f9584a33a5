package tree_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/piton-dev/piton/internal/tier"
	"github.com/piton-dev/piton/internal/tree"
)

// What somebody saves while a merge is written is never written over. Here that is
// a filter of git, which is asked for b behind the last look at all files.
func TestSavedWhileAMergeIsWritten(t *testing.T) {
	t.Parallel()
	p := newPair(t, "a 1\nb 1\nc 1\n.gitattributes b filter=saves", "")
	p.aside.do("a 2\nb 2\nc 2")
	p.git("config", "filter.saves.clean", "cat")
	p.git("config", "filter.saves.smudge", "printf mine >"+p.path("c")+"; cat")
	if m := p.merge("e", 0); len(m.Conflicts) != 1 || m.Conflicts[0].Path != "c" {
		t.Errorf("no conflict in c: %+v", m)
	}
	p.holds(".gitattributes b filter=saves\na 1\nb 1\nc mine")
}

// errKilled is how a test ends the writing of a merge.
var errKilled = errors.New("killed")

// A merge that adds, changes, removes, and lets directories and files change
// places; and what it makes.
const (
	mergeBegin = "changed 1\ndir/er/x in it\nfile a file\nled -> was\nlink -> changed\nold/x here\nstays here\nwas/x there"
	mergeStep  = "changed 2\nrm dir\ndir now a file\nrm file\nfile/x now in a directory\nrm link\nlink -> stays\nrm old\nold -> was\nrm led\nled/x now in a directory"
	mergeEnd   = "changed 2\ndir now a file\nfile/x now in a directory\nled/x now in a directory\nlink -> stays\nold -> was\nstays here\nwas/x there"
)

// atEvery does something at every moment while that merge is written, in a test of its own
// each, several at once: they wait for git most of the time. For people there are few moments.
func atEvery(t *testing.T, do func(t *testing.T, n int, at string)) {
	all := momentsOf(t)
	t.Run("at", func(t *testing.T) {
		for n, i := range spread(len(all), 9) {
			t.Run(all[i], func(t *testing.T) {
				t.Parallel()
				do(t, n, all[i])
			})
		}
	})
}

// spread are few of n numbers for people, and all in the gate.
func spread(n, few int) (numbers []int) {
	count := tier.Draws(min(few, n), n)
	for i := range count {
		numbers = append(numbers, i*n/count)
	}
	return numbers
}

// momentsOf are those while that merge is written.
func momentsOf(t *testing.T) (all []string) {
	t.Helper()
	p := newPair(t, mergeBegin, "")
	p.aside.do(mergeStep)
	p.work.During(func(moment string) { all = append(all, moment) })
	p.merge("e", 0)
	p.holds(mergeEnd)
	return all
}

// What a merge replaces is removed once what is there instead is safe on disk: each new file, and
// then its name, with one sync a directory. Where any of that fails, nothing is merged.
func TestMergeIsDurableBeforeItIsCleared(t *testing.T) {
	t.Parallel()
	var all, synced []string // synced: before anything was cleared
	merge := func(fails int) *pair {
		p := newPair(t, mergeBegin, "")
		p.aside.do(mergeStep)
		all, synced = nil, nil
		p.work.During(func(moment string) {
			if strings.HasPrefix(moment, "cleared ") && synced == nil {
				synced = all
			}
		})
		p.tree.Syncs(func(name string) error {
			name, err := filepath.Rel(p.dir, name)
			if all = append(all, filepath.ToSlash(name)); len(all) == fails {
				return errFull
			}
			return err
		})
		_, err := p.work.Merge(t.Context(), "e", "", 0, nil)
		if errors.Is(err, errFull) != (fails > 0) {
			t.Fatalf("with sync %d: %v", fails, err)
		}
		p.tree.Syncs(func(string) error { return nil })
		return p
	}
	merge(0).holds(mergeEnd)
	files := slices.DeleteFunc(slices.Clone(synced), func(name string) bool { return !strings.HasPrefix(name, ".piton/merge/") })
	if names := synced[len(files):]; len(files) != 4 || strings.Join(names, " ") != ". file led" {
		t.Errorf("made safe: files %q, and names in %q", files, names)
	}
	for _, n := range spread(len(all), 4) {
		p := merge(n + 1)
		p.holds(mergeBegin)
		p.merge("e", 0)
		p.holds(mergeEnd)
	}
}

// errFull is how a test has the disk fail.
var errFull = errors.New("the disk fails")

// A process that is killed while it writes a merge leaves what the next one
// finishes, at every moment, and nothing else in the workspace.
func TestKilledWhileAMergeIsWritten(t *testing.T) {
	t.Parallel()
	atEvery(t, func(t *testing.T, n int, at string) {
		step := []string{"step", tree.Run}[n%2]
		p := newPairOf(t, step, mergeBegin, "")
		p.aside.do(mergeStep)
		p.work.During(func(moment string) {
			if moment == at {
				panic(errKilled)
			}
		})
		if survives(func() { p.merge("e", 0) }) {
			t.Fatalf("there was no %s", at)
		}
		if torn := p.tree.Mend(t.Context(), filepath.Dir(filepath.Dir(filepath.Dir(p.aside.dir)))); len(torn) > 0 {
			t.Fatalf("killed at %s: %v", at, torn)
		}
		p.holds(mergeEnd)
		if _, err := os.Lstat(p.path(".piton")); err == nil {
			t.Errorf("killed at %s: it has left .piton", at)
		}
		p.work.During(nil)
		if m := p.merge("e", 0); m.Commit == "" {
			t.Errorf("killed at %s: not merged: %+v", at, m)
		}
		p.holds(mergeEnd)
	})
}

// Where git does not have a merge any more that was cut off, it is taken back, or
// stays where it was written to its end: nobody is kept from the workspace.
func TestKilledAndTheRepositoryIsGone(t *testing.T) {
	t.Parallel()
	var taken, written atomic.Int32
	atEvery(t, func(t *testing.T, n int, at string) {
		p := newPair(t, mergeBegin, "")
		p.aside.do(mergeStep)
		p.work.During(func(moment string) {
			if moment == at {
				panic(errKilled)
			}
		})
		if survives(func() { p.merge("e", 0) }) {
			t.Fatalf("there was no %s", at)
		}
		p.do("rm .git")
		if n%2 == 0 {
			p.git("init", "-q")
		}
		root := filepath.Dir(filepath.Dir(filepath.Dir(p.aside.dir)))
		if torn := p.tree.Mend(t.Context(), root); len(torn) > 0 {
			t.Fatalf("killed at %s: %v", at, torn)
		}
		if p.text("changed") == "1" {
			p.holds(mergeBegin)
			taken.Add(1)
		} else {
			p.holds(mergeEnd)
			written.Add(1)
		}
		if _, err := os.Lstat(p.path(".piton")); err == nil {
			t.Errorf("killed at %s: it has left .piton", at)
		}
		if tree.Torn(root) {
			t.Errorf("killed at %s: it is torn for ever", at)
		}
	})
	if least := int32(tier.Draws(2, 5)); taken.Load() < least || written.Load() < least {
		t.Errorf("only %d are taken back and %d written", taken.Load(), written.Load())
	}
}

// survives reports whether do was not killed.
func survives(do func()) (ok bool) {
	defer func() {
		if why := recover(); why != nil && why != any(errKilled) {
			panic(why)
		}
	}()
	do()
	return true
}

// Whatever somebody saves at whatever moment is there at the end, and where it was
// no file of the merge by then, all of that is taken back.
func TestSavedAtAnyMoment(t *testing.T) {
	t.Parallel()
	inPlace := func(w *workspace, file, text string) error { return os.WriteFile(w.path(file), []byte(text), 0o644) }
	byRename := func(w *workspace, file, text string) error {
		return errors.Join(os.WriteFile(w.path("tmp"), []byte(text), 0o644), os.Rename(w.path("tmp"), w.path(file)))
	}
	var saves atomic.Int32
	atEvery(t, func(t *testing.T, n int, at string) {
		file := strings.Fields(at)[len(strings.Fields(at))-1]
		save := []func(*workspace, string, string) error{inPlace, byRename}[n%2]
		if file == "link" {
			save = byRename
		}
		p := newPair(t, mergeBegin, "")
		p.aside.do(mergeStep)
		var saved bool
		p.work.During(func(moment string) {
			if moment == at && !saved {
				saved = save(p.workspace, file, "mine") == nil // not where it is a directory, or in none
			}
		})
		m := p.merge("e", 0)
		if !saved {
			return
		}
		saves.Add(1)
		if got := p.text(file); got != "mine" {
			t.Errorf("saved at %s: it is %q", at, got)
		}
		if len(m.Conflicts) > 0 && p.text("changed") == "2" {
			t.Errorf("saved at %s: a part of the merge is left", at)
		}
	})
	if int(saves.Load()) < tier.Draws(3, 20) {
		t.Errorf("only %d saves", saves.Load())
	}
}

// What somebody who has a file open writes there when it is aside is merged with.
func TestWrittenAfterItWasMovedAside(t *testing.T) {
	t.Parallel()
	p := newPair(t, mergeBegin, "")
	p.aside.do(mergeStep)
	open, err := os.OpenFile(p.path("changed"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	p.work.During(func(moment string) {
		if moment == "put changed" {
			_, err = open.WriteAt([]byte("mine"), 0)
		}
	})
	if m := p.merge("e", 0); err != nil || len(m.Conflicts) != 1 || p.text("changed") != "mine" {
		t.Errorf("%+v, %v, and it is %q", m, err, p.text("changed"))
	}
}

// What was written aside and saved anew, by a process that then was killed, is kept.
func TestSavedTwice(t *testing.T) {
	t.Parallel()
	c := gitConfig(t)
	p := newPair(t, mergeBegin, "")
	other, err := tree.Open(p.dir, c)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	p.aside.do(mergeStep)
	p.work.During(func(moment string) {
		if moment == "put changed" {
			p.do("changed again\n.piton/merge/0 mine")
			panic(errKilled)
		}
	})
	if survives(func() { p.merge("e", 0) }) {
		t.Fatal("it was not killed")
	}
	if torn := other.Mend(t.Context(), filepath.Dir(filepath.Dir(filepath.Dir(p.aside.dir)))); len(torn) > 0 {
		t.Fatal(torn)
	}
	kept := &workspace{T: t, dir: filepath.Join(c.Quarantine, "run", "step.merge")}
	if p.text("changed") != "again" || kept.text("0001-0") != "mine" {
		t.Errorf("it is %q, and there was %q; kept is %s", p.text("changed"), kept.text("0001-0"), kept.files())
	}
}

// A file that cannot be written whole is not there: what it is for has to get its
// name again.
func TestPartOfAFile(t *testing.T) {
	t.Parallel()
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	full := errors.New("the disk is full")
	if err := tree.CopyInto(dir, "new", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(full))); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if _, err := dir.Lstat("new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part of it is there: %v", err)
	}
}

// Where nothing can be set aside a merge is not begun, and nor is a worktree.
func TestNoPlaceAside(t *testing.T) {
	t.Parallel()
	const is, why = ".piton -> conf\nchanged 1\nconf/it is", ".piton must be a directory"
	p := newPair(t, "changed 1", "")
	p.aside.do("changed 2")
	p.do(is)
	if m, err := p.work.Merge(t.Context(), "e", "", 0, nil); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%+v, %v", m, err)
	}
	p.holds(is)
	root := filepath.Dir(filepath.Dir(filepath.Dir(p.aside.dir)))
	if tree.Torn(root) {
		t.Error("it is torn")
	}
	other, err := p.tree.Worktree(root, "run", "other")
	if err == nil {
		err = other.Begin(t.Context(), "", false, false)
	}
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("it begins: %v", err)
	}
	p.do("rm .piton")
	if m := p.merge("e", 0); m.Commit == "" {
		t.Errorf("not merged: %+v", m)
	}
	p.holds("changed 2\nconf/it is")
}
