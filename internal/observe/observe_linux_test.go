package observe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func tree(t testing.TB, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("#!/bin/sh\necho "+name+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func begin(t testing.TB, root string) *Round {
	t.Helper()
	w, err := Begin(root, func(dir string) bool { return dir == ".git" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return round(t, w)
}

func round(t testing.TB, w *Watch) *Round {
	t.Helper()
	r, err := w.Round()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(t testing.TB, dir, script string) {
	t.Helper()
	c := exec.Command("/bin/sh", "-c", script)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func TestWatch(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"true", ""},
		{"cat a", "a"},
		{"cat deep/er/b >/dev/null; ./a", "a deep/er/b"},
		{"test -e a", ""},
		{"ln -s deep l && cat l/er/b", "deep/er/b"},
		{"(exec ./deep/c)", "deep/c"},
		{"mv deep other && cat other/er/b", "deep/er/b"},
		{"(sh -c '(sh ./a &) ; wait'); sh -c 'sh ./a'", "a"},
		{"cat .git/config", ""},
		{"echo x >deep/c", "deep/c"},
	} {
		t.Run(test.script, func(t *testing.T) {
			root := tree(t, "a", "deep/er/b", "deep/c", ".git/config")
			w := begin(t, root)
			run(t, root, test.script)
			got := w.Take()
			got.Files = slices.DeleteFunc(got.Files, func(f string) bool { return f == "l" })
			if strings.Join(got.Files, " ") != test.want || got.Lost != "" {
				t.Errorf("opened %v, lost %q; want %s", got.Files, got.Lost, test.want)
			}
			if again := w.Take(); len(again.Files) > 0 {
				t.Errorf("told again: %v", again.Files)
			}
		})
	}
}

// TestNewDirectories: what comes into the tree while it is watched is watched too.
func TestNewDirectories(t *testing.T) {
	root := tree(t, "a")
	elsewhere := tree(t, "in/b")
	w := begin(t, root)
	run(t, root, "mkdir -p x/y && mv "+elsewhere+"/in moved")
	w.Take()
	run(t, root, "echo 1 >x/y/z && cat moved/b")
	if got := w.Take(); strings.Join(got.Files, " ") != "moved/b x/y/z" || got.Lost != "" {
		t.Errorf("opened %v, lost %q", got.Files, got.Lost)
	}
}

// TestOverflow: more than the system queues is not taken for nothing.
func TestOverflow(t *testing.T) {
	body, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	var most int
	if _, err := fmt.Sscan(string(body), &most); err != nil {
		t.Fatal(err)
	}
	root := tree(t, "a", "b")
	w := begin(t, root)
	w.of.mu.Lock() // nobody listens
	for range most {
		for _, name := range []string{"a", "b"} {
			f, err := os.Open(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
	}
	w.of.mu.Unlock()
	if got := w.Take(); got.Lost == "" {
		t.Errorf("%d files of %d openings, and nothing lost", len(got.Files), 2*most)
	}
}

func BenchmarkWatch(b *testing.B) {
	for _, dirs := range []int{200, 5000} {
		b.Run(fmt.Sprint(dirs), func(b *testing.B) {
			var names []string
			for n := range dirs {
				names = append(names, fmt.Sprintf("d%d/e%d/f", n/50, n))
			}
			root := tree(b, names...)
			for b.Loop() {
				w, err := Begin(root, func(string) bool { return false })
				if err != nil {
					b.Fatal(err)
				}
				r := round(b, w)
				r.Take()
				r.End()
				b.StopTimer()
				w.Close()
				b.StartTimer()
			}
		})
	}
}

func BenchmarkRound(b *testing.B) {
	for _, dirs := range []int{200, 5000} {
		b.Run(fmt.Sprint(dirs), func(b *testing.B) {
			var names []string
			for n := range dirs {
				names = append(names, fmt.Sprintf("d%d/e%d/f", n/50, n))
			}
			w := begin(b, tree(b, names...)).of
			for b.Loop() {
				r := round(b, w)
				r.Take()
				r.End()
			}
		})
	}
}

// TestRounds: each round sees what was opened while it lasted, and a watch whose names are
// no longer those of the tree begins none.
func TestRounds(t *testing.T) {
	root := tree(t, "a", "b", "deep/c")
	first := begin(t, root)
	run(t, root, "cat a")
	second := round(t, first.of)
	run(t, root, "cat b")
	if got := strings.Join(second.Take().Files, " "); got != "b" {
		t.Errorf("the second round saw %s", got)
	}
	second.End()
	run(t, root, "mv deep other; cat other/c")
	if got := strings.Join(first.Take().Files, " "); got != "a b deep/c" {
		t.Errorf("the first round saw %s", got)
	}
	if _, err := first.of.Round(); err == nil {
		t.Error("a round begins with names that are no more")
	}
	if err := first.of.Close(); err != nil {
		t.Error(err)
	}
	run(t, root, "cat b")
	if got := first.Take(); strings.Join(got.Files, " ") != "b" || got.Lost != "" {
		t.Errorf("after the watch was closed the round saw %v, lost %q", got.Files, got.Lost)
	}
	first.End()
}

// TestDeep: a tree that is deeper than a path may be long is observed as a whole.
func TestDeep(t *testing.T) {
	const deep = "for n in $(seq 25); do d=$(printf '%0200d' $n); mkdir $d && cd -P $d || exit 1; done; echo 1 >b"
	for _, before := range []bool{true, false} {
		root := tree(t, "a")
		t.Cleanup(func() { run(t, root, "rm -rf -- 0*") })
		if before {
			run(t, root, deep)
		}
		r := begin(t, root)
		if !before {
			run(t, root, deep)
		}
		r.Take()
		run(t, root, "cat a; while cd -P 0* 2>/dev/null; do :; done; cat b")
		if got := r.Take(); len(got.Files) != 2 || got.Files[1] != "a" || !strings.HasSuffix(got.Files[0], "025/b") || got.Lost != "" {
			t.Errorf("opened %.300q, lost %.300q", got.Files, got.Lost)
		}
	}
}

// TestShut: a directory that nobody may enter hides nothing, until it is opened up.
func TestShut(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may enter any")
	}
	root := tree(t, "a", "x/b")
	run(t, root, "chmod 000 x")
	t.Cleanup(func() { run(t, root, "chmod 700 x") })
	r := begin(t, root)
	run(t, root, "cat a")
	if got := r.Take(); strings.Join(got.Files, " ") != "a" || got.Lost != "" {
		t.Errorf("opened %v, lost %q", got.Files, got.Lost)
	}
	run(t, root, "chmod 700 x; cat x/b; chmod 000 x")
	if got := r.Take(); got.Lost == "" {
		t.Errorf("opened %v, and nothing lost", got.Files)
	}
}
