package effect

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tree"
)

type environKey struct{}

// environ is the environment of who carried the run on when the effect began. Who
// does so meanwhile may search commands in other places: that is no change of the step.
func environ(ctx context.Context) []string {
	env, _ := ctx.Value(environKey{}).([]string)
	return env
}

// path is what commands of an effect's checks are searched on.
func (w *World) path(ctx context.Context) *tree.Executables {
	dirs := proc.SearchPath(environ(ctx))
	path := strings.Join(dirs, string(filepath.ListSeparator))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.executables[path] == nil {
		if w.executables == nil {
			w.executables = map[string]*tree.Executables{}
		}
		w.executables[path] = tree.NewExecutables(dirs)
	}
	return w.executables[path]
}

// Executables says which files the commands of a program's checks stand for.
func Executables(path *tree.Executables, p *engine.Program) map[string]string {
	found := map[string]string{}
	for i := range p.Len() {
		path.Add(found, check.Executables(p.Step(i).Checks))
	}
	return found
}

// swapped lists the commands of the step's checks that stand for another file
// than they did when they were approved, or first found, save what the step's
// explicit writes allow. What was noted without a digest was the system's: it is
// the same where it is the same file.
func (w *World) swapped(ctx context.Context, e engine.Effect) []engine.Change {
	if len(e.Executables) == 0 {
		return nil
	}
	var changed []engine.Change
	path := w.path(ctx)
	for _, name := range check.Executables(e.Step.Checks) {
		was, known := e.Executables[name]
		if !known {
			continue
		}
		if is := path.Find(name); is != was && tree.FileOf(is) != was && !w.mayWrite(e.Step, tree.FileOf(was)) {
			changed = append(changed, difference(was, is))
		}
	}
	return changed
}

func difference(was, is string) engine.Change {
	switch from, to := tree.FileOf(was), tree.FileOf(is); {
	case is == "":
		return engine.Change{Path: from, What: "removed"}
	case from != to:
		return engine.Change{Path: to, What: "added"} // it is found before the other
	default:
		return engine.Change{Path: from, What: "changed"}
	}
}

// mayWrite reports a file that lies in the explicit writes of a step.
func (w *World) mayWrite(s *engine.Step, file string) bool {
	rel, err := filepath.Rel(w.Dir, file)
	if err != nil || !filepath.IsLocal(rel) || len(s.Writes) == 0 {
		return false
	}
	return len(tree.OutOfScope([]engine.Change{{Path: filepath.ToSlash(rel)}}, s.Writes)) == 0
}

// appeared are the commands of the step's checks that were not there before.
func (w *World) appeared(ctx context.Context, e engine.Effect) map[string]string {
	var late []string
	for _, name := range check.Executables(e.Step.Checks) {
		if _, known := e.Executables[name]; !known {
			late = append(late, name)
		}
	}
	found := map[string]string{}
	w.path(ctx).Add(found, late)
	return found
}

// unswapped refuses to begin where a command is not what was approved: Piton
// puts nothing back outside of the workspace.
func (w *World) unswapped(ctx context.Context, e engine.Effect) error {
	changed := w.swapped(ctx, e)
	if len(changed) == 0 {
		return nil
	}
	return misfit(fmt.Sprintf("%s (%s) is not what was approved, and the checks run it: put it back, or run the plan anew", changed[0].Path, changed[0].What))
}
