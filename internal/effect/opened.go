package effect

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/judge"
	"github.com/piton-dev/piton/internal/observe"
	"github.com/piton-dev/piton/internal/tree"
)

// watching observes a world's tree, from the first check on.
type watching struct {
	mu    sync.Mutex
	watch *observe.Watch
	none  error // this system cannot observe it
}

// round begins an observation of the tree below dir.
func (w *watching) round(dir string) (*observe.Round, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watch != nil {
		if r, err := w.watch.Round(); err == nil {
			return r, nil
		}
		_ = w.watch.Close() // what it knows is no more
		w.watch = nil
	}
	if w.none != nil {
		return nil, w.none
	}
	watch, err := observe.Begin(dir, func(dir string) bool { return dir == ".piton" || path.Base(dir) == ".git" })
	if errors.Is(err, observe.ErrUnable) {
		w.none = err
	}
	if err != nil {
		return nil, err
	}
	w.watch = watch
	return w.watch.Round()
}

func (w *watching) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watch == nil {
		return nil
	}
	defer func() { w.watch = nil }()
	return w.watch.Close()
}

// watcher sees what the checks of an effect open, and compares it with what the step
// changed.
type watcher struct {
	*World
	e      engine.Effect
	base   *tree.Base
	bodies [][]byte        // lists of what was opened
	files  []string        // all that was opened in the round
	began  time.Time       // the round; nothing that was written before has a later stamp, by whichever clock
	n      int             // checks so far
	known  map[string]bool // what judges, by key, and was opened before
	found  []string        // what was not
	strays []engine.Change // new files that configure a runner
	beside func() []engine.Neighbour

	changed, made []string // of the check under way: all of [engine.Opened.Changed] and Made
}

// around runs a check and says what was opened meanwhile.
func (w *watcher) around(ctx context.Context, a *engine.CheckEnded, run func()) {
	n := w.n
	w.n++
	r, err := w.watching.round(w.Dir)
	if err != nil {
		run()
		a.Opened = &engine.Opened{Unseen: err.Error(), Dark: errors.Is(err, observe.ErrUnable)}
		w.judge(a.Check, w.named(a.Check))
		return
	}
	defer r.End()
	w.changed, w.made = nil, nil
	began := stampClock()
	r.Take()
	run()
	seen := r.Take()
	a.Opened = &engine.Opened{Unseen: seen.Lost}
	files := slices.DeleteFunc(seen.Files, func(f string) bool { return w.marked(f) || !w.sort(ctx, a.Opened, f, began) })
	w.files = append(w.files, files...)
	if a.Opened.Files = len(files); len(files) > 0 && a.Phase == engine.Baseline && len(w.e.Step.Writes) == 0 {
		body := []byte(strings.Join(files, "\n"))
		w.bodies, a.Opened.List = append(w.bodies, body), digest(body)
	}
	judging := files
	if seen.Lost != "" {
		judging = append(judging, w.named(a.Check)...)
	}
	w.judge(a.Check, judging)
	w.stray(ctx, w.made)
	if err := w.unscoped(ctx, a); err != nil {
		a.Opened.Unseen = cmp.Or(a.Opened.Unseen, err.Error())
	}
	if n < len(w.e.Before) {
		w.gone(a.Opened, w.e.Before[n], files)
	}
}

// unscoped notes files outside of the step's scope that a check opened and that changed during the
// work, whether the agent or the check changed them. A new file counts only if its name judges.
// What git ignored before the work does not count.
func (w *watcher) unscoped(ctx context.Context, a *engine.CheckEnded) error {
	if a.Phase != engine.Verifying || len(w.e.Step.Writes) == 0 {
		return nil
	}
	var all []engine.Change
	for _, f := range slices.Concat(w.changed, w.made) {
		all = append(all, engine.Change{Path: f})
	}
	if all = outside(all, w.e, w.beside()); len(all) == 0 {
		return nil
	}
	before, err := w.before(cmp.Or(w.e.First, w.e.Tree))
	if err != nil {
		return err
	}
	for _, c := range all {
		_, was := before.Files[c.Path]
		if _, kind := judge.Of(c.Path); !was && (kind == "" || before.Ignores(c.Path)) {
			continue
		}
		is, err := w.Tree.Digests(ctx, []string{c.Path}, "")
		if err != nil {
			return err
		}
		own := is[c.Path] != string(before.Files[c.Path])
		for o := w.outer; o != nil && own; o = o.outer { // it may have come from there
			there, err := o.Tree.Digests(ctx, []string{c.Path}, "")
			if err != nil {
				return err
			}
			own = is[c.Path] != there[c.Path]
		}
		if own {
			add(&a.Opened.Beyond, c.Path)
		}
	}
	return nil
}

// marked reports whether a file is the plan document, which the owner marks, or the name
// under which it writes it first; see [durable.Write].
func (w *watcher) marked(file string) bool {
	d := filepath.ToSlash(w.e.Document)
	return d != "" && (file == d || strings.HasPrefix(file, path.Join(path.Dir(d), "."+path.Base(d)+".")))
}

// sort puts a file into the list that it belongs in, and reports whether it is there:
// what a check made for itself and removed again proves nothing.
func (w *watcher) sort(ctx context.Context, o *engine.Opened, file string, began time.Time) bool {
	info, err := os.Lstat(filepath.Join(w.Dir, filepath.FromSlash(file)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		o.Unseen = cmp.Or(o.Unseen, "a file that was opened cannot be looked at: "+err.Error())
	}
	if err != nil || info.IsDir() {
		return false
	}
	had, at := w.base.Had(file), changedAt(info)
	if had && !at.Before(began) {
		add(&o.Wrote, file)
	}
	switch {
	case w.e.Since.IsZero() || at.Before(w.e.Since):
	case had:
		if same, err := w.base.Same(ctx, w.Tree, file, w.e.Moved); err == nil && same {
			return true // it was put back
		}
		w.changed = append(w.changed, file)
		add(&o.Changed, file)
	default:
		w.made = append(w.made, file)
		add(&o.Made, file)
	}
	return true
}

// gone lists what the check opened before the work and opens no more: what the step removed,
// what judges, and what a file that the step made has the name of, or stands in the way of
// otherwise. What installations filled counts only where the check now opens nothing that
// the step changed or made: a check that fails may open more of it.
func (w *watcher) gone(o *engine.Opened, before engine.Opened, files []string) {
	if before.List == "" {
		return
	}
	body, err := w.Object(before.List)
	if err != nil {
		o.Unseen = err.Error()
		return
	}
	idle := len(o.Changed)+len(o.Made) == 0 && !before.Shared
	stems, cached := map[string]bool{}, map[string]bool{}
	for _, f := range o.Made {
		stems[stem(f)] = true
	}
	for _, f := range files {
		if dir, in := strings.CutSuffix(path.Dir(f), "__pycache__"); in && !slices.Contains(o.Made, f) && !slices.Contains(o.Changed, f) {
			cached[dir+stem(f)] = true // what Python made of a file before the work stands for it
		}
	}
	for f := range strings.SplitSeq(string(body), "\n") {
		if path.Base(f) == ".git" || !w.base.Had(f) { // a worktree has such a file, and its workspace has none
			continue
		}
		_, err := os.Lstat(filepath.Join(w.Dir, filepath.FromSlash(f)))
		_, opened := slices.BinarySearch(files, f)
		opened = opened || cached[f[:len(f)-len(path.Base(f))]+stem(f)]
		if err != nil || !opened && (idle || stems[stem(f)] || w.judged(f) || !before.Shared && !judge.InFilled(f)) {
			add(&o.Gone, f)
		}
	}
}

// judged reports a file that is known to judge.
func (w *watcher) judged(file string) bool {
	keys, _ := w.base.Judges(file)
	return slices.ContainsFunc(keys, func(key string) bool { return w.known[key] })
}

// stem is what the name of a file begins with, by which programs find it.
func stem(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return name
}

func add(list *[]string, file string) {
	if len(*list) < maxChanged {
		*list = append(*list, file)
	}
}
