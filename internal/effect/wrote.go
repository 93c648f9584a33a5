package effect

import (
	"context"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tree"
)

// stamps looks at the tree before an agent without a scope works, to tell afterwards what
// it wrote to. It is nil where nobody could tell that: after a start that was cut off, in
// a sub-plan, whose steps mark a document that this one does not know, and beside other
// steps. Scripts and calls are left out: a look would take longer than many of them do.
func (w *World) stamps(ctx context.Context, e engine.Effect, r Reporter) tree.Stamps {
	if e.Step.Kind != engine.Agent || e.Tree != "" || e.Key.N > 1 || w.worktree != nil || strings.Contains(e.Key.Task, "/") || len(r.Beside()) > 0 {
		return nil
	}
	now, _, err := w.Tree.Stamps(ctx, e.Document)
	if err != nil {
		return nil // nobody can tell then; the work itself needs no look
	}
	return now
}

// wrote lists the files that were written to, made or removed since the stamps were taken.
// If another step was at work meanwhile, nobody can tell whose doing that is, and neither
// has it.
func (w *World) wrote(ctx context.Context, e engine.Effect, r Reporter, before tree.Stamps) []string {
	if before == nil || len(r.Beside()) > 0 {
		return nil
	}
	now, _, err := w.Tree.Stamps(context.WithoutCancel(ctx), e.Document)
	if err != nil || len(r.Beside()) > 0 {
		return nil
	}
	return slices.DeleteFunc(before.Touched(now), func(path string) bool {
		return strings.HasSuffix(path, "/") || path == ".git" || strings.HasPrefix(path, ".git/")
	})
}

// left lists the files that were written to and not put back.
func left(wrote []string, end *engine.WorkEnded) []string {
	if end.How == engine.Stopped || end.How == engine.NoStart {
		return nil
	}
	return collapsed(slices.DeleteFunc(wrote, func(path string) bool {
		return slices.Contains(end.Restored, path) || slices.ContainsFunc(end.Tampered, func(c engine.Change) bool { return c.Path == path })
	}))
}
