package effect

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/judge"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/tree"
)

// judges are the keys of a base by which files judge that checks of the effect's run
// opened.
func (w *World) judges(e engine.Effect) (map[string]bool, error) {
	known := map[string]bool{}
	for _, hash := range e.Judges {
		keys, err := w.judging(hash)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			known[key] = true
		}
	}
	return known, nil
}

// judging is one list of what judges, read once.
func (w *World) judging(hash string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if keys, ok := w.judgers[hash]; ok {
		return keys, nil
	}
	body, err := w.Object(hash)
	if err != nil {
		return nil, fmt.Errorf("read what judges: %w", err)
	}
	if w.judgers == nil {
		w.judgers = map[string][]string{}
	}
	w.judgers[hash] = strings.Split(string(body), "\n")
	return w.judgers[hash], nil
}

// judge notes what judges among files that a check opened.
func (w *watcher) judge(name string, files []string) {
	if slices.ContainsFunc(w.e.Step.Checks, func(c engine.Check) bool { return c.Name == name && check.Looks(c.Command) }) {
		return
	}
	for _, f := range files {
		keys, _ := w.base.Judges(f)
		for _, key := range keys {
			if !w.known[key] {
				w.known[key] = true
				w.found = append(w.found, key)
			}
		}
	}
}

// tells puts what judges, and was not known to, into the first answer.
func (w *watcher) tells(answers []engine.CheckEnded) {
	if len(w.found) == 0 || len(answers) == 0 || answers[0].Opened == nil {
		return
	}
	slices.Sort(w.found)
	body := []byte(strings.Join(w.found, "\n"))
	w.bodies, answers[0].Opened.Judges = append(w.bodies, body), digest(body)
}

// stray notes new files that configure a runner and lie in no explicit scope.
func (w *watcher) stray(ctx context.Context, made []string) {
	for _, f := range made {
		rule, kind := judge.Of(f)
		if kind != judge.Runner {
			if rule = w.manifest(ctx, f); rule == "" {
				continue
			}
		}
		c := engine.Change{Path: f, What: "added", Rule: rule}
		if len(w.e.Step.Writes) == 0 || len(tree.OutOfScope([]engine.Change{c}, w.e.Step.Writes)) > 0 {
			w.strays = append(w.strays, c)
		}
	}
}

// manifest says which key of a new manifest configures a runner; "" is none.
func (w *watcher) manifest(ctx context.Context, file string) string {
	keys := judge.Keys(file)
	if len(keys) == 0 {
		return ""
	}
	has, err := w.Tree.Has(ctx, keys)
	if err != nil || len(has) == 0 {
		return ""
	}
	return w.base.RuleOf(has[0])
}

// aName is what may be the name of a file in the words of a script.
var aName = lazy.Regexp(`[\w./@+-]+`)

// maxNaming is how much of a script is searched for the names of others.
const maxNaming = 1 << 20

// named are the files that judge which the words of a check name, or a script that these
// name: what is taken for judging where nothing tells what was opened.
func (w *watcher) named(name string) []string {
	var files []string
	for _, c := range w.e.Step.Checks {
		if c.Name == name {
			files = w.inWords(c.Command)
		}
	}
	for _, f := range files {
		file := filepath.Join(w.Dir, filepath.FromSlash(f))
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > maxNaming {
			continue
		}
		if text, err := os.ReadFile(file); err == nil {
			files = append(files, w.inWords(string(text))...)
		}
	}
	return files
}

func (w *watcher) inWords(text string) (files []string) {
	for _, word := range aName().FindAllString(text, -1) {
		name := path.Clean(word)
		if keys, _ := w.base.Judges(name); len(keys) > 0 && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// guards are what the step must leave as it is: what its program says, and what judges,
// save what its explicit writes name letter by letter.
func guards(e engine.Effect, judges map[string]bool) []string {
	all := slices.Clone(e.Step.Guards)
	opens := e.Step.Opens()
	for key := range judges {
		file, _, _ := strings.Cut(key, "#")
		if !slices.Contains(opens, file) {
			all = append(all, key)
		}
	}
	return all
}

// ruleOf says why a key of the base counts: because it judges, or because a check of
// the step names it; "" where the plan, or Piton itself, protects it.
func ruleOf(b *tree.Base, judges map[string]bool, s *engine.Step, key string) string {
	if judges[key] {
		return b.RuleOf(key)
	}
	for _, c := range s.Checks {
		if slices.Contains(s.Guards, key) && strings.Contains(c.Command, key) {
			return "named in the " + c.Name
		}
	}
	return ""
}

// earlier are the changes of what a check was the first to open, and which were there
// before the step's work: they are another's doing.
func (w *watcher) earlier(changed []engine.Change) (before []engine.Change) {
	for _, c := range changed {
		file, _, _ := strings.Cut(c.Path, "#")
		if !slices.Contains(w.found, c.Path) {
			continue
		}
		info, err := os.Lstat(filepath.Join(w.Dir, filepath.FromSlash(file)))
		if err == nil && (w.e.Since.IsZero() || changedAt(info).Before(w.e.Since)) {
			before = append(before, c)
		}
	}
	return before
}
