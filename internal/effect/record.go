package effect

import (
	"context"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tree"
)

// recorded reports whether what a run does is recorded on a branch.
func recorded(landing *engine.Step) bool {
	return landing != nil && landing.Commit != engine.CommitNone
}

// record puts what finished steps did on the branch of the run, each once.
func (w *World) record(ctx context.Context, work *tree.Worktree, e engine.Effect) (commits []engine.Commit, err error) {
	w.git.Lock()
	defer w.git.Unlock()
	for _, f := range e.Finished {
		entry := tree.Entry{
			Key: fmt.Sprintf("%s/%d", f.Step.ID, f.Attempt), Title: e.Title, Message: stepMessage(e.Key.Run, f.Step),
			Only: f.Step.Writes, Except: e.Strays, // what else is new may be the work of others
		}
		done, err := work.Record(ctx, entry)
		if err != nil {
			return commits, err
		}
		w.tell(done.News)
		commits = append(commits, engine.Commit{Step: f.Step.ID, Attempt: f.Attempt, Branch: done.Branch, Commit: done.Commit})
	}
	return commits, nil
}

// recordAll puts what a run did on its branch, when all of it is proven. What a person made
// of a conflict is not yet, and what skipped steps left never is.
func (w *World) recordAll(ctx context.Context, work *tree.Worktree, e engine.Effect) ([]engine.Commit, error) {
	if !recorded(e.Step) || e.Leave && len(e.Conflicts) > 0 {
		return nil, nil
	}
	entry := tree.Entry{Title: e.Title, Message: runMessage(e), Whole: e.Step.Commit == engine.CommitRun, Except: e.Strays, Kept: e.Kept}
	var commits []engine.Commit
	if !entry.Whole {
		var err error
		if commits, err = w.record(ctx, work, e); err != nil {
			return commits, err
		}
		entry.Message = cutAt("Finish: "+e.Title, maxSubject) + "\n\nChanges by people and by the proof at the end of the run.\n\nPiton-Run: " + e.Key.Run
	}
	w.git.Lock()
	defer w.git.Unlock()
	done, err := work.Record(ctx, entry)
	w.tell(done.News)
	if err == nil && done.Commit != "" {
		commits = append(commits, engine.Commit{Step: e.Step.ID, Attempt: e.Key.Attempt, Branch: done.Branch, Commit: done.Commit})
	}
	return commits, err
}

const (
	maxSubject = 72
	maxAbout   = 400 // of what a commit says of a task
)

// stepMessage is what the commit of a step says.
func stepMessage(run string, s *engine.Step) string {
	var b strings.Builder
	b.WriteString(cutAt(s.Title, maxSubject) + "\n")
	if s.Kind == engine.Agent && s.Task != s.Title {
		b.WriteString("\n" + wrapped(s.Task) + "\n")
	}
	fmt.Fprintf(&b, "\nPiton-Run: %s\nPiton-Step: %s\n", run, s.ID)
	b.WriteString(proofOf(s))
	return b.String()
}

// runMessage is what the one commit of a run says.
func runMessage(e engine.Effect) string {
	var b, trailers strings.Builder
	b.WriteString(cutAt(e.Title, maxSubject) + "\n")
	if e.Context != "" {
		b.WriteString("\n" + wrapped(e.Context) + "\n")
	}
	if len(e.Finished) > 0 {
		b.WriteString("\n")
	}
	for _, f := range e.Finished {
		fmt.Fprintf(&b, "- %s\n", cutAt(f.Step.Title, maxSubject-2))
		fmt.Fprintf(&trailers, "Piton-Step: %s\n%s", f.Step.ID, proofOf(f.Step))
	}
	if more := e.Worked - len(e.Finished); more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	fmt.Fprintf(&b, "\nPiton-Run: %s\n%s", e.Key.Run, trailers.String())
	return b.String()
}

// proofOf is the trailer that says what proved a step.
func proofOf(s *engine.Step) string {
	if len(s.Checks) == 0 || s.Checks[0].Command == "" {
		return ""
	}
	return "Piton-Contract: " + cutAt(s.Checks[0].Command, maxAbout/2) + "\n"
}

// cutAt is a text as one line of at most that many characters.
func cutAt(text string, most int) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) <= most {
		return string(line)
	}
	return strings.TrimRight(string(line[:most-1]), " ") + "…"
}

// wrapped is the first paragraph of a text, in lines as commits have them.
func wrapped(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(cutAt(first, maxAbout)) {
		long := len([]rune(word))
		switch {
		case width == 0:
		case width+1+long > maxSubject:
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += long
	}
	return b.String()
}
